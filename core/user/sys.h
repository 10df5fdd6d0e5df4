/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* System calls that return -errno and do not touch errno. */
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
 * For each descriptor that the library opens: a program started with 0, 1 or 2 closed may still
 * read and write those numbers. Replaces @fd by a descriptor of at least 3 with FD_CLOEXEC;
 * returns it, or -errno. A negative @fd is returned.
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
