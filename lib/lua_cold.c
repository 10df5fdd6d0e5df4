// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements lua_cold.h: tables of constants and the Lua parts of util, in the process's memory. */
#include <linux/syscript.h>
#include <string.h>

#include "lua_cold.h"
#include "run.h"

static const struct runtime_constant constants[] = {
#define CONSTANT(name, value)	{ #name, (int64_t)(value) },
#include "constants.inc"
};

static const struct runtime_excluded excluded[] = {
#define SYSCALL_EXCLUDED(name, reason)	{ #name, reason },
#include "syscalls.def"
};

static const char struct_text[] = {
#include "struct.inc"
};

static const char types_text[] = {
#include "types.inc"
};

size_t lua_cold_size(const struct run *run)
{
	return run->only && !(run->libraries & SYSCRIPT_LIBRARY_UTIL) ?
		sizeof(constants) + sizeof(excluded) : 0;
}

void lua_cold_place(struct runtime_call *call, void *copy)
{
	if (copy) {
		memcpy(copy, constants, sizeof(constants));
		memcpy((char *)copy + sizeof(constants), excluded, sizeof(excluded));
	}
	call->constants = (unsigned long)(copy ?: constants);
	call->nconstants = sizeof(constants) / sizeof(*constants);
	call->excluded = copy ? (unsigned long)copy + sizeof(constants) : (unsigned long)excluded;
	call->nexcluded = sizeof(excluded) / sizeof(*excluded);
	call->struct_text = (unsigned long)struct_text;
	call->struct_len = sizeof(struct_text);
	call->types_text = (unsigned long)types_text;
	call->types_len = sizeof(types_text);
}
