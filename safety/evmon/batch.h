/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A record for each event costs ten times as much as one for many: a CPU collects events and writes
 * them to the rings in batches.
 *
 * Only its CPU uses a batch, with preemption disabled. An interrupt completes its own additions
 * before the interrupted one continues. So when the outermost addition (batch->depth == 1) ends,
 * all events up to batch->used are complete. Only the outermost one writes the batch to the rings,
 * so there is no lock and interrupts stay enabled.
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

/* A record of this many events fills a page of a ring. */
#define BATCH_ROOM	124
/* The remaining slots are for interrupts. */
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

/* Makes all CPUs write the events that they collected. May sleep. */
void batch_flush(void);

/* The slow path of batch_add(), once the batch is full: writes it if possible. */
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

/* Any context, including NMIs. */
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
