// SPDX-License-Identifier: GPL-2.0
/*
 * Makes calls that arm64 lacks by newer ones, for scripts in the kernel:
 * core/arch/arm64/old_calls.h. Observers see the newer call.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/time_types.h>

#include "syscall_thunks.h"
#include "kernel/run_priv.h"
#include "syscall_jump_table.h"
#include "syscalls_nr.h"
#include "usermem.h"

#define OLD_CALLER	struct run *run,
#define OLD_CALLED	run,
#define OLD_CALL(name, a, b, c, d, e, f, ...)					\
	run_syscall(run, SYSCALL_ENTRY_##name,					\
		    (const long[]){ (long)(a), (long)(b), (long)(c), (long)(d),	\
				    (long)(e), (long)(f) })
#define old_call(...)	OLD_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#include "../../core/arch/arm64/old_calls.h"

/* Structures of the newer calls are in the script's scratch memory, which only they read. */
static long old_alarm(struct run *run, unsigned int seconds)
{
	struct __kernel_old_itimerval timer = { .it_value.tv_sec = seconds }, left;
	long at = run_scratch(run), err;

	if (IS_ERR_VALUE(at))
		return at;
	err = usermem_copy_out(run, at, &timer, sizeof(timer));
	err = err ?: old_call(setitimer, ITIMER_REAL, at, at + sizeof(timer));
	err = err ?: usermem_copy_in(run, &left, at + sizeof(timer), sizeof(left));
	return err ?: old_alarm_left(left.it_value.tv_sec, left.it_value.tv_usec);
}

static long old_poll(struct run *run, long fds, long n, int ms)
{
	struct __kernel_timespec time = {
		.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L,
	};
	long at, err;

	if (ms < 0)
		return old_call(ppoll, fds, n, NULL, NULL, SIGSET_SIZE);
	at = run_scratch(run);
	if (IS_ERR_VALUE(at))
		return at;
	err = usermem_copy_out(run, at, &time, sizeof(time));
	return err ?: old_call(ppoll, fds, n, at, NULL, SIGSET_SIZE);
}
