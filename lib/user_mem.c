// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The engine's memory.  It keeps pointers in 47 sign-extended bits, so heap and
 * stack have to lie below 2^46, where mmap() by itself puts nothing; machine
 * code has to be within reach of a 32-bit jump from the engine's own code.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sys.h"
#include "user.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

#define LOW_START	(1UL << 45)
#define LOW_END		(1UL << 46)
#define LOW_TRIES	64

/* Less than 2 GiB by more than the engine's code is long. */
#define NEAR_REACH	((1UL << 31) - (1UL << 26))
#define NEAR_STEP	(1UL << 20)

/* Signal handlers of the program may run on the VM's stack, below its end. */
#define STACK_GUARD	(64UL << 10)
#define STACK_SIGNALS	(64UL << 10)

struct region {
	struct region *next;
	char *start;
	size_t size;
};

static void *map_at(unsigned long addr, size_t size, int prot)
{
	long ret = sys_call(mmap, addr, size, prot,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);

	if (ret < 0 && ret > -(long)PAGE_SIZE)
		return NULL;
	/* Before 4.17 the address was but a hint. */
	if ((unsigned long)ret != addr) {
		sys_call(munmap, ret, size);
		return NULL;
	}
	return (void *)ret;
}

static unsigned long low_random(void)
{
	unsigned long r = 0;

	port_random(&r, sizeof(r));
	return LOW_START + r % (LOW_END - LOW_START) / 2 / PAGE_SIZE * PAGE_SIZE;
}

static void *low_map(size_t size, int prot)
{
	static unsigned long cursor;
	unsigned long addr;
	void *p;

	size = (size + PAGE_SIZE - 1) & -PAGE_SIZE;
	for (int i = 0; i < LOW_TRIES; i++) {
		/* One page of nothing between two mappings. */
		addr = __atomic_fetch_add(&cursor, size + PAGE_SIZE, __ATOMIC_RELAXED);
		if (addr >= LOW_START && addr < LOW_END - size) {
			p = map_at(addr, size, prot);
			if (p)
				return p;
		}
		__atomic_store_n(&cursor, low_random(), __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *near_map(size_t size)
{
	static unsigned long found = NEAR_STEP;
	unsigned long text = (unsigned long)(uintptr_t)vm_open & -NEAR_STEP;
	unsigned long first = __atomic_load_n(&found, __ATOMIC_RELAXED);
	unsigned long off = first;
	void *p;

	do {
		p = NULL;
		if (text > off + NEAR_STEP)
			p = map_at(text - off, size, PROT_READ | PROT_WRITE);
		if (!p)
			p = map_at(text + off, size, PROT_READ | PROT_WRITE);
		if (p) {
			__atomic_store_n(&found, off, __ATOMIC_RELAXED);
			return p;
		}
		off = off + NEAR_STEP < NEAR_REACH - size ? off + NEAR_STEP : NEAR_STEP;
	} while (off != first);
	return NULL;
}

static void *region_add(struct script *script, void *start, size_t size)
{
	struct region *region;

	if (!start)
		return NULL;
	region = malloc(sizeof(*region));
	if (!region) {
		sys_call(munmap, start, size);
		return NULL;
	}
	region->start = start;
	region->size = size;
	region->next = script->regions;
	script->regions = region;
	return start;
}

/* All of a region, or its head or tail: an allocator trims what it has. */
static void region_del(struct script *script, char *start, size_t size)
{
	struct region **link = &script->regions, *region;

	for (; (region = *link); link = &region->next) {
		if (start >= region->start && start + size <= region->start + region->size)
			break;
	}
	if (!region || (start != region->start &&
			start + size != region->start + region->size))
		return;
	sys_call(munmap, start, size);
	if (start == region->start)
		region->start += size;
	region->size -= size;
	if (!region->size) {
		*link = region->next;
		free(region);
	}
}

void *user_mem_script(void)
{
	return low_map(sizeof(struct script), PROT_READ | PROT_WRITE);
}

void user_mem_free_script(struct script *script)
{
	sys_call(munmap, script, sizeof(*script));
}

char *user_mem_stack(struct script *script)
{
	size_t size = STACK_GUARD + STACK_SIGNALS + VM_STACK_SIZE;
	char *p = region_add(script, low_map(size, PROT_READ | PROT_WRITE), size);

	if (!p || sys_call(mprotect, p, STACK_GUARD, PROT_NONE) < 0)
		return NULL;
	return p + STACK_GUARD + STACK_SIGNALS;
}

void user_mem_release(struct script *script)
{
	while (script->regions)
		region_del(script, script->regions->start, script->regions->size);
}

/* Machine code runs where it was written. */
long port_mcode_delta;

void *port_pages(struct vm *vm, unsigned long size)
{
	return region_add(script_of(vm), low_map(size, PROT_READ | PROT_WRITE), size);
}

void port_free_pages(struct vm *vm, void *p, unsigned long size)
{
	region_del(script_of(vm), p, size);
}

void *port_mcode(struct vm *vm, unsigned long size)
{
	void *p = region_add(script_of(vm), near_map(size), size);

	if (p)
		vm->stats.mcode += size;
	return p;
}

void port_free_mcode(struct vm *vm, void *p, unsigned long size)
{
	vm->stats.mcode -= size;
	region_del(script_of(vm), p, size);
}

int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable)
{
	(void)vm;
	return sys_call(mprotect, p, size, PROT_READ | (writable ? PROT_WRITE : PROT_EXEC));
}

long port_scratch(struct vm *vm)
{
	void *p = region_add(script_of(vm), low_map(VM_SCRATCH_SIZE, PROT_READ | PROT_WRITE),
			     VM_SCRATCH_SIZE);

	return p ? (long)p : -ENOMEM;
}
