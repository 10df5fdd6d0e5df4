// SPDX-License-Identifier: GPL-2.0
/*
 * Holding back the network receive softirq, see backlog.h.
 *
 * The backlog is a NAPI instance: whoever sets NAPI_STATE_SCHED has to schedule
 * it, and until then others just queue their packets.  The bit is only touched
 * under the queue's lock, as enqueue_to_backlog() and process_backlog() do.
 */
#include "backlog.h"

#include <linux/bottom_half.h>
#include <linux/irq_work.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

/* On PREEMPT_RT softirqs are another task's, and the lock may sleep. */
#if defined(CONFIG_PREEMPT_NOTIFIERS) && !defined(CONFIG_PREEMPT_RT)

static void schedule_backlog(struct irq_work *work)
{
	__napi_schedule(&this_cpu_ptr(&softnet_data)->backlog);
}

/* One is enough for a CPU: until it has run, nobody else gets the backlog. */
static DEFINE_PER_CPU(struct irq_work, backlog_works);

static void hold_sched_out(struct preempt_notifier *notifier,
			   struct task_struct *next)
{
	struct backlog_hold *hold =
		container_of(notifier, struct backlog_hold, notifier);

	/* The run queue is locked: no place to wake ksoftirqd. */
	if (hold->held)
		irq_work_queue(this_cpu_ptr(&backlog_works));
	hold->held = false;
}

static void hold_sched_in(struct preempt_notifier *notifier, int cpu)
{
}

static struct preempt_ops hold_ops = {
	.sched_in = hold_sched_in,
	.sched_out = hold_sched_out,
};

void backlog_init(void)
{
	int cpu;

	/* No initializer: modules' per-CPU data is not relocated. */
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(&backlog_works, cpu) =
			IRQ_WORK_INIT_HARD(schedule_backlog);
	preempt_notifier_inc();
}

void backlog_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&backlog_works, cpu));
	preempt_notifier_dec();
}

void backlog_hold(struct backlog_hold *hold)
{
	struct softnet_data *sd;
	unsigned long flags;

	hold->held = false;
	preempt_notifier_init(&hold->notifier, &hold_ops);
	preempt_notifier_register(&hold->notifier);

	local_irq_save(flags);
	sd = this_cpu_ptr(&softnet_data);
	spin_lock(&sd->input_pkt_queue.lock);
	hold->held = !__test_and_set_bit(NAPI_STATE_SCHED, &sd->backlog.state);
	spin_unlock(&sd->input_pkt_queue.lock);
	local_irq_restore(flags);
}

void backlog_release(struct backlog_hold *hold)
{
	struct softnet_data *sd;

	local_bh_disable();
	sd = this_cpu_ptr(&softnet_data);
	if (hold->held) {
		spin_lock_irq(&sd->input_pkt_queue.lock);
		if (skb_queue_empty(&sd->input_pkt_queue)) {
			__clear_bit(NAPI_STATE_SCHED, &sd->backlog.state);
			hold->held = false;
		}
		spin_unlock_irq(&sd->input_pkt_queue.lock);
		if (hold->held)
			__napi_schedule(&sd->backlog);
		hold->held = false;
	}
	/* The pass is here. */
	local_bh_enable();
	preempt_notifier_unregister(&hold->notifier);
}

#else

void backlog_init(void) {}
void backlog_exit(void) {}
void backlog_hold(struct backlog_hold *hold) {}
void backlog_release(struct backlog_hold *hold) {}

#endif
