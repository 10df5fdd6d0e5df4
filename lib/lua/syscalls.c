// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* System calls by their names. */
#include <string.h>
#include <sys/syscall.h>

#include "../../kernel/syscalls_nr.h"
#include "types.h"

static const struct name {
	const char *name, *kinds;
	long nr;
	unsigned int flags;
} names[] = {
#define SYSCALL(name, kinds, flags)	{ #name, kinds, __NR_##name, flags },
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

bool syscall_is_small(long nr)
{
	for (size_t i = 0; i < NAMES; i++)
		if (names[i].nr == nr)
			return names[i].flags & SC_INT;
	return false;
}

long syscall_of(const struct runtime *runtime, uint64_t origin)
{
	if (origin >= (uintptr_t)runtime->arena)
		origin = runtime_word(runtime, origin + CLOSURE_ID, 4);
	if (origin < ID_SYSCALL || origin >= ID_SYSCALL + 0x1000)
		return -1;
	return origin - ID_SYSCALL;
}
