// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Facts about system calls that the compiler needs. */
#include <string.h>
#include <sys/syscall.h>

#include "syscalls_nr.h"
#include "types.h"

static const struct name {
	const char *name, *kinds;
	long nr;
	unsigned int flags;
} names[] = {
#define SYSCALL(name, kinds, flags)	{ #name, kinds, __NR_##name, flags },
#include "syscalls.def"
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

bool syscall_is_small(long nr)
{
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].nr == nr)
			return names[i].flags & SC_INT;
	return false;
}

/* Calls whose string arguments are paths, or data to be written. */
bool syscall_only_reads(long nr)
{
	switch (nr) {
	case __NR_open: case __NR_openat: case __NR_access: case __NR_faccessat:
	case __NR_stat: case __NR_lstat: case __NR_newfstatat: case __NR_statx:
	case __NR_readlink: case __NR_readlinkat: case __NR_mkdir: case __NR_mkdirat:
	case __NR_unlink: case __NR_unlinkat: case __NR_rmdir:
	case __NR_rename: case __NR_renameat: case __NR_renameat2:
	case __NR_write: case __NR_pwrite64: case __NR_sendto:
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
