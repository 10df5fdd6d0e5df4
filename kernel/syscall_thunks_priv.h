/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of thunks that engines share, preemptible or not: switching to the task's stack for a
 * call, and asking seccomp filters there.
 */
#ifndef SYSCRIPT_THUNKS_OWN_H
#define SYSCRIPT_THUNKS_OWN_H

#include <linux/compiler.h>

#include "net/mmsg_entry.h"
#include "arch_home.h"
#include "syscall_jump_table.h"
#include "kernel/run_priv.h"
#include "kernel/syscalls.h"
#include "syscalls_nr.h"
#include "syscall_observers.h"
#include "usermode.h"

static __always_inline long call_on_task_stack(struct run_priv *own,
					 long (*entry)(const struct pt_regs *regs))
{
	return ARCH_CALL_ON(own->task_stack, entry, &own->call.regs);
}

/* -- Filters ------------------------------------------------------------------- */

/*
 * If only seccomp filters watch a task, each call asks them and is then made as for other tasks:
 * observers_show().
 */
enum {
	ALLOWED,		/* script code has been left */
	NOT_ASKED,		/* nothing has been done */
	REFUSED,		/* or another non-zero result of the filters */
	SLEPT,			/* allowed, but the task may have slept */
};

static __always_inline int asked(long answer)
{
	return answer == FILTERS_NOT_ASKED ? NOT_ASKED : REFUSED;
}

/* Asks the filters about call @nr. */
typedef int ask_fn(struct run *run, unsigned long nr);

static __always_inline long ask_on_task_stack(struct run_priv *own)
{
	if (likely(observers_is_alone(own->task)))
		return call_on_task_stack(own, filters_ask);
	return call_on_task_stack(own, observers_ask_filters_guarded);
}

static noinline long not_allowed(struct run *run, unsigned int index, bool waits, int asked)
{
	if (asked == NOT_ASKED)
		return run_syscall_sleepable(run, index, waits);
	return run_syscall_answered(run, index, waits, asked == REFUSED ? -1 : 0);
}

/* -- Thunks --------------------------------------------------------------------- */

/* Calls that this module implements, so that they cost less. */
#define syscall_entry_close	usermode_close
#define syscall_entry_recvmmsg	mmsg_entry_recv
#define syscall_entry_sendmmsg	mmsg_entry_send

#define ARGS(kinds)	(sizeof(kinds) - 1)

#endif /* SYSCRIPT_THUNKS_OWN_H */
