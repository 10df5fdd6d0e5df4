// SPDX-License-Identifier: GPL-2.0
/*
 * See run.h.  Script code is entered in run_begin() and left in run_end(),
 * nowhere else.  For an engine that is not preemptible preemption and bottom
 * halves are off in between, and the FPU is the engine's (fpu.h).
 *
 * The task's stack stays as it was at the entry, so what may sleep runs there:
 * stack_off().  No XMM register is preserved across a call, so compiled code does
 * not notice.
 */
#include <linux/export.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/tick.h>
#include <asm/sync_core.h>

#include "clock.h"
#include "compat.h"
#include "engine.h"
#include "fpu.h"
#include "internals.h"
#include "run_own.h"
#include "scratch.h"
#include "syscalls.h"
#include "usermode.h"
#include "watchdog.h"

/* One stretch of script code in so many is timed. */
#define SAMPLED_ONE_IN	128

/* -- In and out of script code ----------------------------------------------- */

/*
 * The scheduler accounts for the task's time, with each of its ticks.  Where it does
 * without most of them it is asked.
 */
static __always_inline u64 task_time(void)
{
	if (tick_nohz_full_enabled())
		return static_call(internals_task_time)(current);
	return READ_ONCE(current->se.sum_exec_runtime);
}

static noinline void come_to_cpu(struct run_own *own)
{
	int cpu = smp_processor_id();

	clock_watch(&own->run, own->stack, own->clock.cpu);
	if (own->clock.cpu == cpu)
		return;
	/* Machine code may have changed since this CPU fetched it. */
	sync_core();
	own->clock.cpu = cpu;
}

static __always_inline void atomic_begin(struct run_own *own, bool again)
{
	if (again)
		fpu_lock_again(own->thread);
	else
		fpu_lock(own->thread);
	/* In this order: see clock.h and watchdog.h. */
	if (unlikely(!clock_sees(&own->run)))
		come_to_cpu(own);
	if (unlikely(!watchdog_knows(own)))
		watchdog_tell(own);
	own->clock.since = 0;
	if (unlikely(own->samples.next)) {
		own->samples.next = false;
		own->samples.timed = true;
		own->clock.since = own->clock.seen = clock_cycles();
	}
}

/*
 * Ticks look at script code at times that a script can foresee, and it could be
 * outside whenever one comes.  So one stretch in some is timed as well, and no
 * script knows which.
 */
static u32 random(struct run_own *own)
{
	own->samples.random ^= own->samples.random << 13;
	own->samples.random ^= own->samples.random >> 17;
	own->samples.random ^= own->samples.random << 5;
	return own->samples.random;
}

static noinline void take_sample(struct run_own *own)
{
	if (own->samples.timed) {
		own->samples.timed = false;
		own->countdown.quiet = random(own) % (2 * SAMPLED_ONE_IN);
	} else {
		own->samples.next = true;
		own->countdown.quiet = 0;
	}
}

static noinline void account(struct run_own *own)
{
	u64 ran = clock_ns(clock_cycles() - own->clock.since);

	if (ran > own->run.preempt_max)
		own->run.preempt_max = ran;
	own->run.time += ran;
	/* Ticks see longer stretches well enough. */
	if (own->samples.timed)
		own->samples.ns += min_t(u64, ran, NSEC_PER_MSEC) * SAMPLED_ONE_IN;
}

static __always_inline void atomic_end(struct run_own *own)
{
	if (unlikely(own->clock.since))
		account(own);
	if (unlikely(--own->countdown.quiet < 0)) {
		own->countdown.quiet = own->countdown.left - 1;
		own->countdown.left = 0;
		if (own->countdown.quiet < 0)
			take_sample(own);
	}
	fpu_unlock(own->thread);
}

/*
 * Gates that find nothing rare look at no more than what can become so at any time:
 * run_is_quiet().
 */
static __always_inline bool task_has_rare(void)
{
	return unlikely(test_restore_sigmask()) || unlikely(!audit_dummy_context());
}

static __always_inline bool has_rare(const struct run_own *own)
{
	return own->run.doom || own->meanwhile.signalled || task_has_rare();
}

static __always_inline void preemptible_begin(struct run_own *own, bool stack)
{
	unsigned long closed = ~own->meanwhile.seen;
	unsigned long open = own->gate.rare ? closed : own->meanwhile.seen;

	own->clock.since = task_time();
	own->gate.open = stack ? closed : open;
	own->gate.open_home = stack ? open : closed;
}

/*
 * @atomic is own->atomic, where callers can say it twice: what only one kind of engine
 * needs costs the other one nothing.  @again: it has been left in the middle of the run.
 * @stack: it runs on one of its own.
 */
static __always_inline void run_begin(struct run_own *own, bool atomic, bool again, bool stack,
				      bool rare)
{
	own->gate.rare = rare;
	if (!atomic)
		return preemptible_begin(own, stack);
	atomic_begin(own, again);
	if (unlikely(own->gate.rare || !own->gate.used))
		run_look(own);
}

static __always_inline void run_end(struct run_own *own, bool atomic)
{
	if (atomic)
		atomic_end(own);
	else
		own->run.time += task_time() - own->clock.since;
}

/*
 * An estimate from few samples is rough.  It ends a run at four times the limit,
 * where the ticks have not, and only if the task has had as much time at all.
 */
static __always_inline bool is_over_time(const struct run_own *own)
{
	return own->run.time > own->run.deadline ||
	       (own->samples.ns > 4 * (u64)own->run.time_limit &&
		task_time() - own->samples.task_time > own->run.time_limit);
}

/* The run is another task's than its last one, or on another stack. */
static noinline void change_hands(struct run_own *own, void *stack)
{
	static atomic64_t ids;

	clock_forget(&own->run, own->clock.cpu);
	own->id = atomic64_inc_return(&ids);
	own->task = current;
	own->stack = (unsigned long)stack;
	own->home = NULL;
	own->atomic = !own->run.engine->preemptible;
}

static noinline void at_end(struct run_own *own, bool well)
{
	struct run_keeper *keeper;

	watchers_hide(&own->outer, current_pt_regs());
	/* idle.c tidies up between two calls, and leaves what is kept from one to the next. */
	if (own->thread)
		return;
	for (keeper = own->held.keepers; keeper; keeper = keeper->next)
		keeper->end_run(keeper, well);
}

/*
 * Clears what the last run has left, and says whether a doom has stayed.  Not for idle.c's
 * runs: the process may still read its error.
 */
static __always_inline bool begin_anew(struct run_own *own)
{
	struct run *run = &own->run;
	int doom = run->doom;

	if (unlikely(own->thread))
		return doom;
	if (unlikely(doom) && run_doom_passes(doom))
		run->doom = doom = 0;
	run->error_len = 0;
	run->error[0] = '\0';
	return doom;
}

static __always_inline long run_as(struct run_own *own, long (*fn)(void *arg), void *arg,
				   void *stack, bool atomic)
{
	struct run *run = &own->run;
	bool rare;
	long ret;

	own->thread = current->flags & PF_KTHREAD;
	rare = begin_anew(own) || task_has_rare();
	if (atomic) {
		own->gate.used = stack && !own->thread;
		own->samples.ns = 0;
		own->samples.task_time = task_time();
	}
	run->deadline = run->time + run->time_limit;
	own->meanwhile.signalled = 0;
	own->meanwhile.used = 0;
	own->meanwhile.seen = jiffies;
	run_begin(own, atomic, false, stack, rare);
	if (atomic)
		fpu_take(&own->fpu);
	if (stack)
		ret = stack_on(fn, arg, stack, &own->home);
	else
		ret = INDIRECT_CALL_1(fn, confined_enter, arg);
	if (atomic)
		fpu_restore(&own->fpu);
	run_end(own, atomic);
	if (unlikely(own->outer.shown || own->held.keepers))
		at_end(own, ret >= 0 && !run->doom);
	return ret;
}

/* Each saves only the registers that it needs itself. */
static noinline long run_atomic(struct run_own *own, long (*fn)(void *arg), void *arg,
				void *stack)
{
	return run_as(own, fn, arg, stack, true);
}

static noinline long run_preemptible(struct run_own *own, long (*fn)(void *arg), void *arg,
				     void *stack)
{
	return stack ? run_as(own, fn, arg, stack, false) :
		       run_as(own, fn, arg, NULL, false);
}

static noinline long run_anew(struct run_own *own, long (*fn)(void *arg), void *arg,
			      void *stack)
{
	change_hands(own, stack);
	return own->atomic ? run_atomic(own, fn, arg, stack) :
			     run_preemptible(own, fn, arg, stack);
}

long run_script(struct run *run, long (*fn)(void *arg), void *arg, void *stack)
{
	struct run_own *own = run_own(run);

	if (unlikely(own->task != current || own->stack != (unsigned long)stack))
		return run_anew(own, fn, arg, stack);
	return own->atomic ? run_atomic(own, fn, arg, stack) :
			     run_preemptible(own, fn, arg, stack);
}
EXPORT_SYMBOL_NS_GPL(run_script, COMPAT_NS(SYSCRIPT));

void run_abandon(struct run *run, long ret)
{
	stack_abandon(ret, run_own(run)->home);
}
EXPORT_SYMBOL_NS_GPL(run_abandon, COMPAT_NS(SYSCRIPT));

/* -- What has happened meanwhile --------------------------------------------- */

static void look_at_signals(struct run_own *own)
{
	if (fatal_signal_pending(current)) {
		own->run.doom = -ECANCELED;
	} else if (!usermode_flags(USERMODE_ENDS)) {
		own->meanwhile.signalled = 0;
	} else if (!own->meanwhile.signalled) {
		own->meanwhile.signalled = jiffies | 1;
	} else if (run_has_passed(own->meanwhile.signalled, own->run.grace)) {
		run_doom(&own->run, -EINTR);
	}
}

/*
 * Once in a tick: adds up the time since the last one, unless the task @waited in a way
 * that a signal could have ended; and lets cgroups throttle the task, audit count its
 * rules, and users of RCU's tasks go on: a run may neither sleep nor return to user mode
 * for long.
 */
static noinline void look_at_clocks(struct run_own *own, bool waited)
{
	unsigned long now = jiffies;

	if (!waited)
		own->meanwhile.used += now - own->meanwhile.seen;
	own->meanwhile.seen = now;
	if (own->run.wall_limit != SYSCRIPT_NO_LIMIT &&
	    jiffies_to_nsecs(own->meanwhile.used) > own->run.wall_limit)
		run_doom(&own->run, -ETIMEDOUT);
	usermode_throttle();
	audits_look();
	cond_resched_tasks_rcu_qs();
}

static noinline void do_work(struct run_own *own)
{
	if (usermode_flags(USERMODE_RESCHED))
		schedule();
	look_at_signals(own);
}

/* After each call, with no lock held but the script's turn: docs/design/runs.md. */
static __always_inline void look(struct run_own *own, bool waits)
{
	/* Before the works, which may sleep as well. */
	bool waited = waits && current->nvcsw != own->call.switches;

	usermode_works();
	if (unlikely(jiffies != own->meanwhile.seen))
		look_at_clocks(own, waited);
	if (unlikely(usermode_flags(USERMODE_FLAGS)))
		do_work(own);
	else
		own->meanwhile.signalled = 0;
}

bool run_is_over(struct run *run, bool waits)
{
	struct run_own *own = run_own(run);

	look(own, waits);
	own->call.switches = current->nvcsw;
	return run->doom;
}

int run_pending(struct run *run)
{
	return signal_pending(current);
}
EXPORT_SYMBOL_NS_GPL(run_pending, COMPAT_NS(SYSCRIPT));

/* -- What may sleep ---------------------------------------------------------- */

/* Calls work->fn() on the task's stack, preemptible. */
struct sleepable {
	struct run_own *own;
	long (*fn)(struct sleepable *work);
	unsigned int index;		/* of a system call */
	long ret;			/* of one that has been made */
	long answer;			/* about one that filters were asked about */
	long (*as_syscall)(void *arg);
	void *arg;
	bool waits;
};

static long sleepable_syscall(struct sleepable *work)
{
	long ret = 0;
	int err;

	/* The engine takes it to its end, and may be on the way. */
	if (unlikely(run_doom_passes(work->own->run.doom)))
		return -EINTR;
	err = syscalls_call(work->index, &work->own->call.regs, &ret);
	if (unlikely(err))
		run_doom(&work->own->run, err);
	return ret;
}

static long sleepable_answered(struct sleepable *work)
{
	struct run_own *own = work->own;
	long ret = 0;
	int err = syscalls_call_answered(work->index, &own->call.regs, work->answer, &ret);

	if (err)
		run_doom(&own->run, err);
	return ret;
}

static long sleepable_after_syscall(struct sleepable *work)
{
	return syscalls_result(work->ret);
}

/* Called by stack_off(). */
long run_sleepable(void *arg);
long run_sleepable(void *arg)
{
	struct sleepable *work = arg;
	struct run_own *own = work->own;
	long ret;

	run_end(own, own->atomic);
	if (unlikely(is_over_time(own)))
		run_doom(&own->run, -ETIME);
	ret = INDIRECT_CALL_1(work->fn, sleepable_syscall, work);
	look(own, work->waits);
	run_begin(own, own->atomic, true, own->stack, has_rare(own));
	return ret;
}

static __always_inline long do_sleepable_late(struct sleepable *work)
{
	void *home = work->own->home;

	return likely(home) ? stack_off(run_sleepable, work, home) : run_sleepable(work);
}

static __always_inline long do_sleepable(struct sleepable *work)
{
	work->own->call.switches = current->nvcsw;
	return do_sleepable_late(work);
}

static long sleepable_nothing(struct sleepable *work)
{
	return 0;
}

void run_poll(struct run *run)
{
	struct sleepable work = { .own = run_own(run), .fn = sleepable_nothing };

	do_sleepable(&work);
}
EXPORT_SYMBOL_NS_GPL(run_poll, COMPAT_NS(SYSCRIPT));

static __always_inline long syscall_returned(struct run_own *own, long ret)
{
	struct run *run = &own->run;

	run->syscalls++;
	if (unlikely(run->doom) && run->engine->end)
		run->engine->end(run->vm);
	return ret;
}

/*
 * Functions that call syscall_returned() may leave their frame without returning: its
 * poison would stay, and KASAN report the next frames there.
 */
#define MAY_END	__no_sanitize_address

MAY_END long run_syscall_sleepable(struct run *run, unsigned int index, bool waits)
{
	struct run_own *own = run_own(run);
	struct sleepable work = {
		.own = own, .fn = sleepable_syscall, .index = index, .waits = waits,
	};

	return syscall_returned(own, do_sleepable(&work));
}

/* The tick came after script code was left: none of the time is its. */
static long look_after(struct sleepable *work)
{
	struct run_own *own = work->own;

	if (!own->atomic)
		own->clock.since = task_time();
	return do_sleepable_late(work);
}

static MAY_END long leave_after(struct sleepable *work)
{
	return syscall_returned(work->own, look_after(work));
}

MAY_END long run_syscall_answered(struct run *run, unsigned int index, bool waits, long answer)
{
	struct sleepable work = {
		.own = run_own(run), .fn = sleepable_answered, .index = index,
		.waits = waits, .answer = answer,
	};

	return leave_after(&work);
}

MAY_END long run_after_syscall(struct run *run, long ret, bool waits)
{
	struct sleepable work = {
		.own = run_own(run), .fn = sleepable_after_syscall, .ret = ret, .waits = waits,
	};

	return leave_after(&work);
}

long run_after_batch(struct run *run, long ret)
{
	struct sleepable work = {
		.own = run_own(run), .fn = sleepable_after_syscall, .ret = ret, .waits = true,
	};

	return look_after(&work);
}

static long sleepable_as_syscall(struct sleepable *work)
{
	int err = watchers_check();

	if (unlikely(err)) {
		run_doom(&work->own->run, err);
		return err;
	}
	return syscalls_result(work->as_syscall(work->arg));
}

long run_as_syscall(struct run *run, long (*fn)(void *arg), void *arg, int waits)
{
	struct sleepable work = {
		.own = run_own(run), .fn = sleepable_as_syscall,
		.as_syscall = fn, .arg = arg, .waits = waits,
	};

	run->syscalls++;
	return do_sleepable(&work);
}
EXPORT_SYMBOL_NS_GPL(run_as_syscall, COMPAT_NS(SYSCRIPT));

static long sleepable_other(struct sleepable *work)
{
	return work->as_syscall(work->arg);
}

long run_outside(struct run *run, long (*fn)(void *arg), void *arg)
{
	struct sleepable work = {
		.own = run_own(run), .fn = sleepable_other,
		.as_syscall = fn, .arg = arg,
	};

	return do_sleepable(&work);
}

/* -- What a run holds -------------------------------------------------------- */

long run_scratch_mapped(struct run *run)
{
	long addr;

	if (run->scratch)
		return run->scratch;
	addr = scratch_map(&run_own(run)->held.scratch);
	if (!IS_ERR_VALUE(addr))
		run->scratch = addr;
	return addr;
}

static long map_scratch(void *run)
{
	return run_scratch_mapped(run);
}

long run_scratch(struct run *run)
{
	return run->scratch ?: run_outside(run, map_scratch, run);
}
EXPORT_SYMBOL_NS_GPL(run_scratch, COMPAT_NS(SYSCRIPT));

char *run_buffer(struct run *run)
{
	struct run_own *own = run_own(run);

	if (!own->held.buffer)
		own->held.buffer = kvmalloc(RUN_BUFFER_SIZE, GFP_KERNEL_ACCOUNT);
	return own->held.buffer;
}
EXPORT_SYMBOL_NS_GPL(run_buffer, COMPAT_NS(SYSCRIPT));

struct run *run_create(void)
{
	struct run_own *own = kvmalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);

	if (!own)
		return NULL;
	memset(own, 0, offsetof(struct run_own, run.output.text));
	own->clock.cpu = -1;
	own->samples.random = get_random_u32() | 1;
	return &own->run;
}

void run_release(struct run *run)
{
	struct run_own *own = run_own(run);

	scratch_unmap(own->held.scratch);
	own->held.scratch = NULL;
	kvfree(own->held.buffer);
	own->held.buffer = NULL;
	while (own->held.keepers) {
		struct run_keeper *keeper = own->held.keepers;

		own->held.keepers = keeper->next;
		keeper->release(keeper);
	}
}

void run_destroy(struct run *run)
{
	run_release(run);
	clock_forget(run, run_own(run)->clock.cpu);
	watchdog_forget(run_own(run));
	kvfree(run_own(run));
}
