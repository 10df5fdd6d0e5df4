// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See verify.h.  docs/design/proof.md shows why code that passes is safe.
 *
 * Code is a row of routines: the entry, the dispatcher, IMAGE_CALL_TRY's, functions.
 * A first pass finds where instructions begin, and which of them are jumped to from
 * behind.  A second one goes through each routine once and carries along what is
 * known (struct verify_state).  At a branch forward it leaves what it knows at the
 * target, where only what all ways know is left; where a branch backward leads,
 * little is known, and the branch has to know that much.
 */
#include "check.h"
#include "machine.h"
#include "verify_insn.h"

/* stubs.S */
extern const u8 confined_poll[], confined_gate[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_fault_stack[],
	confined_fault_function[], confined_fault_access[];

/* Of each byte of the code: what begins there, and what is known there (FACTS). */
enum {
	DEPTH = 0xf,
	SET_10 = 1 << 4, SET_11 = 1 << 5,	/* r10, r11 hold nothing of the kernel's */
	MASKED_10 = 1 << 6, MASKED_11 = 1 << 7, MASKED_FRAME = 1 << 8,
	FACTS = 0x1f0,
	SEEN = 1 << 9,		/* a branch from before leads here */
	BEHIND = 1 << 10,	/* one from behind does */
	START = 1 << 11,	/* an instruction */
	FUNCTION = 1 << 12,
	CALLS = 1 << 13,	/* a function that calls others */
};

/*
 * Fuel, as bytes of code that it pays for, in steps: what has been paid and not gone
 * over yet, on the way on which it is least.  It is less than 0 nowhere where a routine
 * is left, and no way around a loop makes it less.
 */
#define STEP		64
#define STEPS_PER_FUEL	4
#define CREDIT_MAX	(MACHINE_STRETCH * STEPS_PER_FUEL * STEP)
/* The entry and the dispatcher pay nothing. */
#define HELPER_MAX	(64 * STEP)
/* How often a routine is gone through, with less to begin its loops with. */
#define ROUNDS		64

struct verifier {
	const struct verify *v;
	u16 *at;
	s16 *credit;			/* in steps; of what at[] says is known */
	u32 pos, end;			/* the instruction; where its routine ends */
	unsigned int round;
	bool again;			/* a loop begins with more than it ends with */
	struct verify_insn in;
	struct verify_state s;
	u8 body;			/* the depth, once registers are saved */
	bool roomy;			/* the stack was seen to have room for calls */
	char *error;
	size_t error_len;
};

static int refuse(struct verifier *c, const char *why)
{
	snprintf(c->error, c->error_len, "machine code at byte %u: %s", c->pos, why);
	return -EINVAL;
}

/* -- What is known where ways meet ------------------------------------------ */

static struct verify_state state_of(u16 word, s32 credit)
{
	struct verify_state s = {
		.credit = credit,
		.depth = word & DEPTH,
		.unset = (word & SET_10 ? 0 : V_BIT(10)) | (word & SET_11 ? 0 : V_BIT(11)),
		.masked = (word & MASKED_10 ? V_BIT(10) : 0) |
			  (word & MASKED_11 ? V_BIT(11) : 0) |
			  (word & MASKED_FRAME ? V_BIT(V_FRAME) : 0),
		.by4 = V_BIT(V_FRAME), .by8 = V_BIT(V_FRAME),
	};

	return s;
}

static u16 word_of(const struct verify_state *s)
{
	return s->depth | (s->unset & V_BIT(10) ? 0 : SET_10) |
	       (s->unset & V_BIT(11) ? 0 : SET_11) |
	       (s->masked & V_BIT(10) ? MASKED_10 : 0) |
	       (s->masked & V_BIT(11) ? MASKED_11 : 0) |
	       (s->masked & V_BIT(V_FRAME) ? MASKED_FRAME : 0);
}

/* What holds wherever control goes another way than on. */
static const char *check_plain(const struct verify_state *s)
{
	if (s->machine != HAS_MACHINE || s->held)
		return "branches without the machine";
	if (s->unset & ~V_SCRATCH)
		return "branches with something of the kernel's";
	return NULL;
}

/* And where it goes to another routine. */
static const char *check_frame(const struct verify_state *s)
{
	return check_plain(s) ?: s->masked & V_BIT(V_FRAME) ? NULL :
				 "the frame's place is not masked";
}

static s16 steps(s32 credit)
{
	return credit >= 0 ? credit / STEP : -((STEP - 1 - credit) / STEP);
}

static void meet_credit(struct verifier *c, s16 other)
{
	if (c->s.dead || c->s.credit > other * STEP)
		c->s.credit = other * STEP;
}

/* Control may come to @c->pos from elsewhere. */
static int arrive(struct verifier *c)
{
	u16 word = c->at[c->pos], known = word_of(&c->s);
	const char *why;

	if (!c->s.dead && !(word & (SEEN | BEHIND)))
		return 0;
	if (c->s.dead) {
		known = word & SEEN ? word : MASKED_FRAME | c->body;
	} else {
		why = check_plain(&c->s);
		if (why)
			return refuse(c, why);
		if (word & SEEN) {
			if ((word ^ known) & DEPTH)
				return refuse(c, "the stack differs between two ways");
			known &= word;
		}
	}
	if (word & BEHIND)
		known &= DEPTH | MASKED_FRAME;
	known &= DEPTH | FACTS;
	meet_credit(c, word & (SEEN | BEHIND) ? c->credit[c->pos] : CREDIT_MAX / STEP);
	c->at[c->pos] = (word & ~(DEPTH | FACTS)) | known;
	c->credit[c->pos] = steps(c->s.credit);
	c->s = state_of(known, c->credit[c->pos] * STEP);
	return 0;
}

/* If there is less fuel than at @to the last time, @to is looked at with that. */
static int branch_back(struct verifier *c, u32 to)
{
	u16 known = word_of(&c->s), want = c->at[to];

	if ((want ^ known) & DEPTH || want & ~known & FACTS)
		return refuse(c, "too little is known for a jump to there");
	if (steps(c->s.credit) < c->credit[to]) {
		if (c->round == ROUNDS)
			return refuse(c, "a jump backward without fuel");
		c->credit[to] = steps(c->s.credit);
		c->again = true;
	}
	return 0;
}

/* Leaves what is known at @to, in the same routine. */
static int branch(struct verifier *c, u32 start, u32 to)
{
	const char *why = check_plain(&c->s);
	u16 *word = &c->at[to], known = word_of(&c->s);

	if (why)
		return refuse(c, why);
	if (to < start || to >= c->end || !(*word & START))
		return refuse(c, "leads to no instruction of the routine");
	c->s.fenced = false;
	if (to <= c->pos)
		return branch_back(c, to);
	if (!(*word & SEEN)) {
		*word |= SEEN | known;
		if (!(*word & BEHIND) || c->credit[to] > steps(c->s.credit))
			c->credit[to] = steps(c->s.credit);
		return 0;
	}
	if ((*word ^ known) & DEPTH)
		return refuse(c, "the stack differs between two ways");
	*word &= known | ~FACTS;
	if (c->credit[to] > steps(c->s.credit))
		c->credit[to] = steps(c->s.credit);
	return 0;
}

/* @regs may hold something of the kernel's. */
static void unset(struct verify_state *s, u16 regs)
{
	s->masked &= ~regs;
	s->by4 &= ~regs;
	s->by8 &= ~regs;
	s->unset |= regs;
}

/* -- Sequences that are one thing ------------------------------------------- */

static u64 after(const struct verifier *c)
{
	return c->v->exec + c->pos + c->in.len;
}

static u64 target(const struct verifier *c)
{
	return after(c) + (s64)c->in.rel;
}

static u64 address_of(const u8 *stub)
{
	return (unsigned long)stub;
}

/* Goes on to the next instruction, to which nothing else may lead. */
static bool next(struct verifier *c, u8 kind)
{
	c->pos += c->in.len;
	if (c->pos >= c->end || c->at[c->pos] & (SEEN | BEHIND))
		return false;
	return verify_decode(c->v->code + c->pos, c->end - c->pos, &c->in) &&
	       c->in.kind == kind;
}

/*
 * After a comparison: a branch with @cond over "r11 = the instruction; call @stub".
 * Both have made what r10 and r11 held nothing that is known.
 */
static int check_unless(struct verifier *c, u8 cond, const u8 *stub)
{
	const char *why = check_plain(&c->s);
	u64 over;

	if (why)
		return refuse(c, why);
	if (!next(c, V_BRANCH) || c->in.cond != cond)
		return refuse(c, "its branch is missing");
	over = target(c);
	if (!next(c, V_PLAIN) || !c->in.number || !next(c, V_CALL) ||
	    target(c) != address_of(stub) || after(c) != over)
		return refuse(c, "its call is missing");
	unset(&c->s, V_SCRATCH);
	c->s.fenced = false;
	c->s.divide = 0;
	return 0;
}

static int check_charge(struct verifier *c)
{
	s32 charge = c->in.imm;

	if (charge <= 0)
		return refuse(c, "fuel is not taken");
	if (charge < MACHINE_STRETCH)
		c->s.credit += charge * STEPS_PER_FUEL * STEP;
	if (charge >= MACHINE_STRETCH || c->s.credit > CREDIT_MAX)
		c->s.credit = CREDIT_MAX;
	return check_unless(c, V_NOT_NEGATIVE, confined_poll);
}

static int check_room(struct verifier *c)
{
	c->roomy = true;
	return check_unless(c, V_ABOVE_EQUAL, confined_fault_stack);
}

/* -- Branches to other routines, and out of the code ------------------------- */

/* A stub that does not come back. */
static bool is_end(u64 to)
{
	return to == address_of(confined_throw) || to == address_of(confined_abort) ||
	       to == address_of(confined_fault_stack) ||
	       to == address_of(confined_fault_function) ||
	       to == address_of(confined_fault_access);
}

static int end_run(struct verifier *c, u64 to)
{
	u16 needs = V_BIT(V_NUMBER) | (to == address_of(confined_fault_access) ? V_BIT(10) : 0);

	if (c->s.machine != HAS_MACHINE || c->s.unset & (needs | ~V_SCRATCH))
		return refuse(c, "tells of what is not the program's");
	c->s.dead = true;
	return 0;
}

/* For the routine's caller, or another routine in this one's place. */
static int leave(struct verifier *c)
{
	const char *why = check_frame(&c->s);

	if (why || c->s.depth)
		return refuse(c, why ?: "returns to what it has pushed");
	if (c->s.credit < 0)
		return refuse(c, "more code than fuel");
	c->s.dead = true;
	return 0;
}

static int check_return(struct verifier *c)
{
	return leave(c);
}

/* In C: all is lost but r0 and what a function keeps. */
static int call_gate(struct verifier *c, u64 to)
{
	int args = c->v->gate_args ? c->v->gate_args(to) : -1;

	if (args < 0)
		return refuse(c, "calls what is not to be called");
	if (c->s.machine != HAS_RUN || c->s.unset & (V_ARGS | V_BIT(V_RAX)))
		return refuse(c, "a system call with something of the kernel's");
	if (args > 5 && (!c->s.depth || c->s.held & V_BIT(c->s.depth - 1)))
		return refuse(c, "a system call without its sixth argument");
	if (c->v->barrier && !c->s.fenced)
		return refuse(c, "a system call without a barrier");
	unset(&c->s, V_ARGS | V_SCRATCH | V_BIT(V_MACHINE));
	c->s.machine = HAS_NOTHING;
	return 0;
}

static int call_stub(struct verifier *c, u64 to)
{
	const char *why = check_plain(&c->s);

	if (is_end(to))
		return end_run(c, to);
	if (to == address_of(confined_gate)) {
		if (why || c->s.unset)
			return refuse(c, why ?: "a call of which the number is not known");
	} else if (to != address_of(confined_barrier)) {
		return call_gate(c, to);
	}
	unset(&c->s, V_SCRATCH);
	c->s.fenced = to == address_of(confined_barrier);
	return 0;
}

static int check_call(struct verifier *c)
{
	u64 to = target(c) - c->v->exec;
	const char *why = check_frame(&c->s);

	c->s.divide = 0;
	if (to >= c->v->size)
		return call_stub(c, target(c));
	if (!(c->at[to] & FUNCTION) && to != c->v->dispatch && to != c->v->try)
		return refuse(c, "calls no routine");
	if (why)
		return refuse(c, why);
	if (!(c->at[to] & FUNCTION) && c->s.unset & (V_BIT(V_NUMBER) |
						      (to == c->v->dispatch ? V_BIT(10) : 0)))
		return refuse(c, "a call of which the number is not known");
	if (!c->roomy)
		return refuse(c, "calls without room on the stack");
	/* Those that wait for others to return have nothing left that is paid. */
	if (c->s.credit > 0 && (!(c->at[to] & FUNCTION) || c->at[to] & CALLS))
		c->s.credit = 0;
	c->s = state_of(MASKED_FRAME | c->s.depth, c->s.credit);
	return 0;
}

static int check_jump(struct verifier *c, u32 start)
{
	u64 to = target(c) - c->v->exec;
	int err;

	if (to >= c->v->size && IMAGE_RETURN_STUB && target(c) == address_of(confined_return))
		return check_return(c);
	if (to >= c->v->size)
		return is_end(target(c)) ? end_run(c, target(c)) :
					   refuse(c, "leads out of the code");
	/* As if it were called in place of this routine. */
	if (c->at[to] & FUNCTION)
		return leave(c);
	err = branch(c, start, to);
	c->s.dead = true;
	return err;
}

static int check_branch(struct verifier *c, u32 start)
{
	u64 to = target(c) - c->v->exec;
	int err;

	if (to >= c->v->size || c->at[to] & FUNCTION)
		return refuse(c, "leads out of the routine");
	err = branch(c, start, to);
	c->s.divide = verify_division(c->s.divide, &c->in);
	return err;
}

/* -- Routines ---------------------------------------------------------------- */

static int check_insn(struct verifier *c, u32 start)
{
	const char *why;

	switch (c->in.kind) {
	case V_BRANCH:
		return check_branch(c, start);
	case V_JUMP:
		return check_jump(c, start);
	case V_CALL:
		return check_call(c);
	case V_RETURN:
		return IMAGE_RETURN_STUB ? refuse(c, "returns by itself") : check_return(c);
	case V_CHARGE:
		return check_charge(c);
	case V_LANDING:
		return c->pos ? refuse(c, "indirect branches may land") : 0;
	}
	if (c->in.kind == V_PUSH && V_BIT(c->in.reg) & V_SAVED)
		c->body = c->s.depth + 1;
	why = verify_step(c->v, &c->s, &c->in);
	return why ? refuse(c, why) : 0;
}

static bool decode(struct verifier *c)
{
	return verify_decode(c->v->code + c->pos, c->end - c->pos, &c->in);
}

/* What a function begins with: fuel, and room if it needs that. */
static int begin_function(struct verifier *c)
{
	int err;

	if (!decode(c) || c->in.kind != V_CHARGE)
		return refuse(c, "a function that takes no fuel");
	err = check_charge(c);
	c->pos += c->in.len;
	if (err || c->pos >= c->end || !decode(c) || c->in.kind != V_ROOM ||
	    c->at[c->pos] & (SEEN | BEHIND))
		return err;
	err = check_room(c);
	c->pos += c->in.len;
	return err;
}

/* Forgets all but how much fuel loops begin with. */
static void begin_round(struct verifier *c, u32 start)
{
	u32 i;

	if (c->round++)
		for (i = start; i < c->end; i++)
			c->at[i] &= ~(SEEN | DEPTH | FACTS);
	c->pos = start;
	c->again = false;
}

static int check_round(struct verifier *c, u32 start, u16 known)
{
	int err = 0;

	begin_round(c, start);
	c->s = state_of(known, c->at[start] & FUNCTION ? 0 : HELPER_MAX);
	c->s.unset |= start ? 0 : V_BIT(V_RAX);	/* where the code lies */
	c->body = 0;
	c->roomy = false;
	if (c->at[start] & FUNCTION)
		err = begin_function(c);
	while (!err && c->pos < c->end) {
		image_pause(c->pos);
		err = arrive(c);
		if (!err && !decode(c))
			err = refuse(c, "no instruction that may be here");
		c->s.credit -= c->in.len;
		if (!err && c->s.credit < -CREDIT_MAX)
			err = refuse(c, "more code than fuel");
		if (!err)
			err = check_insn(c, start);
		c->pos += c->in.len;
	}
	if (!err && !c->s.dead)
		err = refuse(c, "runs past the end of its routine");
	return err;
}

static int check_routine(struct verifier *c, u16 known)
{
	u32 start = c->pos;
	int err;

	c->round = 0;
	do
		err = check_round(c, start, known);
	while (!err && c->again);
	return err;
}

/* Its bytes are what they are to be, but for where it calls and returns. */
static int check_try(struct verifier *c)
{
	const u8 *code = c->v->code;

	if (c->end - c->pos < verify_try_begin_len + verify_try_end_len ||
	    memcmp(code + c->pos, verify_try_begin, verify_try_begin_len))
		return refuse(c, "not how a try begins");
	c->pos += verify_try_begin_len;
	if (!decode(c) || c->in.kind != V_CALL || target(c) != c->v->exec + c->v->dispatch)
		return refuse(c, "a try does not call the dispatcher");
	c->pos += c->in.len;
	if (c->end - c->pos < verify_try_end_len ||
	    memcmp(code + c->pos, verify_try_end, verify_try_end_len))
		return refuse(c, "not how a try ends");
	c->pos += verify_try_end_len;
	c->s = state_of(MASKED_FRAME, 0);
	if (!decode(c) || (c->in.kind != V_RETURN && c->in.kind != V_JUMP) ||
	    c->pos + c->in.len != c->end)
		return refuse(c, "a try does not return");
	return check_insn(c, c->pos);
}

/* -- The code as a whole ------------------------------------------------------ */

static bool next_routine(struct verifier *c, u32 nr)
{
	const struct verify *v = c->v;

	c->pos = c->end;
	if (nr < 2)
		c->end = nr ? v->try : v->dispatch;
	else
		c->end = nr - 2 < v->nfuncs ? v->funcs[nr - 2] : v->size;
	return c->pos < c->end && c->end <= v->size;
}

static void mark_behind(struct verifier *c, u32 to)
{
	c->at[to] |= BEHIND;
	c->credit[to] = CREDIT_MAX / STEP;
}

/* Where the instructions of a routine are, and which are jumped to from behind. */
static int find_starts(struct verifier *c)
{
	u32 start = c->pos;
	u64 to;

	for (; c->pos < c->end; c->pos += c->in.len) {
		image_pause(c->pos);
		if (!decode(c))
			return refuse(c, "no instruction that may be here");
		c->at[c->pos] |= START;
		to = target(c) - c->v->exec;
		if ((c->in.kind == V_JUMP || c->in.kind == V_BRANCH) && to <= c->pos &&
		    to >= start)
			mark_behind(c, to);
		else if (c->in.kind == V_CALL && to < c->v->size)
			c->at[start] |= CALLS;
	}
	return 0;
}

static int find_all(struct verifier *c)
{
	u32 nr;
	int err = 0;

	for (nr = 0; !err && nr < c->v->nfuncs + 3; nr++) {
		if (!next_routine(c, nr))
			return refuse(c, "routines are not in order");
		if (nr > 2)
			c->at[c->pos] |= FUNCTION;
		if (nr != 2)
			err = find_starts(c);
	}
	return err;
}

static int check_all(struct verifier *c)
{
	u32 nr;
	int err = 0;

	c->end = 0;
	for (nr = 0; !err && nr < c->v->nfuncs + 3; nr++) {
		next_routine(c, nr);
		if (nr == 2)
			err = check_try(c);
		else
			err = check_routine(c, MASKED_FRAME | (nr == 1 ? SET_10 | SET_11 : 0));
	}
	return err;
}

/* A constant that has the bytes is made of other bytes with another key. */
static int check_landings(struct verifier *c)
{
	for (c->pos = 1; c->pos + 4 <= c->v->size; c->pos++)
		if (verify_landing(c->v->code + c->pos)) {
			refuse(c, "indirect branches may land");
			return -EAGAIN;
		}
	return 0;
}

int verify_code(const struct verify *v, char *error, size_t error_len)
{
	struct verifier c = { .v = v, .error = error, .error_len = error_len };
	int err;

	c.at = image_alloc(v->size * sizeof(*c.at));
	c.credit = image_alloc(v->size * sizeof(*c.credit));
	err = c.at && c.credit ? 0 : -ENOMEM;
	if (!err)
		err = find_all(&c) ?: check_all(&c) ?: check_landings(&c);
	image_free(c.at);
	image_free(c.credit);
	return err;
}
