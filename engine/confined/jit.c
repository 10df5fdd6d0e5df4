// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The machine-independent half of the code generator. It translates untrusted instructions in
 * linear time to code that is about as fast as a compiler's. It keeps the invariant at the top of
 * validate_image.c; jit_gen.h declares the architecture's half.
 *
 * Each instruction becomes the same few machine instructions, with two optimizations on straight
 * lines. A masked address stays in a scratch register until its source register is written, or is
 * masked in the source register itself if nothing else reads it (jit_may_mask_in_place()). Some
 * sequences become one machine instruction (fuse()).
 *
 * Backward jumps are as short as possible, forward jumps have their full length, so one pass
 * computes all offsets. The same pass writes the code, except distances to later or external
 * targets (struct jit_fixup), which are filled in afterwards. If the draft has no room for the
 * code, a second pass writes it.
 */
#include "jit_gen.h"

/* -- Labels and distances ----------------------------------------------------------- */

void jit_label(struct gen *g, struct verify_state known)
{
	known.masked |= V_BIT(V_FRAME);
	known.by4 |= V_BIT(V_FRAME);
	known.by8 |= V_BIT(V_FRAME);
	if (!g->nlabels || g->labelled != g->at)
		g->nlabels++;
	g->labelled = g->at;
	if (g->nlabels <= g->label_room)
		g->jit->labels[g->nlabels - 1] = (struct verify_label){ g->at, known };
}

void jit_add_fixup(struct gen *g, u64 to)
{
	struct jit_draft *draft = &g->jit->draft;
	struct jit_fixup fixup = { g->at, JIT_OUTSIDE, to };

	if (DRAFT_KIND(to) == DRAFT_PLACE)
		return;
	if (DRAFT_KIND(to) == DRAFT_INDEX)
		fixup.index = to - DRAFT_INDEX;
	if (draft->nfixups < draft->fixup_room)
		draft->fixups[draft->nfixups] = fixup;
	draft->nfixups++;
}

static u64 in_base(struct gen *g, u32 nr)
{
	return g->jit->base->exec + g->jit->base->labels[nr].at;
}

/* The entry of function @func, by table number: the base's come first. */
static u64 entry_of_any(struct gen *g, u32 func)
{
	u32 first = image_first_func(g->checked);

	return func < first ? in_base(g, JIT_BASE_FUNCTION(func)) : entry_of(g, func - first);
}

/* -- Facts about registers, and liveness ------------------------------------------------ */

static u8 nr_saved(const struct gen *g)
{
	u8 set = saves(g);

	return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1) + (set >> 3 & 1);
}

/*
 * The facts at instruction @pc. Credit: half of the paid fuel covers the code ahead (fuel.c),
 * which has at most V_FUEL_BYTES / 2 for each unit; the other half covers function entries and
 * charges.
 */
static struct verify_state state_at(const struct gen *g, u32 pc)
{
	return (struct verify_state){
		.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,
		.room = needs_room(g) ? V_ROOM_CALLS : 0, .depth = V_LINKED + nr_saved(g),
		.credit = g->checked->ahead[pc] * (V_FUEL_BYTES / 2),
	};
}

/* Forgets facts about registers: at a join of control flow, or after a call. */
static void forget(struct gen *g)
{
	unsigned int i;

	forget_scratch(g);
	g->in_place = 0;
	g->flags_at = 0;
	for (i = 0; i < INSN_R10; i++) {
		g->known[i] = UNKNOWN;
		g->bits[i] = 64;
	}
}

void jit_label_next(struct gen *g)
{
	forget(g);
	jit_label(g, state_at(g, g->pc + 1));
}

/* The register that @insn, not an atomic operation, uses as an address; or NONE. */
static u8 base_of(const struct image_insn *insn)
{
	u8 mode = INSN_MODE(insn->code);

	switch (INSN_CLASS(insn->code)) {
	case INSN_LDX:
		return insn->src;
	case INSN_ST: case INSN_STX:
		return mode == INSN_ATOMIC ? NONE : insn->dst;
	}
	return NONE;
}

/* How many instructions of the straight line jit_may_mask_in_place() examines. */
#define IN_PLACE_MOST	16

bool jit_may_mask_in_place(const struct gen *g, u8 reg)
{
	u32 end = image_func_end(g->checked, g->func), pc = g->pc;
	u16 bit = 1 << reg;

	if (g->checked->image->flags & IMAGE_CHECKED)
		return false;
	for (; pc < end && pc < g->pc + IN_PLACE_MOST; pc++) {
		const struct image_insn *insn = &g->checked->insns[pc];
		struct insn_effect effect = insn_effect(insn);
		u8 base = base_of(insn);

		if (g->checked->marks[pc] & MARK_SECOND)
			continue;
		if (pc > g->pc && g->checked->marks[pc] & MARK_TARGET)
			return false;
		if (effect.reads & bit &&
		    (base != reg || (INSN_CLASS(insn->code) == INSN_STX && insn->src == reg)))
			return false;
		if (effect.writes & bit || !is_live(g, pc, bit))
			return true;
		if (INSN_CLASS(insn->code) == INSN_JMP || INSN_CLASS(insn->code) == INSN_JMP32)
			return false;
	}
	return false;
}

static u32 ones(u8 bits)
{
	return bits < 32 ? (1U << bits) - 1 : ~0U;
}

/* Compilers zero-extend values that the load or operation before has zero-extended. */
static bool clears_nothing(const struct gen *g, const struct image_insn *insn)
{
	if (insn->code == (INSN_ALU | INSN_X | INSN_MOV) && insn->src == insn->dst && !insn->off)
		return g->bits[insn->dst] <= 32;
	return INSN_OP(insn->code) == INSN_AND && !(insn->code & INSN_X) &&
	       g->bits[insn->dst] < 32 && !(ones(g->bits[insn->dst]) & ~insn->imm);
}

/* Operations of 32 bits clear the upper half. */
static u8 bits_of_class(const struct image_insn *insn)
{
	return INSN_CLASS(insn->code) == INSN_ALU && INSN_OP(insn->code) != INSN_END ? 32 : 64;
}

/* An upper bound on the set bits of the instruction's result. */
static u8 bits_of(const struct gen *g, const struct image_insn *insn)
{
	u8 n;
	u8 most = bits_of_class(insn);

	if (INSN_OP(insn->code) == INSN_MOV && insn->code & INSN_X && !insn->off &&
	    insn->src != INSN_R10)
		return g->bits[insn->src] < most ? g->bits[insn->src] : most;
	if (INSN_OP(insn->code) == INSN_AND && !(insn->code & INSN_X))
		for (n = 1; n < 32; n++)
			if (!(insn->imm & ~ones(n)))
				return n < g->bits[insn->dst] ? n : g->bits[insn->dst];
	return most;
}

/* The program's register @reg was written, and has at most @bits bits. */
static void wrote(struct gen *g, u8 reg, u8 bits)
{
	forget_reg(g, reg);
	g->bits[reg] = bits;
}

/* -- Instructions --------------------------------------------------------------------- */

static void gen_alu(struct gen *g, const struct image_insn *insn)
{
	u8 bits = bits_of(g, insn);

	if (clears_nothing(g, insn))
		return;
	jit_emit_alu(g, insn);
	wrote(g, insn->dst, bits);
}

static void gen_imm64(struct gen *g, const struct image_insn *insn)
{
	forget_reg(g, insn->dst);
	jit_emit_imm64(g, insn);
	if (insn->src == INSN_ARENA)
		g->known[insn->dst] = insn->imm;
}

static void wrote_by_load(struct gen *g, const struct image_insn *insn)
{
	wrote(g, insn->dst,
	      INSN_MODE(insn->code) == INSN_MEMSX ? 64 : 8 * insn_width(insn->code));
}

static void gen_load(struct gen *g, const struct image_insn *insn)
{
	jit_emit_load(g, insn);
	wrote_by_load(g, insn);
}

static void gen_atomic(struct gen *g, const struct image_insn *insn)
{
	jit_emit_atomic(g, insn);
	switch (insn->imm) {
	case INSN_ADD | INSN_FETCH: case INSN_XCHG:
		return forget_reg(g, insn->src);
	case INSN_CMPXCHG:
		return forget_reg(g, 0);
	}
}

static void gen_jump(struct gen *g, const struct image_insn *insn)
{
	u32 target = g->pc + 1 + insn_jump_offset(insn);

	if (INSN_OP(insn->code) != INSN_JA)
		return jit_emit_branch(g, insn, target);
	if (g->checked->insns[target].code == (INSN_JMP | INSN_EXIT))
		return jit_emit_epilogue(g);
	jit_emit_jump(g, target);
}

/*
 * Proof: the target is the start of a function, here or in the base, the dispatcher, a stub or a
 * thunk; all of them return to the instruction after the call.
 */
static void gen_call(struct gen *g, const struct image_insn *insn)
{
	forget(g);
	if (insn->code & INSN_X)
		return jit_emit_call_number(g, insn->dst);
	if (insn->src == INSN_LOCAL)
		return jit_emit_call(g, entry_of(g, image_func_at(g->checked, g->pc + 1 +
								  insn->imm)));
	if (insn->src == INSN_BASE)
		return jit_emit_call(g, in_base(g, JIT_BASE_FUNCTION(insn->imm)));
	if (insn->imm >= IMAGE_SYSCALL && insn->imm < IMAGE_FUNCTION && g->jit->thunk)
		return jit_emit_thunk(g, insn->imm - IMAGE_SYSCALL);
	jit_emit_call_outside(g, insn->imm);
}

static void charge(struct gen *g, u32 fuel)
{
	if (!fuel)
		return;
	forget_scratch(g);
	jit_emit_charge(g, fuel);
}

/* -- Calls by number ------------------------------------------------------------------ */

/* The facts during a lookup: the number and the caller's instruction are known. */
static struct verify_state state_of_lookup(u32 credit)
{
	return (struct verify_state){
		.unset = V_SCRATCH & ~V_REPORTED, .calls = true, .credit = credit,
	};
}

/*
 * Entry of calls by number in an extension: jumps to the base's dispatcher if the base's table
 * has the number. For other numbers, including 0, the base's dispatcher jumps to the extension's
 * own, which follows here; neither jumps back.
 */
static void gen_numbers(struct gen *g)
{
	jit_label(g, state_of_lookup(NUMBERS_CREDIT));
	jit_emit_base_numbers(g, g->checked->base->ntable, in_base(g, JIT_BASE_NUMBERS));
}

/* Jumps to the function that table[number] names, for @from <= number < @to. */
static void gen_branches(struct gen *g, u32 from, u32 to, u32 credit)
{
	u32 middle = from + (to - from) / 2, split, begin = g->at;
	u32 first = image_first_entry(g->checked);

	if (to - from == 1)
		return jit_emit_goto(g, entry_of_any(g, g->checked->table[from - first]));
	split = jit_emit_split(g, middle);
	credit -= g->at - begin;
	gen_branches(g, from, middle, credit);
	jit_emit_bind(g, split);
	jit_label(g, state_of_lookup(credit));
	gen_branches(g, middle, to, credit);
}

/*
 * Binary search by direct jumps: an indirect jump could be mispredicted, and could train the
 * kernel's predictions.  A misprediction here leads to another function's start.
 */
static void gen_dispatch(struct gen *g)
{
	const struct checked *checked = g->checked;
	const u8 *beyond = checked->base ? confined_fault_function : confined_beyond;
	s32 first = image_first_entry(checked), from = first ?: 1;
	s32 to = first + checked->image->ntable;
	u32 credit = checked->base ? V_BEYOND_CREDIT : DISPATCH_CREDIT;

	g->dispatch = g->at;
	jit_label(g, state_of_lookup(credit));
	if (to > from) {
		jit_emit_range(g, from, to, beyond);
		credit -= g->at - g->dispatch;
		jit_label(g, state_of_lookup(credit));
		gen_branches(g, from, to, credit);
	} else {
		jit_emit_goto_stub(g, beyond);
	}
}

/* -- Sequences of instructions that become one ----------------------------------------- */

static const struct image_insn no_insn;

/* The instruction @n after this one, if it is on the same straight line and pays no fuel. */
static const struct image_insn *look_ahead(const struct gen *g, u32 n)
{
	u32 pc = g->pc + n;

	if (pc >= image_func_end(g->checked, g->func) || g->checked->marks[pc] & MARK_SECOND ||
	    (n && (g->checked->marks[pc] & MARK_TARGET || g->checked->charges[pc])))
		return &no_insn;
	return &g->checked->insns[pc];
}

/* Which deferred operation is to be made with instruction @pc?  JIT_DEFERRED: none. */
static u32 deferred_to(const struct gen *g, u32 pc)
{
	u32 i;

	for (i = 0; i < JIT_DEFERRED; i++)
		if (pc - g->deferred[i].at < g->deferred[i].len)
			break;
	return i;
}

/* As look_ahead(), for sequences: not if it is made with a deferred operation. */
static const struct image_insn *peek(const struct gen *g, u32 n)
{
	if (JIT_THREE_OPERANDS && n && deferred_to(g, g->pc + n) < JIT_DEFERRED)
		return &no_insn;
	return look_ahead(g, n);
}

/* Is @insn this operation on two registers other than r10? */
static bool is_op(const struct image_insn *insn, u8 class, u8 op)
{
	return insn->code == (class | INSN_X | op) && !insn->off && insn->src != INSN_R10;
}

static bool is_shift(const struct image_insn *insn, u8 class, u8 op, u8 reg)
{
	return insn->code == (class | op) && insn->dst == reg;
}

/* The same of either width. */
static bool is_copy(const struct image_insn *insn)
{
	return is_op(insn, INSN_ALU, INSN_MOV) || is_op(insn, INSN_ALU64, INSN_MOV);
}

/* With a constant, of either width. */
static bool is_and(const struct image_insn *insn)
{
	return insn->code == (INSN_ALU | INSN_AND) || insn->code == (INSN_ALU64 | INSN_AND);
}

/* Matches r = a; r += b, or a constant. */
static u32 parse_sum(const struct gen *g, struct jit_sum *sum)
{
	const struct image_insn *move = peek(g, 0), *add = peek(g, 1);
	u8 class = INSN_CLASS(move->code);

	if ((class != INSN_ALU && class != INSN_ALU64) || !is_op(move, class, INSN_MOV) ||
	    add->dst != move->dst)
		return 0;
	*sum = (struct jit_sum){ .base = move->src, .index = NONE, .to = move->dst };
	if (add->code == (class | INSN_ADD) && is_plain(g, add->imm))
		sum->disp = add->imm;
	else if (is_op(add, class, INSN_ADD))
		sum->index = add->src == move->dst ? move->src : add->src;
	else
		return 0;
	return 2;
}

/* Matches r += b, or a constant; to = r, with r dead afterwards. */
static u32 parse_moved(const struct gen *g, struct jit_sum *sum)
{
	const struct image_insn *add = peek(g, 0), *move = peek(g, 1);
	u8 class = INSN_CLASS(add->code);

	if (!is_op(move, class, INSN_MOV) || move->src != add->dst || move->dst == add->dst ||
	    is_live(g, g->pc + 1, 1 << add->dst))
		return 0;
	*sum = (struct jit_sum){ .base = add->dst, .index = NONE, .to = move->dst };
	if (add->code == (class | INSN_ADD) && is_plain(g, add->imm))
		sum->disp = add->imm;
	else if (is_op(add, class, INSN_ADD))
		sum->index = add->src;
	else
		return 0;
	return 2;
}

/* Matches i = a; i <<= 1 to 3; then i += b, or r = b; r += i with i dead afterwards. */
static u32 parse_scaled(const struct gen *g, struct jit_sum *sum)
{
	const struct image_insn *first = peek(g, 0), *shift = first, *next;
	u32 n = 1;

	if (is_op(first, INSN_ALU64, INSN_MOV)) {
		shift = peek(g, 1);
		n = 2;
	}
	if (!is_shift(shift, INSN_ALU64, INSN_LSH, first->dst) || shift->imm < 1 ||
	    shift->imm > 3)
		return 0;
	next = peek(g, n);
	if (next->src == first->dst || next->src >= INSN_R10)
		return 0;
	*sum = (struct jit_sum){
		.base = next->src, .index = n == 2 ? first->src : first->dst,
		.shift = shift->imm, .to = next->dst,
	};
	if (is_op(next, INSN_ALU64, INSN_ADD))
		return next->dst == first->dst ? n + 1 : 0;
	if (!is_op(next, INSN_ALU64, INSN_MOV) || next->dst == first->dst)
		return 0;
	next = peek(g, n + 1);
	if (!is_op(next, INSN_ALU64, INSN_ADD) || next->dst != sum->to || next->src != first->dst ||
	    is_live(g, g->pc + n + 1, 1 << first->dst))
		return 0;
	return n + 2;
}

static u32 fuse_sum(struct gen *g)
{
	bool wide = INSN_CLASS(peek(g, 0)->code) == INSN_ALU64;
	struct jit_sum sum;
	u32 n = parse_scaled(g, &sum) ?: parse_sum(g, &sum) ?: parse_moved(g, &sum);

	if (!n)
		return 0;
	jit_emit_sum(g, wide, &sum);
	forget_reg(g, peek(g, 0)->dst);
	wrote(g, sum.to, wide ? 64 : 32);
	return n;
}

static bool has_two_operands(u8 op)
{
	switch (op) {
	case INSN_ADD: case INSN_SUB: case INSN_OR: case INSN_AND: case INSN_XOR:
		return true;
	}
	return false;
}

/*
 * Matches an operation on the result @t of an instruction of the class @class that @n instructions
 * make: t op= left; or to = left, to op= t, of which the copy may be missing, with t dead
 * afterwards. Returns how many instructions there are then, or 0.
 */
static u32 parse_combined(const struct gen *g, u8 class, u8 t, u32 n, struct jit_combined *c)
{
	const struct image_insn *move = peek(g, n), *join = move;
	u8 op;

	if (is_op(move, class, INSN_MOV) && move->src != t && move->dst != t)
		join = peek(g, ++n);
	op = INSN_OP(join->code);
	if (!is_op(join, class, op) || !has_two_operands(op) || join->src == join->dst)
		return 0;
	c->op = op;
	c->to = join->dst;
	if (join->dst == t) {
		if (op == INSN_SUB || join != move)
			return 0;
		c->left = join->src;
		return n + 1;
	}
	if (join->src != t || is_live(g, g->pc + n, 1 << t) ||
	    (join != move && move->dst != join->dst))
		return 0;
	c->left = join == move ? join->dst : move->src;
	return n + 1;
}

static void gen_combined(struct gen *g, const struct jit_deferred *d)
{
	if (JIT_THREE_OPERANDS)
		jit_emit_combined(g, d->class == INSN_ALU64, &d->combined);
	forget_reg(g, d->reg);
	wrote(g, d->combined.to, d->class == INSN_ALU ? 32 : 64);
}

/* Can A64 combine these? It adds and subtracts registers that are shifted left. */
static bool is_possible(const struct jit_combined *c)
{
	bool sum = c->op == INSN_ADD || c->op == INSN_SUB;

	return c->multiply ? c->op == INSN_ADD : !sum || c->shift == JIT_LSL;
}

/*
 * May @insn come between an operation that reads the registers @from, and the use of its result?
 * Atomic operations may not, because insn_effect() does not say which registers they write.
 */
static bool may_come_between(const struct image_insn *insn, u16 from, u8 result)
{
	struct insn_effect effect = insn_effect(insn);
	u8 class = INSN_CLASS(insn->code);

	return insn != &no_insn && class != INSN_JMP && class != INSN_JMP32 &&
	       !(class == INSN_STX && INSN_MODE(insn->code) == INSN_ATOMIC) &&
	       !((effect.reads | effect.writes) & 1 << result) && !(effect.writes & from);
}

/* How far ahead combine() looks. */
#define DEFER_MOST	16

/*
 * Makes the operation @d together with the first one on its result, which begins at the @n-th
 * instruction, or defers it until there. Returns how many instructions are done, or 0.
 */
static u32 combine(struct gen *g, u32 n, struct jit_deferred *d)
{
	struct jit_combined *c = &d->combined;
	u16 from = 1 << c->from;
	u32 at = n, end, i = 0;

	if (c->multiply && c->multiply->code & INSN_X)
		from |= 1 << c->multiply->src;
	while (!(end = parse_combined(g, d->class, d->reg, at, c)))
		if (at - n == DEFER_MOST || !may_come_between(look_ahead(g, at++), from, d->reg))
			return 0;
	if (!is_possible(c))
		return 0;
	if (at == n) {
		gen_combined(g, d);
		return end;
	}
	while (g->deferred[i].len)
		if (++i == JIT_DEFERRED)
			return 0;
	d->at = g->pc + at;
	d->len = end - at;
	g->deferred[i] = *d;
	forget_reg(g, d->reg);
	return n;
}

/* The use of a deferred operation's result. */
static u32 fuse_deferred(struct gen *g)
{
	u32 i = JIT_THREE_OPERANDS ? deferred_to(g, g->pc) : JIT_DEFERRED, len;

	if (i == JIT_DEFERRED)
		return 0;
	gen_combined(g, &g->deferred[i]);
	len = g->deferred[i].len;
	g->deferred[i].len = 0;
	return len;
}

/*
 * Matches a rotation: t = s; t <<= n; then s or a copy of it >>= width - n; then the OR of both
 * into one of them, with the other dead.
 */
static u32 fuse_rotation(struct gen *g)
{
	const struct image_insn *move = peek(g, 0), *shift = peek(g, 1), *back = peek(g, 2), *join;
	u8 class = INSN_CLASS(move->code), t = move->dst, s = move->src, u = s, other;
	bool wide = class == INSN_ALU64;
	u32 n = 3, left, done;
	struct jit_deferred d = {
		.class = class, .combined = { .from = s, .shift = JIT_ROR },
	};

	if ((class != INSN_ALU && !wide) || !is_op(move, class, INSN_MOV) || t == s)
		return 0;
	if (is_op(back, class, INSN_MOV) && back->src == s && back->dst != t) {
		u = back->dst;
		back = peek(g, n++);
	}
	join = peek(g, n);
	if (!(is_shift(shift, class, INSN_LSH, t) && is_shift(back, class, INSN_RSH, u)) &&
	    !(is_shift(shift, class, INSN_RSH, t) && is_shift(back, class, INSN_LSH, u)))
		return 0;
	other = join->dst == t ? u : t;
	if (shift->imm + back->imm != (wide ? 64 : 32) || !is_op(join, class, INSN_OR) ||
	    (join->dst != t && join->dst != u) || join->src != other ||
	    is_live(g, g->pc + n, 1 << other))
		return 0;
	left = INSN_OP(shift->code) == INSN_LSH ? shift->imm : back->imm;
	d.combined.n = (wide ? 64 : 32) - left;
	d.reg = join->dst;
	done = JIT_THREE_OPERANDS ? combine(g, n + 1, &d) : 0;
	if (!done) {
		jit_emit_rotation(g, wide, join->dst, s, left);
		wrote(g, join->dst, bits_of_class(join));
	}
	forget_reg(g, other);
	return done ?: n + 1;
}

/* Is the loaded value used once, as an operand of @next? */
static bool is_operand(const struct image_insn *next, u8 loaded, bool wide)
{
	u8 class = wide ? INSN_ALU64 : INSN_ALU, op = INSN_OP(next->code);

	if (has_two_operands(op) && is_op(next, class, op))
		return next->src == loaded && next->dst != loaded;
	class = wide ? INSN_JMP : INSN_JMP32;
	return next->code == (class | INSN_X | op) && insn_is_jump(next) && op != INSN_JA &&
	       op != INSN_JSET && next->dst != next->src && next->src != INSN_R10 &&
	       next->dst != INSN_R10 && (next->src == loaded || next->dst == loaded);
}

static u32 fuse_load(struct gen *g)
{
	const struct image_insn *load = peek(g, 0), *next = peek(g, 1);

	if (!is_operand(next, load->dst, INSN_SIZE(load->code) == INSN_DW) ||
	    is_live(g, g->pc + 1, 1 << load->dst))
		return 0;
	jit_emit_load_use(g, load, next);
	forget_reg(g, load->dst);
	if (!insn_is_jump(next))
		wrote(g, next->dst, bits_of_class(next));
	return 2;
}

/*
 * Is the address in @reg used only by the @n-th instruction, a load or store there? Reports of
 * addresses outside of the arena need the address.
 */
static bool is_only_use(const struct gen *g, u32 n, u8 reg)
{
	const struct image_insn *use = peek(g, n);

	if (base_of(use) != reg || g->checked->image->flags & IMAGE_CHECKED)
		return false;
	if (INSN_CLASS(use->code) == INSN_STX && use->src == reg)
		return false;
	return insn_effect(use).writes & 1 << reg || !is_live(g, g->pc + n, 1 << reg);
}

/* Is the @n-th instruction @reg += index, and the next one the only use of this address? */
static bool is_indexed(const struct gen *g, u32 n, u8 reg)
{
	const struct image_insn *add = peek(g, n);

	return JIT_THREE_OPERANDS && is_op(add, INSN_ALU64, INSN_ADD) && add->dst == reg &&
	       add->src != reg && is_only_use(g, n + 1, reg);
}

static u32 gen_indexed(struct gen *g, u32 n, s32 from, bool frame)
{
	const struct image_insn *add = peek(g, n), *use = peek(g, n + 1);

	if (JIT_THREE_OPERANDS)
		jit_emit_indexed(g, use, from, frame, add->src);
	forget_reg(g, add->dst);
	if (INSN_CLASS(use->code) == INSN_LDX)
		wrote_by_load(g, use);
	return n + 2;
}

/* Folds an address, perhaps with an index, into the only load or store that uses it. */
static u32 fuse_address(struct gen *g)
{
	const struct image_insn *address = peek(g, 0), *use = peek(g, 2);
	u8 reg = address->dst;
	bool written = insn_effect(use).writes & 1 << reg;

	if (address->src != INSN_ARENA)
		return 0;
	if (is_indexed(g, 2, reg))
		return gen_indexed(g, 2, address->imm, false);
	if (!is_only_use(g, 2, reg) || !is_plain(g, (s64)address->imm + use->off))
		return 0;
	g->known[reg] = address->imm;
	g->pc += 2;
	if (INSN_CLASS(use->code) == INSN_LDX)
		gen_load(g, use);
	else
		jit_emit_store(g, use);
	g->pc -= 2;
	if (!written)
		forget_reg(g, reg);
	return 3;
}

/* Matches r = r10; r += a constant; perhaps r += index, and the only load or store there. */
static u32 fuse_frame(struct gen *g)
{
	const struct image_insn *move = peek(g, 0), *add = peek(g, 1);

	if (!JIT_THREE_OPERANDS || move->code != (INSN_ALU64 | INSN_X | INSN_MOV) || move->off ||
	    move->src != INSN_R10 || add->code != (INSN_ALU64 | INSN_ADD) ||
	    add->dst != move->dst)
		return 0;
	if (is_indexed(g, 2, move->dst))
		return gen_indexed(g, 2, add->imm, true);
	if (JIT_THREE_OPERANDS)
		jit_emit_frame(g, move->dst, add->imm);
	forget_reg(g, move->dst);
	return 2;
}

static bool is_shift_op(u8 op)
{
	return op == INSN_LSH || op == INSN_RSH || op == INSN_ARSH;
}

/* An operation on two operands, neither of which is r10. */
static bool is_binary(const struct image_insn *insn)
{
	u8 class = INSN_CLASS(insn->code), op = INSN_OP(insn->code);

	if ((class != INSN_ALU && class != INSN_ALU64) ||
	    (insn->code & INSN_X && insn->src == INSN_R10))
		return false;
	return op == INSN_MUL || is_shift_op(op) || has_two_operands(op);
}

/*
 * Matches t = s; t <<= n, >>= n or *= an operand, of which the copy may be missing; then see
 * combine().
 */
static u32 fuse_combined(struct gen *g)
{
	static const u8 shifts[16] = {
		[INSN_LSH >> 4] = JIT_LSL, [INSN_RSH >> 4] = JIT_LSR, [INSN_ARSH >> 4] = JIT_ASR,
	};
	const struct image_insn *first = peek(g, 0), *insn = first;
	u8 class = INSN_CLASS(first->code), op;
	struct jit_deferred d = { .class = class, .reg = first->dst };
	u32 n = 1;

	if (!JIT_THREE_OPERANDS || (class != INSN_ALU && class != INSN_ALU64))
		return 0;
	d.combined.from = first->dst;
	if (is_op(first, class, INSN_MOV)) {
		insn = peek(g, n++);
		d.combined.from = first->src;
	}
	op = INSN_OP(insn->code);
	if (INSN_CLASS(insn->code) != class || insn->dst != d.reg || !is_binary(insn))
		return 0;
	if (op == INSN_MUL && !(insn->code & INSN_X && insn->src == d.reg))
		d.combined.multiply = insn;
	else if (insn->code & INSN_X || !is_shift_op(op))
		return 0;
	d.combined.shift = shifts[op >> 4];
	d.combined.n = insn->imm & (class == INSN_ALU64 ? 63 : 31);
	return combine(g, n, &d);
}

/* Matches t = s; t >>= n; t &= the lowest bits; to = t with t dead. Each copy may be missing. */
static u32 fuse_field(struct gen *g)
{
	const struct image_insn *first = peek(g, 0), *shift = first, *mask, *last;
	u8 class = INSN_CLASS(first->code), t = first->dst, from = t, to = t, low, bits;
	bool wide = class == INSN_ALU64;
	u32 n = 1;

	if (is_op(first, class, INSN_MOV)) {
		shift = peek(g, n++);
		from = first->src;
	}
	if (!JIT_THREE_OPERANDS || (class != INSN_ALU && !wide) ||
	    !is_shift(shift, class, INSN_RSH, t))
		return 0;
	mask = peek(g, n++);
	if (!is_and(mask) || mask->dst != t || mask->imm <= 0 || mask->imm & (mask->imm + 1U))
		return 0;
	last = peek(g, n);
	if (is_copy(last) && last->src == t && !is_live(g, g->pc + n, 1 << t)) {
		to = last->dst;
		n++;
	}
	low = shift->imm & (wide ? 63 : 31);
	bits = __builtin_ctz(~mask->imm);
	if (bits > (wide ? 64 : 32) - low)
		bits = (wide ? 64 : 32) - low;
	if (JIT_THREE_OPERANDS)
		jit_emit_field(g, wide, to, from, low, bits);
	forget_reg(g, t);
	wrote(g, to, bits);
	return n;
}

/* Matches r = a; r op= b, or a constant. */
static u32 fuse_copied(struct gen *g)
{
	const struct image_insn *move = peek(g, 0), *next = peek(g, 1);
	u8 class = INSN_CLASS(move->code);
	struct image_insn binary = *next, left = *next;
	u8 bits;

	if (!JIT_THREE_OPERANDS || !is_op(move, class, INSN_MOV) || !is_binary(next) ||
	    INSN_CLASS(next->code) != class || next->dst != move->dst)
		return 0;
	if (next->code & INSN_X && next->src == move->dst)
		binary.src = move->src;
	left.dst = move->src;
	bits = bits_of(g, &left);
	jit_emit_binary(g, &binary, move->src);
	wrote(g, move->dst, bits);
	return 2;
}

/* Matches r op= b, or a constant; to = r, with r dead afterwards. */
static u32 fuse_moved(struct gen *g)
{
	const struct image_insn *first = peek(g, 0), *move = peek(g, 1);
	u8 class = INSN_CLASS(move->code), reg = first->dst;
	struct image_insn binary = *first;
	u8 bits;

	if (!JIT_THREE_OPERANDS || !is_binary(first) || !is_op(move, class, INSN_MOV) ||
	    (class != INSN_ALU && class != INSN_ALU64) || move->src != reg ||
	    (class == INSN_ALU && INSN_CLASS(first->code) != INSN_ALU) ||
	    (move->dst != reg && is_live(g, g->pc + 1, 1 << reg)))
		return 0;
	bits = bits_of(g, first);
	binary.dst = move->dst;
	jit_emit_binary(g, &binary, reg);
	forget_reg(g, reg);
	wrote(g, move->dst, class == INSN_ALU && bits > 32 ? 32 : bits);
	return 2;
}

/*
 * Generates one machine instruction for this and following instructions. Returns how many it
 * covers, or 0.
 */
static u32 fuse(struct gen *g)
{
	u32 n = fuse_deferred(g);

	if (n)
		return n;
	switch (peek(g, 0)->code) {
	case INSN_ALU | INSN_X | INSN_MOV:
	case INSN_ALU64 | INSN_X | INSN_MOV:
		return fuse_rotation(g) ?: fuse_field(g) ?: fuse_combined(g) ?: fuse_sum(g) ?:
		       fuse_copied(g) ?: fuse_frame(g);
	case INSN_ALU | INSN_ADD: case INSN_ALU | INSN_X | INSN_ADD:
	case INSN_ALU64 | INSN_ADD: case INSN_ALU64 | INSN_X | INSN_ADD:
	case INSN_ALU64 | INSN_LSH:
		return fuse_combined(g) ?: fuse_sum(g) ?: fuse_moved(g);
	case INSN_ALU | INSN_RSH: case INSN_ALU64 | INSN_RSH:
		return fuse_field(g) ?: fuse_combined(g) ?: fuse_moved(g);
	case INSN_LD | INSN_IMM | INSN_DW:
		return fuse_address(g);
	case INSN_LDX | INSN_MEM | INSN_W:
	case INSN_LDX | INSN_MEM | INSN_DW:
		return fuse_load(g);
	}
	return fuse_combined(g) ?: fuse_moved(g);
}

/* -- The image --------------------------------------------------------------------------- */

static void gen_one(struct gen *g, const struct image_insn *insn)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		return gen_alu(g, insn);
	case INSN_LD:
		return gen_imm64(g, insn);
	case INSN_LDX:
		return gen_load(g, insn);
	case INSN_ST:
		return jit_emit_store(g, insn);
	case INSN_STX:
		if (INSN_MODE(insn->code) == INSN_ATOMIC)
			return gen_atomic(g, insn);
		return jit_emit_store(g, insn);
	}
	if (insn->code == (INSN_JMP | INSN_EXIT))
		return jit_emit_epilogue(g);
	if (insn_is_jump(insn))
		return gen_jump(g, insn);
	gen_call(g, insn);
}

static void gen_insn(struct gen *g, const struct image_insn *insn)
{
	bool late = image_calls_deep(g->checked, g->pc);
	u32 fuel = g->checked->charges[g->pc], fused;

	charge(g, late ? 0 : fuel);
	fused = fuse(g);
	if (!fused)
		gen_one(g, insn);
	charge(g, late ? fuel : 0);
	/* No jump leads to the other instructions. */
	while (fused > 1) {
		g->jit->offsets[++g->pc] = g->at;
		fused--;
	}
}

static struct verify_state state_of_function(const struct gen *g)
{
	return (struct verify_state){
		.unset = V_SCRATCH, .calls = g->checked->traits[g->func] & TRAIT_CALLS,
		.credit = V_LINKED * V_INSN_ALIGN,
	};
}

/* Is @pc the instruction after a function's end? Control reaches it only by a jump. */
static bool is_behind_end(const struct gen *g)
{
	const struct image_insn *before = &g->checked->insns[g->pc] - 1;

	return g->pc > g->checked->funcs[g->func].start &&
	       !(g->checked->marks[g->pc - 1] & MARK_SECOND) &&
	       (before->code == (INSN_JMP | INSN_EXIT) ||
		(insn_is_jump(before) && INSN_OP(before->code) == INSN_JA));
}

static void gen_func(struct gen *g)
{
	const struct checked *checked = g->checked;
	u32 end = image_func_end(checked, g->func);

	g->pc = checked->funcs[g->func].start;
	g->jit->offsets[checked->image->ninsns + g->func] = g->at;
	jit_label(g, state_of_function(g));
	jit_emit_link(g);
	charge(g, checked->charges[checked->image->ninsns + g->func]);
	jit_emit_prologue(g);
	forget(g);
	for (; g->pc < end; g->pc++) {
		u8 marks = checked->marks[g->pc];

		g->over = image_pause(g->pc);
		if (g->over)
			return;
		g->jit->offsets[g->pc] = g->at;
		if (marks & MARK_TARGET || is_behind_end(g)) {
			forget(g);
			jit_label(g, state_at(g, g->pc));
		}
		if (!(marks & MARK_SECOND))
			gen_insn(g, &checked->insns[g->pc]);
	}
}

static void gen_all(struct gen *g)
{
	if (g->checked->base)
		gen_numbers(g);
	else
		jit_emit_entry(g);
	g->numbers = g->checked->base ? 0 : g->at;
	gen_dispatch(g);
	jit_emit_try(g);
	for (; g->func < g->checked->image->nfuncs && !g->over; g->func++)
		gen_func(g);
}

/* The first pass: computes the code's size, and writes the code if the draft has room. */
static int write_draft(struct jit *jit, struct gen *g)
{
	struct jit_draft *draft = &jit->draft;

	g->drafts = draft->code && draft->fixups && jit->labels;
	if (g->drafts) {
		g->code = draft->code;
		g->room = draft->room;
		g->label_room = draft->label_room;
	}
	gen_all(g);
	jit->numbers = g->numbers;
	jit->beyond = g->dispatch;
	jit->size = g->at;
	jit->nlabels = g->nlabels;
	draft->key = jit->key;
	draft->fits = g->drafts && g->at <= g->room && g->nlabels <= g->label_room &&
		      draft->nfixups <= draft->fixup_room;
	return g->over ? -EINTR : 0;
}

static int copy_draft(struct jit *jit)
{
	const struct jit_draft *draft = &jit->draft;
	u32 i;

	memcpy(jit->code, draft->code, jit->size);
	for (i = 0; i < draft->nfixups; i++) {
		const struct jit_fixup *fixup = &draft->fixups[i];
		u64 to = fixup->index == JIT_OUTSIDE ? fixup->to :
						       jit->exec + jit->offsets[fixup->index];

		if (image_pause(i))
			return -EINTR;
		jit_emit_distance(jit->code + fixup->at, jit->exec + fixup->at, to);
	}
	return 0;
}

int jit_generate(struct jit *jit)
{
	struct gen g = {
		.jit = jit, .checked = jit->checked, .code = jit->code,
		.room = jit->code ? jit->size : 0, .label_room = jit->code ? jit->nlabels : 0,
		.mask = (1U << jit->checked->image->arena_shift) - 1,
	};

	if (!jit->code)
		return write_draft(jit, &g);
	if (jit->draft.fits && jit->draft.key == jit->key)
		return copy_draft(jit);
	gen_all(&g);
	if (g.over)
		return -EINTR;
	return g.at == jit->size && g.nlabels == jit->nlabels ? 0 : -EFBIG;
}
