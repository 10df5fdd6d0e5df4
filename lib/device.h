/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The kernel backend: its devices and the script fds that they give out. */
#ifndef LIB_DEVICE_H
#define LIB_DEVICE_H

#include <errno.h>
#include <linux/syscript.h>
#include <stdbool.h>

#include "user/sys.h"

#define DEVICE_PATH		"/dev/syscript"		/* for the confined engine */
#define DEVICE_PATH_LUAJIT	"/dev/syscript-luajit"	/* for any */

/* May this process open it? */
bool device_opens(const char *path);

/*
 * Maps an arena of the module's over @size bytes at @at: an image's, whose memory is charged
 * as it is used.  0, or -errno, and there may be nothing any more.
 */
int device_map_arena(void *at, unsigned long size);

/* All return the ioctl's result, or -errno. */
int device_register(struct syscript_register *reg);
int device_next(struct syscript_info *info);
/* SYSCRIPT_IOC_LOAD and those after it; -ENODEV without a device. */
int device_program(unsigned long request, void *arg);
int device_text(int fd, struct syscript_text *text);
int device_info(int fd, struct syscript_info *info);

/* Does @err say that this process cannot use the kernel backend at all? */
static inline bool device_unavailable(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -ENOTTY:
	case -ENOSYS:
	case -EACCES:
	case -EPERM:
	case -EOPNOTSUPP:
	case -ESHUTDOWN:
		return true;
	}
	return false;
}

/* SYSCRIPT_IOC_CALL, where lseek(2) has not done it. */
int device_call_ioctl(int fd, struct syscript_call *call, long err);

/* Before device_call(): sets all but arguments and results.  Older modules know no flag. */
static inline void device_call_begin(struct syscript_call *call, unsigned int nargs)
{
	call->flags = SYSCRIPT_CALL_TELL;
	call->nargs = nargs;
	call->nresults = 0;
	call->state = 0;
}

/* SYSCRIPT_SEEK_CALLED, or something to be handed to device_call_ioctl(). */
static inline long device_seek(int fd, struct syscript_call *call)
{
	return sys_call3(SYS_lseek, fd, -(long)call, SYSCRIPT_SEEK_CALL);
}

/**
 * struct expected - the file that a descriptor of the process has to refer to, or the
 * script that it has to be
 */
struct expected {
	int fd;
	unsigned long dev, ino;
};

static inline struct expected expected_script(unsigned long id)
{
	return (struct expected){ .fd = SYSCRIPT_EXPECT_SCRIPT, .ino = id };
}

/* device_call() without results if @file is there: -ESTALE if nothing has run. */
static inline int device_call_expecting(int fd, struct syscript_call *call,
					const struct expected *file)
{
	long ret;

	call->flags = SYSCRIPT_CALL_TELL | SYSCRIPT_CALL_EXPECT | SYSCRIPT_CALL_QUIET;
	call->fd = file->fd;
	call->dev = file->dev;
	call->ino = file->ino;
	ret = device_seek(fd, call);
	if (__builtin_expect(ret == SYSCRIPT_SEEK_CALLED, 1))
		return 0;
	return call->state == SYSCRIPT_CALL_ENDED ? (int)ret : -ESTALE;
}

static inline int device_call(int fd, struct syscript_call *call)
{
	long ret = device_seek(fd, call);

	return __builtin_expect(ret == SYSCRIPT_SEEK_CALLED, 1) ? 0 :
	       device_call_ioctl(fd, call, ret);
}

#endif /* LIB_DEVICE_H */
