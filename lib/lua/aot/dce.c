// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Dead-code elimination (see aot/aot_priv.h). Instructions of Lua are compiled one by one, so each
 * loads values that the one before has stored.
 *
 * First, value numbering along straight lines removes loads of values that a register already
 * holds, and makes constants operands. Then instructions whose results nothing reads are removed,
 * and jumps to the next instruction. Addresses of frame slots are never taken: code that passes
 * an address in the frame uses only the spare bytes, which are not slots.
 */
#include <stdlib.h>
#include <string.h>

#include "aot_priv.h"

#define REGS		10
#define PLACES		64		/* registers and frame slots that are tracked */
#define BIT(place)	(1ULL << (place))
#define ARGUMENTS	0x3e		/* r1 to r5 */
#define CLOBBERED	0x3f
#define GONE		0		/* a code: the second half of a constant has it, too */
#define WIDE		(INSN_LD | INSN_DW | INSN_IMM)

/**
 * struct tidy - the @n instructions of a function, from @insns on
 * @to: for each instruction: number of its jump's target, or -1
 * @target: for each instruction: it is a target of jumps
 * @live: locations that are live before an instruction or after it
 * @slots: frame slots that are tracked
 * @value: value number of each location, along a straight line
 * @since: when the location got its value
 * @constants: constants by value number
 */
struct tidy {
	struct function *f;
	struct image_insn *insns;
	uint32_t start, n;
	int32_t *to;
	bool *target;
	uint64_t *live;
	uint32_t slots;
	uint32_t value[PLACES], values, since[PLACES], now;
	struct { uint32_t value; int32_t constant; } constants[PLACES];
	uint32_t nconstants;
};

struct effect {
	uint64_t reads, writes;
	bool stays;		/* the instruction has an effect besides what it writes */
};

static uint8_t class_of(const struct image_insn *insn)
{
	return INSN_CLASS(insn->code);
}

static bool is_jump(const struct image_insn *insn)
{
	return (class_of(insn) == INSN_JMP || class_of(insn) == INSN_JMP32) &&
	       INSN_OP(insn->code) != INSN_CALL && INSN_OP(insn->code) != INSN_EXIT;
}

static bool is_always(const struct image_insn *insn)
{
	return is_jump(insn) && INSN_OP(insn->code) == INSN_JA;
}

/* Is it a copy of one tracked register to another? */
static bool is_move(const struct image_insn *insn)
{
	return insn->code == (INSN_ALU64 | INSN_MOV | INSN_X) && !insn->off && insn->src < REGS;
}

static bool is_atomic(const struct image_insn *insn)
{
	return class_of(insn) == INSN_STX && INSN_MODE(insn->code) == INSN_ATOMIC;
}

/* The location of the slot that @insn loads or stores, with its address in @base; or -1. */
static int slot_of(const struct tidy *t, const struct image_insn *insn, uint8_t base)
{
	uint32_t slot = -insn->off / 8 - 1;

	if (base != INSN_R10 || is_atomic(insn) || insn->off >= 0 || insn->off % 8 ||
	    INSN_SIZE(insn->code) != INSN_DW || slot >= t->slots)
		return -1;
	return REGS + slot;
}

static uint64_t bit_of(uint8_t reg)
{
	return reg < REGS ? BIT(reg) : 0;
}

static struct effect effect_of_store(const struct tidy *t, const struct image_insn *insn)
{
	uint64_t source = class_of(insn) == INSN_STX ? bit_of(insn->src) : 0;
	int slot = slot_of(t, insn, insn->dst);

	if (slot >= 0)
		return (struct effect){ source, BIT(slot), false };
	return (struct effect){ source | bit_of(insn->dst),
				is_atomic(insn) && insn->imm & INSN_FETCH ? source : 0, true };
}

static struct effect effect_of_flow(const struct image_insn *insn)
{
	uint64_t source = insn->code & INSN_X ? bit_of(insn->src) : 0;

	switch (INSN_OP(insn->code)) {
	case INSN_CALL:
		return (struct effect){ ARGUMENTS, CLOBBERED, true };
	case INSN_EXIT:
		return (struct effect){ BIT(0), 0, true };
	case INSN_JA:
		return (struct effect){ 0, 0, true };
	}
	return (struct effect){ bit_of(insn->dst) | source, 0, true };
}

static struct effect effect_of(const struct tidy *t, const struct image_insn *insn)
{
	uint64_t dst = bit_of(insn->dst);
	int slot;

	switch (class_of(insn)) {
	case INSN_ALU: case INSN_ALU64:
		return (struct effect){
			(insn->code & INSN_X && INSN_OP(insn->code) != INSN_END ?
			 bit_of(insn->src) : 0) |
			(INSN_OP(insn->code) == INSN_MOV ? 0 : dst), dst, false,
		};
	case INSN_LD:
		return (struct effect){ 0, insn->code == WIDE ? dst : 0, false };
	case INSN_LDX:
		slot = slot_of(t, insn, insn->src);
		return (struct effect){ slot < 0 ? bit_of(insn->src) : BIT(slot), dst, false };
	case INSN_ST: case INSN_STX:
		return effect_of_store(t, insn);
	}
	return effect_of_flow(insn);
}

/* -- Along a straight line ----------------------------------------------------------- */

static void forget_all(struct tidy *t)
{
	for (int place = 0; place < PLACES; place++)
		t->value[place] = ++t->values;
	t->nconstants = 0;
}

static const int32_t *constant_of(const struct tidy *t, uint8_t reg)
{
	if (reg >= REGS)
		return NULL;
	for (uint32_t n = 0; n < t->nconstants; n++)
		if (t->constants[n].value == t->value[reg])
			return &t->constants[n].constant;
	return NULL;
}

/* The value number of a constant. */
static uint32_t value_of_constant(struct tidy *t, int32_t constant)
{
	for (uint32_t n = 0; n < t->nconstants; n++)
		if (t->constants[n].constant == constant)
			return t->constants[n].value;
	if (t->nconstants == PLACES)
		return ++t->values;
	t->constants[t->nconstants].constant = constant;
	t->constants[t->nconstants].value = ++t->values;
	return t->constants[t->nconstants++].value;
}

/* The register that has had the value of @place for longest, or @place. */
static int oldest(const struct tidy *t, int place)
{
	int best = place;

	for (int reg = 0; reg < REGS; reg++)
		if (t->value[reg] == t->value[place] &&
		    (best >= REGS || t->since[reg] < t->since[best]))
			best = reg;
	return best;
}

/* Uses the original instead of a copy, which may then become dead. */
static uint8_t original_of(const struct tidy *t, uint8_t reg)
{
	return reg < REGS ? oldest(t, reg) : reg;
}

/* The condition with its operands exchanged. */
static uint8_t turned(uint8_t op)
{
	static const uint8_t pairs[][2] = {
		{ INSN_JGT, INSN_JLT }, { INSN_JGE, INSN_JLE },
		{ INSN_JSGT, INSN_JSLT }, { INSN_JSGE, INSN_JSLE },
	};

	for (size_t n = 0; n < sizeof(pairs) / sizeof(pairs[0]); n++)
		for (int k = 0; k < 2; k++)
			if (pairs[n][k] == op)
				return pairs[n][!k];
	return op;
}

static bool takes_constant(const struct image_insn *insn, int32_t constant)
{
	switch (INSN_OP(insn->code)) {
	case INSN_ADD: case INSN_SUB: case INSN_MUL: case INSN_AND: case INSN_OR: case INSN_XOR:
		return true;
	case INSN_MOV:
		return !insn->off;
	case INSN_DIV: case INSN_MOD:
		return !insn->off && constant > 0;
	}
	return false;
}

static void use_constant(struct image_insn *insn, int32_t constant)
{
	insn->code &= ~INSN_X;
	insn->src = 0;
	insn->imm = constant;
}

static void use_constants_of_jump(struct tidy *t, struct image_insn *insn)
{
	const int32_t *source = constant_of(t, insn->src), *other = constant_of(t, insn->dst);

	if (!(insn->code & INSN_X) || class_of(insn) != INSN_JMP)
		return;
	if (!source && other) {
		insn->code = (insn->code & ~0xf0) | turned(INSN_OP(insn->code));
		insn->dst = insn->src;
		source = other;
	}
	if (source)
		use_constant(insn, *source);
}

static void use_originals(struct tidy *t, struct image_insn *insn)
{
	uint8_t class = class_of(insn);

	if (is_always(insn))
		return;
	if (is_jump(insn) || class == INSN_ST || class == INSN_STX)
		insn->dst = original_of(t, insn->dst);
	if (class == INSN_LDX || (class == INSN_STX && !is_atomic(insn)) ||
	    (insn->code & INSN_X && (is_jump(insn) || class == INSN_ALU64)))
		insn->src = original_of(t, insn->src);
}

/* Replaces operands by constants, or by originals of copies. */
static void use_known(struct tidy *t, struct image_insn *insn)
{
	const int32_t *source = constant_of(t, insn->src);

	if (is_jump(insn)) {
		use_constants_of_jump(t, insn);
	} else if (class_of(insn) == INSN_ALU64 && insn->code & INSN_X && source &&
		   takes_constant(insn, *source)) {
		use_constant(insn, *source);
	} else if (class_of(insn) == INSN_STX && !is_atomic(insn) && source) {
		insn->code = INSN_ST | (insn->code & ~7);
		insn->src = 0;
		insn->imm = *source;
	}
	use_originals(t, insn);
}

/* Replaces a load of a slot by a move from a register with the same value. */
static void use_register(struct tidy *t, struct image_insn *insn)
{
	int slot = class_of(insn) == INSN_LDX ? slot_of(t, insn, insn->src) : -1, holder;

	if (slot < 0)
		return;
	holder = t->value[insn->dst] == t->value[slot] ? insn->dst : oldest(t, slot);
	if (holder < REGS)
		*insn = (struct image_insn){
			.code = INSN_ALU64 | INSN_MOV | INSN_X, .dst = insn->dst, .src = holder,
		};
}

/* The value number of the result of @insn; 0: a new value. */
static uint32_t value_after(struct tidy *t, const struct image_insn *insn)
{
	if (is_move(insn))
		return t->value[insn->src];
	if (insn->code == (INSN_ALU64 | INSN_MOV) && !insn->off)
		return value_of_constant(t, insn->imm);
	if (class_of(insn) == INSN_LDX && slot_of(t, insn, insn->src) >= 0)
		return t->value[slot_of(t, insn, insn->src)];
	if (class_of(insn) == INSN_STX && slot_of(t, insn, insn->dst) >= 0 && insn->src < REGS)
		return t->value[insn->src];
	if (class_of(insn) == INSN_ST && slot_of(t, insn, insn->dst) >= 0)
		return value_of_constant(t, insn->imm);
	return 0;
}

static void follow(struct tidy *t, struct image_insn *insn)
{
	struct effect effect;
	uint32_t value;

	use_register(t, insn);
	use_known(t, insn);
	effect = effect_of(t, insn);
	value = value_after(t, insn);
	if (value && effect.writes && !effect.stays &&
	    t->value[__builtin_ctzll(effect.writes)] == value) {
		insn->code = GONE;
		return;
	}
	for (int place = 0; place < PLACES; place++)
		if (effect.writes & BIT(place)) {
			t->value[place] = value ?: ++t->values;
			t->since[place] = ++t->now;
		}
}

static void follow_all(struct tidy *t)
{
	forget_all(t);
	for (uint32_t n = 0; n < t->n; n++) {
		if (t->target[n])
			forget_all(t);
		if (t->insns[n].code != GONE)
			follow(t, &t->insns[n]);
	}
}

/* -- Dead code --------------------------------------------------------------------------- */

static uint64_t live_after(const struct tidy *t, uint32_t n)
{
	const struct image_insn *insn = &t->insns[n];
	uint64_t live = 0;

	if (t->to[n] >= 0 && insn->code != GONE)
		live |= t->live[t->to[n]];
	if (!is_always(insn) && insn->code != (INSN_JMP | INSN_EXIT) && n + 1 < t->n)
		live |= t->live[n + 1];
	return live;
}

/* Liveness before each instruction, until the sets no longer change. */
static void find_live(struct tidy *t)
{
	bool more = true;

	memset(t->live, 0, t->n * sizeof(*t->live));
	while (more) {
		more = false;
		for (uint32_t n = t->n; n--;) {
			uint64_t live = live_after(t, n);

			if (t->insns[n].code != GONE) {
				struct effect effect = effect_of(t, &t->insns[n]);

				live = (live & ~effect.writes) | effect.reads;
			}
			more |= live != t->live[n];
			t->live[n] = live;
		}
	}
}

/* @n, or the first remaining instruction after it. */
static uint32_t next_of(const struct tidy *t, uint32_t n)
{
	while (n < t->n && t->insns[n].code == GONE)
		n++;
	return n;
}

/* Is it a jump to the next instruction, or an instruction with a dead result? */
static bool is_needless(const struct tidy *t, uint32_t n)
{
	struct effect effect = effect_of(t, &t->insns[n]);

	if (is_always(&t->insns[n]))
		return t->to[n] > (int)n && next_of(t, t->to[n]) == next_of(t, n + 1);
	return !effect.stays && !(effect.writes & live_after(t, n));
}

static bool remove_needless(struct tidy *t)
{
	bool any = false;

	find_live(t);
	for (uint32_t n = 0; n < t->n; n++) {
		struct image_insn *insn = &t->insns[n];

		if (insn->code == GONE || !is_needless(t, n))
			continue;
		if (insn->code == WIDE)
			memset(&insn[1], 0, sizeof(*insn));
		insn->code = GONE;
		any = true;
	}
	return any;
}

/* -- The whole function --------------------------------------------------------------------- */

/* The first half of a constant stays only together with the second. */
static bool is_there(const struct tidy *t, uint32_t n)
{
	return t->insns[n].code != GONE || (n && t->insns[n - 1].code == WIDE);
}

/* Closes the gaps: renumbers jumps, labels, calls and lines. */
static void close_up(struct tidy *t)
{
	struct emit *e = t->f->e;
	uint16_t *lines = t->f->b->out->lines;
	uint32_t *number = (uint32_t *)t->to, n, at = 0;	/* @to is no longer needed */

	for (n = 0; n < t->n; n++) {
		bool there = is_there(t, n);

		t->live[n] = there;
		number[n] = at;
		at += there;
	}
	for (n = 0; n < e->nlabels; n++)
		if (e->labels[n] >= (s32)t->start)
			e->labels[n] = t->start + ((uint32_t)e->labels[n] - t->start < t->n ?
						   number[e->labels[n] - t->start] : at);
	for (n = at = 0; n < e->njumps; n++)
		if (t->live[e->jumps[n].insn - t->start])
			e->jumps[at++] = (struct jump_fixup){
				t->start + number[e->jumps[n].insn - t->start],
				e->jumps[n].label,
			};
	e->njumps = at;
	for (n = 0; n < e->ncalls; n++)
		if (e->calls[n].insn >= t->start)
			e->calls[n].insn = t->start + number[e->calls[n].insn - t->start];
	for (n = at = 0; n < t->n; n++) {
		if (!t->live[n])
			continue;
		t->insns[at] = t->insns[n];
		lines[t->start + at++] = lines[t->start + n];
	}
	e->n = t->start + at;
	t->f->b->out->nlines = e->n;
}

static bool find_targets(struct tidy *t)
{
	const struct emit *e = t->f->e;

	for (uint32_t n = 0; n < t->n; n++)
		t->to[n] = -1;
	for (uint32_t n = 0; n < e->njumps; n++) {
		uint32_t to = e->labels[e->jumps[n].label] - t->start;

		/* The label has no position yet. */
		if (to >= t->n)
			return false;
		t->to[e->jumps[n].insn - t->start] = to;
		t->target[to] = true;
	}
	return true;
}

void tidy(struct function *f, uint32_t start)
{
	const struct emit *e = f->e;
	struct tidy t = {
		.f = f, .insns = e->insns + start, .start = start, .n = e->n - start,
		.slots = (f->instance->frame - SPARE) / 8,
	};

	if (e->failed || !t.n)
		return;
	if (t.slots > PLACES - REGS)
		t.slots = PLACES - REGS;
	t.to = calloc(t.n, sizeof(*t.to));
	t.target = calloc(t.n, sizeof(*t.target));
	t.live = calloc(t.n, sizeof(*t.live));
	if (t.to && t.target && t.live && find_targets(&t)) {
		/* Removing instructions reveals further equal values, so this is repeated. */
		do
			follow_all(&t);
		while (remove_needless(&t));
		close_up(&t);
	}
	free(t.to);
	free(t.target);
	free(t.live);
}
