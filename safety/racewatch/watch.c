// SPDX-License-Identifier: GPL-2.0
/*
 * Watched addresses.  A slot belongs to the access that waits at it.  The access sets the slot's
 * word, waits, clears the word, and closes the slot to accesses that have compared the word but
 * not yet described themselves.  One that is being described is waited for: its context has
 * interrupts off.  One that compared the word of the slot's previous owner describes an access to
 * other bytes, which the owner sees.
 *
 * The order of a slot's words between CPUs needs no barrier for correctness, only the
 * description does: an access that is ordered before or after the wait is no race.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "client.h"
#include "race.h"
#include "regions.h"
#include "watch.h"

enum {
	HIT_NONE,		/* open for an access that conflicts */
	HIT_TAKEN,		/* it is being described */
	HIT_FULL,		/* it has been */
	HIT_CLOSED,
};

/**
 * struct slot - what belongs to a word of watch_words
 * @taken: an access waits at it
 * @hit:   HIT_*, for @other
 * @other: the first access that conflicts
 */
struct slot {
	atomic_t taken, hit;
	struct other other;
};

u64 watch_words[WATCH_SLOTS];
static struct slot slots[WATCH_SLOTS];
DEFINE_PER_CPU(int, watch_skip);

/* Of a CPU's time, one part in this many is waited: long loops must not become endless. */
#define WAIT_SHARE	4

/*
 * An access waits on this CPU: one in an interrupt that comes meanwhile does not.  And none does
 * until this time of local_clock().
 */
static DEFINE_PER_CPU(bool, waits);
static DEFINE_PER_CPU(u64, rests_until);

static atomic_long_t waited, conflicts, changes, unchanged, busy, resting;

/* -- an access that conflicts -------------------------------------------------------- */

void watch_hit(unsigned int n, const struct access *access)
{
	struct access own = *access;
	struct slot *slot = &slots[n];
	unsigned long flags;

	if (in_nmi() || region_ignores())
		return;
	own.marked |= region_marks();
	local_irq_save(flags);
	if (atomic_cmpxchg(&slot->hit, HIT_NONE, HIT_TAKEN) == HIT_NONE) {
		race_describe(&slot->other, &own);
		atomic_set_release(&slot->hit, HIT_FULL);
	}
	local_irq_restore(flags);
}

/* -- an access that waits ------------------------------------------------------------- */

/* The bytes of the access that the word stands for; false if they cannot be read. */
static bool value_of(const struct access *access, u64 *value)
{
	unsigned long first = access->addr % WATCH_GRANULE;

	*value = 0;
	return !copy_from_kernel_nofault(value, (void *)access->addr,
					 min_t(unsigned long, access->size,
					       WATCH_GRANULE - first));
}

/* Waits, for @delay microseconds at most. */
static void wait(unsigned int delay)
{
	if (!in_task() || irqs_disabled())
		delay = DIV_ROUND_UP(delay, 4);
	udelay(1 + get_random_u32() % delay);
}

/* No access is counted any more. Returns the first that was, or NULL. */
static const struct other *close_slot(struct slot *slot)
{
	if (atomic_cmpxchg(&slot->hit, HIT_NONE, HIT_CLOSED) == HIT_NONE)
		return NULL;
	while (atomic_read_acquire(&slot->hit) != HIT_FULL)
		cpu_relax();
	return &slot->other;
}

static void judge(struct client *client, const struct access *access, u64 word,
		  const struct other *other, u64 before, u64 after)
{
	/* Not of a previous owner's word. */
	if (other && !watch_conflicts(word, watch_word(other->access.addr, other->access.size,
						       other->access.write)))
		other = NULL;
	if (other)
		atomic_long_inc(&conflicts);
	else if (before != after)
		atomic_long_inc(&changes);
	else
		return;
	/* A read beside the write that waits cannot be seen by the value. */
	if (before == after && other->access.write &&
	    !READ_ONCE(client->settings.unchanged)) {
		atomic_long_inc(&unchanged);
		return;
	}
	race_report(client, access, other, before, after);
}

static void wait_at(struct slot *slot, u64 *at, struct client *client,
		    const struct access *access)
{
	u64 word = watch_word(access->addr, access->size, access->write), before, after;
	const struct other *other;
	bool known;

	if (!value_of(access, &before))
		return;
	atomic_set(&slot->hit, HIT_NONE);
	smp_store_release(at, word);
	wait(READ_ONCE(client->settings.delay));
	known = value_of(access, &after);
	WRITE_ONCE(*at, 0);
	other = close_slot(slot);
	if (known)
		judge(client, access, word, other, before, after);
	atomic_long_inc(&waited);
}

static void take_slot(struct client *client, const struct access *access)
{
	unsigned int n = watch_slot(access->addr);
	struct slot *slot = &slots[n];

	if (atomic_cmpxchg_acquire(&slot->taken, 0, 1)) {
		atomic_long_inc(&busy);
		return;
	}
	wait_at(slot, &watch_words[n], client, access);
	atomic_set_release(&slot->taken, 0);
}

static void wait_unless_resting(struct client *client, const struct access *access)
{
	u64 begins = local_clock(), ends;

	if ((s64)(begins - this_cpu_read(rests_until)) < 0) {
		atomic_long_inc(&resting);
		return;
	}
	take_slot(client, access);
	ends = local_clock();
	this_cpu_write(rests_until, ends + (WAIT_SHARE - 1) * (ends - begins));
}

void watch_wait(const struct access *access)
{
	struct client *client = client_of(access->ip);
	unsigned int sample = READ_ONCE(client->settings.sample);

	/* Not always the same access of a loop. */
	this_cpu_write(watch_skip, sample / 2 + get_random_u32() % sample);
	/* Only the kernel's addresses have the form of a word. */
	if (in_nmi() || (long)access->addr >= 0 || READ_ONCE(client->settings.off) ||
	    region_ignores() || region_marks())
		return;
	/* An interrupt that comes may make an access that conflicts; no other task may. */
	preempt_disable_notrace();
	if (!this_cpu_read(waits)) {
		this_cpu_write(waits, true);
		wait_unless_resting(client, access);
		this_cpu_write(waits, false);
	}
	preempt_enable_notrace();
}

/* -- for others ------------------------------------------------------------------------ */

void watch_show(struct seq_file *m)
{
	seq_printf(m, "accesses that waited\t%ld\n", atomic_long_read(&waited));
	seq_printf(m, "with another that conflicts\t%ld\n", atomic_long_read(&conflicts));
	seq_printf(m, "changed by other code\t%ld\n", atomic_long_read(&changes));
	seq_printf(m, "of them the same value\t%ld\n", atomic_long_read(&unchanged));
	seq_printf(m, "not, as the slot was taken\t%ld\n", atomic_long_read(&busy));
	seq_printf(m, "not, as others just had\t%ld\n", atomic_long_read(&resting));
}
