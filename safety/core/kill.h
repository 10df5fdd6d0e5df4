/* SPDX-License-Identifier: GPL-2.0 */
/* Kills the task at fault. Included once in a module. */
#ifndef SAFETY_KILL_H
#define SAFETY_KILL_H

#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

struct killing {
	struct irq_work work;
	struct task_struct *task;
};

static DEFINE_PER_CPU(struct killing, killings);

/* The task may hold its siglock with interrupts off: signal it from irq_work. */
static void kill_task(struct irq_work *work)
{
	struct killing *killing = container_of(work, struct killing, work);
	struct task_struct *task = xchg(&killing->task, NULL);

	if (!task)
		return;
	send_sig(SIGKILL, task, 1);
	put_task_struct(task);
}

/* If killable, it dies at its next return to user space, with its locks released. */
static bool kill_current(void)
{
	struct killing *killing;

	if (!in_task() || current->flags & (PF_KTHREAD | PF_EXITING) ||
	    is_global_init(current))
		return false;
	preempt_disable();
	killing = this_cpu_ptr(&killings);
	get_task_struct(current);
	if (!cmpxchg(&killing->task, NULL, current))
		irq_work_queue(&killing->work);
	else
		put_task_struct(current);
	preempt_enable();
	return true;
}

static void kill_init(void)
{
	int cpu;

	/* Set up at run time: the loader did not relocate per-CPU data before 6.13. */
	for_each_possible_cpu(cpu)
		per_cpu(killings, cpu).work = IRQ_WORK_INIT_HARD(kill_task);
}

static void kill_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(killings, cpu).work);
}

#endif
