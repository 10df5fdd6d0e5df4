// SPDX-License-Identifier: GPL-2.0
/*
 * Implements watchdog.h: a second timer per CPU, which shares only the count of ticks with the
 * clock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "engine.h"
#include "watchdog.h"

#define PERIOD		(NSEC_PER_SEC / 4)
#define LEEWAY		(NSEC_PER_SEC / 20)
/* Period while a run is being ended. */
#define PERIOD_ENDING	(NSEC_PER_MSEC)
/* How long script code may exceed its time limit, at which the clock should have ended the run. */
#define OVERTIME	(5 * NSEC_PER_SEC)

/* Consecutive checks without a tick in between. */
#define UNSEEN_MAX	2

DEFINE_PER_CPU(struct watchdog, watchdogs);
static enum cpuhp_state hotplug_state __ro_after_init;

/* The run whose script code this timer has interrupted, or NULL. */
static struct atomic_run *run_interrupted(const struct watchdog *dog)
{
	const struct pt_regs *regs = get_irq_regs();

	if (!atomic_was_interrupted() || dog->task != current ||
	    dog->stack - regs->sp >= RUN_STACK_SIZE)
		return NULL;
	return dog->run;
}

/* Was the run in the same stretch of script code at the last check? */
static bool is_same_stretch(const struct watchdog *dog, const struct atomic_run *atomic)
{
	const struct run *run = &atomic->own.run;

	return dog->found == atomic->id && dog->time == run->time &&
	       dog->syscalls == run->syscalls && dog->quiet == atomic->countdown.quiet;
}

/* A period should have had more than 200 ticks. */
static bool is_missed(const struct watchdog *dog, const struct atomic_run *atomic)
{
	unsigned long ran = dog->looks * PERIOD;

	return dog->unseen >= UNSEEN_MAX ||
	       (ran > OVERTIME && ran - OVERTIME > atomic->own.run.time_limit);
}

/* True if the run has to be ended. */
static bool watchdog_look(struct watchdog *dog, struct atomic_run *atomic)
{
	bool same = is_same_stretch(dog, atomic), missed;
	struct run *run = &atomic->own.run;

	dog->looks = same ? dog->looks + 1 : 0;
	dog->unseen = same && dog->ticks == atomic->clock.ticks ? dog->unseen + 1 : 0;
	dog->found = atomic->id;
	dog->ticks = atomic->clock.ticks;
	dog->time = run->time;
	dog->syscalls = run->syscalls;
	dog->quiet = atomic->countdown.quiet;
	missed = is_missed(dog, atomic);
	if (missed && run->stop_reason != -ETIME)
		pr_err_ratelimited("a script of process %d was not watched on CPU %d: it is ended\n",
				   task_tgid_nr(current), smp_processor_id());
	if (missed) {
		run->stop_reason = -ETIME;
		luajit_engine.interrupt(run->vm);
	}
	return missed;
}

static enum hrtimer_restart watchdog_looks(struct hrtimer *timer)
{
	struct watchdog *dog = container_of(timer, struct watchdog, timer);
	struct atomic_run *atomic;
	bool ends = false;

	/* The timer's CPU went offline: watchdog_reset(). */
	if (dog != this_cpu_ptr(&watchdogs))
		return HRTIMER_NORESTART;
	atomic = run_interrupted(dog);
	if (atomic) {
		ends = watchdog_look(dog, atomic);
	} else if (!dog->heard && !atomic_may_enter()) {
		dog->armed = false;
		return HRTIMER_NORESTART;
	} else {
		dog->found = 0;
		dog->heard = 0;
	}
	hrtimer_set_expires_range_ns(timer,
				     ktime_add_ns(ktime_get(), ends ? PERIOD_ENDING : PERIOD),
				     ends ? 0 : LEEWAY);
	return HRTIMER_RESTART;
}

void watchdog_tell(struct atomic_run *atomic)
{
	struct watchdog *dog = this_cpu_ptr(&watchdogs);

	/* No check may combine one run's task with another run's stack. */
	WRITE_ONCE(dog->task, NULL);
	WRITE_ONCE(dog->run, atomic);
	WRITE_ONCE(dog->stack, atomic->own.stack);
	WRITE_ONCE(dog->task, atomic->own.task);
	WRITE_ONCE(dog->heard, atomic->id);
	if (READ_ONCE(dog->armed))
		return;
	dog->armed = true;
	dog->found = 0;
	hrtimer_start_range_ns(&dog->timer, ns_to_ktime(PERIOD), LEEWAY,
			       HRTIMER_MODE_REL_PINNED_HARD);
}

void watchdog_forget(struct atomic_run *atomic)
{
	int cpu;

	for_each_possible_cpu(cpu)
		cmpxchg(&per_cpu(watchdogs, cpu).run, atomic, NULL);
}

/* For a CPU that is offline: no code runs there. */
static int watchdog_reset(unsigned int cpu)
{
	struct watchdog *dog = &per_cpu(watchdogs, cpu);

	hrtimer_cancel(&dog->timer);
	dog->armed = false;
	dog->heard = 0;
	return 0;
}

int watchdog_init(void)
{
	int cpu, state;

	for_each_possible_cpu(cpu)
		compat_hrtimer_setup(&per_cpu(watchdogs, cpu).timer, watchdog_looks);
	state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "syscript:watchdog",
					  watchdog_reset, watchdog_reset);
	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

void watchdog_exit(void)
{
	int cpu;

	cpuhp_remove_state_nocalls(hotplug_state);
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(watchdogs, cpu).timer);
}
