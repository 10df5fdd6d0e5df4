// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* System calls by their names. */
#include <string.h>
#include <sys/syscall.h>

#include "../../kernel/syscalls_nr.h"
#include "types.h"

static const struct name {
	const char *name, *kinds;
	long nr;
} names[] = {
#define SYSCALL(name, kinds, flags)	{ #name, kinds, __NR_##name },
#include "../../kernel/syscalls.def"
};

#define NAMES	(sizeof(names) / sizeof(names[0]))

long syscall_number(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (!strcmp(names[i].name, name))
			return names[i].nr;
	return -1;
}

const char *syscall_kinds(long nr)
{
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].nr == nr)
			return names[i].kinds;
	return NULL;
}

/* Numbers of bytes, which the kernel keeps below 2^31, descriptors and other ints. */
bool syscall_is_small(long nr)
{
	switch (nr) {
	case __NR_read: case __NR_pread64: case __NR_readv: case __NR_preadv:
	case __NR_write: case __NR_pwrite64: case __NR_writev: case __NR_pwritev:
	case __NR_recvfrom: case __NR_recvmsg: case __NR_recvmmsg:
	case __NR_sendto: case __NR_sendmsg: case __NR_sendmmsg:
	case __NR_open: case __NR_openat: case __NR_close: case __NR_getdents64:
	case __NR_stat: case __NR_fstat: case __NR_lstat: case __NR_newfstatat: case __NR_statx:
	case __NR_accept: case __NR_accept4: case __NR_socket:
	case __NR_poll: case __NR_epoll_wait: case __NR_epoll_pwait: case __NR_epoll_ctl:
	case __NR_getpid: case __NR_getppid: case __NR_gettid:
		return true;
	default:
		return false;
	}
}

long syscall_of(const struct runtime *runtime, uint64_t origin)
{
	if (origin >= (uintptr_t)runtime->arena)
		origin = runtime_word(runtime, origin + CLOSURE_ID, 4);
	if (origin < ID_SYSCALL || origin >= ID_SYSCALL + 0x1000)
		return -1;
	return origin - ID_SYSCALL;
}
