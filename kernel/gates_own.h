/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What gates are made of, whether their engine is preemptible or not: going home to the
 * task's stack, asking filters, setting arguments.
 */
#ifndef SYSCRIPT_GATES_OWN_H
#define SYSCRIPT_GATES_OWN_H

#include <linux/compiler.h>
#include <linux/sched/task_stack.h>

#include "net/mmsg_entry.h"
#include "entries.h"
#include "run_own.h"
#include "syscalls.h"
#include "syscalls_nr.h"
#include "watchers.h"

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

/* Asks about call @nr. */
typedef int ask_fn(struct run *run, unsigned long nr);

static __always_inline long ask_at_home(struct run_own *own)
{
	if (likely(watchers_is_alone(own->task)))
		return call_at_home(own, filters_ask);
	return call_at_home(own, watchers_ask_filters_guarded);
}

static noinline long not_allowed(struct run *run, unsigned int index, bool waits, int asked)
{
	if (asked == NOT_ASKED)
		return run_syscall_sleepable(run, index, waits);
	return run_syscall_answered(run, index, waits, asked == REFUSED ? -1 : 0);
}

/* -- Gates --------------------------------------------------------------------- */

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

#endif /* SYSCRIPT_GATES_OWN_H */
