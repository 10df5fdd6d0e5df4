// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Makes calls that arm64 lacks by newer ones, for scripts in a process: old_calls.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "../../../arch/arm64/syscalls_nr.h"
#include "user/sys.h"

#define OLD_CALLER
#define OLD_CALLED
#define old_call	sys_call
#include "../../../arch/arm64/old_calls.h"

static long old_alarm(unsigned int seconds)
{
	struct itimerval timer = { .it_value.tv_sec = seconds }, left;
	long err = sys_call(setitimer, ITIMER_REAL, &timer, &left);

	return err ? err : old_alarm_left(left.it_value.tv_sec, left.it_value.tv_usec);
}

static long old_poll(long fds, long n, int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	return sys_call(ppoll, fds, n, ms < 0 ? NULL : &time, NULL, SIGSET_SIZE);
}
