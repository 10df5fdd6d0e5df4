// SPDX-License-Identifier: GPL-2.0
/* The slow path of a check: lookups that the assembly does not find in the cache. */
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "check.h"
#include "object.h"
#include "oob_pointer.h"
#include "profile.h"
#include "stack.h"
#include "violation.h"

static_assert(offsetof(struct kgcc_kept, pointer) == KGCC_KEPT_POINTER);
static_assert(offsetof(struct kgcc_kept, room) == KGCC_KEPT_ROOM);
static_assert(offsetof(struct kgcc_kept, start) == KGCC_KEPT_START);
static_assert(offsetof(struct kgcc_kept, size) == KGCC_KEPT_SIZE);
static_assert(offsetof(struct kgcc_kept, witness) == KGCC_KEPT_WITNESS);
static_assert(offsetof(struct kgcc_kept, value) == KGCC_KEPT_VALUE);
static_assert(sizeof(struct kgcc_kept) == 1 << KGCC_SLOT_SHIFT);
static_assert(offsetof(struct kgcc_site, hi) == 8 * KGCC_SITE_HI);
static_assert(offsetof(struct kgcc_site, lo) == 8 * KGCC_SITE_FLAGS);
static_assert(offsetof(struct kgcc_site, where) == 8 * KGCC_SITE_WHERE);
static_assert(offsetof(struct kgcc_site, parts) == 8 * KGCC_SITE_PARTS);
static_assert(offsetof(struct kgcc_site, hits) == 8 * KGCC_SITE_COUNT);
static_assert(offsetof(struct kgcc_site, nparts) == 8 * KGCC_SITE_NPARTS);
static_assert(offsetof(struct kgcc_site, object) == 8 * KGCC_SITE_OBJECT);
static_assert(offsetof(struct kgcc_site, unit) == 8 * KGCC_SITE_UNIT);
static_assert(sizeof(struct kgcc_variable) == 8 * KGCC_VARIABLE_WORDS);
static_assert(sizeof(struct kgcc_site) == 8 * KGCC_SITE_WORDS);
static_assert(sizeof(struct kgcc_part) == 8 * KGCC_PART_WORDS);

/* Allocated separately: too large for the module's static per-CPU memory. */
static DEFINE_PER_CPU(struct kgcc_kept *, slots);
/* The cache that the assembly reads; an empty one while executions are counted. */
DEFINE_PER_CPU(struct kgcc_kept *, kgcc_kept);
static struct kgcc_kept *none;

static DEFINE_PER_CPU(struct kgcc_lookups, lookups);

/* A cache that stays empty: one page of zeros, mapped repeatedly. */
static struct kgcc_kept *map_none(void)
{
	struct page *pages[DIV_ROUND_UP(sizeof(struct kgcc_kept) * KGCC_SLOTS, PAGE_SIZE)];

	for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = ZERO_PAGE(0);
	return vmap(pages, ARRAY_SIZE(pages), VM_MAP, PAGE_KERNEL_RO);
}

void kgcc_check_count(bool on)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(kgcc_kept, cpu), on ? none : per_cpu(slots, cpu));
}

int kgcc_check_init(void)
{
	int cpu;

	none = map_none();
	if (!none)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		per_cpu(slots, cpu) = vzalloc_node(sizeof(struct kgcc_kept) * KGCC_SLOTS,
						   cpu_to_node(cpu));
		if (!per_cpu(slots, cpu)) {
			kgcc_check_exit();
			return -ENOMEM;
		}
	}
	kgcc_check_count(false);
	return 0;
}

void kgcc_check_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(slots, cpu));
	vunmap(none);
}

void kgcc_check_forget(unsigned int slot)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(slots, cpu)[slot].pointer, 0);
}

void kgcc_check_forget_all(void)
{
	for (unsigned int slot = 0; slot < KGCC_SLOTS; slot++)
		kgcc_check_forget(slot);
}

void kgcc_check_sum(struct kgcc_lookups *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct kgcc_lookups *l = per_cpu_ptr(&lookups, cpu);

		for (int i = 0; i < KGCC_KINDS; i++)
			sum->kind[i] += l->kind[i];
	}
}

/* Bytes from the pointer to the object's end; the pointer may lie beyond it. */
static unsigned long room_of(const struct kgcc_object *object, unsigned long pointer)
{
	return pointer < object->end ? object->end - pointer : 0;
}

/* A check in an interrupt must not see a half-written entry. */
static __always_inline void keep(unsigned long pointer, unsigned long room,
				 const struct kgcc_object *object)
{
	struct kgcc_kept *kept;
	unsigned long flags;

	local_irq_save(flags);
	if (!kgcc_peer_none(pointer))
		goto out;
	kept = this_cpu_read(slots) + kgcc_slot(pointer);
	WRITE_ONCE(kept->pointer, 0);
	barrier();
	kept->room = room;
	kept->start = object->start;
	kept->size = object->end - object->start;
	kept->witness = object->witness;
	kept->value = object->value;
	barrier();
	WRITE_ONCE(kept->pointer, pointer);
out:
	local_irq_restore(flags);
}

void kgcc_check_keep(unsigned long pointer, const struct kgcc_object *object)
{
	keep(pointer, room_of(object, pointer), object);
}

static void count(enum kgcc_kind kind)
{
	this_cpu_inc(lookups.kind[kind]);
}

static bool within(const struct kgcc_object *object, unsigned long address, unsigned long length)
{
	unsigned long size = object->end - object->start, offset = address - object->start;

	return offset <= size && length <= size - offset;
}

/* Unknown memory may be longer than it looks. */
static bool is_good(const struct kgcc_object *object, unsigned long address,
		    unsigned long length)
{
	if (kgcc_is_known(object))
		return within(object, address, length);
	return object->kind == KGCC_UNKNOWN;
}

/* A pointer one past an object's end may also be the start of the next object. */
static bool is_good_before(unsigned long pointer, unsigned long address, unsigned long length)
{
	struct kgcc_object before;

	return address < pointer && kgcc_find_before(pointer, &before) &&
	       within(&before, address, length);
}

static void left(const struct kgcc_site *site, unsigned long address,
		 struct kgcc_object *object)
{
	if (object->kind == KGCC_LOCAL)
		kgcc_stack_renew(object);
	if (object->kind == KGCC_UNKNOWN || kgcc_is_known(object))
		kgcc_peer_add(address, object, site->where);
}

/* For a peer: good if the result is back in its object; arithmetic may make another peer. */
static bool check_peer(struct kgcc_site *site, unsigned long pointer, unsigned long address,
		       unsigned long length, unsigned long ip)
{
	struct kgcc_object object;
	const char *where;

	if (!kgcc_peer_find(pointer, &object, &where))
		return false;
	if (within(&object, address, length))
		return true;
	if (site->flags & KGCC_ARITH)
		left(site, address, &object);
	else
		kgcc_violation_peer(site, pointer, address, length, &object, where, ip);
	return true;
}

/* Reports the violation, with the object or the reason. */
static noinline void judge(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			   unsigned long length, struct kgcc_object *object, unsigned long ip)
{
	if (is_good_before(pointer, address, length))
		return;
	if (site->flags & KGCC_ARITH)
		left(site, address, object);
	else
		kgcc_violation(site, pointer, address, length, object, ip);
}

unsigned long kgcc_check(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const unsigned long *ip)
{
	struct kgcc_object object;
	unsigned long room;

	/* A field's offset counts from the pointer, which may be a peer. */
	address += site->lo;
	length -= site->lo;
	/* memcpy() accepts any pointer if the length is zero. */
	if (!length && !(site->flags & KGCC_ARITH))
		return 0;
	if (!kgcc_peer_none(pointer) && check_peer(site, pointer, address, length, *ip))
		return 0;
	if (site->flags & KGCC_PAGE && kgcc_slab_page(pointer))
		pointer = address;
	kgcc_find(pointer, &object);
	if (object.kind == KGCC_STACK && kgcc_stack_returned(pointer, (unsigned long)ip))
		object.kind = KGCC_RETURNED;
	count(object.kind);
	if (is_good(&object, address, length)) {
		room = room_of(&object, pointer);
		keep(pointer, room, &object);
		return room;
	}
	judge(site, pointer, address, length, &object, *ip);
	return 0;
}

/* Makes the same comparison as the assembly. */
static bool is_kept(unsigned long pointer, unsigned long address, unsigned long length)
{
	const struct kgcc_kept *kept = this_cpu_read(slots) + kgcc_slot(pointer);
	unsigned long offset, value;

	if (READ_ONCE(kept->pointer) != pointer)
		return false;
	offset = address - kept->start;
	return offset <= kept->size && length <= kept->size - offset &&
	       !get_kernel_nofault(value, kept->witness) && value == kept->value;
}

unsigned long kgcc_check_counted(struct kgcc_site *site, unsigned long pointer,
				 unsigned long address, unsigned long length,
				 const unsigned long *ip)
{
	site->hits++;
	if (static_branch_unlikely(&kgcc_timing))
		kgcc_profile_hit(site);
	if (!is_kept(pointer, address + site->lo, length - site->lo))
		kgcc_check(site, pointer, address, length, ip);
	return 0;
}

void kgcc_check_outside(struct kgcc_site *site, unsigned long offset, unsigned long ip)
{
	kgcc_violation_variable(site, offset, ip);
}

void kgcc_check_rule(struct kgcc_site *site, unsigned long value, unsigned long ip)
{
	kgcc_violation_rule(site, value, ip);
}

#define EXPORT(name) EXPORT_SYMBOL_GPL(name);
KGCC_CHECKS(EXPORT)
EXPORT_SYMBOL_GPL(kgcc_outside);
EXPORT_SYMBOL_GPL(kgcc_rule);
EXPORT_SYMBOL_GPL(kgcc_enter);
EXPORT_SYMBOL_GPL(kgcc_leave);
