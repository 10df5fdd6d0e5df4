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

/* Opens a file for reading; if it is a FIFO, that does not wait for a writer. */
static inline int sys_open_to_read(const char *path)
{
	return sys_above_standard(sys_call(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC |
								    O_NONBLOCK | O_NOCTTY));
}

static inline unsigned long sys_now(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	/* Through libc for the vDSO; a valid clock cannot fail and set errno. */
	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

#endif /* LIB_SYS_H */
