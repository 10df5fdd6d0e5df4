// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * System calls that x86-64 has and arm64 lacks, for scripts that are written for both: each is made
 * by a newer call that does exactly the same, as in the C library. Calls that no newer one replaces
 * exactly are SYSCALL_OLD() in syscalls.def.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "syscalls_nr.h"
#include "user/sys.h"

/* Linux's sizes of sigset_t and of signal masks in calls. */
#define SIGSET_SIZE	8

/* dup3(2) refuses equal descriptors, dup2(2) returns them. */
static long old_dup2(int from, int to)
{
	long flags;

	if (from != to)
		return sys_call(dup3, from, to, 0);
	flags = sys_call(fcntl, from, F_GETFD);
	return flags < 0 ? flags : to;
}

/* The seconds left are rounded, but never down to 0. */
static long old_alarm(unsigned int seconds)
{
	struct itimerval timer = { .it_value.tv_sec = seconds }, left;
	long err = sys_call(setitimer, ITIMER_REAL, &timer, &left);

	if (err)
		return err;
	return left.it_value.tv_sec +
	       ((!left.it_value.tv_sec && left.it_value.tv_usec) ||
		left.it_value.tv_usec >= 500000);
}

static long old_poll(long fds, long n, int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	return sys_call(ppoll, fds, n, ms < 0 ? NULL : &time, NULL, SIGSET_SIZE);
}

static long old_path(long nr, const long *a)
{
	switch (nr) {
	case __NR_access:
		return sys_call(faccessat, AT_FDCWD, a[0], a[1]);
	case __NR_chmod:
		return sys_call(fchmodat, AT_FDCWD, a[0], a[1]);
	case __NR_chown:
		return sys_call(fchownat, AT_FDCWD, a[0], a[1], a[2], 0);
	case __NR_creat:
		return sys_call(openat, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1]);
	case __NR_lchown:
		return sys_call(fchownat, AT_FDCWD, a[0], a[1], a[2], AT_SYMLINK_NOFOLLOW);
	case __NR_link:
		return sys_call(linkat, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case __NR_lstat:
		return sys_call(newfstatat, AT_FDCWD, a[0], a[1], AT_SYMLINK_NOFOLLOW);
	case __NR_mkdir:
		return sys_call(mkdirat, AT_FDCWD, a[0], a[1]);
	case __NR_mknod:
		return sys_call(mknodat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_open:
		return sys_call(openat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_readlink:
		return sys_call(readlinkat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_rename:
		return sys_call(renameat, AT_FDCWD, a[0], AT_FDCWD, a[1]);
	case __NR_rmdir:
		return sys_call(unlinkat, AT_FDCWD, a[0], AT_REMOVEDIR);
	case __NR_stat:
		return sys_call(newfstatat, AT_FDCWD, a[0], a[1], 0);
	case __NR_symlink:
		return sys_call(symlinkat, a[0], AT_FDCWD, a[1]);
	case __NR_unlink:
		return sys_call(unlinkat, AT_FDCWD, a[0], 0);
	}
	return -ENOSYS;
}

long arch_old_call(long nr, const long *a)
{
	switch (nr) {
	case __NR_alarm:
		return old_alarm(a[0]);
	case __NR_dup2:
		return old_dup2(a[0], a[1]);
	case __NR_epoll_create:
		return (int)a[0] > 0 ? sys_call(epoll_create1, 0) : -EINVAL;
	case __NR_epoll_wait:
		return sys_call(epoll_pwait, a[0], a[1], a[2], a[3], NULL, SIGSET_SIZE);
	case __NR_eventfd:
		return sys_call(eventfd2, a[0], 0);
	case __NR_getpgrp:
		return sys_call(getpgid, 0);
	case __NR_inotify_init:
		return sys_call(inotify_init1, 0);
	case __NR_pipe:
		return sys_call(pipe2, a[0], 0);
	case __NR_poll:
		return old_poll(a[0], a[1], a[2]);
	case __NR_signalfd:
		return sys_call(signalfd4, a[0], a[1], a[2], 0);
	}
	return old_path(nr, a);
}
