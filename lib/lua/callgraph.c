// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Finds the functions that run() may call (see bytecode.h), so that other functions, such as those
 * called only while the script is loaded, take no room for code. A function that is missed is
 * interpreted, so a mistake does no harm.
 *
 * The search begins at run(), and follows its upvalues, tables in these, and so on. Of the table
 * of globals, and of tables in it, such as libraries, it follows only fields whose names occur in
 * functions that were found; so it is repeated until it finds no more. To find few functions, it
 * treats all tables in this way, but for handlers of accesses, and ignores calls of table fields.
 */
#include <stdlib.h>
#include <string.h>

#include "opcodes.h"
#include "bytecode.h"

#define DEPTH_MOST	64	/* nesting of tables that is followed */
#define PASSES		16
#define FIELDS_MOST	4096	/* fields of a table that are followed */
#define CELL		16	/* alignment of objects */
#define WORK_MOST	(1U << 20)	/* bounds the search: scripts can write to the arena */

/**
 * struct reach - a pass of the search
 * @seen:  objects that were visited
 * @named: strings that functions use as names of fields and globals
 * @found: functions found in this pass; @left: values that may still be visited
 */
struct reach {
	struct runtime *runtime;
	uint64_t globals;
	uint8_t *seen, *named;
	uint32_t depth, found, left;
	bool few;
};

static void visit(struct reach *r, struct value v, bool only_named);

/* Sets the object's bit; returns true if it was already set, or the object has no bit. */
static bool mark(const struct reach *r, uint8_t *bits, uint64_t object)
{
	uint64_t at = object - (uintptr_t)r->runtime->arena;
	uint8_t bit = 1 << (at / CELL % 8);
	bool was;

	if (at >= r->runtime->size)
		return true;
	was = bits[at / CELL / 8] & bit;
	bits[at / CELL / 8] |= bit;
	return was;
}

static bool is_named(const struct reach *r, struct value key)
{
	uint64_t at = key.bits - (uintptr_t)r->runtime->arena;

	return key.tag == TAG_STRING && at < r->runtime->size &&
	       r->named[at / CELL / 8] >> (at / CELL % 8) & 1;
}

/* The name of the field or global that the instruction accesses, or nil. */
static struct value name_in(const struct proto *p, uint32_t i)
{
	uint32_t c = c_of(i);

	if (op_of(i) == OP_GETGLOBAL)
		return p->k[bx_of(i)];
	if ((op_of(i) == OP_GETTABLE || op_of(i) == OP_SELF) && c & RK_K)
		return p->k[c & ~RK_K];
	return (struct value){ .tag = TAG_NIL };
}

/* Marks the function, and all functions that it may create. */
static void reach_proto(struct reach *r, struct proto *p)
{
	uint32_t i;

	if (p->reached)
		return;
	p->reached = true;
	r->found++;
	for (i = 0; i < p->ncode; i += 1 + proto_operands(p, i))
		if (name_in(p, p->code[i]).tag == TAG_STRING)
			mark(r, r->named, name_in(p, p->code[i]).bits);
	for (i = 0; i < p->ninner; i++) {
		struct proto *inner = (struct proto *)runtime_proto(r->runtime, p->inner[i]);

		if (inner)
			reach_proto(r, inner);
	}
}

static void visit_closure(struct reach *r, uint64_t closure)
{
	const struct runtime *runtime = r->runtime;
	uint32_t n = runtime_word(runtime, closure + CLOSURE_NUPVALUES, 1), i;
	struct proto *p;

	if (runtime_word(runtime, closure + CLOSURE_IS_C, 1))
		return;
	p = (struct proto *)runtime_proto(runtime, runtime_word(runtime, closure + CLOSURE_F, 8));
	if (p)
		reach_proto(r, p);
	for (i = 0; i < n; i++) {
		uint64_t up = runtime_word(runtime, closure + CLOSURE_UPVALUES + 8 * i, 8);

		visit(r, runtime_value(runtime, runtime_word(runtime, up + UPVAL_V, 8)), false);
	}
}

static void visit_meta(struct reach *r, uint64_t table)
{
	uint64_t node = runtime_word(r->runtime, table + TABLE_NODE, 8);
	uint32_t mask = runtime_word(r->runtime, table + TABLE_NODEMASK, 4), i;
	char name[8];

	for (i = 0; i <= mask && i < FIELDS_MOST; i++, node += NODE_SIZE) {
		runtime_text(r->runtime, runtime_value(r->runtime, node + NODE_KEY), name,
			     sizeof(name));
		if (!r->few || strcmp(name, "__call"))
			visit(r, runtime_value(r->runtime, node), false);
	}
}

/* Is the table's field a handler, in case that it is a metatable of tables to be made later? */
static bool is_handler(const struct reach *r, struct value key)
{
	char name[16];

	runtime_text(r->runtime, key, name, sizeof(name));
	return !strcmp(name, "__index") || !strcmp(name, "__newindex");
}

static void visit_table(struct reach *r, uint64_t table, bool only_named)
{
	const struct runtime *runtime = r->runtime;
	uint64_t node = runtime_word(runtime, table + TABLE_NODE, 8);
	uint64_t array = runtime_word(runtime, table + TABLE_ARRAY, 8);
	uint64_t meta = runtime_word(runtime, table + TABLE_METATABLE, 8);
	uint32_t mask = runtime_word(runtime, table + TABLE_NODEMASK, 4), i;
	uint32_t size = runtime_word(runtime, table + TABLE_SIZEARRAY, 4);
	struct value key;

	if (meta && !only_named)
		visit_meta(r, meta);
	for (i = 0; i < size && i < FIELDS_MOST && !only_named; i++)
		visit(r, runtime_value(runtime, array + (uint64_t)i * VALUE_SIZE), false);
	for (i = 0; i <= mask && i < FIELDS_MOST; i++, node += NODE_SIZE) {
		key = runtime_value(runtime, node + NODE_KEY);
		if (is_named(r, key) ||
		    !(only_named || (r->few && key.tag == TAG_STRING && !is_handler(r, key))))
			visit(r, runtime_value(runtime, node), table == r->globals);
	}
}

/* Is the table a global one, such as a library? */
static bool is_global(const struct reach *r, uint64_t table)
{
	uint64_t node = runtime_word(r->runtime, r->globals + TABLE_NODE, 8);
	uint32_t mask = runtime_word(r->runtime, r->globals + TABLE_NODEMASK, 4), i;
	struct value v;

	for (i = 0; i <= mask && i < FIELDS_MOST; i++) {
		v = runtime_value(r->runtime, node + (uint64_t)i * NODE_SIZE);
		if (v.tag == TAG_TABLE && v.bits == table)
			return true;
	}
	return table == r->globals;
}

static void visit(struct reach *r, struct value v, bool only_named)
{
	if (!r->left || !--r->left || (v.tag != TAG_FUNCTION && v.tag != TAG_TABLE) ||
	    r->depth == DEPTH_MOST || mark(r, r->seen, v.bits))
		return;
	r->depth++;
	if (v.tag == TAG_FUNCTION)
		visit_closure(r, v.bits);
	else
		visit_table(r, v.bits, only_named || is_global(r, v.bits));
	r->depth--;
}

static void reach_all(struct runtime *runtime)
{
	uint32_t i;

	for (i = 0; i < runtime->nprotos; i++)
		runtime->protos[i].reached = true;
}

bool runtime_find_reached(struct runtime *runtime, bool few)
{
	struct value globals = runtime_value(runtime, runtime->state + STATE_GLOBALS);
	struct value run = runtime_field(runtime, globals.bits, "run");
	size_t size = runtime->size / CELL / 8 + 1;
	struct reach r = {
		.runtime = runtime, .globals = globals.bits, .seen = malloc(size),
		.named = calloc(size, 1), .found = 1, .left = WORK_MOST,
		.few = few,
	};
	uint32_t pass, i;
	bool done = r.seen && r.named;

	for (i = 0; i < runtime->nprotos; i++)
		runtime->protos[i].reached = false;
	for (pass = 0; done && r.found && pass < PASSES; pass++) {
		r.found = 0;
		memset(r.seen, 0, size);
		visit(&r, run, false);
		visit(&r, globals, true);
	}
	/* run() may be defined later. */
	if (run.tag != TAG_FUNCTION)
		reach_all(runtime);
	free(r.seen);
	free(r.named);
	return done;
}
