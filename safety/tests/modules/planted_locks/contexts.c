// SPDX-License-Identifier: GPL-2.0
/* Calls functions in other contexts: a kernel thread, interrupts, another CPU. */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "planted_locks.h"

static void (*elsewhere_fn)(void);

static void in_work(struct work_struct *work)
{
	elsewhere_fn();
}
static DECLARE_WORK(work, in_work);

void in_kthread(void (*fn)(void))
{
	elsewhere_fn = fn;
	schedule_work(&work);
	flush_work(&work);
}

static void in_irq_work(struct irq_work *irq_work)
{
	elsewhere_fn();
}
static struct irq_work irq_work = IRQ_WORK_INIT_HARD(in_irq_work);

void in_hardirq_here(void (*fn)(void))
{
	elsewhere_fn = fn;
	irq_work_queue(&irq_work);
	irq_work_sync(&irq_work);
}

void elsewhere_begin(void (*fn)(void))
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());

	elsewhere_fn = fn;
	if (cpu < nr_cpu_ids)
		schedule_work_on(cpu, &work);
	else
		irq_work_queue(&irq_work);
}

void elsewhere_end(void)
{
	flush_work(&work);
	irq_work_sync(&irq_work);
}

static void in_tasklet(struct tasklet_struct *tasklet)
{
	elsewhere_fn();
}
static DECLARE_TASKLET(tasklet, in_tasklet);

void in_softirq_here(void (*fn)(void))
{
	elsewhere_fn = fn;
	tasklet_schedule(&tasklet);
	tasklet_unlock_wait(&tasklet);
	while (test_bit(TASKLET_STATE_SCHED, &tasklet.state))
		msleep(1);
}
