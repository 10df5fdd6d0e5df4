/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Access to the arena for batches: addresses are masked, and each byte is read once, because
 * other threads may write there.
 */
#ifndef CONFINED_BATCH_ARENA_H
#define CONFINED_BATCH_ARENA_H

#include "vm.h"

/*
 * The kernel's address of the program's @address.  A structure may extend into the guard after
 * the arena.
 */
static inline void *in_arena(const struct engine_vm *vm, u64 address)
{
	u64 offset = address & ((1UL << vm->image.arena_shift) - 1);

	return (void *)(unsigned long)(vm->machine.base + offset);
}

/* The kernel's address of @n bytes at the program's @address, or NULL if the arena ends before. */
static inline void *range_in_arena(const struct engine_vm *vm, u64 address, u64 n)
{
	u64 size = 1UL << vm->image.arena_shift;

	return n <= size - (address & (size - 1)) ? in_arena(vm, address) : NULL;
}

/* A volatile copy, so that the compiler reads each byte once. */
#define READ_STRUCT(vm, to, address)					\
	do {								\
		_Static_assert(sizeof(*(to)) <= IMAGE_GUARD, #to);	\
		memcpy(to, in_arena(vm, address), sizeof(*(to)));	\
		__asm__ volatile("" : : : "memory");			\
	} while (0)

#endif /* CONFINED_BATCH_ARENA_H */
