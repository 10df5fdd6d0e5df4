// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Scripts look up functions of Lua's libraries at each call. Compiled code instead assumes that
 * the libraries' tables have the values of compile time: the runtime watches these tables
 * (luaC_replaces()), and after a change compiled code leaves to the interpreter.
 */
#include "read.h"

static bool is_plain_table(const struct runtime *runtime, struct value v)
{
	return v.tag == TAG_TABLE && !runtime_word(runtime, v.bits + TABLE_METATABLE, 8);
}

static bool watch(struct runtime *runtime, struct value v)
{
	if (!is_plain_table(runtime, v) || runtime->nlibraries == LIBRARIES_MOST)
		return false;
	runtime->libraries[runtime->nlibraries++] = v.bits;
	return true;
}

static bool is_watched(const struct runtime *runtime, uint64_t table)
{
	uint32_t n;

	for (n = 0; n < runtime->nlibraries; n++)
		if (runtime->libraries[n] == table)
			return true;
	return false;
}

/* The table in which methods of strings are looked up, if it is one of a library. */
static void find_methods(struct runtime *runtime, uint64_t global)
{
	struct value meta = { .tag = TAG_TABLE }, methods;

	meta.bits = runtime_word(runtime, global + GLOBAL_MT + 8 * TAG_STRING, 8);
	methods = runtime_field(runtime, meta.bits, "__index");
	if (methods.tag == TAG_TABLE && is_watched(runtime, methods.bits) && watch(runtime, meta))
		runtime->methods = methods.bits;
}

void runtime_find_libraries(struct runtime *runtime)
{
	static const char *const names[] = { "string", "table", "math", "bit" };
	uint64_t global = runtime_word(runtime, runtime->state + STATE_GLOBAL, 8);
	struct value globals = runtime_value(runtime, runtime->state + STATE_GLOBALS);
	size_t i;

	if (runtime_word(runtime, runtime->replaced, 4) || !watch(runtime, globals))
		return;
	runtime->globals = globals.bits;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		watch(runtime, runtime_field(runtime, globals.bits, names[i]));
	find_methods(runtime, global);
}

bool runtime_library(const struct runtime *runtime, uint64_t table, struct value name,
		     struct value *found)
{
	char text[64];

	runtime_text(runtime, name, text, sizeof(text));
	if (!text[0] || !is_watched(runtime, table))
		return false;
	*found = runtime_field(runtime, table, text);
	if (found->tag == TAG_TABLE)
		return is_watched(runtime, found->bits);
	return found->tag == TAG_FUNCTION && runtime_word(runtime, found->bits + CLOSURE_IS_C, 1);
}

/* Does a library have a function of this name?  Then a store to a field of it is not inline. */
bool runtime_library_name(const struct runtime *runtime, struct value name)
{
	struct value found;
	uint32_t n;
	char text[64];

	runtime_text(runtime, name, text, sizeof(text));
	if (!strcmp(text, "__index"))
		return true;
	for (n = 0; n < runtime->nlibraries; n++)
		if (runtime_library(runtime, runtime->libraries[n], name, &found))
			return true;
	return false;
}
