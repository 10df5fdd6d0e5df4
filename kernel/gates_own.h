/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What gates are made of, whether their engine is preemptible or not: going home to the
 * task's stack, asking filters.
 */
#ifndef SYSCRIPT_GATES_OWN_H
#define SYSCRIPT_GATES_OWN_H

#include <linux/compiler.h>

#include "net/mmsg_entry.h"
#include "arch_home.h"
#include "entries.h"
#include "run_own.h"
#include "syscalls.h"
#include "syscalls_nr.h"
#include "watchers.h"

static __always_inline long call_at_home(struct run_own *own,
					 long (*entry)(const struct pt_regs *regs))
{
	return ARCH_CALL_ON(own->home, entry, &own->call.regs);
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

#define ARGS(kinds)	(sizeof(kinds) - 1)

#endif /* SYSCRIPT_GATES_OWN_H */
