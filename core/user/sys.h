/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* System calls that return -errno and leave errno alone. */
#ifndef LIB_SYS_H
#define LIB_SYS_H

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/arch.h"

#define SYS_CALL(name, a, b, c, d, e, f, ...)				\
	sys_call6(SYS_##name, (long)(a), (long)(b), (long)(c),		\
		  (long)(d), (long)(e), (long)(f))
#define sys_call(...) SYS_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

/*
 * For each descriptor that the library opens: a program may have been started with 0, 1 or
 * 2 closed, and goes on to read and write them.  Takes @fd, -errno passes; returns one of 3
 * or more, closed at execve(2), or -errno.
 */
static inline int sys_above_standard(long fd)
{
	long above;

	if (fd < 0 || fd > 2)
		return fd;
	above = sys_call(fcntl, fd, F_DUPFD_CLOEXEC, 3);
	sys_call(close, fd);
	return above;
}

static inline unsigned long sys_now(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	/* Through libc for the vDSO; a valid clock cannot fail and set errno. */
	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

#endif /* LIB_SYS_H */
