// SPDX-License-Identifier: GPL-2.0
/* Prints the kernel's list of this program's compounds. */
#include <cosy.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../../include/uapi/syscript.h"

int main(void)
{
	int fd = open("/dev/syscript", O_RDWR);
	struct syscript_info info = { 0 };
	long sum = 0;

	for (int i = 0; i < 3; i++) {
		COSY_START;
		sum += getppid();
		COSY_END;
	}
	while (!ioctl(fd, SYSCRIPT_IOC_NEXT, &info))
		if (info.pid == getpid())
			printf("engine %u, calls %llu\n", info.engine, info.calls);
	return !sum;
}
