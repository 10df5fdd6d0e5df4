// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <fcntl.h>

#include "device.h"
#include "sys.h"

static int device_request(unsigned long request, void *arg)
{
	int fd = sys_call(openat, AT_FDCWD, DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return fd;
	ret = sys_call(ioctl, fd, request, arg);
	sys_call(close, fd);
	return ret;
}

int device_register(struct syscript_register *reg)
{
	return device_request(SYSCRIPT_IOC_REGISTER, reg);
}

int device_next(struct syscript_info *info)
{
	return device_request(SYSCRIPT_IOC_NEXT, info);
}

int device_call(int fd, struct syscript_call *call)
{
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
