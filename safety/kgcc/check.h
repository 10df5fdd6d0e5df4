/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache of lookups, per CPU and by pointer. An entry is valid while its witness word has the
 * recorded value: so other CPUs need no notification, and no shared memory is written.
 */
#ifndef KGCC_CHECK_H
#define KGCC_CHECK_H

/*
 * The slot of a pointer: middle bits of its product with the golden ratio. The pointer's lower half
 * decides, which spreads objects at any distance from each other.
 */
#define KGCC_SLOT_BITS	11
#define KGCC_SLOT_FACTOR 0x61c88647
#define KGCC_SLOT_LOW	22
#define KGCC_SLOT_SHIFT	6		/* bytes of a slot */

/* Offsets in struct kgcc_kept. */
#define KGCC_KEPT_POINTER	0
#define KGCC_KEPT_ROOM		8
#define KGCC_KEPT_START		16
#define KGCC_KEPT_SIZE		24
#define KGCC_KEPT_WITNESS	32
#define KGCC_KEPT_VALUE		40

#ifndef __ASSEMBLY__

#include "kgcc.h"

#define KGCC_SLOTS	(1u << KGCC_SLOT_BITS)

struct kgcc_kept {
	unsigned long pointer;
	unsigned long room;		/* from the pointer to the object's end */
	unsigned long start, size;
	const unsigned long *witness;
	unsigned long value;
} __aligned(1 << KGCC_SLOT_SHIFT);

static inline unsigned int kgcc_slot(unsigned long pointer)
{
	return pointer * KGCC_SLOT_FACTOR >> KGCC_SLOT_LOW & (KGCC_SLOTS - 1);
}

/* Counters of one CPU's lookups that were not cached. */
struct kgcc_lookups {
	u64 kind[KGCC_KINDS];
};

int kgcc_check_init(void);
void kgcc_check_exit(void);

/* Cache the result of a pointer's lookup on this CPU. */
void kgcc_check_keep(unsigned long pointer, const struct kgcc_object *object);

/* Empty one slot, or all slots, on all CPUs. */
void kgcc_check_forget(unsigned int slot);
void kgcc_check_forget_all(void);

void kgcc_check_sum(struct kgcc_lookups *sum);

/* While executions are counted, every check calls kgcc_check_counted(). */
void kgcc_check_count(bool on);

/*
 * enter.S. Arguments are in registers, see plugin/emit.cc: do not call these from C. The name ends
 * with the pointer's register.
 */
#define KGCC_OF_POINTER(EACH, name)						\
	EACH(name##_rax) EACH(name##_rbx) EACH(name##_rcx) EACH(name##_rdx)	\
	EACH(name##_rsi) EACH(name##_rdi) EACH(name##_rbp) EACH(name##_r12)	\
	EACH(name##_r13) EACH(name##_r14) EACH(name##_r15)
#define KGCC_CHECKS(EACH)			\
	KGCC_OF_POINTER(EACH, kgcc_field)	\
	KGCC_OF_POINTER(EACH, kgcc_range)	\
	KGCC_OF_POINTER(EACH, kgcc_length)
#define KGCC_DECLARE(name) void name(void);
KGCC_CHECKS(KGCC_DECLARE)
void kgcc_outside(void);
void kgcc_rule(void);
void kgcc_enter(void);
void kgcc_leave(void);

/*
 * Called by the assembly: returns the room. ip points to the return address, the top of the checked
 * code's stack.
 */
unsigned long kgcc_check(struct kgcc_site *site, unsigned long pointer, unsigned long address,
			 unsigned long length, const unsigned long *ip);
/* Counts as well, and returns 0: with an unknown room every later check calls again. */
unsigned long kgcc_check_counted(struct kgcc_site *site, unsigned long pointer,
				 unsigned long address, unsigned long length,
				 const unsigned long *ip);
void kgcc_check_outside(struct kgcc_site *site, unsigned long offset, unsigned long ip);
void kgcc_check_rule(struct kgcc_site *site, unsigned long value, unsigned long ip);

#endif
#endif
