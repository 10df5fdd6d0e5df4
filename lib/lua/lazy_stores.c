// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lazy stores (see compile.h): a register often gets a value known at compile time, a function to
 * call or an operand, that is read once, soon after. If all code that reads the register knows
 * the value, it is stored only on slow paths.
 */
#include <stdlib.h>

#include "compile.h"

#define WINDOW		8	/* the most instructions until the value has been read */
#define LOOK_AHEAD	256	/* the most instructions that the search for reads visits */

/* -- What instructions do with registers -------------------------------------------------- */

static bool is_within(u32 reg, u32 first, u32 n)
{
	return reg >= first && reg - first < n;
}

/* Does the instruction read the register?  May be true for registers that it does not read. */
bool defer_reads(u32 i, u32 reg)
{
	u32 a = a_of(i), b = b_of(i), c = c_of(i);

	switch (op_of(i)) {
	case OP_LOADK: case OP_LOADBOOL: case OP_LOADNIL: case OP_GETUPVAL: case OP_GETGLOBAL:
	case OP_NEWTABLE: case OP_JMP: case OP_VARARG:
		return false;
	case OP_MOVE: case OP_UNM: case OP_NOT: case OP_LEN: case OP_TESTSET:
		return reg == b;
	case OP_GETTABLE: case OP_SELF:
		return reg == b || reg == c;
	case OP_SETGLOBAL: case OP_SETUPVAL: case OP_TEST:
		return reg == a;
	case OP_SETTABLE:
		return reg == a || reg == b || reg == c;
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD: case OP_POW:
	case OP_EQ: case OP_LT: case OP_LE:
		return reg == b || reg == c;
	case OP_CALL: case OP_TAILCALL:
		return is_within(reg, a, b ?: REGISTERS);
	case OP_RETURN:
		return is_within(reg, a, b ? b - 1 : REGISTERS);
	case OP_FORLOOP: case OP_FORPREP: case OP_TFORLOOP:
		return is_within(reg, a, 3);
	default:
		return true;
	}
}

static bool is_test(u32 i)
{
	enum op op = op_of(i);

	return op == OP_EQ || op == OP_LT || op == OP_LE || op == OP_TEST || op == OP_TESTSET;
}

static bool is_jump(u32 i)
{
	enum op op = op_of(i);

	return is_test(i) || op == OP_JMP || op == OP_FORLOOP || op == OP_FORPREP ||
	       op == OP_TFORLOOP || (op == OP_LOADBOOL && c_of(i));
}

/*
 * struct search - a search for the next access to a register
 * @seen: for each instruction, the number of the last search that visited it
 * @left: number of instructions that may still be visited
 */
struct search {
	const struct proto *p;
	u32 *seen;
	u32 number, reg, left;
};

/* Is the register written before it is read on every path from @pc? */
static bool is_dead(struct search *s, u32 pc)
{
	const struct proto *p = s->p;
	u32 i;

	while (pc < p->ncode && s->seen[pc] != s->number) {
		i = p->code[pc];
		if (!s->left-- || defer_reads(i, s->reg) || op_of(i) == OP_TFORLOOP) {
			s->left = 0;
			return false;
		}
		s->seen[pc] = s->number;
		if (op_writes(i, s->reg) || op_of(i) == OP_RETURN)
			return true;
		if (op_of(i) == OP_JMP || op_of(i) == OP_FORPREP) {
			pc += 1 + sbx_of(i);
			continue;
		}
		if (is_test(i) && !is_dead(s, pc + 2 + sbx_of(p->code[pc + 1])))
			return false;
		if (op_of(i) == OP_FORLOOP && !is_dead(s, pc + 1 + sbx_of(i)))
			return false;
		pc += 1 + proto_operands(p, pc);
		if (is_test(i) || (op_of(i) == OP_LOADBOOL && c_of(i)))
			pc++;
	}
	return true;
}

bool defer_is_dead(const struct proto *p, u32 *seen, u32 number, u32 reg, u32 pc)
{
	struct search s = { p, seen, number, reg, LOOK_AHEAD };

	return is_dead(&s, pc);
}

/* -- Finding values to defer --------------------------------------------------------------- */

/* The value that the instruction at @pc assigns to R(A), if it is known. */
static bool known_value(const struct compiler *c, u32 pc, struct value *v)
{
	u32 i = c->p->code[pc];
	const struct fact *f;

	switch (op_of(i)) {
	case OP_LOADK:
		*v = c->p->k[bx_of(i)];
		return true;
	case OP_LOADNIL:
		*v = (struct value){ .tag = TAG_NIL };
		return a_of(i) == b_of(i);
	case OP_GETUPVAL:
		return upvalue_is_fixed(c->runtime, c->p, b_of(i), v);
	case OP_GETGLOBAL: case OP_GETTABLE:
		return types_library(&c->types, pc, fact_at(&c->types, pc, 0), v);
	case OP_MOVE:
		f = fact_at(&c->types, pc, b_of(i));
		*v = (struct value){ .tag = f->types == T_TABLE ? TAG_TABLE : TAG_FUNCTION,
				     .bits = f->origin };
		if (f->constant)
			v->tag = TAG_NUMBER;
		return f->constant || (f->sure && f->origin > NEW_TABLE &&
				       (f->types == T_TABLE || f->types == T_FUNCTION));
	default:
		return false;
	}
}

/*
 * The last instruction that reads the register, or the one that overwrites it; 0 if it is too far
 * away.
 */
static u32 find_end(struct compiler *c, u32 pc, u32 reg, u32 *seen)
{
	struct search s = { c->p, seen, pc + 1, reg, LOOK_AHEAD };
	u32 start = pc, i;

	for (pc++; pc < c->p->ncode && pc <= start + WINDOW; pc += 1 + proto_operands(c->p, pc)) {
		i = c->p->code[pc];
		if (c->types.target[pc] || !c->types.reached[pc])
			return 0;
		if (op_writes(i, reg) || op_of(i) == OP_RETURN)
			return pc;
		if (is_test(i))
			return is_dead(&s, pc + 2) &&
			       is_dead(&s, pc + 2 + sbx_of(c->p->code[pc + 1])) ? pc : 0;
		if (is_jump(i))
			return 0;
	}
	return 0;
}

bool defer_find(struct compiler *c)
{
	u32 *seen = calloc(c->p->ncode + 1, sizeof(*seen)), pc, a;
	struct value v;

	c->defer_until = calloc(c->p->ncode + 1, sizeof(*c->defer_until));
	if (!c->defer_until || !seen) {
		free(seen);
		return false;
	}
	for (pc = 0; pc < c->p->ncode; pc += 1 + proto_operands(c->p, pc)) {
		a = a_of(c->p->code[pc]);
		if (!c->types.reached[pc] || !known_value(c, pc, &v) || c->p->captured[a])
			continue;
		c->defer_until[pc] = find_end(c, pc, a, seen);
		c->has_deferred[a] |= c->defer_until[pc] != 0;
	}
	free(seen);
	return true;
}

/* -- Storing deferred values --------------------------------------------------------------- */

void defer_store(struct compiler *c, u32 place, struct value v, u8 spare)
{
	s32 at = (s32)place * VALUE_SIZE;

	switch (v.tag) {
	case TAG_NIL:
		break;
	case TAG_BOOLEAN:
		emit_store_imm(c->e, INSN_W, REG_BASE, at, v.bits & 1);
		break;
	case TAG_NUMBER:
		emit_constant(c->e, spare, v.bits);
		emit_store(c->e, INSN_DW, REG_BASE, at, spare);
		break;
	default:
		emit_address(c->e, spare, v.bits - (uintptr_t)c->runtime->arena);
		emit_store(c->e, INSN_DW, REG_BASE, at, spare);
	}
	emit_store_imm(c->e, INSN_W, REG_BASE, at + VALUE_TAG, v.tag);
}

void defer_store_all(struct compiler *c, const struct deferral *d, u8 spare)
{
	u32 n;

	for (n = 0; n < d->n; n++)
		defer_store(c, d->at[n].place, d->at[n].value, spare);
}

static void drop(struct deferral *d, u32 n)
{
	d->at[n] = d->at[--d->n];
}

void defer_flush(struct compiler *c)
{
	defer_store_all(c, c->deferral, 0);
	c->deferral->n = 0;
}

static void flush_place(struct compiler *c, u32 place)
{
	struct deferral *d = c->deferral;
	u32 n;

	for (n = 0; n < d->n; n++) {
		if (d->at[n].place != place)
			continue;
		defer_store(c, place, d->at[n].value, 0);
		return drop(d, n);
	}
}

void defer_forget_from(struct compiler *c, u32 place)
{
	struct deferral *d = c->deferral;
	u32 n;

	for (n = d->n; n--;)
		if (d->at[n].place >= place)
			drop(d, n);
}

bool defer_has(const struct compiler *c, u32 reg)
{
	u32 n;

	for (n = 0; n < c->deferral->n; n++)
		if (c->deferral->at[n].place == c->shift + reg)
			return true;
	return false;
}

void defer_value(struct compiler *c, u32 reg, struct value v, u32 until)
{
	struct deferral *d = c->deferral;
	u32 n;

	for (n = d->n; n--;)
		if (d->at[n].place == c->shift + reg)
			drop(d, n);
	if (is_cached(c, reg))
		d->cached = NOT_CACHED;
	if (d->n == DEFERRED_MOST)
		defer_flush(c);
	d->at[d->n++] = (struct deferred){
		.place = c->shift + reg, .value = v, .until = until, .by = c,
	};
}

/* -- Before and after each instruction ------------------------------------------------------- */

static bool is_plain(const struct compiler *c, u32 rk)
{
	return rk & RK_K && c->p->k[rk & ~RK_K].tag != TAG_NUMBER;
}

/* Does the instruction's code know the register's value, so that it does not load it? */
static bool is_aware(const struct compiler *c, u32 reg)
{
	u32 i = c->p->code[c->pc], b = b_of(i), rc = c_of(i);
	const struct fact *f = fact_at(&c->types, c->pc, reg);
	bool is_table = f->sure && f->types == T_TABLE && f->origin > NEW_TABLE;
	s64 k;
	bool is_k = rk_is_constant(&c->types, c->pc, reg, &k);

	switch (op_of(i)) {
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_MOD: case OP_UNM:
		return is_k;
	case OP_EQ: case OP_LT: case OP_LE:
		return is_k && !is_plain(c, b) && !is_plain(c, rc);
	case OP_GETTABLE:
		return (reg != b || is_table) && (reg != rc || is_k);
	case OP_SETTABLE:
		return (reg != a_of(i) || is_table) && (reg != b || is_k) && reg != rc;
	case OP_TEST:
		return f->types == T_NIL || !(f->types & (T_NIL | T_BOOLEAN));
	case OP_CALL:
		return c->inlines[c->pc] || intrinsic_knows(c, reg);
	default:
		return false;
	}
}

bool defer_is_quiet(const struct compiler *c)
{
	switch (op_of(c->p->code[c->pc])) {
	case OP_MOVE: case OP_LOADK: case OP_LOADBOOL: case OP_LOADNIL: case OP_GETUPVAL:
	case OP_SETUPVAL: case OP_GETGLOBAL: case OP_GETTABLE: case OP_SETTABLE: case OP_SELF:
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_MOD: case OP_UNM: case OP_NOT: case OP_LEN:
	case OP_JMP:
	case OP_EQ: case OP_LT: case OP_LE: case OP_TEST: case OP_TESTSET: case OP_FORLOOP:
	case OP_FORPREP:
		return true;
	case OP_RETURN:
		return c->caller;
	case OP_CALL:
		return c->inlines[c->pc] || is_intrinsic(c);
	default:
		return false;
	}
}

static bool uses_closure(u32 i)
{
	enum op op = op_of(i);

	return op == OP_GETUPVAL || op == OP_SETUPVAL || op == OP_GETGLOBAL;
}

/* Is the value dead after this instruction, on every path? */
static bool ends_here(const struct compiler *c, const struct deferred *d)
{
	return d->by == c && d->until == c->pc;
}

void defer_before(struct compiler *c)
{
	u32 i = c->p->code[c->pc], n;
	struct deferral *d = c->deferral;

	if (c->types.target[c->pc] || !defer_is_quiet(c))
		return defer_flush(c);
	if (c->defer_until[c->pc])
		return;
	for (n = d->n; n--;) {
		struct deferred one = d->at[n];
		u32 reg = one.place - c->shift;
		bool read = one.place >= c->shift && defer_reads(i, reg) && !is_aware(c, reg);

		/*
		 * A store that is deferred past a jump is made on one way only.  In an inlined
		 * function even a value that ends here needs one, of nil: end_value().
		 */
		if (read || (is_jump(i) && (c->caller || !ends_here(c, &one))))
			flush_place(c, one.place);
	}
	if (c->caller && uses_closure(i))
		flush_place(c, c->shift - 1);
}

/* Does the instruction store to the register, and not only make its value unknown? */
static bool stores(u32 i, u32 reg)
{
	return op_writes(i, reg) && (op_of(i) != OP_CALL || (reg == a_of(i) && c_of(i) > 1));
}

/*
 * The value is dead. In an inlined function the register may still hold what an earlier call left
 * there, until the function's frame is made.
 */
static void end_value(struct compiler *c, u32 n, bool is_stored)
{
	struct deferral *d = c->deferral;

	if (!c->caller || is_stored)
		return drop(d, n);
	d->at[n].value = (struct value){ .tag = TAG_NIL };
	d->at[n].until = DEFER_ALWAYS;
}

void defer_after(struct compiler *c)
{
	u32 i = c->p->code[c->pc], n, reg;
	struct deferral *d = c->deferral;

	if (c->defer_until[c->pc])
		return;
	for (n = d->n; n--;) {
		reg = d->at[n].place - c->shift;
		if (d->at[n].place < c->shift) {
			if (ends_here(c, &d->at[n]))
				drop(d, n);
		} else if (ends_here(c, &d->at[n]) || op_writes(i, reg)) {
			end_value(c, n, stores(i, reg));
		}
	}
}

bool defer_insn(struct compiler *c)
{
	struct value v;

	u32 i = c->p->code[c->pc];

	if (!c->defer_until[c->pc] || !known_value(c, c->pc, &v))
		return false;
	if (op_of(i) == OP_GETGLOBAL || op_of(i) == OP_GETTABLE)
		check_libraries(c);
	defer_value(c, a_of(i), v, c->defer_until[c->pc]);
	return true;
}
