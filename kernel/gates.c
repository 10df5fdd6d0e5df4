// SPDX-License-Identifier: GPL-2.0
/*
 * See run.h and gates.h: each system call as a function.
 *
 * A call is made from script code without a look at rare conditions; these are looked at
 * once, when it has returned: run_is_quiet().  All else goes through
 * run_syscall_sleepable().
 */
#include <linux/bottom_half.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/sched/task_stack.h>

#include "fs/files_entry.h"
#include "net/mmsg_entry.h"
#include "clock.h"
#include "compat.h"
#include "entries.h"
#include "gates.h"
#include "run_own.h"
#include "syscalls.h"
#include "syscalls_nr.h"
#include "usermode.h"
#include "watchers.h"

/* Where bottom halves are off and on by a number alone. */
#define GATES_OPEN	(!IS_ENABLED(CONFIG_PREEMPT_RT) && !IS_ENABLED(CONFIG_TRACE_IRQFLAGS))

/*
 * As the kernel's call_on_stack(), with a result: objtool knows the sequence, so
 * that stack traces go on to the caller.
 */
static __always_inline long call_at_home(struct run_own *own,
					 long (*entry)(const struct pt_regs *regs))
{
	register void *top asm("r11") = own->home - sizeof(long);
	long ret;

	asm_inline volatile("movq %%rsp, (%[top])\n\t"
			    "movq %[top], %%rsp\n\t"
			    "call %P[entry]\n\t"
			    "popq %%rsp"
			    : "=a" (ret), [top] "+r" (top), ASM_CALL_CONSTRAINT
			    : "D" (&own->call.regs), [entry] "i" (entry)
			    : "cc", "rcx", "rdx", "rsi", "r8", "r9", "r10", "memory");
	return ret;
}

/* False if there is something to be done first: script code has not been left. */
static __always_inline bool try_to_leave(struct run_own *own)
{
	if (unlikely(--own->countdown.quiet < 0))
		return false;
	barrier();
	preempt_count_sub(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	/* In this order: what an interrupt raises from here on, it runs itself. */
	if (likely(!local_softirq_pending()))
		return true;
	preempt_count_add(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	return false;
}

/* Is @ret none of -ERESTART*? */
static __always_inline bool is_final(long ret)
{
	return (unsigned long)ret - -ERESTART_RESTARTBLOCK > ERESTART_RESTARTBLOCK - ERESTARTSYS;
}

static __always_inline void come_back(struct run_own *own)
{
	barrier();
	preempt_count_add(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	/* Set by a tick between the look at own->countdown.quiet and the end of script code. */
	own->clock.since = 0;
}

/*
 * False if there is something to be done first.  A task that was not on its CPU all
 * the time has TIF_NEED_FPU_LOAD.  The clock may have gone off in a call that the
 * ticks found it in.
 */
static __always_inline bool may_go_on(const struct run_own *own, long ret)
{
	return likely(run_is_quiet(own, _TIF_NEED_FPU_LOAD) && is_final(ret) &&
		      clock_sees(&own->run));
}

/* -- Filters ------------------------------------------------------------------- */

/*
 * A task that nothing but seccomp filters watch asks them about each call, and makes
 * it as others do: watchers_show().
 */
enum {
	ALLOWED,		/* script code has been left */
	NOT_ASKED,		/* nothing has been done */
	REFUSED,		/* or whatever else filters said that is not 0 */
	SLEPT,			/* or may have: allowed, but a tracer may have been there */
};

static __always_inline int asked(long answer)
{
	return answer == FILTERS_NOT_ASKED ? NOT_ASKED : REFUSED;
}

static __always_inline long ask_at_home(struct run_own *own)
{
	if (likely(watchers_is_alone(own->task)))
		return call_at_home(own, filters_ask);
	return call_at_home(own, watchers_ask_filters_guarded);
}

static __always_inline int ask(struct run_own *own, unsigned long nr, unsigned int n)
{
	long answer;

	if (unlikely(!GATES_OPEN || !watchers_are_filters(own->task)))
		return NOT_ASKED;
	watchers_show(&own->outer, task_pt_regs(own->task), nr, n, &own->call.regs);
	fpu_clear();
	if (!try_to_leave(own))
		return NOT_ASKED;
	answer = ask_at_home(own);
	/* Not set in script code: the task's registers were not used. */
	if (likely(!answer && !test_tsk_thread_flag(own->task, TIF_NEED_FPU_LOAD)))
		return ALLOWED;
	come_back(own);
	return answer ? asked(answer) : SLEPT;
}

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

/* For calls of so many arguments. */
#define ASK(n)									\
static noinline int ask_##n(struct run *run, unsigned long nr)			\
{										\
	return ask(run_own(run), nr, n);					\
}										\
										\
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

typedef int ask_fn(struct run *run, unsigned long nr);

static ask_fn *const asks[] = { ask_0, ask_1, ask_2, ask_3, ask_4, ask_5, ask_6 };
static ask_fn *const asks_preemptible[] = {
	ask_preemptible_0, ask_preemptible_1, ask_preemptible_2, ask_preemptible_3,
	ask_preemptible_4, ask_preemptible_5, ask_preemptible_6,
};

static noinline long not_allowed(struct run *run, unsigned int index, bool waits, int asked)
{
	if (asked == NOT_ASKED)
		return run_syscall_sleepable(run, index, waits);
	return run_syscall_answered(run, index, waits, asked == REFUSED ? -1 : 0);
}

/* -- Gates --------------------------------------------------------------------- */

/* SC_FAST: stays in script code. */
static __always_inline long gate_fast(struct run *run, unsigned int index,
				      long (*entry)(const struct pt_regs *regs),
				      long (*watched)(struct run *run))
{
	struct run_own *own = run_own(run);

	if (unlikely(watchers_watch_at_entry(own->task)))
		return watched(run);
	if (unlikely(own->gate.rare))
		return run_syscall_sleepable(run, index, false);
	run->syscalls++;
	return entry(&own->call.regs);
}

static __always_inline long gate(struct run *run, unsigned int index, unsigned long nr,
				 unsigned int flags,
				 long (*entry)(const struct pt_regs *regs), ask_fn *ask)
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
	} else if (!GATES_OPEN || !try_to_leave(own)) {
		return run_syscall_sleepable(run, index, waits);
	}
	ret = call_at_home(own, entry);
	come_back(own);
	if (!may_go_on(own, ret))
		return run_after_syscall(run, ret, waits);
	run->syscalls++;
	return ret;
}

/*
 * A preemptible engine's call is made at once in the tick that is own->gate.open.  Not
 * where something rare is to be looked at, and not after a tick, which is accounted
 * for as script code.
 *
 * On the task's stack nothing has to be left, and from its own an engine goes home.
 * -ERESTART* comes with _TIF_SIGPENDING, or reaches processes as well.
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
	/* Stays where it is: the compiler would move it out of the way and back. */
	asm("" : "+a" (ret));
	if (!(flags & SC_FAST) && unlikely(!run_is_quiet(own, 0)))
		return run_after_syscall(run, ret, waits);
	asm("" : "+a" (ret));
	run->syscalls++;
	return ret;
}

/* Two that are made here for less. */
#define entries_recvmmsg	mmsg_entry_recv
#define entries_sendmmsg	mmsg_entry_send

/* Entries read their arguments and nothing else. */
static __always_inline void set_args(struct run_own *own, unsigned int n, long a, long b,
				     long c, long d, long e, long f)
{
	if (n > 0)
		own->call.regs.di = a;
	if (n > 1)
		own->call.regs.si = b;
	if (n > 2)
		own->call.regs.dx = c;
	if (n > 3)
		own->call.regs.r10 = d;
	if (n > 4)
		own->call.regs.r8 = e;
	if (n > 5)
		own->call.regs.r9 = f;
}

#define ARGS(kinds)	(sizeof(kinds) - 1)

#define SYSCALL(name, kinds, flags)						\
static noinline __maybe_unused long						\
gate_watched_##name(struct run *run)						\
{										\
	return gate(run, ENTRIES_##name, __NR_##name, flags, entries_##name,	\
		    asks[ARGS(kinds)]);						\
}										\
										\
static long gate_##name(struct run *run, long a, long b, long c, long d, long e, \
			long f)							\
{										\
	set_args(run_own(run), ARGS(kinds), a, b, c, d, e, f);			\
	if ((flags) & SC_FAST)							\
		return gate_fast(run, ENTRIES_##name, entries_##name,		\
				 gate_watched_##name);				\
	return gate(run, ENTRIES_##name, __NR_##name, flags, entries_##name,	\
		    asks[ARGS(kinds)]);						\
}										\
										\
static __always_inline long							\
gate_preemptible_any_##name(long a, long b, long c, long d, long e,		\
			    struct run *run, long f)				\
{										\
	set_args(run_own(run), ARGS(kinds), a, b, c, d, e, f);			\
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

run_gate *const run_gates[] = {
#define SYSCALL(name, kinds, flags)	gate_##name,
#include "syscalls.def"
};

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

/* A preemptible engine's as a system call, see gate_preemptible(). */
long files_read(struct run *run, struct files_reading *reading)
{
	struct run_own *own = run_own(run);
	long ret;

	if (unlikely(own->atomic || !is_open(own) || watchers_watch_at_entry(own->task)))
		return files_read_sleepable(run, reading);
	own->call.switches = own->task->nvcsw;
	own->call.regs.di = (unsigned long)run;
	own->call.regs.si = (unsigned long)reading;
	ret = own->home ? call_at_home(own, files_read_entry) :
			  files_read_entry(&own->call.regs);
	run->syscalls++;
	/* It may have looked at the clocks itself, or asked watchers. */
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
	if (index >= ENTRIES_COUNT)
		return -EINVAL;
	index = array_index_nospec(index, ENTRIES_COUNT);
	if (!run_own(run)->atomic)
		return call_gate(run, &gates_preemptible[index], args);
	return run_gates[index](run, args[0], args[1], args[2], args[3], args[4], args[5]);
}
EXPORT_SYMBOL_NS_GPL(run_syscall, COMPAT_NS(SYSCRIPT));
