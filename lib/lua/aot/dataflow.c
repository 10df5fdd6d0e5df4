// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Dataflow analysis (see aot/aot_priv.h): compiles each instruction without output, with the facts
 * known before it, until the facts no longer change.  Facts are only ever removed, so this ends.
 */
#include <stdlib.h>
#include <string.h>

#include "aot_priv.h"

static uint8_t bits_of(int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

	return size ? 64 - __builtin_clzll(size) : 0;
}

/* The facts about a constant; numbers that are not integers are refused where they are used. */
struct known known_value(struct value v)
{
	switch (v.tag) {
	case TAG_NIL:
		return (struct known){ .kind = K_NIL, .nil = true };
	case TAG_NUMBER:
		if ((int64_t)(v.bits << (64 - INTEGER_BITS)) >> (64 - INTEGER_BITS) !=
		    (int64_t)v.bits)
			break;
		return (struct known){
			.kind = K_NUMBER, .fixed = true, .bits = bits_of(v.bits),
			.below = (int64_t)v.bits < 0, .value = v,
		};
	case TAG_BOOLEAN:
		return (struct known){ .kind = K_BOOLEAN };
	}
	return (struct known){ .kind = K_STATIC, .value = v };
}

bool same_known(const struct known *a, const struct known *b)
{
	return a->kind == b->kind && a->nil == b->nil && a->fixed == b->fixed &&
	       a->below == b->below && a->bits == b->bits &&
	       a->value.tag == b->value.tag && a->value.bits == b->value.bits;
}

static struct known joined_numbers(struct known a, struct known b)
{
	a.nil |= b.nil;
	a.below |= b.below;
	a.fixed = a.fixed && b.fixed && a.value.bits == b.value.bits;
	/* Widened at once, because growth by one in each pass would take too many passes. */
	if (b.bits > a.bits)
		a.bits = b.bits < 32 ? 32 : NUMBER_BITS;
	if (!a.fixed)
		a.value = (struct value){ 0 };
	return a;
}

struct known joined(struct known a, struct known b)
{
	if (a.kind == K_NONE || same_known(&a, &b))
		return b;
	if (b.kind == K_NONE)
		return a;
	if (a.kind == K_NIL && (b.kind == K_NUMBER || b.kind == K_BOOLEAN || b.kind == K_ENTRY)) {
		b.nil = true;
		return b;
	}
	if (b.kind == K_NIL && a.kind <= K_ENTRY) {
		a.nil = true;
		return a;
	}
	if (a.kind == b.kind && (a.kind == K_NUMBER || a.kind == K_QUOTIENT))
		return joined_numbers(a, b);
	if (a.kind == b.kind && (a.kind == K_BOOLEAN ||
				 (a.kind == K_ENTRY && a.value.bits == b.value.bits))) {
		a.nil |= b.nil;
		return a;
	}
	return (struct known){ .kind = K_MIXED };
}

void flow_to(struct function *f, uint32_t pc)
{
	struct known *there, now;
	uint32_t r;

	if (f->sure || pc >= f->p->ncode)
		return;
	there = &f->known[pc * f->p->nregs];
	for (r = 0; r < f->p->nregs; r++) {
		now = joined(there[r], f->now[r]);
		if (same_known(&now, &there[r]))
			continue;
		there[r] = now;
		f->queued[pc] = true;
	}
}

static void begin(struct function *f)
{
	const struct instance *in = f->instance;
	uint32_t r;

	for (r = 0; r < f->p->nregs; r++)
		f->now[r] = r < in->nargs ? in->args[r] :
			    (struct known){ .kind = K_NIL, .nil = true };
	flow_to(f, 0);
}

static bool one_round(struct function *f)
{
	bool any = false;

	for (f->pc = 0; f->pc < f->p->ncode && !f->b->refused && !f->b->again; f->pc++) {
		if (!f->queued[f->pc])
			continue;
		f->queued[f->pc] = false;
		any = true;
		memcpy(f->now, &f->known[f->pc * f->p->nregs],
		       f->p->nregs * sizeof(*f->now));
		f->failed = false;
		if (compile_one(f) && !f->failed)
			flow_to(f, f->pc + 1);
		f->e->n = f->e->njumps = f->e->ncalls = 0;
		f->e->nlabels = f->p->ncode + 2;
		f->nlate = 0;
	}
	return any;
}

bool flow(struct function *f)
{
	begin(f);
	while (one_round(f))
		;
	return !f->b->refused && !f->b->again;
}
