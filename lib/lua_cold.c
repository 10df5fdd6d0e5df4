// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements lua_cold.h: tables of names and the Lua parts of util, in the process's memory. */
#include <linux/syscript.h>
#include <string.h>

#include "lua_cold.h"
#include "run.h"
#include "syscalls_nr.h"

static const struct runtime_constant constants[] = {
#define CONSTANT(name, value)	{ #name, (int64_t)(value) },
#include "constants.inc"
};

static const struct runtime_constant errnos[] = {
#define ERRNO(name, value)	{ #name, (int64_t)(value) },
#include "constants.inc"
};

static const struct runtime_syscall syscalls[] = {
#define SYSCALL(name, kinds, flags)	{ #name, kinds, __NR_##name },
#include "syscalls.def"
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

#define TABLE(elements)	{ elements, sizeof(elements), sizeof(elements) / sizeof(*(elements)) }

static const struct table {
	const void *elements;
	size_t size, n;
} tables[RUNTIME_TABLES] = {
	[RUNTIME_CONSTANTS] = TABLE(constants),
	[RUNTIME_ERRNOS] = TABLE(errnos),
	[RUNTIME_SYSCALLS] = TABLE(syscalls),
	[RUNTIME_EXCLUDED] = TABLE(excluded),
};

size_t lua_cold_size(const struct run *run)
{
	size_t size = 0;

	if (!run->only || run->libraries & SYSCRIPT_LIBRARY_UTIL)
		return 0;
	for (int i = 0; i < RUNTIME_TABLES; i++)
		size += tables[i].size;
	return size;
}

void lua_cold_place(struct runtime_call *call, char *copy)
{
	for (int i = 0; i < RUNTIME_TABLES; i++) {
		const struct table *table = &tables[i];
		const void *at = table->elements;

		if (copy) {
			at = memcpy(copy, table->elements, table->size);
			copy += table->size;
		}
		call->tables[i] = (struct runtime_table){ (uintptr_t)at, table->n };
	}
	call->struct_text = (unsigned long)struct_text;
	call->struct_len = sizeof(struct_text);
	call->types_text = (unsigned long)types_text;
	call->types_len = sizeof(types_text);
}
