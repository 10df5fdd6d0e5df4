/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The kernel backend: its devices, and the script fds that they return. */
#ifndef LIB_DEVICE_H
#define LIB_DEVICE_H

#include <errno.h>
#include <linux/syscript.h>
#include <stdbool.h>

#include "user/sys.h"

#define DEVICE_PATH		"/dev/syscript"		/* for the confined engine */
#define DEVICE_PATH_LUAJIT	"/dev/syscript-luajit"	/* for all engines */

/* May this process open the device? */
bool device_opens(const char *path);

/*
 * Maps an arena of the module over the @size bytes at @at; its memory is charged when it is used.
 * 0, or -errno, after which @at may be unmapped.
 */
int device_map_arena(void *at, unsigned long size);

/* These return the ioctl's result, or -errno. */
int device_register(struct syscript_register *reg);
int device_next(struct syscript_info *info);
/* SYSCRIPT_IOC_LOAD and the requests after it; -ENODEV without a device. */
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

/* SYSCRIPT_IOC_CALL, if device_call() did not make the call. */
int device_call_ioctl(int fd, struct syscript_call *call, long err);

/*
 * Initialises @call for device_call(), except arguments and results. Older modules know no flags.
 */
static inline void device_call_begin(struct syscript_call *call, unsigned int nargs)
{
	call->flags = SYSCRIPT_CALL_TELL;
	call->nargs = nargs;
	call->nresults = 0;
	call->state = 0;
}

/*
 * Calls the script by lseek(2). Returns SYSCRIPT_SEEK_CALLED, or a value for device_call_ioctl().
 */
static inline long device_seek(int fd, struct syscript_call *call)
{
	return sys_call3(SYS_lseek, fd, -(long)call, SYSCRIPT_SEEK_CALL);
}

/**
 * struct expected - the file that a descriptor must refer to, or the script that must be called
 */
struct expected {
	int fd;
	unsigned long dev, ino;
};

static inline struct expected expected_script(unsigned long id)
{
	return (struct expected){ .fd = SYSCRIPT_EXPECT_SCRIPT, .ino = id };
}

/* device_call() without results, if @file is still the descriptor's: -ESTALE if nothing has run. */
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
