// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See verify_insn.h: what one machine instruction may do, and what is known after it.
 * tests/confined/prove.py proves for each kind of instruction that what is
 * accepted here leaves the arena nowhere, and that what is known after it holds.
 */
#include "image.h"
#include "verify_insn.h"

static u32 arena_mask(const struct verify *v)
{
	return (1U << v->arena_shift) - 1;
}

static const char *check_place(const struct verify *v, const struct verify_state *s,
			       const struct verify_insn *in)
{
	s64 most = (s64)IMAGE_GUARD - 8;

	if (in->index == NO_INDEX)
		most += arena_mask(v) + 1;
	else if (!(s->masked & V_BIT(in->index)))
		return "the address is not masked";
	if (in->disp < -(s64)IMAGE_GUARD || in->disp > most)
		return "the offset reaches over the guard";
	if (!in->align)
		return NULL;
	if (in->disp & (in->align - 1) ||
	    (in->index != NO_INDEX &&
	     !((in->align == 8 ? s->by8 : s->by4) & V_BIT(in->index))))
		return "an atomic operation may cross a cache line";
	return NULL;
}

static void forget(struct verify_state *s, u16 regs)
{
	s->masked &= ~regs;
	s->by4 &= ~regs;
	s->by8 &= ~regs;
}

static const char *step_push(struct verify_state *s, u8 reg)
{
	if (s->depth >= V_SLOTS)
		return "too much is pushed";
	if (reg == V_MACHINE && s->machine == HAS_MACHINE)
		s->held |= V_BIT(s->depth);
	else if (V_BIT(reg) & (V_SECRET | s->unset))
		return "pushes what is not the program's";
	s->depth++;
	return NULL;
}

static const char *step_pop(struct verify_state *s, u8 reg)
{
	bool held;

	if (!s->depth)
		return "pops the return address";
	s->depth--;
	held = s->held & V_BIT(s->depth);
	s->held &= ~V_BIT(s->depth);
	if (held != (reg == V_MACHINE) || V_BIT(reg) & V_KEPT & ~V_BIT(V_MACHINE))
		return "pops into another register";
	forget(s, V_BIT(reg));
	s->unset &= ~V_BIT(reg);
	if (held)
		s->machine = HAS_MACHINE;
	return NULL;
}

/* After the AND with @in's constant. */
static void step_mask(const struct verify *v, struct verify_state *s,
		      const struct verify_insn *in)
{
	u16 reg = V_BIT(in->reg), by8 = s->by8, by4 = s->by4;

	forget(s, reg);
	if ((u32)in->imm <= arena_mask(v))
		s->masked |= reg;
	s->by4 |= in->imm & 3 ? by4 & reg : reg;
	s->by8 |= in->imm & 7 ? by8 & reg : reg;
}

const char *verify_step(const struct verify *v, struct verify_state *s,
			const struct verify_insn *in)
{
	const char *why = in->arena ? check_place(v, s, in) : NULL;
	u8 divide = verify_division(s->divide, in);
	u16 frame = in->kind == V_MASK ? V_BIT(V_FRAME) : 0;

	if (why)
		return why;
	if (in->reads & (s->unset | V_SECRET))
		return "reads what is not the program's";
	if (in->writes & V_KEPT & ~frame)
		return "writes a register that is to be kept";
	if (in->field && s->machine != HAS_MACHINE)
		return "r9 is not the machine";
	s->divide = divide;
	s->unset &= ~in->writes;
	if (in->kind != V_MASK)
		forget(s, in->writes);
	switch (in->kind) {
	case V_PLAIN:
		return NULL;
	case V_MASK:
		step_mask(v, s, in);
		return NULL;
	case V_MOVE_FRAME:
		s->masked &= ~V_BIT(V_FRAME);
		return in->imm & 7 ? "moves the frame to no multiple of 8" : NULL;
	case V_LOAD_RUN:
		s->machine = HAS_RUN;
		return NULL;
	case V_PUSH:
		return step_push(s, in->reg);
	case V_POP:
		return step_pop(s, in->reg);
	case V_DIVIDE:
		return divide == V_DIVIDED ? NULL : "a division that may trap";
	}
	return "not to be here";
}
