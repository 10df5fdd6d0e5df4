// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the object that an address lies in. Objects of instrumented modules and locals are known
 * exactly; the kernel's own as far as their pages reveal it.
 */
#include <linux/highmem.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "heap.h"
#include "object.h"
#include "region.h"
#include "slab.h"
#include "stack.h"

const unsigned long kgcc_always;

static void set(struct kgcc_object *object, enum kgcc_kind kind, unsigned long start,
		unsigned long end)
{
	kgcc_object_set(object, kind, start, end, &kgcc_always, 0);
}

static void unknown(unsigned long address, struct kgcc_object *object)
{
	set(object, KGCC_UNKNOWN, address & PAGE_MASK, (address & PAGE_MASK) + PAGE_SIZE);
}

/* The page's mapping is the witness: it changes when the page is reused. */
static void watch_mapping(struct page *page, struct kgcc_object *object)
{
	object->witness = (const unsigned long *)&page->mapping;
	object->value = READ_ONCE(*object->witness);
}

/* Pages of the direct map that are not slabs. */
static void find_pages(struct page *page, unsigned long address, struct kgcc_object *object)
{
	unsigned long start = (unsigned long)page_address(page);

	if (PageCompound(page)) {
		set(object, KGCC_PAGES, start, start + page_size(page));
		watch_mapping(page, object);
		kgcc_heap_pages(page, object);
	} else if (READ_ONCE(page->mapping)) {
		set(object, KGCC_PAGES, start, start + PAGE_SIZE);
		watch_mapping(page, object);
	} else if (!kgcc_region_find(address, object)) {
		unknown(address, object);
		watch_mapping(page, object);
	}
}

/* For an address in the direct map: most are in a slab, so this test comes first. */
static struct page *slab_page(unsigned long address)
{
	struct page *page = virt_to_page((void *)address);
	unsigned long flags;

	/* A hole in memory may have no struct page. */
	__get_kernel_nofault(&flags, &page->flags, unsigned long, gone);
	page = compound_head(page);
	return PageSlab(page) ? page : NULL;
gone:
	return NULL;
}

static noinline void find_direct(unsigned long address, struct kgcc_object *object)
{
	struct page *page = slab_page(address);

	if (page) {
		if (!kgcc_slab_find(page, address, object))
			unknown(address, object);
	} else if (virt_addr_valid((void *)address)) {
		find_pages(virt_to_head_page((void *)address), address, object);
	} else {
		set(object, KGCC_NOTHING, address, address);
	}
}

/*
 * Addresses in the kernel image and in modules. Instrumented modules have registered their
 * variables, and searching a module's symbols is slow. At the end of a kernel variable another one
 * may start that was not recorded yet.
 */
static void find_symbol(unsigned long address, struct kgcc_object *object)
{
	if (kgcc_region_of(address, object) ||
	    (address < MODULES_VADDR && kgcc_region_symbol(address, object)) ||
	    kgcc_region_find(address, object))
		return;
	unknown(address, object);
}

static bool in_image(unsigned long address)
{
	return address >= __START_KERNEL_map && address < MODULES_END;
}

/* struct page: its objects' bounds cannot be seen. */
static bool in_memory_map(unsigned long address)
{
	return address >= VMEMMAP_START && address < VMEMMAP_START + (1UL << 40);
}

/* Addresses neither in the direct map nor on the stack, which are few. */
static noinline void find_other(unsigned long address, struct kgcc_object *object)
{
	if (in_image(address)) {
		find_symbol(address, object);
	} else if (in_memory_map(address)) {
		set(object, KGCC_UNKNOWN, VMEMMAP_START, VMEMMAP_START + (1UL << 40));
	} else if (is_vmalloc_addr((void *)address)) {
		if (!kgcc_region_find(address, object))
			unknown(address, object);
	} else if ((long)address >= 0 ||
		   !__is_canonical_address(address, boot_cpu_data.x86_virt_bits)) {
		set(object, KGCC_NOTHING, address, address);
	} else {
		unknown(address, object);
	}
}

void kgcc_find(unsigned long address, struct kgcc_object *object)
{
	if (kgcc_in_direct_map(address))
		find_direct(address, object);
	else if (!kgcc_stack_find(address, object))
		find_other(address, object);
}

struct page *kgcc_slab_page(unsigned long address)
{
	return kgcc_in_direct_map(address) ? slab_page(address) : NULL;
}

bool kgcc_find_before(unsigned long address, struct kgcc_object *object)
{
	kgcc_find(address - 1, object);
	return kgcc_is_known(object) && object->end == address;
}
