/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that a CPU collects, and writes to the rings many at a time: an event that
 * is a record of its own costs ten times as much.
 *
 * A CPU's batch is its own, with preemption disabled.  Who interrupts an addition
 * completes its own before that goes on, so the outermost addition, which alone has
 * batch->depth at 1, knows that all events up to batch->used are written.  It alone
 * writes the batch to the rings.  So nothing is locked, and no interrupt disabled.
 */
#ifndef EVMON_BATCH_H
#define EVMON_BATCH_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/timex.h>
#include <linux/workqueue.h>
#include <asm/local.h>

#include "event.h"
#include "packed.h"

/* A record of so many fills a page of a ring. */
#define BATCH_ROOM	124
/* The rest is for those who interrupt. */
#define BATCH_FULL	116

struct batch {
	unsigned int depth;
	local_t used;		/* may be more than BATCH_ROOM */
	struct evmon_packed events[BATCH_ROOM];
	struct work_struct flush;
};

extern struct batch __percpu *batches;

int batch_init(void);
void batch_exit(void);

/* Has all CPUs write what they collected.  May sleep. */
void batch_flush(void);

/* What is left of batch_add() once it is full: it may be written. */
void batch_add_full(struct batch *batch, long i, const struct evmon_site *site, u32 place,
		    const void *object, u64 value);

static __always_inline void batch_pack(struct evmon_packed *event,
				       const struct evmon_site *site, u32 place,
				       const void *object, u64 value)
{
	event->object = (unsigned long)object;
	event->value = value;
	event->cycles = get_cycles();
	event->pid = current->pid;
	event->place = place;
	event->type = site->type;
}

static __always_inline void batch_end(struct batch *batch)
{
	barrier();
	batch->depth--;
	preempt_enable_notrace();
}

/* Any context, NMIs included. */
static __always_inline void batch_add(const struct evmon_site *site, u32 place,
				      const void *object, u64 value)
{
	struct batch *batch;
	long i;

	preempt_disable_notrace();
	batch = this_cpu_ptr(batches);
	batch->depth++;
	barrier();
	i = local_inc_return(&batch->used) - 1;
	if (unlikely(i >= BATCH_FULL)) {
		batch_add_full(batch, i, site, place, object, value);
		return;
	}
	batch_pack(&batch->events[i], site, place, object, value);
	batch_end(batch);
}

#endif /* EVMON_BATCH_H */
