// SPDX-License-Identifier: GPL-2.0
/*
 * Each system call as a function, for machine code of preemptible engines (gates.h): a call must
 * cost less than a call by the process.  So it is made at once, and rare conditions (signals,
 * ticks, task works) are checked only when it has returned: run_is_quiet(). If one may hold, the
 * call goes through run_syscall_sleepable().
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/nospec.h>

#include "fs/files_entry.h"
#include "compat.h"
#include "gates.h"
#include "gates_own.h"

/* -- Filters ------------------------------------------------------------------- */

static __always_inline bool is_open(const struct run_own *own)
{
	return jiffies == (own->home ? own->gate.open_home : own->gate.open);
}

static __always_inline long ask_somewhere(struct run_own *own)
{
	if (own->home)
		return ask_at_home(own);
	return watchers_is_alone(own->task) ? filters_ask(NULL) :
					      watchers_ask_filters_guarded(NULL);
}

static __always_inline int ask_preemptible(struct run_own *own, unsigned long nr,
					   unsigned int n)
{
	long answer;

	if (unlikely(!is_open(own) || !watchers_are_filters(own->task)))
		return NOT_ASKED;
	watchers_show(&own->outer, task_pt_regs(own->task), nr, n, &own->call.regs);
	own->call.switches = own->task->nvcsw;
	answer = ask_somewhere(own);
	if (unlikely(answer))
		return asked(answer);
	return likely(own->task->nvcsw == own->call.switches) ? ALLOWED : SLEPT;
}

/* The variant of each gate for calls of @n arguments. */
#define ASK(n)									\
static noinline int ask_preemptible_##n(struct run *run, unsigned long nr)	\
{										\
	return ask_preemptible(run_own(run), nr, n);				\
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

/* -- Gates --------------------------------------------------------------------- */

/*
 * A preemptible engine's call is made at once while jiffies equals own->gate.open, that is until
 * the next tick, whose time must be accounted first, and only if no rare condition holds.
 *
 * An engine on a stack of its own switches to the task's stack for the call. -ERESTART* comes
 * with _TIF_SIGPENDING; without it processes see it, too.
 */
static __always_inline long gate_preemptible(struct run *run, unsigned int index,
					     unsigned long nr, unsigned int flags,
					     long (*entry)(const struct pt_regs *regs),
					     ask_fn *ask)
{
	struct run_own *own = run_own(run);
	bool waits = flags & SC_WAITS;
	long ret;

	if (syscalls_may_nest(flags, &own->call.regs))
		return run_syscall_sleepable(run, index, waits);
	if (waits)
		own->call.switches = own->task->nvcsw;
	if (unlikely(watchers_watch_at_entry(own->task))) {
		int asked = ask(run, nr);

		if (asked != ALLOWED)
			return not_allowed(run, index, waits, asked);
		ret = own->home ? call_at_home(own, entry) : entry(&own->call.regs);
	} else if (likely(jiffies == own->gate.open)) {
		ret = entry(&own->call.regs);
	} else if (jiffies == own->gate.open_home) {
		ret = call_at_home(own, entry);
	} else {
		return run_syscall_sleepable(run, index, waits);
	}
	ARCH_KEEP_RESULT(ret);
	if (!(flags & SC_FAST) && unlikely(!run_is_quiet(own, 0)))
		return run_after_syscall(run, ret, waits);
	ARCH_KEEP_RESULT(ret);
	run->syscalls++;
	return ret;
}

#define SYSCALL(name, kinds, flags)						\
static __always_inline long							\
gate_preemptible_any_##name(long a, long b, long c, long d, long e,		\
			    struct run *run, long f)				\
{										\
	REGS_SET_FIRST_ARGS(run_own(run)->call.regs, ARGS(kinds), a, b, c, d, e, f); \
	return gate_preemptible(run, ENTRIES_##name, __NR_##name, flags,	\
				entries_##name, asks_preemptible[ARGS(kinds)]);	\
}										\
										\
static __maybe_unused long							\
gate_preemptible_##name(long a, long b, long c, long d, long e, struct run *run) \
{										\
	return gate_preemptible_any_##name(a, b, c, d, e, run, 0);		\
}										\
										\
static __maybe_unused long							\
gate_preemptible_six_##name(long a, long b, long c, long d, long e,		\
			    struct run *run, long f)				\
{										\
	return gate_preemptible_any_##name(a, b, c, d, e, run, f);		\
}
#include "syscalls.def"

const struct gate gates_preemptible[] = {
#define SYSCALL(name, kinds, flags)						\
	{									\
		.fn = ARGS(kinds) < 6 ? gate_preemptible_##name : NULL,		\
		.fn6 = ARGS(kinds) < 6 ? NULL : gate_preemptible_six_##name,	\
		.args = ARGS(kinds),						\
	},
#include "syscalls.def"
};

/* -- Files ---------------------------------------------------------------------- */

/* A batch of a preemptible engine, made like a system call: see gate_preemptible(). */
long files_read(struct run *run, struct files_reading *reading)
{
	struct run_own *own = run_own(run);
	long ret;

	if (unlikely(own->atomic || !is_open(own) || watchers_watch_at_entry(own->task)))
		return files_read_sleepable(run, reading);
	own->call.switches = own->task->nvcsw;
	REGS_SET_FIRST_ARGS(own->call.regs, 2, (long)run, (long)reading, 0, 0, 0, 0);
	ret = own->home ? call_at_home(own, files_read_entry) :
			  files_read_entry(&own->call.regs);
	run->syscalls++;
	/* The batch may have checked the clocks itself, or asked watchers. */
	if (unlikely(run->doom || !is_open(own) || !run_is_quiet(own, 0)))
		return run_after_batch(run, ret);
	return ret;
}

/* -- By number ------------------------------------------------------------------ */

static long call_gate(struct run *run, const struct gate *gate, const long *args)
{
	if (gate->fn)
		return gate->fn(args[0], args[1], args[2], args[3], args[4], run);
	return gate->fn6(args[0], args[1], args[2], args[3], args[4], run, args[5]);
}

long run_syscall(struct run *run, unsigned int index, const long *args)
{
	struct run_own *own = run_own(run);

	if (index >= ENTRIES_COUNT)
		return -EINVAL;
	index = array_index_nospec(index, ENTRIES_COUNT);
	if (likely(!own->atomic))
		return call_gate(run, &gates_preemptible[index], args);
	regs_set_args(&own->call.regs, (const unsigned long *)args);
	return run_syscall_sleepable(run, index, true);
}
EXPORT_SYMBOL_NS_GPL(run_syscall, COMPAT_NS(SYSCRIPT));
