// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Finds constant upvalues. Their function was created once, by the script's main function, which
 * does not run again. No function that has the upvalue, or that can be created in one that has
 * it, assigns to it. The upvalue is closed, so no register of a frame is shared with it.
 */
#include <stdlib.h>

#include "opcodes.h"
#include "bytecode.h"

/* Bounds the number of pairs of nested functions, because the arena may contain anything. */
#define WORK_MAX	(1U << 24)

/* A set of upvalues, one bit each; all of them if unknown. */
#define ALL_UPVALUES	(~0ULL)

static uint64_t bit_of(uint32_t up)
{
	return up < 64 ? 1ULL << up : ALL_UPVALUES;
}

/* The upvalues of @p to which the function created at @pc assigns. */
static uint64_t assigned_inside(const struct runtime *runtime, const struct proto *p, uint32_t pc)
{
	const struct proto *inner = runtime_proto(runtime, p->inner[bx_of(p->code[pc])]);
	uint64_t assigned = inner ? inner->assigned : ALL_UPVALUES, found = 0;
	uint32_t k, i;

	for (k = 0; k < proto_operands(p, pc); k++) {
		i = p->code[pc + 1 + k];
		if (op_of(i) == OP_GETUPVAL && assigned & bit_of(k))
			found |= bit_of(b_of(i));
	}
	return found;
}

static uint64_t assigned_by(const struct runtime *runtime, const struct proto *p)
{
	uint64_t found = 0;
	uint32_t pc;

	for (pc = 0; pc < p->ncode; pc += 1 + proto_operands(p, pc)) {
		if (op_of(p->code[pc]) == OP_SETUPVAL)
			found |= bit_of(b_of(p->code[pc]));
		else if (op_of(p->code[pc]) == OP_CLOSURE)
			found |= assigned_inside(runtime, p, pc);
	}
	return found;
}

/* Repeats as often as functions are nested, usually a few times. */
static bool find_assigned(const struct runtime *runtime)
{
	uint32_t pass, i;
	bool more = true;

	for (pass = 0; pass < 16 && more; pass++) {
		more = false;
		for (i = 0; i < runtime->nprotos; i++) {
			uint64_t found = assigned_by(runtime, &runtime->protos[i]);

			more |= found != runtime->protos[i].assigned;
			runtime->protos[i].assigned = found;
		}
	}
	return !more;
}

static uint64_t upvalue_of(const struct runtime *runtime, uint64_t closure, uint32_t up)
{
	return runtime_word(runtime, closure + CLOSURE_UPVALUES + 8 * up, 8);
}

/* Adds the upvalues that a closure assigns to.  Returns the number in @to. */
static size_t add_assigned(const struct runtime *runtime, const struct closure *closure,
			   uint64_t *to, size_t n)
{
	uint64_t assigned = closure->proto ? closure->proto->assigned : ALL_UPVALUES;
	uint32_t up, nups = runtime_word(runtime, closure->address + CLOSURE_NUPVALUES, 1);

	for (up = 0; up < nups; up++)
		if (assigned & bit_of(up))
			to[n++] = upvalue_of(runtime, closure->address, up);
	return n;
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* All upvalues that are assigned to, sorted.  NULL if there is no memory. */
static uint64_t *list_assigned(const struct runtime *runtime, size_t *n)
{
	uint64_t *list = malloc((runtime->nclosures + 1) * 256 * sizeof(*list));
	uint32_t i;

	*n = 0;
	for (i = 0; list && i < runtime->nclosures; i++)
		*n = add_assigned(runtime, &runtime->closures[i], list, *n);
	if (list)
		qsort(list, *n, sizeof(*list), compare);
	return list;
}

/* Was it created by the script's main function, which does not run again? */
static bool is_made_once(const struct runtime *runtime, const struct proto *p)
{
	bool made = false;
	uint32_t i, k;

	for (i = 0; i < runtime->nprotos; i++) {
		const struct proto *q = &runtime->protos[i];

		for (k = 0; k < q->ninner; k++) {
			if (q->inner[k] != p->address)
				continue;
			if (!q->is_over)
				return false;
			made = true;
		}
	}
	return made && p->closures == 1;
}

static void find_fixed(const struct runtime *runtime, struct proto *p, const uint64_t *assigned,
		       size_t n)
{
	uint32_t up;

	if (!is_made_once(runtime, p))
		return;
	for (up = 0; up < p->nups && up < 64; up++) {
		uint64_t at = upvalue_of(runtime, p->closure, up);

		if (runtime_word(runtime, at + UPVAL_V, 8) == at + UPVAL_VALUE &&
		    !bsearch(&at, assigned, n, sizeof(at), compare))
			p->fixed |= bit_of(up);
	}
}

static uint64_t count_inner(const struct proto *p)
{
	uint64_t n = p->ninner;
	uint32_t pc;

	for (pc = 0; pc < p->ncode; pc++)
		n += op_of(p->code[pc]) == OP_CLOSURE;
	return n;
}

static bool is_too_much(const struct runtime *runtime)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < runtime->nprotos; i++)
		n += count_inner(&runtime->protos[i]);
	return runtime->nclosures == CLOSURES_MAX || n * runtime->nprotos > WORK_MAX;
}

void runtime_find_fixed(const struct runtime *runtime)
{
	uint64_t *assigned;
	uint32_t i;
	size_t n;

	if (is_too_much(runtime) || !find_assigned(runtime))
		return;
	assigned = list_assigned(runtime, &n);
	for (i = 0; assigned && i < runtime->nprotos; i++)
		find_fixed(runtime, &runtime->protos[i], assigned, n);
	free(assigned);
}
