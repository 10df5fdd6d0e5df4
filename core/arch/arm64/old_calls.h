/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * System calls that x86-64 has and arm64 lacks, for scripts that are written for both: each is made
 * by a newer call that does exactly the same, as in the C library. Calls that no newer one replaces
 * exactly are SYSCALL_OLD() in syscalls.def.
 *
 * Who includes this defines old_call(name, arguments...), which makes the newer call, and
 * old_alarm() and old_poll(), whose newer calls read and write structures of the process.
 */
#ifndef SYSCRIPT_ARM64_OLD_CALLS_H
#define SYSCRIPT_ARM64_OLD_CALLS_H

/* Linux's sizes of sigset_t and of signal masks in calls. */
#define SIGSET_SIZE	8

static long old_alarm(OLD_CALLER unsigned int seconds);
static long old_poll(OLD_CALLER long fds, long n, int ms);

/* dup3(2) refuses equal descriptors, dup2(2) returns them. */
static long old_dup2(OLD_CALLER int from, int to)
{
	long flags;

	if (from != to)
		return old_call(dup3, from, to, 0);
	flags = old_call(fcntl, from, F_GETFD);
	return flags < 0 ? flags : to;
}

/* The seconds that alarm(2) returns: rounded, but what is left is never rounded down to 0. */
static long old_alarm_left(long sec, long usec)
{
	return sec + ((!sec && usec) || usec >= 500000);
}

static long old_path(OLD_CALLER long nr, const long *a)
{
	switch (nr) {
	case __NR_access:
		return old_call(faccessat, AT_FDCWD, a[0], a[1]);
	case __NR_chmod:
		return old_call(fchmodat, AT_FDCWD, a[0], a[1]);
	case __NR_chown:
		return old_call(fchownat, AT_FDCWD, a[0], a[1], a[2], 0);
	case __NR_creat:
		return old_call(openat, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1]);
	case __NR_lchown:
		return old_call(fchownat, AT_FDCWD, a[0], a[1], a[2], AT_SYMLINK_NOFOLLOW);
	case __NR_link:
		return old_call(linkat, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
	case __NR_lstat:
		return old_call(newfstatat, AT_FDCWD, a[0], a[1], AT_SYMLINK_NOFOLLOW);
	case __NR_mkdir:
		return old_call(mkdirat, AT_FDCWD, a[0], a[1]);
	case __NR_mknod:
		return old_call(mknodat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_open:
		return old_call(openat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_readlink:
		return old_call(readlinkat, AT_FDCWD, a[0], a[1], a[2]);
	case __NR_rename:
		return old_call(renameat, AT_FDCWD, a[0], AT_FDCWD, a[1]);
	case __NR_rmdir:
		return old_call(unlinkat, AT_FDCWD, a[0], AT_REMOVEDIR);
	case __NR_stat:
		return old_call(newfstatat, AT_FDCWD, a[0], a[1], 0);
	case __NR_symlink:
		return old_call(symlinkat, a[0], AT_FDCWD, a[1]);
	case __NR_unlink:
		return old_call(unlinkat, AT_FDCWD, a[0], 0);
	}
	return -ENOSYS;
}

long arch_old_call(OLD_CALLER long nr, const long *a)
{
	switch (nr) {
	case __NR_alarm:
		return old_alarm(OLD_CALLED a[0]);
	case __NR_dup2:
		return old_dup2(OLD_CALLED a[0], a[1]);
	case __NR_epoll_create:
		return (int)a[0] > 0 ? old_call(epoll_create1, 0) : -EINVAL;
	case __NR_epoll_wait:
		return old_call(epoll_pwait, a[0], a[1], a[2], a[3], NULL, SIGSET_SIZE);
	case __NR_eventfd:
		return old_call(eventfd2, a[0], 0);
	case __NR_getpgrp:
		return old_call(getpgid, 0);
	case __NR_inotify_init:
		return old_call(inotify_init1, 0);
	case __NR_pipe:
		return old_call(pipe2, a[0], 0);
	case __NR_poll:
		return old_poll(OLD_CALLED a[0], a[1], a[2]);
	case __NR_signalfd:
		return old_call(signalfd4, a[0], a[1], a[2], 0);
	}
	return old_path(OLD_CALLED nr, a);
}

#endif /* SYSCRIPT_ARM64_OLD_CALLS_H */
