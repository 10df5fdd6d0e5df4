// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <fcntl.h>
#include <sys/mman.h>

#include "device.h"
#include "user/sys.h"

static int device_open(const char *path)
{
	return sys_above_standard(sys_call(openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
}

bool device_opens(const char *path)
{
	int fd = device_open(path);

	if (fd >= 0)
		sys_call(close, fd);
	return fd >= 0;
}

static int request_and_close(int fd, unsigned long request, void *arg)
{
	int ret;

	if (fd < 0)
		return fd;
	ret = sys_call(ioctl, fd, request, arg);
	sys_call(close, fd);
	return ret;
}

/* Opens @path or, if this process may not open it, @other. */
static int device_request(const char *path, const char *other, unsigned long request,
			  void *arg)
{
	int fd = device_open(path);

	return request_and_close(fd < 0 ? device_open(other) : fd, request, arg);
}

int device_map_arena(void *at, unsigned long size)
{
	int fd = device_open(DEVICE_PATH);
	long ret;

	if (fd < 0)
		fd = device_open(DEVICE_PATH_LUAJIT);
	if (fd < 0)
		return fd;
	ret = sys_call(mmap, at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd);
	sys_call(close, fd);
	return ret == (long)at ? 0 : ret < 0 ? ret : -EINVAL;
}

/* The request returns no descriptor for a checked image, or a base of the machine. */
static bool gets_descriptor(const struct syscript_register *reg)
{
	return !(reg->flags & SYSCRIPT_CHECK) &&
	       (~reg->flags & (SYSCRIPT_BASE | SYSCRIPT_SHARED));
}

int device_register(struct syscript_register *reg)
{
	const char *path = reg->engine == SYSCRIPT_ENGINE_CONFINED ?
		DEVICE_PATH : DEVICE_PATH_LUAJIT;
	int ret = device_request(path, DEVICE_PATH_LUAJIT, SYSCRIPT_IOC_REGISTER, reg);

	return gets_descriptor(reg) ? sys_above_standard(ret) : ret;
}

int device_next(struct syscript_info *info)
{
	return device_request(DEVICE_PATH, DEVICE_PATH_LUAJIT, SYSCRIPT_IOC_NEXT, info);
}

int device_program(unsigned long request, void *arg)
{
	int fd = device_open(DEVICE_PATH);

	if (fd < 0)
		fd = device_open(DEVICE_PATH_LUAJIT);
	return request_and_close(fd == -ENOENT ? -ENODEV : fd, request, arg);
}

/*
 * The module is older, @fd is not a script, or a seccomp filter has replaced the result of
 * lseek(2): unless the result shows that the script was called, no call was made.
 */
int device_call_ioctl(int fd, struct syscript_call *call, long err)
{
	if (call->state == SYSCRIPT_CALL_ENDED)
		return err;
	call->flags = 0;
	call->fd = call->reserved = 0;
	call->dev = call->ino = 0;
	return sys_call(ioctl, fd, SYSCRIPT_IOC_CALL, call);
}

int device_text(int fd, struct syscript_text *text)
{
	return sys_call(ioctl, fd, SYSCRIPT_IOC_TEXT, text);
}

int device_info(int fd, struct syscript_info *info)
{
	return sys_call(ioctl, fd, SYSCRIPT_IOC_INFO, info);
}
