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
