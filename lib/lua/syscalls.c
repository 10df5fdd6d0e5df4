// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Facts about system calls that the compiler needs. */
#include <string.h>
#include <sys/syscall.h>

#include "syscalls_nr.h"
#include "types.h"

/*
 * By number; excluded calls have no name. The names are in the structures, because pointers would
 * have to be relocated in each process.
 */
static const struct syscall {
	char name[24], kinds[8];
	unsigned int flags;
} syscalls[] = {
#define SYSCALL(name, kinds, flags)	[__NR_##name] = { #name, kinds, flags },
#include "syscalls.def"
};

#define SYSCALLS	((long)(sizeof(syscalls) / sizeof(syscalls[0])))

static const struct syscall *syscall_at(long nr)
{
	return nr >= 0 && nr < SYSCALLS && *syscalls[nr].name ? &syscalls[nr] : NULL;
}

long syscall_number(const char *name)
{
	for (long nr = 0; nr < SYSCALLS; nr++)
		if (*name && !strcmp(syscalls[nr].name, name))
			return nr;
	return -1;
}

const char *syscall_kinds(long nr)
{
	const struct syscall *call = syscall_at(nr);

	return call ? call->kinds : NULL;
}

bool syscall_is_small(long nr)
{
	const struct syscall *call = syscall_at(nr);

	return call && call->flags & SC_INT;
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
