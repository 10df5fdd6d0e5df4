// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements verify_code.h. docs/design/proof.md shows why code that passes is safe.
 *
 * One pass over the code keeps the facts that hold at each instruction (struct verify_state).
 * The facts at a label are given by the code generator: each branch to it, and the instruction
 * before it, must establish them, and no others are assumed after it.  So nothing has to be
 * inferred, and each edge is checked at its source.
 */
#include "machine.h"
#include "verify_insn.h"

/* stubs.S */
extern const u8 confined_poll[], confined_thunk[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_beyond[], confined_fault_stack[],
	confined_fault_function[], confined_fault_access[];

#define CREDIT_MAX	(MACHINE_STRETCH * V_FUEL_BYTES)
/*
 * An entry pays no fuel, so its credit is the same as what callers have while functions that they
 * call run.
 */
#define CREDIT_FEW	64

struct verifier {
	const struct verify *v;
	u32 pos;
	u32 label;		/* index of the next label */
	struct verify_insn in;	/* the instruction at @pos */
	struct verify_state s;	/* the facts before it, and after it */
	bool dead;		/* @pos is unreachable as far as is known */
};

/* -- Facts -------------------------------------------------------------------- */

/* The facts after a routine has returned. */
#define RETURNED { .masked = V_BIT(V_FRAME), .by4 = V_BIT(V_FRAME), .by8 = V_BIT(V_FRAME), \
		   .unset = V_SCRATCH }

/* The facts at a jump to confined_beyond, and at its target. */
static const struct verify_state beyond = {
	.masked = V_BIT(V_FRAME), .by4 = V_BIT(V_FRAME), .by8 = V_BIT(V_FRAME),
	.unset = V_SCRATCH & ~V_REPORTED, .calls = true, .credit = V_BEYOND_CREDIT,
};

/* Why a fact of @want does not hold in @s; or NULL. */
static const char *missing(const struct verify_state *s, const struct verify_state *want)
{
	if (want->masked & ~s->masked)
		return want->masked & ~s->masked & V_BIT(V_FRAME) ?
			       "frame register is not masked at branch target" :
			       "register is not masked at branch target";
	if (want->by4 & ~s->by4 || want->by8 & ~s->by8)
		return "register is not aligned at branch target";
	if (s->unset & ~want->unset & ~V_PLACES)
		return "register may hold a kernel value at branch target";
	if (s->depth != want->depth)
		return "stack depth differs at branch target";
	if (s->room < want->room)
		return "stack check missing before branch target";
	if (want->calls && !s->calls)
		return "leaf routine reaches code that calls";
	return s->credit < want->credit ? "too little fuel paid at branch target" : NULL;
}

static const struct verify_label *find_label(const struct verify_label *labels, u32 to, u64 at)
{
	u32 from = 0, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (labels[middle].at == at)
			return &labels[middle];
		if (labels[middle].at < at)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

/* There is a label at @c->pos, so control may come from elsewhere. */
static const char *arrive(struct verifier *c)
{
	const struct verify_label *label = &c->v->labels[c->label];
	const char *why;

	if (c->label < c->v->nlabels && label->at < c->pos)
		return "label is not at an instruction boundary";
	if (c->label == c->v->nlabels || label->at > c->pos)
		return c->dead ? "unreachable code" : NULL;
	why = c->dead && !c->in.runs_on ? NULL : missing(&c->s, &label->known);
	c->s = label->known;
	c->label++;
	return why;
}

/* -- Branches ----------------------------------------------------------------- */

/* The target of @distance from the instruction, as an offset in the code. */
static u64 offset_of(const struct verifier *c, s64 distance)
{
	return c->pos + (u64)distance;
}

static bool leads_to(const struct verifier *c, s64 distance, const u8 *stub)
{
	return c->v->exec + offset_of(c, distance) == (unsigned long)stub;
}

/* The label to which the instruction jumps, in this code or in its base. */
static const struct verify_label *find_target(const struct verifier *c)
{
	const struct verify *v = c->v;
	u64 at = offset_of(c, c->in.to);

	if (at < v->size)
		return find_label(v->labels, v->nlabels, at);
	return v->base ? find_label(v->base->labels, v->base->nlabels,
				    v->exec + at - v->base->exec) : NULL;
}

static bool leads_to_code(const struct verifier *c)
{
	return offset_of(c, c->in.to) < c->v->size || find_target(c);
}

static const char *check_branch(struct verifier *c)
{
	const struct verify_label *label = find_target(c);

	return label ? missing(&c->s, &label->known) : "branch target has no label";
}

/* A return to the routine's caller, or a jump to confined_throw in place of one. */
static const char *check_return(struct verifier *c)
{
	static const struct verify_state returned = RETURNED;

	return missing(&c->s, &returned);
}

/* Stubs that end the run report scratch registers; V_PC has an instruction's number. */
static const char *check_stub(const struct verifier *c)
{
	bool both = leads_to(c, c->in.to, confined_thunk) ||
		    leads_to(c, c->in.to, confined_fault_access);

	if (!both && !leads_to(c, c->in.to, confined_throw) &&
	    !leads_to(c, c->in.to, confined_abort) &&
	    !leads_to(c, c->in.to, confined_fault_stack) &&
	    !leads_to(c, c->in.to, confined_fault_function))
		return "call target is not allowed";
	return c->s.unset & (both ? V_REPORTED : V_BIT(V_PC)) ?
		       "stub would report a kernel value" : NULL;
}

static const char *check_jump(struct verifier *c)
{
	if (leads_to_code(c))
		return check_branch(c);
	if (leads_to(c, c->in.to, confined_beyond))
		return missing(&c->s, &beyond);
	if (IMAGE_RETURN_STUB && leads_to(c, c->in.to, confined_return))
		return check_return(c);
	/* Stubs that would return. */
	if (leads_to(c, c->in.to, confined_thunk) || leads_to(c, c->in.to, confined_fault_stack))
		return "jump target is outside the code";
	return check_stub(c);
}

/* -- Calls -------------------------------------------------------------------- */

/* A call of a routine: the caller has paid the credit at its beginning. */
static const char *call_routine(struct verifier *c)
{
	const struct verify_label *label = find_target(c);
	struct verify_state s = c->s;
	const char *why;

	if (!label)
		return "call target is not a routine";
	if (!s.room || !s.calls)
		return "call without a stack check";
	s.depth = 0;
	s.room--;
	why = missing(&s, &label->known);
	c->s.credit -= label->known.credit;
	if (label->known.calls && c->s.credit > CREDIT_FEW)
		c->s.credit = CREDIT_FEW;
	return why;
}

static const char *check_call(struct verifier *c)
{
	const char *why = leads_to_code(c) ? call_routine(c) : check_stub(c);

	/* Except the frame and scratch registers, all are preserved, or the program's. */
	c->s.masked &= V_BIT(V_FRAME);
	c->s.by4 &= V_BIT(V_FRAME);
	c->s.by8 &= V_BIT(V_FRAME);
	c->s.unset |= V_SCRATCH;
	return why;
}

/* confined_throw continues as if the called routine had returned. */
static const char *check_try(struct verifier *c)
{
	return check_return(c) ?: leads_to_code(c) ? check_call(c) : "call target is not a routine";
}

static const char *check_thunk(struct verifier *c)
{
	u64 to = c->v->exec + offset_of(c, c->in.to);
	int args = c->v->thunk_args ? c->v->thunk_args(to) : -1;

	if (args < 0)
		return "call target is not allowed";
	if (args > 5 && c->in.slots != V_SIXTH)
		return "system call without its sixth argument";
	if (c->in.barrier ? !leads_to(c, c->in.barrier, confined_barrier) : c->v->barrier)
		return "system call without a speculation barrier";
	return NULL;
}

static const char *check_room(struct verifier *c)
{
	if (c->s.depth != V_LINKED)
		return "stack check after a push";
	c->s.room = V_ROOM_CALLS;
	return leads_to(c, c->in.to, confined_fault_stack) ? NULL : "comparison without its fault call";
}

/* The state after a comparison: if V_ADDRESS is compared, @in has the facts about it. */
static const char *check_unless(const struct verifier *c)
{
	bool address = c->in.reads & V_BIT(V_ADDRESS);
	bool known = leads_to(c, c->in.to, confined_fault_stack) ||
		     (address && leads_to(c, c->in.to, confined_fault_access));

	return known ? NULL : "comparison without its fault call";
}

/* -- Code ---------------------------------------------------------------------- */

/* Spends credit for the instruction's bytes. */
static const char *spend(struct verifier *c)
{
	u64 credit = c->s.credit;

	if (c->in.kind == V_CHARGE) {
		if (c->in.imm <= 0 || !leads_to(c, c->in.to, confined_poll))
			return "invalid fuel charge";
		credit += (u64)c->in.imm * V_FUEL_BYTES;
	}
	if (credit > CREDIT_MAX)
		credit = CREDIT_MAX;
	if (credit < c->in.len)
		return "more code than fuel paid for";
	c->s.credit = credit - c->in.len;
	return NULL;
}

static const char *check_kind(struct verifier *c)
{
	switch (c->in.kind) {
	case V_BRANCH:
		return check_branch(c);
	case V_JUMP:
		return check_jump(c);
	case V_CALL:
		return check_call(c);
	case V_RETURN:
		return IMAGE_RETURN_STUB ? "return does not use the return stub" : check_return(c);
	case V_ROOM:
		return check_room(c);
	case V_UNLESS:
		return check_unless(c);
	case V_THUNK:
		return check_thunk(c);
	case V_TRY:
		return check_try(c);
	}
	return NULL;
}

static const char *check_insn(struct verifier *c)
{
	const struct verify *v = c->v;
	const char *why = arrive(c);

	if (why)
		return why;
	if (!verify_decode(v->code + c->pos, v->size - c->pos, &c->in))
		return "instruction is not allowed";
	why = spend(c) ?: verify_step(v, &c->s, &c->in) ?: check_kind(c);
	c->dead = c->in.kind == V_JUMP || c->in.kind == V_RETURN;
	/* What a processor executes ahead of time neither costs fuel nor fills the stack. */
	if (c->in.runs_on) {
		c->s.credit = CREDIT_MAX;
		c->s.room = V_ROOM_CALLS;
		c->s.calls = true;
	}
	if (!why)
		c->pos += c->in.len;
	return why;
}

/* With another key, a constant with these bytes is encoded differently. */
static bool has_landing(struct verifier *c)
{
	const u8 *code = c->v->code;
	u32 pos, end = c->v->size < 4 ? 0 : c->v->size - 3;

	for (pos = c->v->base ? 0 : V_INSN_ALIGN; pos < end; pos += V_INSN_ALIGN)
		if (verify_landing(code + pos))
			break;
	c->pos = pos;
	return pos < end;
}

/* An extension's code can be entered only by labels. */
static const char *check_base(struct verifier *c)
{
	const struct verify *v = c->v;
	const struct verify_label *label;

	if (!v->base)
		return v->size < 4 || !verify_landing(v->code) ?
			       "code does not begin with " V_LANDING_NAME : NULL;
	c->dead = true;
	label = find_label(v->labels, v->nlabels, v->beyond);
	if (!label || v->arena_shift != v->base->arena_shift)
		return "extension of another base";
	return missing(&beyond, &label->known);
}

static const char interrupted[] = "a signal ends the task";

static const char *check_code(struct verifier *c)
{
	const char *why = check_base(c);
	u32 n;

	for (n = 0; !why && c->pos < c->v->size; n++) {
		why = image_pause(n) ? interrupted : check_insn(c);
	}
	if (!why && (!c->dead || c->in.runs_on))
		why = "control flow runs past the end";
	if (!why && c->label < c->v->nlabels)
		why = "label is not at an instruction boundary";
	return why;
}

int verify_code(const struct verify *v, char *error, size_t error_len)
{
	struct verifier c = { .v = v, .s = RETURNED };
	const char *why;
	int err;

	c.s.credit = CREDIT_FEW;
	c.s.calls = true;
	why = check_code(&c);
	err = why == interrupted ? -EINTR : -EINVAL;
	if (!why && has_landing(&c)) {
		why = "code contains " V_LANDING_NAME;
		err = -EAGAIN;
	}
	if (!why)
		return 0;
	snprintf(error, error_len, "machine code at byte %u: %s", c.pos, why);
	return err;
}
