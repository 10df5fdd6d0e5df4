// SPDX-License-Identifier: GPL-2.0
/*
 * run_thunks of run.h: each system call as a function, for script code that may not be
 * preempted.
 *
 * On the fast path a call leaves script code only by enabling bottom halves. Rare conditions that
 * arise meanwhile are checked once, after the call: run_no_pending_work(). Other calls go through
 * run_syscall_sleepable().
 */
#include <linux/bottom_half.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>

#include "atomic.h"
#include "clock.h"
#include "fpu.h"
#include "syscall_thunks_priv.h"

/* Can bottom halves be disabled by only changing a count? */
#define THUNKS_OPEN	(!IS_ENABLED(CONFIG_PREEMPT_RT) && !IS_ENABLED(CONFIG_TRACE_IRQFLAGS))

/* Returns false, still in script code, if pending work has to be done first. */
static __always_inline bool try_to_leave(struct run_priv *own)
{
	struct atomic_run *atomic = atomic_run(own);

	if (unlikely(--atomic->countdown.quiet < 0))
		return false;
	barrier();
	preempt_count_sub(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	/* The order matters: this task runs softirqs that an interrupt raises from here on. */
	if (likely(!local_softirq_pending()))
		return true;
	preempt_count_add(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	return false;
}

/* Is @ret none of the -ERESTART* codes? */
static __always_inline bool is_final(long ret)
{
	return (unsigned long)ret - -ERESTART_RESTARTBLOCK > ERESTART_RESTARTBLOCK - ERESTARTSYS;
}

static __always_inline void come_back(struct run_priv *own)
{
	barrier();
	preempt_count_add(SOFTIRQ_DISABLE_OFFSET);
	barrier();
	/* Set by a tick between the check of countdown.quiet and the end of script code. */
	atomic_run(own)->clock.since = 0;
}

/*
 * False if something has to be done first. A task that has left its CPU meanwhile has
 * TIF_NEED_FPU_LOAD. The clock may have stopped, if its ticks found the task within the call.
 */
static __always_inline bool may_go_on(const struct run_priv *own, long ret)
{
	return likely(run_no_pending_work(own, _TIF_NEED_FPU_LOAD) && is_final(ret) &&
		      clock_sees(&own->run));
}

/* -- Filters ------------------------------------------------------------------- */

static __always_inline int ask(struct run_priv *own, unsigned long nr, unsigned int n)
{
	long answer;

	if (unlikely(!THUNKS_OPEN || !observers_are_filters(own->task)))
		return NOT_ASKED;
	observers_show(&own->outer, task_pt_regs(own->task), nr, n, &own->call.regs);
	fpu_clear();
	if (!try_to_leave(own))
		return NOT_ASKED;
	answer = ask_on_task_stack(own);
	/* Not set in script code: the task's registers were not used. */
	if (likely(!answer && !test_tsk_thread_flag(own->task, TIF_NEED_FPU_LOAD)))
		return ALLOWED;
	come_back(own);
	return answer ? asked(answer) : SLEPT;
}

/* The variant of each thunk for calls of @n arguments. */
#define ASK(n)									\
static noinline int ask_##n(struct run *run, unsigned long nr)			\
{										\
	return ask(run_priv(run), nr, n);					\
}
ASK(0)
ASK(1)
ASK(2)
ASK(3)
ASK(4)
ASK(5)
ASK(6)

static ask_fn *const asks[] = { ask_0, ask_1, ask_2, ask_3, ask_4, ask_5, ask_6 };

/* -- Thunks --------------------------------------------------------------------- */

/* SC_FAST: the call is made within script code. */
static __always_inline long thunk_fast(struct run *run, unsigned int index,
				      long (*entry)(const struct pt_regs *regs),
				      long (*watched)(struct run *run))
{
	struct run_priv *own = run_priv(run);

	if (unlikely(observers_watch_at_entry(own->task)))
		return watched(run);
	if (unlikely(atomic_run(own)->rare))
		return run_syscall_sleepable(run, index, false);
	run->syscalls++;
	return entry(&own->call.regs);
}

static __always_inline long thunk(struct run *run, unsigned int index, unsigned long nr,
				 unsigned int flags,
				 long (*entry)(const struct pt_regs *regs), ask_fn *ask)
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
	} else if (!THUNKS_OPEN || !try_to_leave(own)) {
		return run_syscall_sleepable(run, index, waits);
	}
	ret = call_on_task_stack(own, entry);
	come_back(own);
	if (!may_go_on(own, ret))
		return run_after_syscall(run, ret, waits);
	run->syscalls++;
	return ret;
}

#define SYSCALL(name, kinds, flags)						\
static noinline __maybe_unused long						\
thunk_watched_##name(struct run *run)						\
{										\
	return thunk(run, SYSCALL_ENTRY_##name, __NR_##name, flags, syscall_entry_##name,	\
		    asks[ARGS(kinds)]);						\
}										\
										\
static long thunk_##name(struct run *run, long a, long b, long c, long d, long e, \
			long f)							\
{										\
	REGS_SET_FIRST_ARGS(run_priv(run)->call.regs, ARGS(kinds), a, b, c, d, e, f); \
	if ((flags) & SC_FAST)							\
		return thunk_fast(run, SYSCALL_ENTRY_##name, syscall_entry_##name,		\
				 thunk_watched_##name);				\
	return thunk(run, SYSCALL_ENTRY_##name, __NR_##name, flags, syscall_entry_##name,	\
		    asks[ARGS(kinds)]);						\
}
#include "syscalls.def"

run_thunk *const run_thunks[] = {
#define SYSCALL(name, kinds, flags)	thunk_##name,
#include "syscalls.def"
};
