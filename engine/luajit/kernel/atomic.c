// SPDX-License-Identifier: GPL-2.0
/*
 * Implements atomic.h. Script code is entered in begin() and left in end(), nowhere else.
 *
 * By the ABI no XMM register is preserved across a call, so compiled code does not depend on
 * their values outside of script code.
 */
#include <linux/atomic.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/time64.h>
#include <asm/sync_core.h>

#include "atomic.h"
#include "clock.h"
#include "watchdog.h"

/* One of this many stretches of script code is timed. */
#define SAMPLED_ONE_IN	128

static noinline void come_to_cpu(struct atomic_run *atomic)
{
	int cpu = smp_processor_id();

	clock_watch(atomic);
	if (atomic->clock.cpu == cpu)
		return;
	/* Machine code may have changed since this CPU fetched it. */
	sync_core();
	atomic->clock.cpu = cpu;
}

/* The registers are the task's. Prepares the entry to script code. */
static __always_inline void begin(struct atomic_run *atomic, bool rare)
{
	/* The order matters: see clock.h and watchdog.h. */
	if (unlikely(!clock_sees(&atomic->own.run)))
		come_to_cpu(atomic);
	if (unlikely(!watchdog_knows(atomic)))
		watchdog_tell(atomic);
	atomic->clock.since = 0;
	if (unlikely(atomic->samples.next)) {
		atomic->samples.next = false;
		atomic->samples.timed = true;
		atomic->clock.since = atomic->clock.seen = cycles_now();
	}
	atomic->rare = rare;
	if (unlikely(rare || !atomic->thunks))
		atomic_look(atomic);
}

/*
 * A script can predict ticks, and leave script code before each. So a random sample of its
 * stretches is timed as well.
 */
static u32 random(struct atomic_run *atomic)
{
	atomic->samples.random ^= atomic->samples.random << 13;
	atomic->samples.random ^= atomic->samples.random >> 17;
	atomic->samples.random ^= atomic->samples.random << 5;
	return atomic->samples.random;
}

static noinline void take_sample(struct atomic_run *atomic)
{
	if (atomic->samples.timed) {
		atomic->samples.timed = false;
		atomic->countdown.quiet = random(atomic) % (2 * SAMPLED_ONE_IN);
	} else {
		atomic->samples.next = true;
		atomic->countdown.quiet = 0;
	}
}

static noinline void account(struct atomic_run *atomic)
{
	struct run *run = &atomic->own.run;
	const struct atomic_clock *clock = &atomic->clock;
	u64 ran = cycles_ns(clock_charged_until(clock, cycles_now()) - clock->since);

	if (ran > run->preempt_max)
		run->preempt_max = ran;
	run->time += ran;
	/* Ticks measure longer stretches well enough. */
	if (atomic->samples.timed)
		atomic->samples.ns += min_t(u64, ran, NSEC_PER_MSEC) * SAMPLED_ONE_IN;
}

static __always_inline void end(struct atomic_run *atomic)
{
	if (unlikely(atomic->clock.since))
		account(atomic);
	if (unlikely(--atomic->countdown.quiet < 0)) {
		atomic->countdown.quiet = atomic->countdown.left - 1;
		atomic->countdown.left = 0;
		if (atomic->countdown.quiet < 0)
			take_sample(atomic);
	}
	fpu_unlock(atomic->own.thread);
}

/*
 * An estimate from few samples is rough. So it ends a run only at four times the limit, and only
 * if the task has used that much CPU time.
 */
static __always_inline bool is_over_time(const struct atomic_run *atomic)
{
	const struct run *run = &atomic->own.run;

	return run->time > run->deadline ||
	       (atomic->samples.ns > 4 * (u64)run->time_limit &&
		run_task_time() - atomic->samples.task_time > run->time_limit);
}

/* -- run_atomic_ops ---------------------------------------------------------------- */

static void init(struct run_priv *own)
{
	struct atomic_run *atomic = atomic_run(own);

	atomic->clock.cpu = -1;
	atomic->samples.random = get_random_u32() | 1;
}

static void change(struct run_priv *own)
{
	static atomic64_t ids;
	struct atomic_run *atomic = atomic_run(own);

	clock_forget(atomic);
	atomic->id = atomic64_inc_return(&ids);
}

static void forget(struct run_priv *own)
{
	clock_forget(atomic_run(own));
	watchdog_forget(atomic_run(own));
}

static noinline long script(struct run_priv *own, long (*fn)(void *arg), void *arg, void *stack)
{
	struct atomic_run *atomic = atomic_run(own);
	bool rare = run_begin_anew(own) || run_task_needs_slowpath();
	long ret;

	atomic->thunks = stack && !own->thread;
	atomic->samples.ns = 0;
	atomic->samples.task_time = run_task_time();
	run_set_limits(own);
	fpu_lock(own->thread);
	begin(atomic, rare);
	fpu_take(&atomic->fpu);
	ret = stack ? atomic_stack_on(fn, arg, stack, &own->task_stack) : fn(arg);
	fpu_restore(&atomic->fpu);
	end(atomic);
	run_end(own, ret);
	return ret;
}

/*
 * Called by atomic_stack_off(). Clears the engine's values from registers: a debugger could stop
 * the task in a call, or while a filter is asked, and read them.
 */
long atomic_sleepable(void *arg);
long atomic_sleepable(void *arg)
{
	struct run_work *work = arg;
	struct run_priv *own = work->own;
	struct atomic_run *atomic = atomic_run(own);
	long ret;

	fpu_clear();
	end(atomic);
	if (unlikely(is_over_time(atomic)))
		run_stop(&own->run, -ETIME);
	ret = INDIRECT_CALL_1(work->fn, run_work_syscall, work);
	run_checkpoint(own, work->waits);
	fpu_lock_again(own->thread);
	begin(atomic, run_needs_slowpath(own));
	return ret;
}

static long leave(struct run_work *work)
{
	void *home = work->own->task_stack;

	return likely(home) ? atomic_stack_off(atomic_sleepable, work, home) :
			      atomic_sleepable(work);
}

const struct run_atomic_ops atomic_ops = {
	.room = offsetof(struct atomic_run, own),
	.init = init,
	.change = change,
	.forget = forget,
	.script = script,
	.leave = leave,
};
