// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements rights.h: parses lists of names into the rights of a registration. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "rights.h"
#include "syscalls_nr.h"

#define BETWEEN	", \t\n"

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
#define SYSCALL(name, kinds, flags)	{ #name, __NR_##name },
#include "syscalls.def"
};

static const struct {
	const char *name;
	uint32_t library;
} libraries[] = {
	{ "util", SYSCRIPT_LIBRARY_UTIL }, { "fs", SYSCRIPT_LIBRARY_FS },
	{ "net", SYSCRIPT_LIBRARY_NET },
};

static bool is_word(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && !memcmp(name, word, len);
}

static bool add(struct syscript_register *reg, const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (is_word(libraries[i].name, word, len)) {
			reg->libraries |= libraries[i].library;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (is_word(calls[i].name, word, len)) {
			reg->calls[calls[i].nr / 64] |= 1ULL << calls[i].nr % 64;
			return true;
		}
	}
	return false;
}

int rights_parse(struct syscript_register *reg, const char *names, char *error,
		 size_t error_len)
{
	reg->flags |= SYSCRIPT_ONLY;
	for (names += strspn(names, BETWEEN); *names; names += strspn(names, BETWEEN)) {
		size_t len = strcspn(names, BETWEEN);

		if (!add(reg, names, len)) {
			snprintf(error, error_len,
				 "no system call or library '%.*s' for scripts",
				 (int)(len < 64 ? len : 64), names);
			return -EINVAL;
		}
		names += len;
	}
	return 0;
}
