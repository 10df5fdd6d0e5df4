// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A subsystem fills in a view for each call of a program, and most programs read little of it:
 * bytes that no instruction can read need not be filled in.
 *
 * A dataflow analysis follows the view's address through the program's registers, until the state
 * no longer changes. An address that is stored, or whose distance from the view is unknown when
 * it is used, is assumed to reach any byte of the view.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/uapi/syscript_image.h"
#include "view_fields.h"

#define ALL		UINT64_MAX
#define REGISTERS	10
#define INSNS_MAX	65536		/* the image that is analysed */
#define BITS		64
#define BYTES_OF_BIT	4

/* The possible values of a register at an instruction. */
enum kind {
	NOTHING,	/* the instruction has not been reached so far */
	NUMBER,		/* not an address in the view */
	LENGTH,		/* a small non-negative number */
	VIEW,		/* the view's address + @at */
	BEYOND,		/* the view's address + @at or more */
	ANY,		/* possibly one of these two */
};

struct value {
	enum kind kind;
	int at;
};

struct state {
	struct value regs[REGISTERS];
};

struct search {
	const struct image_insn *insns;
	uint32_t n;
	struct state *states;		/* before each instruction */
	uint64_t sees;
	bool again;
};

static struct value a(enum kind kind)
{
	return (struct value){ .kind = kind };
}

static bool is_address(struct value value)
{
	return value.kind >= VIEW;
}

static struct value address(enum kind kind, long at)
{
	return at >= 0 && at <= INT32_MAX / 2 ? (struct value){ kind, at } : a(ANY);
}

static struct value join(struct value one, struct value other)
{
	if (!one.kind || (one.kind == other.kind && one.at == other.at))
		return other;
	if (!other.kind)
		return one;
	if (!is_address(one) && !is_address(other))
		return a(NUMBER);
	if (!is_address(one) || !is_address(other) || one.kind == ANY || other.kind == ANY)
		return a(ANY);
	return (struct value){ BEYOND, one.at < other.at ? one.at : other.at };
}

static void reach(struct search *s, long to, const struct state *with)
{
	if (to < 0 || to >= s->n) {
		s->sees = ALL;
		return;
	}
	for (int i = 0; i < REGISTERS; i++) {
		struct value *reg = &s->states[to].regs[i];
		struct value joined = join(*reg, with->regs[i]);

		s->again |= joined.kind != reg->kind || joined.at != reg->at;
		*reg = joined;
	}
}

/* -- Bytes that are read ------------------------------------------------------------- */

static void see(struct search *s, long first, long last)
{
	for (long bit = first / BYTES_OF_BIT; bit <= last / BYTES_OF_BIT; bit++)
		s->sees |= 1ULL << (bit < BITS ? bit : BITS - 1);
}

/* Marks @size bytes at @value + @off as read; @size 0: any number of bytes. */
static void read_at(struct search *s, struct value value, int off, int size)
{
	long at = (long)value.at + off;

	if (!is_address(value))
		return;
	if (value.kind == ANY || at < 0)
		s->sees = ALL;
	else
		see(s, at, value.kind == VIEW && size ? at + size - 1 : BITS * BYTES_OF_BIT);
}

static void lose(struct search *s, struct value value)
{
	if (is_address(value))
		s->sees = ALL;
}

/* -- Instructions ------------------------------------------------------------------ */

static int size_of(uint8_t code)
{
	static const int sizes[] = { 4, 2, 1, 8 };

	return sizes[INSN_SIZE(code) >> 3];
}

static struct value add(struct value one, struct value other)
{
	if (is_address(other)) {
		struct value swap = one;

		one = other;
		other = swap;
	}
	if (!is_address(one))
		return a(one.kind == LENGTH && other.kind == LENGTH ? LENGTH : NUMBER);
	return one.kind != ANY && other.kind == LENGTH ? (struct value){ BEYOND, one.at } :
						   a(ANY);
}

/* The result of operations other than additions. */
static struct value compute(const struct image_insn *insn, struct value one, struct value other)
{
	uint8_t op = INSN_OP(insn->code);

	if (is_address(one) || (is_address(other) && op != INSN_MOV))
		return a(ANY);
	if (op == INSN_END)
		return a(insn->imm < 64 ? LENGTH : NUMBER);
	/* The result of an addition in 64 bits. */
	if (op == INSN_AND && (one.kind == LENGTH || other.kind == LENGTH))
		return a(LENGTH);
	if (op == INSN_RSH && !(insn->code & INSN_X) && (one.kind == LENGTH || insn->imm >= 32))
		return a(LENGTH);
	return a(NUMBER);
}

static void step_alu(const struct image_insn *insn, struct state *state)
{
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64, reg = insn->code & INSN_X;
	uint8_t op = INSN_OP(insn->code);
	struct value constant = a(insn->imm >= 0 ? LENGTH : NUMBER);
	struct value *dst = &state->regs[insn->dst], other;

	other = op == INSN_NEG || op == INSN_END ? a(NUMBER) : !reg ? constant :
		insn->src < REGISTERS ? state->regs[insn->src] : a(NUMBER);
	if (!wide && op != INSN_END)
		*dst = is_address(*dst) && op != INSN_MOV ? a(ANY) :
		       is_address(other) ? a(ANY) : a(LENGTH);
	else if (op == INSN_MOV)
		*dst = insn->off && is_address(other) ? a(ANY) :
		       insn->off ? a(NUMBER) : other;
	else if (op == INSN_ADD && !reg && is_address(*dst) && dst->kind != ANY)
		*dst = address(dst->kind, (long)dst->at + insn->imm);
	else if (op == INSN_ADD)
		*dst = add(*dst, other);
	else
		*dst = compute(insn, *dst, other);
}

static void step_load(struct search *s, const struct image_insn *insn, struct state *state)
{
	int size = size_of(insn->code);

	if (insn->src < REGISTERS)
		read_at(s, state->regs[insn->src], insn->off, size);
	state->regs[insn->dst] = a(INSN_MODE(insn->code) == INSN_MEM && size < 8 ? LENGTH :
				  NUMBER);
}

static void step_store(struct search *s, const struct image_insn *insn, struct state *state)
{
	if (INSN_CLASS(insn->code) == INSN_STX && insn->src < REGISTERS)
		lose(s, state->regs[insn->src]);
	if (INSN_MODE(insn->code) != INSN_ATOMIC)
		return;
	if (insn->dst < REGISTERS)
		read_at(s, state->regs[insn->dst], insn->off & ~7, 16);
	if (insn->imm == INSN_CMPXCHG)
		state->regs[0] = a(NUMBER);
	else if (insn->imm & INSN_FETCH && insn->src < REGISTERS)
		state->regs[insn->src] = a(NUMBER);
}

static void step_call(struct search *s, uint32_t at, struct state *state)
{
	const struct image_insn *insn = &s->insns[at];

	if (insn->code & INSN_X || (insn->src && insn->src != INSN_LOCAL) ||
	    (!insn->src && insn->imm < IMAGE_FUNCTION)) {
		/* An abort reads nothing. */
		if (insn->code & INSN_X || insn->src || insn->imm != IMAGE_CALL_ABORT)
			s->sees = ALL;
	} else if (insn->src == INSN_LOCAL) {
		reach(s, (long)at + 1 + insn->imm, state);
	} else {
		for (int i = 1; i <= 5; i++)
			read_at(s, state->regs[i], 0, 0);
	}
	for (int i = 0; i <= 5; i++)
		state->regs[i] = a(NUMBER);
}

static void step_jump(struct search *s, uint32_t at, struct state *state)
{
	const struct image_insn *insn = &s->insns[at];
	uint8_t op = INSN_OP(insn->code);
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;

	if (op == INSN_CALL) {
		step_call(s, at, state);
	} else if (op == INSN_EXIT) {
		/* The caller may use the function's result. */
		lose(s, state->regs[0]);
		return;
	} else {
		reach(s, (long)at + 1 + (op == INSN_JA && !wide ? insn->imm : insn->off), state);
		if (op == INSN_JA)
			return;
	}
	reach(s, (long)at + 1, state);
}

/* Does the instruction write a register that programs cannot write? Then the kernel refuses it. */
static bool is_invalid(const struct image_insn *insn)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_LD: case INSN_LDX: case INSN_ALU: case INSN_ALU64:
		return insn->dst >= REGISTERS;
	}
	return false;
}

static void step(struct search *s, uint32_t at)
{
	const struct image_insn *insn = &s->insns[at];
	struct state state = s->states[at];

	if (!state.regs[0].kind)
		return;
	if (is_invalid(insn)) {
		s->sees = ALL;
		return;
	}
	switch (INSN_CLASS(insn->code)) {
	case INSN_LD:
		state.regs[insn->dst] = a(NUMBER);
		reach(s, (long)at + 2, &state);
		return;
	case INSN_LDX:
		step_load(s, insn, &state);
		break;
	case INSN_ST:
	case INSN_STX:
		step_store(s, insn, &state);
		break;
	case INSN_ALU:
	case INSN_ALU64:
		step_alu(insn, &state);
		break;
	default:
		step_jump(s, at, &state);
		return;
	}
	reach(s, (long)at + 1, &state);
}

uint64_t view_fields(const char *image, size_t len)
{
	const struct image_header *header = (const void *)image;
	size_t before = sizeof(*header) + header->nfuncs * sizeof(struct image_func) +
			(header->ntable + 1) / 2 * 2 * sizeof(uint32_t);
	struct search s = { .insns = (const void *)(image + before), .n = header->ninsns };
	struct state first;

	if (s.n > INSNS_MAX || before + s.n * sizeof(*s.insns) > len)
		return ALL;
	s.states = calloc(s.n, sizeof(*s.states));
	if (!s.states)
		return ALL;
	for (int i = 0; i < REGISTERS; i++)
		first.regs[i] = a(i == 1 ? VIEW : NUMBER);
	reach(&s, 0, &first);
	while (s.again && s.sees != ALL) {
		s.again = false;
		for (uint32_t i = 0; i < s.n; i++)
			step(&s, i);
	}
	free(s.states);
	return s.sees;
}
