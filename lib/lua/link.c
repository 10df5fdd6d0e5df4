// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements link.h: compiles the functions that run() reaches, and links them to the runtime's
 * image.
 */
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "link.h"
#include "pattern.h"

/* About as many instructions as become the 64 KiB of code that each account is guaranteed. */
#define INSNS_FIT	6400

/* The parts of an image: see syscript_image.h. */
struct parts {
	struct image_header *header;
	struct image_func *funcs;
	u32 *table;
	struct image_insn *insns;
};

static size_t table_size(u32 n)
{
	return (n + (n & 1)) * sizeof(u32);
}

static size_t image_size(const struct image_header *h)
{
	return sizeof(*h) + h->nfuncs * sizeof(struct image_func) + table_size(h->ntable) +
	       h->ninsns * sizeof(struct image_insn);
}

static struct parts parts_of(struct image_header *header)
{
	struct parts p = { .header = header, .funcs = (void *)(header + 1) };

	p.table = (void *)(p.funcs + header->nfuncs);
	p.insns = (void *)((char *)p.table + table_size(header->ntable));
	return p;
}

/* -- Compiling -------------------------------------------------------------------------- */

/*
 * Numbers functions from @number on, before any is compiled, because calls refer to numbers.
 * Returns the next number.
 */
static u32 give_numbers(struct runtime *runtime, u32 first)
{
	struct proto *p;

	for (p = runtime->protos; p < runtime->protos + runtime->nprotos; p++)
		/* The script's main function runs only once, so it is not compiled. */
		p->number = p->line && p->reached ? first++ : 0;
	return first;
}

/* A numbered function that could not be compiled: enters the interpreter. */
static void compile_nothing(const struct runtime *runtime, struct emit *e)
{
	emit_mov(e, 1, 5);
	emit_call(e, runtime->exports.helpers[HELPER_enter]);
	emit_constant(e, 0, COMPILED_FRAME);
	emit_exit(e);
}

/* Numbers the patterns after the functions, before it is known which patterns are used. */
static void number_patterns(struct runtime *runtime, u32 first)
{
	u32 i;

	for (i = 0; i < PATTERNS_MOST; i++)
		runtime->patterns[i] = (struct pattern_use){ .number = first + i };
}

static void compile_patterns(const struct runtime *runtime, struct compiled *out)
{
	u32 i;

	for (i = 0; i < PATTERNS_MOST && runtime->patterns[i].string; i++) {
		out->starts[out->n] = out->emit.n;
		emit_origin(&out->emit, NO_PROTO, 0);
		pattern_compile(runtime, &runtime->patterns[i], &out->emit, &out->frames[out->n]);
		out->n++;
	}
}

static bool compile_all(struct runtime *runtime, struct compiled *out, u32 first)
{
	u32 most = runtime->nprotos + PATTERNS_MOST + 1, i;

	out->starts = calloc(most, sizeof(*out->starts));
	out->frames = calloc(most, sizeof(*out->frames));
	if (!out->starts || !out->frames)
		return false;
	number_patterns(runtime, first);
	for (i = 0; i < runtime->nprotos && !out->emit.failed; i++) {
		struct proto *p = &runtime->protos[i];

		if (!p->number)
			continue;
		out->frames[out->n] = FRAME_SIZE;
		out->starts[out->n] = out->emit.n;
		emit_origin(&out->emit, p->address - (uintptr_t)runtime->arena, 0);
		if (!compile_proto(runtime, p, &out->emit, &out->frames[out->n])) {
			if (runtime->all)
				return false;
			compile_nothing(runtime, &out->emit);
		}
		out->n++;
	}
	if (out->n)
		compile_patterns(runtime, out);
	return out->n && !out->emit.failed;
}

/* -- Linking ---------------------------------------------------------------------------- */

static void add_functions(const struct parts *to, const struct image_header *base,
			  const struct compiled *compiled)
{
	u32 i;

	for (i = 0; i < compiled->n; i++) {
		to->funcs[i] = (struct image_func){
			.start = compiled->starts[i], .frame = compiled->frames[i],
		};
		to->table[i] = base->nfuncs + i;
	}
}

/* The function with @number in the joint table, whose first @n entries are the base's. */
static void set_call(struct image_insn *insn, u32 at, const u32 *base, u32 n,
		     const struct compiled *compiled, u32 number)
{
	if (number < n) {
		insn->src = INSN_BASE;
		insn->imm = base[number];
	} else {
		insn->imm = compiled->starts[number - n] - (at + 1);
	}
}

static void add_insns(const struct parts *to, const u32 *base, u32 n,
		      const struct compiled *compiled)
{
	u32 i;

	memcpy(to->insns, compiled->emit.insns, compiled->emit.n * sizeof(*to->insns));
	for (i = 0; i < compiled->emit.ncalls; i++) {
		const struct call_fixup *call = &compiled->emit.calls[i];

		set_call(&to->insns[call->insn], call->insn, base, n, compiled, call->number);
	}
}

static struct image_header *link_image(const struct image_header *base, const u32 *table,
				       const struct compiled *compiled, size_t *len)
{
	struct image_header header = *base, *linked;
	struct parts to;

	header.flags |= IMAGE_EXTENDS;
	header.nfuncs = compiled->n;
	header.ntable = compiled->n;
	header.ninsns = compiled->emit.n;
	*len = image_size(&header);
	linked = calloc(1, *len);
	if (!linked)
		return NULL;
	*linked = header;
	to = parts_of(linked);
	add_functions(&to, base, compiled);
	add_insns(&to, table, base->ntable, compiled);
	return linked;
}

/* The image's table must contain the numbers that the runtime exports. */
static bool check_exports(const struct runtime_exports *exports, u32 ntable)
{
	const uint64_t *numbers = exports->helpers;
	size_t i;

	for (i = 0; i < HELPERS_N; i++)
		if (!numbers[i] || numbers[i] >= ntable)
			return false;
	return true;
}

static bool map_intrinsics(struct runtime *runtime, u32 ntable)
{
	const uint64_t *numbers = runtime->exports.intrinsics;
	u32 n;

	runtime->intrinsics = calloc(ntable, sizeof(*runtime->intrinsics));
	for (n = 0; runtime->intrinsics && n < INTRINSICS_N; n++)
		if (numbers[n] < ntable)
			runtime->intrinsics[numbers[n]] = n + 1;
	return runtime->intrinsics;
}

static void free_compiled(struct compiled *compiled)
{
	emit_free(&compiled->emit);
	free(compiled->starts);
	free(compiled->frames);
	*compiled = (struct compiled){ 0 };
}

/* Compiles the functions that run() reaches, or @few of them. */
static bool compile_reached(struct runtime *runtime, u32 first, struct compiled *out, bool few)
{
	if (!runtime_find_reached(runtime, few))
		return false;
	return compile_all(runtime, out, give_numbers(runtime, first));
}

struct image_header *runtime_compile(struct runtime *runtime, const struct image_header *header,
				     const u32 *table, size_t *len, struct origins *origins)
{
	struct compiled compiled = { 0 };
	struct image_header *linked = NULL;
	bool done;

	if (!check_exports(&runtime->exports, header->ntable) ||
	    !map_intrinsics(runtime, header->ntable) || !runtime_read_protos(runtime))
		return NULL;
	runtime->ntable = header->ntable;
	runtime_find_libraries(runtime);
	runtime->patterns = calloc(PATTERNS_MOST, sizeof(*runtime->patterns));
	if (!runtime->patterns)
		return NULL;
	done = compile_reached(runtime, header->ntable, &compiled, false);
	if (compiled.emit.n > INSNS_FIT) {
		free_compiled(&compiled);
		done = compile_reached(runtime, header->ntable, &compiled, true);
	}
	if (done)
		linked = link_image(header, table, &compiled, len);
	if (linked) {
		*origins = (struct origins){ compiled.emit.origins, compiled.emit.norigins };
		compiled.emit.origins = NULL;
	}
	free_compiled(&compiled);
	return linked;
}

/* -- The runtime ------------------------------------------------------------------------- */

static void write_word(const struct runtime *runtime, uint64_t address, uint32_t value)
{
	uint64_t at = address - (uintptr_t)runtime->arena;

	if (at < runtime->size && sizeof(value) <= runtime->size - at)
		memcpy(runtime->arena + at, &value, sizeof(value));
}

/* Also writes each function's number into its closures. */
static void attach_closures(const struct runtime *runtime)
{
	uint64_t global = runtime_word(runtime, runtime->state + STATE_GLOBAL, 8);
	uint64_t object = runtime_word(runtime, global + GLOBAL_ROOTGC, 8), left;
	const struct proto *p;

	for (left = runtime->size / 32; object && left; left--) {
		if (runtime_word(runtime, object + OBJECT_TYPE, 1) == TAG_FUNCTION &&
		    !runtime_word(runtime, object + CLOSURE_IS_C, 1)) {
			p = runtime_proto(runtime, runtime_word(runtime, object + CLOSURE_F, 8));
			if (p && p->number)
				write_word(runtime, object + CLOSURE_ID, p->number);
		}
		object = runtime_word(runtime, object + OBJECT_NEXT, 8);
	}
}

static void watch_libraries(const struct runtime *runtime)
{
	uint64_t at;
	u32 i;

	for (i = 0; i < runtime->nlibraries; i++) {
		at = runtime->libraries[i] + OBJECT_MARKED - (uintptr_t)runtime->arena;
		if (at < runtime->size)
			runtime->arena[at] |= OBJECT_WATCHED;
	}
}

void runtime_attach(const struct runtime *runtime)
{
	u32 i;

	for (i = 0; i < runtime->nprotos; i++)
		if (runtime->protos[i].number)
			write_word(runtime, runtime->protos[i].address + PROTO_COMPILED,
				   runtime->protos[i].number);
	attach_closures(runtime);
	watch_libraries(runtime);
}
