// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Scripts look up functions of Lua's libraries at each call. Compiled code instead assumes that
 * the libraries' tables have the values of compile time: the runtime watches these tables
 * (luaC_replaces()), and after a change compiled code leaves to the interpreter.
 */
#include <string.h>

#include "opcodes.h"
#include "bytecode.h"

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

static struct value metatable_of(const struct runtime *runtime, uint64_t global, uint32_t tag)
{
	return (struct value){
		.tag = TAG_TABLE, .bits = runtime_word(runtime, global + GLOBAL_MT + 8 * tag, 8),
	};
}

/* Sets runtime->methods to the table with the methods of strings, if it is a library's. */
static void find_methods(struct runtime *runtime, uint64_t global)
{
	struct value meta = metatable_of(runtime, global, TAG_STRING), methods;

	methods = runtime_field(runtime, meta.bits, "__index");
	if (methods.tag == TAG_TABLE && is_watched(runtime, methods.bits) && watch(runtime, meta))
		runtime->methods = methods.bits;
}

/* Finds registers that hold views of frames, by the names of methods called on them. */
static void find_views(const struct runtime *runtime, struct proto *p)
{
	uint32_t pc, i;
	struct value name;

	for (pc = 0; pc < p->ncode; pc += 1 + proto_operands(p, pc)) {
		i = p->code[pc];
		if (op_of(i) != OP_SELF || !(c_of(i) & RK_K))
			continue;
		name = p->k[c_of(i) & ~RK_K];
		if (runtime_view_method(runtime, name) &&
		    runtime_node(runtime, runtime->methods, name.bits) < 0)
			p->views[b_of(i)] = true;
	}
}

static void find_frames(struct runtime *runtime, uint64_t global)
{
	struct value meta = metatable_of(runtime, global, TAG_POINTER), methods;
	uint32_t n;

	methods = runtime_field(runtime, meta.bits, "__index");
	if (methods.tag != TAG_TABLE)
		return;
	runtime->views = methods.bits;
	for (n = 0; n < runtime->nprotos; n++)
		find_views(runtime, &runtime->protos[n]);
}

void runtime_find_libraries(struct runtime *runtime)
{
	static const char *const names[] = { "string", "table", "math", "bit" };
	uint64_t global = runtime_word(runtime, runtime->state + STATE_GLOBAL, 8);
	struct value globals = runtime_value(runtime, runtime->state + STATE_GLOBALS);
	size_t i;

	if (!runtime_word(runtime, runtime->replaced, 4) && watch(runtime, globals)) {
		runtime->globals = globals.bits;
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			watch(runtime, runtime_field(runtime, globals.bits, names[i]));
		find_methods(runtime, global);
	}
	/* Methods of strings are known by now: s:find() looks like a frame's. */
	find_frames(runtime, global);
}

uint64_t runtime_view_method(const struct runtime *runtime, struct value name)
{
	int32_t n = name.tag == TAG_STRING ? runtime_node(runtime, runtime->views, name.bits) : -1;
	struct value method;

	if (n < 0)
		return 0;
	method = runtime_value(runtime, runtime_word(runtime, runtime->views + TABLE_NODE, 8) +
					(uint64_t)n * NODE_SIZE);
	return method.tag == TAG_FUNCTION ? method.bits : 0;
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
