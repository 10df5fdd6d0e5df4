// SPDX-License-Identifier: GPL-2.0
/* Writes the events that a CPU has collected to the rings; see batch.h. */
#include <linux/cpu.h>

#include "batch.h"
#include "trace.h"

struct batch __percpu *batches;

/* Events that interrupts add meanwhile are written as well. */
static void batch_write(struct batch *batch)
{
	long used, end, written = 0;

	/* An interrupted addition has not stored its event yet. */
	if (batch->depth > 1)
		return;
	do {
		used = local_read(&batch->used);
		end = min_t(long, used, BATCH_ROOM);
		if (written < end)
			trace_evmon_batch(batch->events + written, end - written);
		written = end;
	} while (local_cmpxchg(&batch->used, used, 0) != used);
}

/* The batch is full: interrupts added more events than it has room for. */
static void write_alone(const struct evmon_site *site, u32 place, const void *object,
			u64 value)
{
	struct evmon_packed event;

	batch_pack(&event, site, place, object, value);
	trace_evmon_batch(&event, 1);
}

void batch_add_full(struct batch *batch, long i, const struct evmon_site *site, u32 place,
		    const void *object, u64 value)
{
	if (i < BATCH_ROOM)
		batch_pack(&batch->events[i], site, place, object, value);
	else
		write_alone(site, place, object, value);
	barrier();
	batch_write(batch);
	batch_end(batch);
}

/* Runs in process context, so it interrupts no addition. */
static void flush_here(struct work_struct *work)
{
	struct batch *batch;

	preempt_disable_notrace();
	batch = this_cpu_ptr(batches);
	batch->depth++;
	barrier();
	batch_write(batch);
	batch_end(batch);
}

/* A CPU that went offline writes its batch when it is online again. */
void batch_flush(void)
{
	int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		queue_work_on(cpu, system_highpri_wq, &per_cpu_ptr(batches, cpu)->flush);
	for_each_online_cpu(cpu)
		flush_work(&per_cpu_ptr(batches, cpu)->flush);
	cpus_read_unlock();
}

int batch_init(void)
{
	int cpu;

	batches = alloc_percpu(struct batch);
	if (!batches)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu_ptr(batches, cpu)->flush, flush_here);
	return 0;
}

void batch_exit(void)
{
	free_percpu(batches);
}
