// SPDX-License-Identifier: GPL-2.0
/*
 * Implements run.h for the module.  A run must be able to sleep, be killed and be timed, without
 * a check in script code: script code is entered and left only in run_preemptible() and, between
 * those two, in run_sleepable(). Engines that are not preemptible bring both: struct
 * run_atomic_ops.  The task's stack stays as it was at the entry, so functions that may sleep run
 * there: stack_off().
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "compat.h"
#include "engine.h"
#include "engine_call.h"
#include "internals.h"
#include "run_priv.h"
#include "scratch.h"
#include "syscalls.h"
#include "usermode.h"

/* -- Engines' functions, called directly ---------------------------------------- */

static long no_enter(void *arg)
{
	return -EOPNOTSUPP;
}

static long no_script(struct run_priv *own, long (*fn)(void *arg), void *arg, void *stack)
{
	return -EOPNOTSUPP;
}

static long no_leave(struct run_work *work)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(run_enter, no_enter);
DEFINE_STATIC_CALL(run_atomic_script, no_script);
DEFINE_STATIC_CALL(run_atomic_leave, no_leave);

void run_set_enter(const struct engine_ops *engine)
{
	static_call_update(run_enter, engine ? engine->enter : no_enter);
}

void run_set_atomic(const struct run_atomic_ops *ops)
{
	static_call_update(run_atomic_script, ops ? ops->script : no_script);
	static_call_update(run_atomic_leave, ops ? ops->leave : no_leave);
}

/* -- In and out of script code ----------------------------------------------- */

u64 run_ask_task_time(void)
{
	return static_call(internals_task_time)(current);
}
EXPORT_SYMBOL_NS_GPL(run_ask_task_time, COMPAT_NS(SYSCRIPT));

static __always_inline void run_begin_call(struct run_priv *own, bool stack, bool rare)
{
	unsigned long closed = ~own->wallclock.seen;
	unsigned long open = rare ? closed : own->wallclock.seen;

	own->since = run_task_time();
	own->fastpath.open = stack ? closed : open;
	own->fastpath.open_task_stack = stack ? open : closed;
}

static __always_inline void run_leave(struct run_priv *own)
{
	own->run.time += run_task_time() - own->since;
}

/* The run has moved: to another task than its last run, or to another stack. */
static noinline void change_hands(struct run_priv *own, void *stack)
{
	const struct run_atomic_ops *atomic = own->run.engine->atomic;

	if (atomic)
		atomic->change(own);
	own->task = current;
	own->stack = (unsigned long)stack;
	own->task_stack = NULL;
	own->atomic = atomic;
}

void run_end_rare(struct run_priv *own, bool well)
{
	struct run_keeper *keeper;

	observers_hide(&own->outer, current_pt_regs());
	/* Kernel threads have no state to set up or to clean up between calls. */
	if (own->thread)
		return;
	for (keeper = own->resources.keepers; keeper; keeper = keeper->next)
		keeper->end_run(keeper, well);
}
EXPORT_SYMBOL_NS_GPL(run_end_rare, COMPAT_NS(SYSCRIPT));

/* Calls @fn on the caller's stack. */
static __always_inline long call_here(long (*fn)(void *arg), void *arg)
{
	return likely(static_call_is(run_enter, fn)) ? static_call(run_enter)(arg) : fn(arg);
}

static __always_inline long run_as(struct run_priv *own, long (*fn)(void *arg), void *arg,
				   void *stack)
{
	bool rare = run_begin_anew(own) || run_task_needs_slowpath();
	long ret;

	run_set_limits(own);
	run_begin_call(own, stack, rare);
	ret = stack ? stack_on(fn, arg, stack, &own->task_stack) : call_here(fn, arg);
	run_leave(own);
	run_end(own, ret);
	return ret;
}

/*
 * Not inlined: each branch saves only the registers that it needs. Where runs have no stacks of
 * their own, there is one branch, for run_either().
 */
static noinline long run_preemptible(struct run_priv *own, long (*fn)(void *arg), void *arg,
				     void *stack)
{
	return stack ? run_as(own, fn, arg, stack) : run_as(own, fn, arg, NULL);
}

static __always_inline long run_either(struct run_priv *own, long (*fn)(void *arg), void *arg,
				       void *stack)
{
	if (own->atomic)
		return static_call(run_atomic_script)(own, fn, arg, stack);
	return ARCH_SWITCHES_STACKS ? run_preemptible(own, fn, arg, stack) :
				      run_as(own, fn, arg, NULL);
}

static noinline long run_anew(struct run_priv *own, long (*fn)(void *arg), void *arg,
			      void *stack)
{
	change_hands(own, stack);
	return run_either(own, fn, arg, stack);
}

long run_script(struct run *run, long (*fn)(void *arg), void *arg, void *stack)
{
	struct run_priv *own = run_priv(run);

	if (unlikely(own->task != current || own->stack != (unsigned long)stack))
		return run_anew(own, fn, arg, stack);
	return run_either(own, fn, arg, stack);
}
EXPORT_SYMBOL_NS_GPL(run_script, COMPAT_NS(SYSCRIPT));

void run_abandon(struct run *run, long ret)
{
	stack_abandon(ret, run_priv(run)->task_stack);
}
EXPORT_SYMBOL_NS_GPL(run_abandon, COMPAT_NS(SYSCRIPT));

/* -- Signals and time during a run ------------------------------------------- */

static void look_at_signals(struct run_priv *own)
{
	if (fatal_signal_pending(current)) {
		own->run.stop_reason = -ECANCELED;
	} else if (!usermode_flags(USERMODE_ENDS)) {
		own->wallclock.signalled = 0;
	} else if (!own->wallclock.signalled) {
		own->wallclock.signalled = jiffies | 1;
	} else if (run_has_passed(own->wallclock.signalled, own->run.grace)) {
		run_stop(&own->run, -EINTR);
	}
}

/*
 * Once a tick: adds the time since the last tick, unless the task @waited in a way that a signal
 * could have ended.  Also lets cgroups throttle the task, audit count its rules, and RCU-tasks
 * readers go on, because a run may not sleep or return to user mode for long.
 */
noinline void run_check_clocks(struct run_priv *own, bool waited)
{
	unsigned long now = jiffies;

	if (!waited)
		own->wallclock.used += now - own->wallclock.seen;
	own->wallclock.seen = now;
	if (own->run.wall_limit != SYSCRIPT_NO_LIMIT &&
	    jiffies_to_nsecs(own->wallclock.used) > own->run.wall_limit)
		run_stop(&own->run, -ETIMEDOUT);
	usermode_throttle();
	audits_look();
	cond_resched_tasks_rcu_qs();
}
EXPORT_SYMBOL_NS_GPL(run_check_clocks, COMPAT_NS(SYSCRIPT));

noinline void run_do_work(struct run_priv *own)
{
	if (usermode_flags(USERMODE_RESCHED))
		schedule();
	look_at_signals(own);
}
EXPORT_SYMBOL_NS_GPL(run_do_work, COMPAT_NS(SYSCRIPT));

bool run_is_over(struct run *run, bool waits)
{
	struct run_priv *own = run_priv(run);

	run_checkpoint(own, waits);
	own->call.switches = current->nvcsw;
	return run->stop_reason;
}

int run_pending(struct run *run)
{
	return signal_pending(current);
}
EXPORT_SYMBOL_NS_GPL(run_pending, COMPAT_NS(SYSCRIPT));

/* -- Sleepable calls --------------------------------------------------------- */

long run_work_syscall(struct run_work *work)
{
	long ret = 0;
	int err;

	/* The engine is already unwinding the run. */
	if (unlikely(run_stop_passes(work->own->run.stop_reason)))
		return -EINTR;
	err = syscalls_call(work->index, &work->own->call.regs, &ret);
	if (unlikely(err))
		run_stop(&work->own->run, err);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(run_work_syscall, COMPAT_NS(SYSCRIPT));

static long sleepable_answered(struct run_work *work)
{
	struct run_priv *own = work->own;
	long ret = 0;
	int err = syscalls_call_answered(work->index, &own->call.regs, work->answer, &ret);

	if (err)
		run_stop(&own->run, err);
	return ret;
}

static long sleepable_after_syscall(struct run_work *work)
{
	return syscalls_result(work->ret);
}

/* Called by stack_off(), from assembly. */
long run_sleepable(void *arg);
long run_sleepable(void *arg)
{
	struct run_work *work = arg;
	struct run_priv *own = work->own;
	long ret;

	run_leave(own);
	if (unlikely(own->run.time > own->run.deadline))
		run_stop(&own->run, -ETIME);
	ret = INDIRECT_CALL_1(work->fn, run_work_syscall, work);
	run_checkpoint(own, work->waits);
	run_begin_call(own, own->stack, run_needs_slowpath(own));
	return ret;
}

static __always_inline long do_sleepable_late(struct run_work *work)
{
	void *home = work->own->task_stack;

	if (work->own->atomic)
		return static_call(run_atomic_leave)(work);
	return likely(home) ? stack_off(run_sleepable, work, home) : run_sleepable(work);
}

static __always_inline long do_sleepable(struct run_work *work)
{
	work->own->call.switches = current->nvcsw;
	return do_sleepable_late(work);
}

static long sleepable_nothing(struct run_work *work)
{
	return 0;
}

void run_poll(struct run *run)
{
	struct run_work work = { .own = run_priv(run), .fn = sleepable_nothing };

	do_sleepable(&work);
}
EXPORT_SYMBOL_NS_GPL(run_poll, COMPAT_NS(SYSCRIPT));

static __always_inline long syscall_returned(struct run_priv *own, long ret)
{
	struct run *run = &own->run;

	run->syscalls++;
	if (unlikely(run->stop_reason) && run->engine->end)
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
	struct run_priv *own = run_priv(run);
	struct run_work work = {
		.own = own, .fn = run_work_syscall, .index = index, .waits = waits,
	};

	return syscall_returned(own, do_sleepable(&work));
}

/* The tick came after script code was left, so none of the time is script code's. */
static long look_after(struct run_work *work)
{
	struct run_priv *own = work->own;

	if (!own->atomic)
		own->since = run_task_time();
	return do_sleepable_late(work);
}

static MAY_END long leave_after(struct run_work *work)
{
	return syscall_returned(work->own, look_after(work));
}

MAY_END long run_syscall_answered(struct run *run, unsigned int index, bool waits, long answer)
{
	struct run_work work = {
		.own = run_priv(run), .fn = sleepable_answered, .index = index,
		.waits = waits, .answer = answer,
	};

	return leave_after(&work);
}

MAY_END long run_after_syscall(struct run *run, long ret, bool waits)
{
	struct run_work work = {
		.own = run_priv(run), .fn = sleepable_after_syscall, .ret = ret, .waits = waits,
	};

	return leave_after(&work);
}

long run_after_batch(struct run *run, long ret)
{
	struct run_work work = {
		.own = run_priv(run), .fn = sleepable_after_syscall, .ret = ret, .waits = true,
	};

	return look_after(&work);
}

static long sleepable_as_syscall(struct run_work *work)
{
	int err = observers_check();

	if (unlikely(err)) {
		run_stop(&work->own->run, err);
		return err;
	}
	return syscalls_result(work->as_syscall(work->arg));
}

long run_as_syscall(struct run *run, long (*fn)(void *arg), void *arg, int waits)
{
	struct run_work work = {
		.own = run_priv(run), .fn = sleepable_as_syscall,
		.as_syscall = fn, .arg = arg, .waits = waits,
	};

	run->syscalls++;
	return do_sleepable(&work);
}
EXPORT_SYMBOL_NS_GPL(run_as_syscall, COMPAT_NS(SYSCRIPT));

static long sleepable_other(struct run_work *work)
{
	return work->as_syscall(work->arg);
}

long run_outside(struct run *run, long (*fn)(void *arg), void *arg)
{
	struct run_work work = {
		.own = run_priv(run), .fn = sleepable_other,
		.as_syscall = fn, .arg = arg,
	};

	return do_sleepable(&work);
}

/* -- Memory and files of a run ----------------------------------------------- */

long run_scratch_mapped(struct run *run)
{
	long addr;

	if (run->scratch)
		return run->scratch;
	addr = scratch_map(&run_priv(run)->resources.scratch);
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
	struct run_priv *own = run_priv(run);

	if (!own->resources.buffer)
		own->resources.buffer = kvmalloc(RUN_BUFFER_SIZE, GFP_KERNEL_ACCOUNT);
	return own->resources.buffer;
}
EXPORT_SYMBOL_NS_GPL(run_buffer, COMPAT_NS(SYSCRIPT));

static size_t room_of(const struct engine_ops *engine)
{
	return engine->atomic ? engine->atomic->room : 0;
}

/* Engines without output get no room for its text, which is most of the structure. */
static size_t size_of_run(const struct engine_ops *engine)
{
	return offsetof(struct run_priv, run.output.text) + (engine->prints ? OUTPUT_LEN : 0);
}

struct run *run_create(const struct engine_ops *engine)
{
	size_t room = room_of(engine);
	char *p = kvmalloc(room + size_of_run(engine), GFP_KERNEL_ACCOUNT);
	struct run_priv *own = (struct run_priv *)(p + room);

	if (!p)
		return NULL;
	memset(p, 0, room + offsetof(struct run_priv, run.output.text));
	own->run.engine = engine;
	if (engine->atomic)
		engine->atomic->init(own);
	return &own->run;
}

void run_release(struct run *run)
{
	struct run_priv *own = run_priv(run);

	scratch_unmap(own->resources.scratch);
	own->resources.scratch = NULL;
	kvfree(own->resources.buffer);
	own->resources.buffer = NULL;
	while (own->resources.keepers) {
		struct run_keeper *keeper = own->resources.keepers;

		own->resources.keepers = keeper->next;
		keeper->release(keeper);
	}
}

void run_destroy(struct run *run)
{
	const struct engine_ops *engine = run->engine;

	run_release(run);
	if (engine->atomic)
		engine->atomic->forget(run_priv(run));
	kvfree((char *)run_priv(run) - room_of(engine));
}
