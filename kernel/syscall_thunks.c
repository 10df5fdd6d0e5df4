// SPDX-License-Identifier: GPL-2.0
/*
 * Each system call as a function, for machine code of preemptible engines (syscall_thunks.h): a
 * call must cost less than a call by the process.  So it is made at once, and rare conditions
 * (signals, ticks, task works) are checked only when it has returned: run_no_pending_work(). If one
 * may hold, the call goes through run_syscall_sleepable().
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/nospec.h>

#include "fs/files_entry.h"
#include "compat.h"
#include "syscall_thunks.h"
#include "syscall_thunks_priv.h"

/* -- Filters ------------------------------------------------------------------- */

static __always_inline bool is_open(const struct run_priv *own)
{
	return jiffies == (own->task_stack ? own->fastpath.open_task_stack : own->fastpath.open);
}

static __always_inline long ask_somewhere(struct run_priv *own)
{
	if (own->task_stack)
		return ask_on_task_stack(own);
	return observers_is_alone(own->task) ? filters_ask(NULL) :
					      observers_ask_filters_guarded(NULL);
}

static __always_inline int ask_preemptible(struct run_priv *own, unsigned long nr,
					   unsigned int n)
{
	long answer;

	if (unlikely(!is_open(own) || !observers_are_filters(own->task)))
		return NOT_ASKED;
	observers_show(&own->outer, task_pt_regs(own->task), nr, n, &own->call.regs);
	own->call.switches = own->task->nvcsw;
	answer = ask_somewhere(own);
	if (unlikely(answer))
		return asked(answer);
	return likely(own->task->nvcsw == own->call.switches) ? ALLOWED : SLEPT;
}

/* The variant of each thunk for calls of @n arguments. */
#define ASK(n)									\
static noinline int ask_preemptible_##n(struct run *run, unsigned long nr)	\
{										\
	return ask_preemptible(run_priv(run), nr, n);				\
}
ASK(0)
ASK(1)
ASK(2)
ASK(3)
ASK(4)
ASK(5)
ASK(6)

static ask_fn *const asks_preemptible[] = {
	ask_preemptible_0, ask_preemptible_1, ask_preemptible_2, ask_preemptible_3,
	ask_preemptible_4, ask_preemptible_5, ask_preemptible_6,
};

/* -- Thunks --------------------------------------------------------------------- */

/*
 * A preemptible engine's call is made at once while jiffies equals own->fastpath.open, that is
 * until the next tick, whose time must be accounted first, and only if no rare condition holds.
 *
 * An engine on a stack of its own switches to the task's stack for the call. -ERESTART* comes
 * with _TIF_SIGPENDING; without it processes see it, too.
 */
static __always_inline long thunk_preemptible(struct run *run, unsigned int index,
					     unsigned long nr, unsigned int flags,
					     long (*entry)(const struct pt_regs *regs),
					     ask_fn *ask)
{
	struct run_priv *own = run_priv(run);
	bool waits = flags & SC_WAITS;
	long ret;

	if (syscalls_may_nest(flags, &own->call.regs))
		return run_syscall_sleepable(run, index, waits);
	if (waits)
		own->call.switches = own->task->nvcsw;
	if (unlikely(observers_watch_at_entry(own->task))) {
		int asked = ask(run, nr);

		if (asked != ALLOWED)
			return not_allowed(run, index, waits, asked);
		ret = own->task_stack ? call_on_task_stack(own, entry) : entry(&own->call.regs);
	} else if (likely(jiffies == own->fastpath.open)) {
		ret = entry(&own->call.regs);
	} else if (jiffies == own->fastpath.open_task_stack) {
		ret = call_on_task_stack(own, entry);
	} else {
		return run_syscall_sleepable(run, index, waits);
	}
	ARCH_KEEP_RESULT(ret);
	if (!(flags & SC_FAST) && unlikely(!run_no_pending_work(own, 0)))
		return run_after_syscall(run, ret, waits);
	ARCH_KEEP_RESULT(ret);
	run->syscalls++;
	return ret;
}

#define SYSCALL(name, kinds, flags)						\
static __always_inline long							\
thunk_preemptible_any_##name(long a, long b, long c, long d, long e,		\
			    struct run *run, long f)				\
{										\
	REGS_SET_FIRST_ARGS(run_priv(run)->call.regs, ARGS(kinds), a, b, c, d, e, f); \
	return thunk_preemptible(run, SYSCALL_ENTRY_##name, __NR_##name, flags,	\
				syscall_entry_##name, asks_preemptible[ARGS(kinds)]);	\
}										\
										\
static __maybe_unused long							\
thunk_preemptible_##name(long a, long b, long c, long d, long e, struct run *run) \
{										\
	return thunk_preemptible_any_##name(a, b, c, d, e, run, 0);		\
}										\
										\
static __maybe_unused long							\
thunk_preemptible_six_##name(long a, long b, long c, long d, long e,		\
			    struct run *run, long f)				\
{										\
	return thunk_preemptible_any_##name(a, b, c, d, e, run, f);		\
}
#include "syscalls.def"

const struct thunk syscall_thunks[] = {
#define SYSCALL(name, kinds, flags)						\
	{									\
		.fn = ARGS(kinds) < 6 ? thunk_preemptible_##name : NULL,		\
		.fn6 = ARGS(kinds) < 6 ? NULL : thunk_preemptible_six_##name,	\
		.args = ARGS(kinds),						\
	},
#include "syscalls.def"
};

/* -- Files ---------------------------------------------------------------------- */

/* A batch of a preemptible engine, made like a system call: see thunk_preemptible(). */
long files_read(struct run *run, struct files_reading *reading)
{
	struct run_priv *own = run_priv(run);
	long ret;

	if (unlikely(own->atomic || !is_open(own) || observers_watch_at_entry(own->task)))
		return files_read_sleepable(run, reading);
	own->call.switches = own->task->nvcsw;
	REGS_SET_FIRST_ARGS(own->call.regs, 2, (long)run, (long)reading, 0, 0, 0, 0);
	ret = own->task_stack ? call_on_task_stack(own, files_read_entry) :
			  files_read_entry(&own->call.regs);
	run->syscalls++;
	/* The batch may have checked the clocks itself, or asked observers. */
	if (unlikely(run->stop_reason || !is_open(own) || !run_no_pending_work(own, 0)))
		return run_after_batch(run, ret);
	return ret;
}

/* -- By number ------------------------------------------------------------------ */

static long call_thunk(struct run *run, const struct thunk *thunk, const long *args)
{
	if (thunk->fn)
		return thunk->fn(args[0], args[1], args[2], args[3], args[4], run);
	return thunk->fn6(args[0], args[1], args[2], args[3], args[4], run, args[5]);
}

long run_syscall(struct run *run, unsigned int index, const long *args)
{
	struct run_priv *own = run_priv(run);

	if (index >= SYSCALL_ENTRY_COUNT)
		return -EINVAL;
	index = array_index_nospec(index, SYSCALL_ENTRY_COUNT);
	if (arch_is_old_call(syscall_entry_numbers[index]))
		return arch_old_call(run, syscall_entry_numbers[index], args);
	if (likely(!own->atomic))
		return call_thunk(run, &syscall_thunks[index], args);
	regs_set_args(&own->call.regs, (const unsigned long *)args);
	return run_syscall_sleepable(run, index, true);
}
EXPORT_SYMBOL_NS_GPL(run_syscall, COMPAT_NS(SYSCRIPT));
