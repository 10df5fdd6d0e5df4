// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements bytecode.h: copies functions, tables and strings out of the arena, with bounds on
 * everything, because scripts can write there.
 */
#include <stdlib.h>
#include <string.h>

#include "opcodes.h"
#include "bytecode.h"

/* Nodes of a table that offsets in instructions can reach. */
#define NODES_NEAR	512
/* Longer functions are interpreted. */
#define CODE_MAX	8192
#define PROTOS_MAX	4096

bool runtime_read(const struct runtime *runtime, uint64_t address, void *to, size_t len)
{
	uint64_t at = address - (uintptr_t)runtime->arena;

	if (at >= runtime->size || len > runtime->size - at)
		return false;
	memcpy(to, runtime->arena + at, len);
	return true;
}

struct value runtime_value(const struct runtime *runtime, uint64_t address)
{
	return (struct value){
		.tag = runtime_word(runtime, address + VALUE_TAG, 4),
		.bits = runtime_word(runtime, address, 8),
	};
}

void runtime_text(const struct runtime *runtime, struct value string, char *to, size_t size)
{
	uint64_t len = runtime_word(runtime, string.bits + STRING_LEN, 8);

	if (string.tag != TAG_STRING || len >= size)
		len = 0;
	if (!runtime_read(runtime, string.bits + STRING_TEXT, to, len))
		len = 0;
	to[len] = '\0';
}

struct value runtime_field(const struct runtime *runtime, uint64_t table, const char *name)
{
	uint64_t node = runtime_word(runtime, table + TABLE_NODE, 8);
	uint32_t i, n = 1U << (runtime_word(runtime, table + TABLE_LSIZENODE, 1) & 31);
	char text[64];

	for (i = 0; i < n && i < 4096; i++, node += NODE_SIZE) {
		runtime_text(runtime, runtime_value(runtime, node + NODE_KEY), text, sizeof(text));
		if (!strcmp(text, name))
			return runtime_value(runtime, node);
	}
	return (struct value){ .tag = TAG_NIL };
}

int32_t runtime_node(const struct runtime *runtime, uint64_t table, uint64_t name)
{
	uint64_t nodes = runtime_word(runtime, table + TABLE_NODE, 8);
	uint32_t mask = runtime_word(runtime, table + TABLE_NODEMASK, 4), n;
	struct value key;

	for (n = 0; n <= mask && n < NODES_NEAR; n++) {
		key = runtime_value(runtime, nodes + (uint64_t)n * NODE_SIZE + NODE_KEY);
		if (key.tag == TAG_STRING && key.bits == name)
			return n;
	}
	return -1;
}

/* -- A function: its parts, and whether it is well-formed ------------------------- */

static void *read_array(const struct runtime *runtime, uint64_t field, uint32_t n, size_t size)
{
	void *array = n <= CODE_MAX ? malloc((n + 1) * size) : NULL;

	if (array && n &&
	    !runtime_read(runtime, runtime_word(runtime, field, 8), array, n * size)) {
		free(array);
		array = NULL;
	}
	return array;
}

static bool is_register(const struct proto *p, uint32_t first, uint32_t n)
{
	return n <= REGISTERS && first + n <= p->nregs;
}

static bool is_rk(const struct proto *p, uint32_t rk)
{
	return rk & RK_K ? (rk & ~RK_K) < p->nk : rk < p->nregs;
}

/* Is @pc the position of an instruction, not of an operand? */
static bool is_place(const struct proto *p, int64_t pc)
{
	return pc >= 0 && pc < p->ncode && p->begins[pc];
}

/* A test must be followed by a jump, which it executes or skips. */
static bool is_test(const struct proto *p, uint32_t pc)
{
	return is_place(p, pc + 1) && is_place(p, pc + 2) && op_of(p->code[pc + 1]) == OP_JMP;
}

/* The instructions after OP_CLOSURE name the variables that the closure shares. */
static bool check_closure(struct proto *p, uint32_t pc)
{
	uint32_t bx = bx_of(p->code[pc]), i, nups;

	if (bx >= p->ninner)
		return false;
	nups = p->inner_nups[bx];
	if (pc + nups >= p->ncode)
		return false;
	p->has_closures = true;
	for (i = pc + 1; i <= pc + nups; i++) {
		uint32_t b = b_of(p->code[i]);

		if (op_of(p->code[i]) == OP_GETUPVAL) {
			if (b >= p->nups)
				return false;
		} else if (op_of(p->code[i]) == OP_MOVE && b < p->nregs) {
			p->captured[b] = true;
		} else {
			return false;
		}
	}
	return true;
}

static bool check_insn(struct proto *p, uint32_t pc)
{
	uint32_t i = p->code[pc], a = a_of(i), b = b_of(i), c = c_of(i);
	int64_t target = (int64_t)pc + 1 + sbx_of(i);

	switch (op_of(i)) {
	case OP_MOVE: case OP_UNM: case OP_NOT: case OP_LEN:
		return is_register(p, b, 1) && is_register(p, a, 1);
	case OP_LOADK: case OP_GETGLOBAL: case OP_SETGLOBAL:
		return is_register(p, a, 1) && bx_of(i) < p->nk;
	case OP_LOADBOOL:
		return is_register(p, a, 1) && is_place(p, pc + 1 + !!c);
	case OP_LOADNIL:
		return a <= b && is_register(p, b, 1);
	case OP_GETUPVAL: case OP_SETUPVAL:
		return is_register(p, a, 1) && b < p->nups;
	case OP_GETTABLE:
		return is_register(p, a, 1) && is_register(p, b, 1) && is_rk(p, c);
	case OP_SETTABLE:
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_POW:
		return is_register(p, a, 1) && is_rk(p, b) && is_rk(p, c);
	case OP_NEWTABLE: case OP_CLOSE:
		return is_register(p, a, 1);
	case OP_SELF:
		return is_register(p, a, 2) && is_register(p, b, 1) && is_rk(p, c);
	case OP_CONCAT:
		return is_register(p, a, 1) && b < c && is_register(p, c, 1);
	case OP_JMP:
		return is_place(p, target);
	case OP_EQ: case OP_LT: case OP_LE:
		return is_rk(p, b) && is_rk(p, c) && is_test(p, pc);
	case OP_TEST:
		return is_register(p, a, 1) && is_test(p, pc);
	case OP_TESTSET:
		return is_register(p, a, 1) && is_register(p, b, 1) && is_test(p, pc);
	case OP_CALL: case OP_TAILCALL:
		p->has_calls = true;
		return is_register(p, a, b ?: 1) && is_register(p, a, c ? c - 1 : 0) &&
		       pc + 1 < p->ncode;
	case OP_RETURN:
		return is_register(p, a, b ? b - 1 : 0);
	case OP_FORLOOP: case OP_FORPREP:
		return is_register(p, a, 4) && is_place(p, target) &&
		       (op_of(i) != OP_FORPREP || op_of(p->code[target]) == OP_FORLOOP);
	case OP_TFORLOOP:
		return is_register(p, a, 6) && is_register(p, a, 3 + c) && is_test(p, pc);
	case OP_SETLIST:
		return is_register(p, a, b + 1) && is_place(p, pc + 1 + !c);
	case OP_CLOSURE:
		return is_register(p, a, 1) && check_closure(p, pc);
	case OP_VARARG:
		return is_register(p, a, b ? b - 1 : 0) && p->is_vararg;
	default:
		return false;
	}
}

bool op_writes(uint32_t i, uint32_t reg)
{
	uint32_t a = a_of(i);

	switch (op_of(i)) {
	case OP_MOVE: case OP_LOADK: case OP_LOADBOOL: case OP_GETUPVAL: case OP_GETGLOBAL:
	case OP_GETTABLE: case OP_NEWTABLE: case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV:
	case OP_MOD: case OP_POW: case OP_UNM: case OP_NOT: case OP_LEN:
		return reg == a;
	case OP_LOADNIL:
		return reg >= a && reg <= b_of(i);
	case OP_SELF:
		return reg == a || reg == a + 1;
	case OP_CALL: case OP_TAILCALL:
		return reg >= a;
	default:
		return false;
	}
}

uint32_t proto_operands(const struct proto *p, uint32_t pc)
{
	uint32_t i = p->code[pc];

	if (op_of(i) == OP_CLOSURE && bx_of(i) < p->ninner)
		return p->inner_nups[bx_of(i)];
	return op_of(i) == OP_SETLIST && c_of(i) == 0;
}

static bool find_beginnings(struct proto *p)
{
	uint32_t pc;

	p->begins = calloc(p->ncode, sizeof(*p->begins));
	for (pc = 0; p->begins && pc < p->ncode; pc += 1 + proto_operands(p, pc))
		p->begins[pc] = true;
	return p->begins && pc == p->ncode;
}

static bool check_proto(struct proto *p)
{
	uint32_t pc;

	if (p->nregs < 2 || p->nregs > 250 || p->nparams > p->nregs || !p->ncode ||
	    !find_beginnings(p) || !is_place(p, p->ncode - 1) ||
	    op_of(p->code[p->ncode - 1]) != OP_RETURN)
		return false;
	for (pc = 0; pc < p->ncode; pc++)
		if (p->begins[pc] && !check_insn(p, pc))
			return false;
	return true;
}

static bool read_constants(const struct runtime *runtime, struct proto *p)
{
	uint64_t k = runtime_word(runtime, p->address + PROTO_K, 8);
	uint32_t i;

	p->k = p->nk <= CODE_MAX ? calloc(p->nk + 1, sizeof(*p->k)) : NULL;
	for (i = 0; p->k && i < p->nk; i++)
		p->k[i] = runtime_value(runtime, k + i * VALUE_SIZE);
	return p->k;
}

static bool read_inner(const struct runtime *runtime, struct proto *p)
{
	uint32_t i;

	p->inner = read_array(runtime, p->address + PROTO_P, p->ninner, sizeof(*p->inner));
	p->inner_nups = p->inner ? calloc(p->ninner + 1, 1) : NULL;
	for (i = 0; p->inner_nups && i < p->ninner; i++)
		p->inner_nups[i] = runtime_word(runtime, p->inner[i] + PROTO_NUPS, 1);
	return p->inner_nups;
}

static void free_proto(struct proto *p)
{
	free(p->code);
	free(p->begins);
	free(p->k);
	free(p->inner);
	free(p->inner_nups);
}

static bool read_proto(const struct runtime *runtime, uint64_t address, struct proto *p)
{
	*p = (struct proto){
		.address = address,
		.ncode = runtime_word(runtime, address + PROTO_SIZECODE, 4),
		.nk = runtime_word(runtime, address + PROTO_SIZEK, 4),
		.ninner = runtime_word(runtime, address + PROTO_SIZEP, 4),
		.nups = runtime_word(runtime, address + PROTO_NUPS, 1),
		.nparams = runtime_word(runtime, address + PROTO_NUMPARAMS, 1),
		.is_vararg = runtime_word(runtime, address + PROTO_IS_VARARG, 1),
		.nregs = runtime_word(runtime, address + PROTO_MAXSTACKSIZE, 1),
		.line = runtime_word(runtime, address + PROTO_LINEDEFINED, 4),
		.is_over = (int32_t)runtime_word(runtime, address + PROTO_LASTLINEDEFINED, 4) ==
			   PROTO_OVER,
	};
	p->code = read_array(runtime, address + PROTO_CODE, p->ncode, sizeof(*p->code));
	if (p->code && read_inner(runtime, p) && read_constants(runtime, p) && check_proto(p))
		return true;
	free_proto(p);
	return false;
}

/* -- All functions -------------------------------------------------------------------- */

static bool add_proto(struct runtime *runtime, uint64_t address)
{
	struct proto *more, p;

	if (runtime->nprotos >= PROTOS_MAX || !read_proto(runtime, address, &p))
		return true;
	more = realloc(runtime->protos, (runtime->nprotos + 1) * sizeof(p));
	if (!more) {
		free_proto(&p);
		return false;
	}
	runtime->protos = more;
	more[runtime->nprotos++] = p;
	return true;
}

static struct proto *find_proto(const struct runtime *runtime, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < runtime->nprotos; i++)
		if (runtime->protos[i].address == address)
			return &runtime->protos[i];
	return NULL;
}

const struct proto *runtime_proto(const struct runtime *runtime, uint64_t address)
{
	return find_proto(runtime, address);
}

/*
 * If memory runs out, or there are too many closures, nothing is known of variables that closures
 * share.
 */
static void add_closure(struct runtime *runtime, uint64_t address, const struct proto *p)
{
	struct closure *more = NULL;

	if (runtime->nclosures < CLOSURES_MAX)
		more = realloc(runtime->closures, (runtime->nclosures + 1) * sizeof(*more));
	if (!more) {
		runtime->nclosures = CLOSURES_MAX;
		return;
	}
	runtime->closures = more;
	more[runtime->nclosures++] = (struct closure){ address, p };
}

static void note_closure(struct runtime *runtime, uint64_t closure)
{
	struct proto *p;

	if (runtime_word(runtime, closure + CLOSURE_IS_C, 1))
		return;
	p = find_proto(runtime, runtime_word(runtime, closure + CLOSURE_F, 8));
	add_closure(runtime, closure, p);
	if (!p)
		return;
	p->closures++;
	if (!p->closure)
		p->closure = closure;
}

/* One pass over all objects for functions, and one for their closures. */
bool runtime_read_protos(struct runtime *runtime)
{
	uint64_t global = runtime_word(runtime, runtime->state + STATE_GLOBAL, 8);
	uint64_t first = runtime_word(runtime, global + GLOBAL_ROOTGC, 8), object, left;
	uint32_t type;

	for (object = first, left = runtime->size / 32; object && left; left--) {
		type = runtime_word(runtime, object + OBJECT_TYPE, 1);
		if (type == TAG_PROTO && !add_proto(runtime, object))
			return false;
		object = runtime_word(runtime, object + OBJECT_NEXT, 8);
	}
	for (object = first, left = runtime->size / 32; object && left; left--) {
		type = runtime_word(runtime, object + OBJECT_TYPE, 1);
		if (type == TAG_FUNCTION)
			note_closure(runtime, object);
		object = runtime_word(runtime, object + OBJECT_NEXT, 8);
	}
	runtime_find_fixed(runtime);
	return true;
}

void runtime_free(struct runtime *runtime)
{
	uint32_t i;

	for (i = 0; i < runtime->nprotos; i++)
		free_proto(&runtime->protos[i]);
	free(runtime->protos);
	free(runtime->closures);
	free(runtime->patterns);
	free(runtime->intrinsics);
}
