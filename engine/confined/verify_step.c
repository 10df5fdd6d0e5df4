// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The verifier's transfer function: which accesses of one instruction are allowed, and the facts
 * after it. tests/confined/prove.py proves for each kind of instruction that accepted ones access
 * only the arena, and that the facts hold.
 */
#include "../include/uapi/syscript_image.h"
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
		return "address is not masked";
	if (in->disp < -(s64)IMAGE_GUARD || in->disp > most)
		return "offset exceeds the guard area";
	if (!in->align)
		return NULL;
	if (in->disp & (in->align - 1) ||
	    (in->index != NO_INDEX &&
	     !((in->align == 8 ? s->by8 : s->by4) & V_BIT(in->index))))
		return "atomic operation may cross a cache line";
	return NULL;
}

/* The facts after the AND with @in's constant; @before has the operand's facts before it. */
static void step_mask(const struct verify *v, struct verify_state *s,
		      const struct verify_state *before, const struct verify_insn *in)
{
	verify_set reg = V_BIT(in->reg);

	if ((u32)in->imm <= arena_mask(v))
		s->masked |= reg;
	s->by4 |= in->imm & 3 ? before->by4 & reg : reg;
	s->by8 |= in->imm & 7 ? before->by8 & reg : reg;
}

/*
 * Is the frame offset of @in allowed?  The alignment facts of the frame are @before's, as a
 * multiple of 8 is added.
 */
static const char *step_frame(struct verify_state *s, const struct verify_state *before,
			      const struct verify_insn *in)
{
	verify_set frame = V_BIT(V_FRAME);

	if (in->imm & 7)
		return "frame offset is not a multiple of 8";
	s->by4 |= before->by4 & frame;
	s->by8 |= before->by8 & frame;
	return NULL;
}

/* May a call change the register of the return address, which is not saved yet? */
static bool loses_link(const struct verify_state *s, const struct verify_insn *in)
{
	int depth = s->depth;

	return depth < V_LINKED && (in->kind == V_CALL || in->kind == V_CHARGE ||
				    in->kind == V_ROOM || in->kind == V_UNLESS ||
				    in->kind == V_THUNK);
}

static const char *step_stack(struct verify_state *s, const struct verify_insn *in)
{
	int depth = s->depth;

	switch (in->kind) {
	case V_PUSH:
		s->depth++;
		return depth < V_LINKED ? "pushes before the return address" : NULL;
	case V_POP:
		s->depth--;
		return depth <= V_LINKED ? "pops the return address" : NULL;
	case V_LINK:
		s->depth++;
		return depth ? "return address is not in its register" : NULL;
	case V_UNLINK:
		s->depth--;
		return depth != V_LINKED ? "pops no return address" : NULL;
	}
	return NULL;
}

const char *verify_step(const struct verify *v, struct verify_state *s,
			const struct verify_insn *in)
{
	static const struct verify_state unknown;
	const char *why = in->arena ? check_place(v, s, in) : NULL;
	verify_set frame = in->kind == V_MASK || in->kind == V_MOVE_FRAME ? V_BIT(V_FRAME) : 0;
	const struct verify_state before = *s;

	if (why)
		return why;
	if (in->reads & (s->unset | V_SECRET))
		return "reads a register that may hold a kernel value";
	if (in->writes & V_KEPT & ~frame)
		return "writes a reserved register";
	if (s->depth + in->slots > V_SLOTS)
		return "stack push exceeds the limit";
	s->masked = (s->masked & ~(in->writes | in->leaves)) | in->places;
	s->by4 &= ~in->writes;
	s->by8 &= ~in->writes;
	s->unset = (s->unset & ~in->writes) | in->leaves;
	switch (in->kind) {
	case V_MASK:
		step_mask(v, s, &before, in);
		break;
	case V_MASK_COPY:
		step_mask(v, s, &unknown, in);
		break;
	case V_MOVE_FRAME:
		return step_frame(s, &before, in);
	}
	return loses_link(s, in) ? "call before the return address is saved" :
				   step_stack(s, in);
}
