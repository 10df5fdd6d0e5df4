/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watched addresses.  Now and then an access that the source does not mark waits before it is
 * made: its address is watched meanwhile.  An access by another CPU, or by an interrupt, that
 * conflicts with it is a data race: had there been a lock, the other would have waited, too.  A
 * value that has changed shows accesses of code that is not instrumented.
 */
#ifndef RACEWATCH_WATCH_H
#define RACEWATCH_WATCH_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "access.h"

struct seq_file;

/* A watch covers bytes of one aligned word of this size. */
#define WATCH_GRANULE	8UL
#define WATCH_SLOTS	256U

/*
 * What a slot watches, in one word that others compare: the granule's address, whose upper eight
 * bits are ones in the kernel and give way to a mask of the bytes, and in bit 0 whether it is a
 * write.  0: nothing.
 */
#define WATCH_WRITE	BIT_ULL(0)
#define WATCH_ADDRESS	GENMASK_ULL(55, 3)
#define WATCH_BYTES	56

extern u64 watch_words[WATCH_SLOTS];
/* Accesses until the next one that waits. */
DECLARE_PER_CPU(int, watch_skip);

/* The word for the part of an access that is in the granule of @addr. */
static __always_inline u64 watch_word(unsigned long addr, u32 size, bool write)
{
	unsigned long first = addr % WATCH_GRANULE;
	u32 bytes = min_t(unsigned long, size, WATCH_GRANULE - first);

	return (addr & WATCH_ADDRESS) | ((u64)(GENMASK(bytes - 1, 0) << first) << WATCH_BYTES) |
	       (write ? WATCH_WRITE : 0);
}

static __always_inline unsigned int watch_slot(unsigned long addr)
{
	return addr / WATCH_GRANULE % WATCH_SLOTS;
}

/* Do two accesses of a granule touch a byte in common, and is one of them a write? */
static __always_inline bool watch_conflicts(u64 one, u64 other)
{
	return !((one ^ other) & WATCH_ADDRESS) && (one & other) >> WATCH_BYTES &&
	       ((one | other) & WATCH_WRITE);
}

/* The access conflicts with what slot @n watched a moment ago. Any context. */
void watch_hit(unsigned int n, const struct access *access);
/* Makes some unmarked accesses wait, so that others can conflict with them. Any context. */
void watch_wait(const struct access *access);
/* How often accesses waited, and why others did not. */
void watch_show(struct seq_file *m);

#endif
