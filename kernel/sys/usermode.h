/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task does pending work on each return to user mode, but a run makes many system calls and
 * returns once. For each kind of work, a run does it after the call that caused it, or need not
 * do it, or ends. Work that a newer kernel has added to this list ends the run after the grace
 * time, as a signal does.
 *
 * exit_to_user_mode_loop() checks these flags of the thread:
 *
 *   flag                     since  in a run
 *   _TIF_NEED_RESCHED               schedule()
 *   _TIF_NEED_RESCHED_LAZY   6.13   schedule()
 *   _TIF_SIGPENDING                 ends it after the grace time
 *   _TIF_NOTIFY_SIGNAL       5.11   the same, and no task work is done meanwhile
 *   _TIF_PATCH_PENDING              ends it after the grace time
 *   _TIF_NOTIFY_RESUME              stands for what follows, each looked at by itself
 *   _TIF_UPROBE                     is not set in system calls
 *   _TIF_RSEQ                6.19   no user code runs that could tell
 *
 * resume_user_mode_work() calls:
 *
 *   task_work_run()                 usermode_works()
 *   mem_cgroup_handle_over_high()   usermode_throttle()
 *   blkcg_maybe_throttle_current()  usermode_throttle()
 *   key_put()                       waits: one key
 *   rseq_handle_notify_resume()     waits: no user code runs that could tell
 *   rseq_handle_slowpath()   6.19   waits: the same
 *
 * Flags are not cleared here, so the return itself finds all that is left.
 * tests/unit/test_usermode.py compares this list with the kernels' headers.
 *
 * Task works are files' releases by fput(), signals of CPU timers and limits, the
 * throttling of cpu.max (6.18), unmounts, yama's reports of denied ptrace(2), the
 * kill after a poisoned page, keyrings, NUMA balancing, and tools' own.  They may sleep
 * and take locks of the kernel; the run then holds its script's turn and no other lock.
 * For two kinds even that would be too much:
 *
 * - deferred_exit.c queues the thread's exit, which must find the run ended.  The run is
 *   stopped, and no more work is done in it.
 * - Works that come with _TIF_NOTIFY_SIGNAL may wait for the process's other threads,
 *   which may wait for the turn (Landlock, for all threads).  The kernel queues them
 *   just before it sets the flag: one that gets in between is done, and a process that
 *   makes this happen waits for itself until it is killed.  So a run does not go on
 *   either where only this flag is set, as by each completion of an io_uring that is not
 *   IORING_SETUP_DEFER_TASKRUN: calls that block find a signal pending until the work is
 *   done, and whose work it is cannot be told.
 */
#ifndef SYSCRIPT_USERMODE_H
#define SYSCRIPT_USERMODE_H

#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <linux/thread_info.h>

#include "arch_usermode.h"

struct pt_regs;

#ifndef _TIF_NEED_RESCHED_LAZY
#define _TIF_NEED_RESCHED_LAZY	0
#endif
#ifndef _TIF_PATCH_PENDING
#define _TIF_PATCH_PENDING	0
#endif
#ifndef _TIF_RSEQ
#define _TIF_RSEQ		0
#endif

#define USERMODE_RESCHED	(_TIF_NEED_RESCHED | _TIF_NEED_RESCHED_LAZY)
#define USERMODE_WAITS		(_TIF_NOTIFY_RESUME | _TIF_UPROBE | _TIF_RSEQ |	\
				 ARCH_USERMODE_WAITS)
#define USERMODE_ENDS		(ARCH_USERMODE_WORK & ~(USERMODE_RESCHED | USERMODE_WAITS))
/* Flags that end a run or need work in it. */
#define USERMODE_FLAGS		(USERMODE_RESCHED | USERMODE_ENDS)
#define USERMODE_UNKNOWN	(USERMODE_ENDS & ~(_TIF_SIGPENDING | _TIF_NOTIFY_SIGNAL | \
						   _TIF_PATCH_PENDING | ARCH_USERMODE_ENDS))

/* 0, or -ENOENT after a message if the kernel lacks something. */
int __init usermode_init(void);

/* The flags of the current thread that are in @flags. */
static __always_inline unsigned long usermode_flags(unsigned long flags)
{
	return READ_ONCE(current_thread_info()->flags) & flags;
}

void __usermode_works(void);

/*
 * Runs pending task work. To be called after each system call, with no lock held but the
 * script's. May sleep.
 */
static __always_inline void usermode_works(void)
{
	if (unlikely(task_work_pending(current)))
		__usermode_works();
}

/*
 * close(2) for thunks: also releases the file, which before 6.6 is left to a task work.  If the
 * thunk found that pending, it would leave script code.
 */
long usermode_close(const struct pt_regs *regs);

/*
 * Throttles the task if its cgroup exceeds its memory or I/O limits.  Called once a tick, because
 * each call adds little.
 */
void usermode_throttle(void);

#endif /* SYSCRIPT_USERMODE_H */
