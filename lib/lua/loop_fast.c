// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Fast code for loops over integers (see compile.h) that only read tables and strings, compute, or
 * make system calls with integers. They are compiled a second time without Lua's frame: numbers are
 * in machine registers and in the function's own frame (r10), without tags and without masks. Loop
 * invariants, such as the addresses of tables' elements, are computed before the loop.
 *
 * The fast code handles only the usual cases. In other cases it exits at the beginning of an
 * instruction: it stores what Lua's frame lacks, and continues in the loop's normal code, which
 * enters the fast code again at the end of the pass. The fast code changes no table and calls no
 * function, so there is nothing to undo, and the invariants hold. If a system call's result is
 * too large for an integer of Lua, the runtime stores it, and the normal code continues after the
 * call.
 *
 * r8 is the loop's counter, r9 the offset of its element in an array, in bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

#define LOOP_INSNS	96
#define LOOP_REGISTERS	48
#define EXITS		48
#define TABLES		8
#define SLOTS		28		/* words of the function's own frame */
#define REG_COUNTER	8
#define REG_OFFSET	9
#define CACHED		5		/* register that may cache a slot's value */
#define NO_REG		0xff
#define CONSTANT_MOST	(1 << 20)
#define INTEGER_MOST	((1L << (INTEGER_BITS - 1)) - 1)

enum { SLOT_LIMIT, SLOT_MOST, SLOT_LEAST, SLOT_LARGE, SLOT_FIRST };

enum kind {
	K_NOTHING,	/* of several kinds, or not needed any more */
	K_FRAME,	/* in Lua's register @n, unchanged since before the loop */
	K_INTEGER, K_NUMBER,	/* in slot @n */
	K_COUNTER,
	K_VALUE,	/* the constant @value */
	K_TABLE,	/* tables[@n] */
};

struct known {
	u8 kind, n;
	struct value value;
};

/* A table or string that is looked up before the loop; with @name, a field of a table. */
struct table {
	bool in_frame;
	u32 reg;
	u64 address, name;
	u32 node;
	u8 tag, slot;
};

/*
 * An exit from the loop at instruction @pc.  @large: after a system call, whose result, in r1, is
 * too large for an integer.
 */
struct leave {
	u32 label, pc;
	bool large;
	struct known now[LOOP_REGISTERS];
};

/**
 * struct scope - the loop's function, or an inlined function that it calls
 * @known:   for each instruction, facts about all registers before it
 * @reached: 1: by falling through; 2: by a jump
 * @slots:   the slot of each register; 0: none yet
 */
struct scope {
	const struct proto *p;
	struct known *known;
	u8 *reached;
	u32 *labels;
	u8 *slots;
};

/**
 * struct fast - the compilation of a loop
 * @first:   the loop's first instruction; @last: its OP_FORLOOP
 * @written: registers that the loop writes; @carried: those of them that the next pass or the
 *           code after the loop reads, which are integers
 * @kept:    slots of integer registers that are loaded before the loop
 * @stable:  slots that do not change
 * @cached:  the slot whose value is also in r5
 * @done:    the exit in @leaves at the loop's end
 * @leave:   the label of the current instruction's exit, if it has one
 * @refused: an operand of the current instruction is no integer
 * @libraries: the loop calls functions of libraries, which must be the original ones
 */
struct fast {
	struct compiler *c;
	u32 first, last, top;
	struct scope outer, inner, *scope;
	struct known now[LOOP_REGISTERS];
	u8 outer_slots[REGISTERS], inner_slots[REGISTERS], kept[REGISTERS];
	bool written[REGISTERS], carried[REGISTERS], stable[SLOTS];
	u32 nslots, cached, leave, pc, call;
	struct table tables[TABLES];
	u32 ntables, nleaves, done;
	struct leave leaves[EXITS];
	u32 *seen, searches;
	bool failed, refused, libraries;
};

enum end { REFUSED, GOES_ON, ENDS };

static s32 place_of(u32 slot)
{
	return -8 * ((s32)slot + 1);
}

static u32 new_slot(struct fast *f)
{
	if (f->nslots < SLOTS)
		return f->nslots++;
	f->failed = true;
	return 0;
}

static u32 insn_at(const struct fast *f)
{
	return f->scope->p->code[f->pc];
}

static bool is_dead(struct fast *f, u32 reg, u32 pc)
{
	return defer_is_dead(f->c->p, f->seen, ++f->searches, reg, pc);
}

/* -- Exits ------------------------------------------------------------------------------- */

static u32 leave_for(struct fast *f, u32 pc, const struct known *now)
{
	struct leave *to = &f->leaves[f->nleaves];

	if (f->nleaves == EXITS) {
		f->failed = true;
		return 0;
	}
	f->nleaves++;
	to->label = emit_label(f->c->e);
	to->pc = pc;
	to->large = false;
	memcpy(to->now, now, f->c->p->nregs * sizeof(*now));
	return to->label;
}

/* A label that leaves the current instruction of the loop's function before any effect. */
static u32 leaves(struct fast *f)
{
	u32 pc = f->scope == &f->outer ? f->pc : f->call;
	const u32 *code = f->c->p->code;

	/* Between calls that pass on all results, only the interpreter knows how many these are. */
	while (op_of(code[pc]) == OP_CALL && !b_of(code[pc]))
		pc--;
	if (f->leave == NO_LABEL)
		f->leave = leave_for(f, pc, &f->outer.known[pc * f->c->p->nregs]);
	return f->leave;
}

/* -- Facts --------------------------------------------------------------------------------- */

static bool is_same(const struct known *a, const struct known *b)
{
	return a->kind == b->kind && a->n == b->n && a->value.tag == b->value.tag &&
	       a->value.bits == b->value.bits;
}

static bool is_number(const struct known *k)
{
	return k->kind == K_INTEGER || k->kind == K_NUMBER;
}

static struct known merged(const struct known *a, const struct known *b)
{
	if (is_same(a, b))
		return *a;
	if (is_number(a) && is_number(b) && a->n == b->n)
		return (struct known){ .kind = K_NUMBER, .n = a->n };
	return (struct known){ .kind = K_NOTHING };
}

/* Merges the state @now into the state at @pc of @scope. */
static void flow(struct scope *scope, u32 pc, const struct known *now, u8 how)
{
	struct known *there = &scope->known[pc * scope->p->nregs];
	u32 r;

	for (r = 0; r < scope->p->nregs; r++)
		there[r] = scope->reached[pc] ? merged(&there[r], &now[r]) : now[r];
	if (scope->reached[pc] < how)
		scope->reached[pc] = how;
}

/* As above, for a jump: returns its label. */
static u32 jumps_to(struct fast *f, u32 pc)
{
	if (f->scope == &f->outer && (pc < f->first || pc > f->last))
		return leave_for(f, pc, f->now);
	flow(f->scope, pc, f->now, 2);
	return f->scope->labels[pc];
}

/* -- Values ------------------------------------------------------------------------------- */

/* Returns the machine register with the slot's value: r5, or @spare after loading it. */
static u8 get_slot(struct fast *f, u32 slot, u8 spare)
{
	if (f->cached == slot)
		return CACHED;
	emit_load(f->c->e, INSN_DW, spare, INSN_R10, place_of(slot));
	return spare;
}

static void put_slot(struct fast *f, u32 slot, u8 reg)
{
	if (reg == CACHED)
		f->cached = slot;
	else if (f->cached == slot)
		f->cached = NOT_CACHED;
	emit_store(f->c->e, INSN_DW, INSN_R10, place_of(slot), reg);
}

static u32 slot_of(struct fast *f, struct scope *scope, u32 reg)
{
	if (!scope->slots[reg])
		scope->slots[reg] = new_slot(f);
	return scope->slots[reg];
}

static struct known known_of(const struct fast *f, u32 rk)
{
	if (!(rk & RK_K))
		return f->now[rk];
	return (struct known){ .kind = K_VALUE, .value = f->scope->p->k[rk & ~RK_K] };
}

static bool is_constant(const struct fast *f, u32 rk, s64 *v)
{
	struct known k = known_of(f, rk);

	*v = k.value.bits;
	return k.kind == K_VALUE && k.value.tag == TAG_NUMBER && *v >= -CONSTANT_MOST &&
	       *v <= CONSTANT_MOST;
}

static const struct fact *fact_before(const struct fast *f, u32 reg)
{
	return fact_at(&f->c->types, f->first, reg);
}

/* The slot of a Lua register that holds an integer throughout the loop, or 0. */
static u32 keep(struct fast *f, u32 reg)
{
	if (!(fact_before(f, reg)->types & T_INTEGER))
		return 0;
	if (!f->kept[reg]) {
		f->kept[reg] = new_slot(f);
		f->stable[f->kept[reg]] = true;
	}
	return f->kept[reg];
}

/* A machine register with the integer RK(@rk), which must not be modified; NO_REG: refused. */
static u8 get_integer(struct fast *f, u32 rk, u8 spare)
{
	struct known k = known_of(f, rk);
	u8 reg;

	switch (k.kind) {
	case K_VALUE:
		if (k.value.tag != TAG_NUMBER || !is_integer(k.value.bits))
			return NO_REG;
		emit_constant(f->c->e, spare, k.value.bits);
		return spare;
	case K_COUNTER:
		return REG_COUNTER;
	case K_FRAME:
		k.n = keep(f, k.n);
		return k.n ? get_slot(f, k.n, spare) : NO_REG;
	case K_INTEGER:
		return get_slot(f, k.n, spare);
	case K_NUMBER:
		reg = get_slot(f, k.n, spare);
		check_integer(f->c, reg, leaves(f));
		f->now[rk].kind = K_INTEGER;
		return reg;
	default:
		return NO_REG;
	}
}

/* Copies a number into the register's slot; for a carried register it must be an integer. */
static struct known copied(struct fast *f, struct scope *scope, u32 reg, struct known k,
			   bool carried)
{
	u32 to = slot_of(f, scope, reg);
	u8 from = get_slot(f, k.n, 1);

	if (carried && k.kind == K_NUMBER) {
		check_integer(f->c, from, leaves(f));
		k.kind = K_INTEGER;
	}
	if (k.n != to)
		put_slot(f, to, from);
	k.n = to;
	return k;
}

/* Stores the new value of a carried register in its slot. False if it is not an integer. */
static bool carry(struct fast *f, u32 reg, struct known *k)
{
	u32 slot = f->outer_slots[reg];

	if (k->kind == K_VALUE && k->value.tag == TAG_NUMBER && is_integer(k->value.bits)) {
		emit_constant(f->c->e, 1, k->value.bits);
		put_slot(f, slot, 1);
	} else if (k->kind == K_COUNTER) {
		put_slot(f, slot, REG_COUNTER);
	} else if (is_number(k)) {
		*k = copied(f, &f->outer, reg, *k, true);
		return true;
	} else {
		return false;
	}
	*k = (struct known){ .kind = K_INTEGER, .n = slot };
	return true;
}

/* R(@reg) of @scope, with state @now, becomes @k. False: refused. */
static bool assign(struct fast *f, struct scope *scope, struct known *now, u32 reg, struct known k)
{
	if (scope == &f->outer && f->carried[reg]) {
		if (!carry(f, reg, &k))
			return false;
	} else if (is_number(&k) && !f->stable[k.n]) {
		k = copied(f, scope, reg, k, false);
	}
	now[reg] = k;
	return true;
}

/* R(@reg) becomes the number in machine register @from. */
static void put_number(struct fast *f, u32 reg, u8 kind, u8 from)
{
	u32 slot = slot_of(f, f->scope, reg);

	put_slot(f, slot, from);
	f->now[reg] = (struct known){ .kind = kind, .n = slot };
}

/* -- Tables ------------------------------------------------------------------------------- */

static struct known add_table(struct fast *f, struct table table)
{
	struct known k = { .kind = K_TABLE };

	for (; k.n < f->ntables; k.n++) {
		const struct table *t = &f->tables[k.n];

		if (t->in_frame == table.in_frame && t->reg == table.reg &&
		    t->address == table.address && t->name == table.name && t->tag == table.tag)
			break;
	}
	if (k.n == TABLES) {
		f->failed = true;
		k.n = 0;
	} else if (k.n == f->ntables) {
		table.slot = new_slot(f);
		if (table.tag != TAG_NUMBER)
			new_slot(f);
		f->stable[table.slot] = true;
		f->tables[f->ntables++] = table;
	}
	if (table.tag == TAG_NUMBER)
		k = (struct known){ .kind = K_INTEGER, .n = f->tables[k.n].slot };
	return k;
}

/* The table or string (@tag) in R(@reg) that is read. */
static const struct table *table_of(struct fast *f, u32 reg, u8 tag)
{
	struct known k = f->now[reg];
	u8 type = tag == TAG_TABLE ? T_TABLE : T_STRING;

	if (k.kind == K_FRAME && fact_before(f, k.n)->types & type)
		k = add_table(f, (struct table){ .in_frame = true, .reg = k.n, .tag = tag });
	else if (k.kind == K_VALUE && k.value.tag == tag)
		k = add_table(f, (struct table){ .address = k.value.bits, .tag = tag });
	return k.kind == K_TABLE ? &f->tables[k.n] : NULL;
}

/* The field of a known table: its value at compile time is a guess of its later value. */
static bool compile_field(struct fast *f, u32 i)
{
	struct known k = f->now[b_of(i)];
	const struct runtime *runtime = f->c->runtime;
	struct table t = { .address = k.value.bits, .name = known_of(f, c_of(i)).value.bits };
	struct value v;
	s32 n;

	if (k.kind != K_VALUE || k.value.tag != TAG_TABLE)
		return false;
	n = runtime_node(runtime, t.address, t.name);
	if (n < 0)
		return false;
	t.node = n;
	v = runtime_value(runtime, runtime_word(runtime, t.address + TABLE_NODE, 8) +
				   (u64)t.node * NODE_SIZE);
	t.tag = v.tag;
	if (v.tag != TAG_TABLE && (v.tag != TAG_NUMBER || !is_integer(v.bits)))
		return false;
	return assign(f, f->scope, f->now, a_of(i), add_table(f, t));
}

/* Is the call at @pc a system call for which R(@reg) is not a string? */
static bool takes_number(const struct fast *f, u32 pc, u32 reg)
{
	u32 a = a_of(f->c->p->code[pc]);
	long nr = certain_syscall(f->c, pc);

	return nr >= 0 && reg > a && (syscall_kinds(nr)[reg - a - 1] | 0x20) != 's';
}

/* Is the call at @pc an operation on bits, with R(@reg) as an operand? */
static bool takes_bits(const struct fast *f, u32 pc, u32 reg)
{
	const struct types *t = &f->c->types;
	u32 a = a_of(f->c->p->code[pc]);

	return reg > a && bits_takes(intrinsic_of(t->runtime, fact_at(t, pc, a)->origin),
				     expected_arguments(t, pc));
}

/* Is R(@reg) first used as a number? */
static bool is_for_number(const struct fast *f, u32 reg)
{
	const struct proto *p = f->scope->p;
	u32 pc, i, other;

	for (pc = f->pc + 1; pc < p->ncode; pc++) {
		i = p->code[pc];
		if (!defer_reads(i, reg))
			continue;
		other = b_of(i) == reg ? c_of(i) : b_of(i);
		switch (op_of(i)) {
		case OP_EQ:
			return !(other & RK_K) || p->k[other & ~RK_K].tag == TAG_NUMBER;
		case OP_ADD: case OP_SUB: case OP_MUL: case OP_MOD: case OP_LT: case OP_LE:
		case OP_MOVE: case OP_RETURN:
			return true;
		case OP_CALL:
			return f->scope == &f->outer &&
			       (f->c->inlines[pc] || takes_number(f, pc, reg) ||
				takes_bits(f, pc, reg));
		default:
			return false;
		}
	}
	return false;
}

/* A register with the offset of element RK(@rk), unsigned and so not negative; NO_REG: refused. */
static u8 get_offset(struct fast *f, u32 rk)
{
	u8 reg;

	if (known_of(f, rk).kind == K_COUNTER)
		return REG_OFFSET;
	reg = get_integer(f, rk, 1);
	if (reg == NO_REG)
		return NO_REG;
	emit_mov(f->c->e, 1, reg);
	emit_alu_imm(f->c->e, INSN_SUB, 1, 1);
	emit_alu_imm(f->c->e, INSN_LSH, 1, 4);
	return 1;
}

static bool compile_element(struct fast *f, u32 i)
{
	struct emit *e = f->c->e;
	struct known key = known_of(f, c_of(i));
	const struct table *t;
	u32 a = a_of(i);
	u8 offset;

	if (key.kind == K_VALUE && key.value.tag == TAG_STRING)
		return compile_field(f, i);
	t = is_for_number(f, a) ? table_of(f, b_of(i), TAG_TABLE) : NULL;
	offset = t ? get_offset(f, c_of(i)) : NO_REG;
	if (offset == NO_REG)
		return false;
	emit_load(e, INSN_DW, 2, INSN_R10, place_of(t->slot));
	emit_branch(e, INSN_JGE, offset, 2, leaves(f));
	emit_load(e, INSN_DW, 3, INSN_R10, place_of(t->slot + 1));
	emit_alu(e, INSN_ADD, 3, offset);
	emit_load(e, INSN_W, 4, 3, VALUE_TAG);
	emit_branch_imm(e, INSN_JNE, 4, TAG_NUMBER, leaves(f));
	emit_load(e, INSN_DW, CACHED, 3, 0);
	f->cached = NOT_CACHED;
	if (f->scope == &f->outer && f->carried[a]) {
		check_integer(f->c, CACHED, leaves(f));
		put_number(f, a, K_INTEGER, CACHED);
	} else {
		put_number(f, a, K_NUMBER, CACHED);
	}
	return true;
}

/* -- Arithmetic and comparisons -------------------------------------------------------------- */

/* Exits unless r1 is an integer; it can only have passed the upper (@most) or the lower bound. */
static void check_end(struct fast *f, bool most)
{
	emit_load(f->c->e, INSN_DW, 2, INSN_R10, place_of(most ? SLOT_MOST : SLOT_LEAST));
	emit_branch(f->c->e, most ? INSN_JSGT : INSN_JSLT, 1, 2, leaves(f));
}

/* Is the sum or difference always an integer? */
static bool is_within(const struct fast *f)
{
	const struct types *t = &f->c->types;
	u32 i = insn_at(f);

	return f->scope == &f->outer &&
	       range_fits(range_of_arith(op_of(i), range_of_rk(t, f->pc, b_of(i)),
					 range_of_rk(t, f->pc, c_of(i))));
}

static bool compile_sum(struct fast *f, u32 i)
{
	u32 b = b_of(i), c = c_of(i);
	u8 op = op_of(i) == OP_ADD ? INSN_ADD : INSN_SUB, rb, rc;
	s64 k;

	if (op == INSN_ADD && is_constant(f, b, &k)) {
		b = c;
		c = b_of(i);
	}
	rb = get_integer(f, b, 1);
	if (rb == NO_REG)
		return false;
	if (is_constant(f, c, &k)) {
		emit_mov(f->c->e, 1, rb);
		emit_alu_imm(f->c->e, op, 1, k);
		if (!is_within(f))
			check_end(f, (k > 0) == (op == INSN_ADD));
	} else {
		rc = get_integer(f, c, 2);
		if (rc == NO_REG)
			return false;
		emit_mov(f->c->e, 1, rb);
		emit_alu(f->c->e, op, 1, rc);
		if (!is_within(f))
			check_integer(f->c, 1, leaves(f));
	}
	put_number(f, a_of(i), K_INTEGER, 1);
	return true;
}

/* A chain, a product or a remainder, as in Lua's frame, with operands from here. */
static bool compile_arithmetic(struct fast *f, u32 i)
{
	struct compiler *c = f->c;
	u32 before = c->pc, n, last;

	n = op_of(i) == OP_MOD || f->scope != &f->outer ? 0 : types_chain(&c->types, f->pc);
	if (!n && op_of(i) != OP_MUL && op_of(i) != OP_MOD)
		return compile_sum(f, i);
	if (f->scope != &f->outer)
		return false;
	c->loop = f;
	c->pc = f->pc;
	last = arith_in_loop(c, n, leaves(f));
	c->loop = NULL;
	c->pc = before;
	if (last == ~0U || f->refused)
		return false;
	f->cached = NOT_CACHED;
	for (; f->pc < last; f->pc++)
		f->now[a_of(c->p->code[f->pc])] = (struct known){ .kind = K_NOTHING };
	put_number(f, a_of(c->p->code[last]), K_INTEGER, 1);
	return true;
}

void loop_load(struct fast *f, u8 reg, u32 rk)
{
	u8 from = get_integer(f, rk, reg);

	if (from == NO_REG)
		f->refused = true;
	else
		emit_mov(f->c->e, reg, from);
}

static u32 target_of(const struct fast *f, u32 pc)
{
	return pc + 1 + sbx_of(f->scope->p->code[pc]);
}

/* Ends a test that was compiled together with its jump: control continues at pc + 2. */
static enum end goes_on_after(struct fast *f)
{
	flow(f->scope, f->pc + 2, f->now, f->scope->reached[f->pc + 1] ? 2 : 1);
	if (f->scope->reached[f->pc + 1])
		emit_jump(f->c->e, f->scope->labels[f->pc + 2]);
	return ENDS;
}

/* The outcome of the test is known at compile time. */
static enum end goes(struct fast *f, bool jumps)
{
	if (!jumps)
		return goes_on_after(f);
	emit_jump(f->c->e, jumps_to(f, target_of(f, f->pc + 1)));
	return ENDS;
}

/* Is a number, which need not be an integer, equal to 0? Integers other than 0 are not. */
static enum end equals_zero(struct fast *f, u32 i, u8 reg)
{
	u32 jump = jumps_to(f, target_of(f, f->pc + 1)), next = f->scope->labels[f->pc + 2];

	flow(f->scope, f->pc + 2, f->now, 2);
	emit_branch_imm(f->c->e, INSN_JEQ, reg, 0, a_of(i) ? jump : next);
	check_integer(f->c, reg, leaves(f));
	emit_jump(f->c->e, a_of(i) ? next : jump);
	return ENDS;
}

/* Compares a number with the integer @k: equal numbers are equal words. */
static enum end equals_constant(struct fast *f, u32 i, u32 rk, s64 k)
{
	struct known known = known_of(f, rk);
	u8 reg;

	if (known.kind == K_VALUE && known.value.tag == TAG_USERDATA)
		return REFUSED;
	if (known.kind == K_VALUE && known.value.tag != TAG_NUMBER)
		return goes(f, !a_of(i));
	if (known.kind == K_NUMBER) {
		reg = get_slot(f, known.n, 1);
		if (!k)
			return equals_zero(f, i, reg);
	} else {
		reg = get_integer(f, rk, 1);
		if (reg == NO_REG)
			return REFUSED;
	}
	emit_branch_imm(f->c->e, a_of(i) ? INSN_JEQ : INSN_JNE, reg, k,
			jumps_to(f, target_of(f, f->pc + 1)));
	return goes_on_after(f);
}

static enum end compile_compare(struct fast *f, u32 i)
{
	u32 b = b_of(i), c = c_of(i), jump;
	u8 op = compare_op(op_of(i), a_of(i)), rb, rc;
	s64 k;

	if (op_of(i) == OP_EQ && is_constant(f, c, &k))
		return equals_constant(f, i, b, k);
	if (op_of(i) == OP_EQ && is_constant(f, b, &k))
		return equals_constant(f, i, c, k);
	rb = get_integer(f, b, 1);
	rc = rb == NO_REG ? NO_REG : get_integer(f, c, 2);
	if (rc == NO_REG)
		return REFUSED;
	jump = jumps_to(f, target_of(f, f->pc + 1));
	emit_branch(f->c->e, op, rb, rc, jump);
	return goes_on_after(f);
}

/* The types that the register may have. */
static u8 types_of(const struct fast *f, const struct known *k)
{
	switch (k->kind) {
	case K_FRAME:
		return fact_before(f, k->n)->types;
	case K_VALUE:
		return k->value.tag == TAG_NIL ? T_NIL :
		       k->value.tag == TAG_BOOLEAN ? T_BOOLEAN : T_OTHER;
	case K_NOTHING:
		return T_ANY;
	default:
		return T_OTHER;
	}
}

static enum end compile_test(struct fast *f, u32 i)
{
	struct known k = f->now[a_of(i)];
	u8 types = types_of(f, &k);
	bool truth = types != T_NIL;

	if (k.kind == K_VALUE && types == T_BOOLEAN)
		truth = k.value.bits & 1;
	else if (types != T_NIL && types & (T_NIL | T_BOOLEAN))
		return REFUSED;
	return goes(f, truth == !!c_of(i));
}

/* -- Calls --------------------------------------------------------------------------------- */

static enum end compile_one(struct fast *f);

/* Compiles the instructions from @pc to @end, in which all jumps are forward. */
static void compile_scope(struct fast *f, u32 pc, u32 end)
{
	struct scope *scope = f->scope;
	struct emit *e = f->c->e;
	enum end how;

	for (; pc < end && !f->failed; pc = f->pc + 1) {
		struct emit_mark before = emit_mark(e);

		f->pc = pc;
		if (!scope->reached[pc])
			continue;
		memcpy(f->now, &scope->known[pc * scope->p->nregs],
		       scope->p->nregs * sizeof(*f->now));
		emit_land(e, scope->labels[pc]);
		if (scope->reached[pc] == 2)
			f->cached = NOT_CACHED;
		f->refused = false;
		if (scope == &f->outer)
			f->leave = NO_LABEL;
		how = compile_one(f);
		if (how == GOES_ON) {
			flow(scope, f->pc + 1, f->now, 1);
		} else if (how == REFUSED) {
			emit_rewind(e, before);
			emit_jump(e, leaves(f));
		}
	}
}

static bool make_scope(struct fast *f, struct scope *scope, const struct proto *p)
{
	u32 pc;

	scope->p = p;
	scope->known = calloc((p->ncode + 2) * p->nregs, sizeof(*scope->known));
	scope->reached = calloc(p->ncode + 2, 1);
	scope->labels = calloc(p->ncode + 2, sizeof(*scope->labels));
	if (!scope->known || !scope->reached || !scope->labels)
		return false;
	for (pc = 0; pc < p->ncode + 2; pc++)
		scope->labels[pc] = emit_label(f->c->e);
	return true;
}

static void free_scope(struct scope *scope)
{
	free(scope->known);
	free(scope->reached);
	free(scope->labels);
	*scope = (struct scope){ .slots = scope->slots };
}

/* The return of an inlined function: continues after the call. */
static enum end compile_result(struct fast *f, u32 i)
{
	struct scope *outer = &f->outer;
	u32 call = outer->p->code[f->call], a = a_of(call), r, pc;
	struct known after[LOOP_REGISTERS], k;
	bool last = true;

	memcpy(after, &outer->known[f->call * outer->p->nregs], outer->p->nregs * sizeof(*after));
	for (r = a; r < outer->p->nregs; r++)
		after[r] = (struct known){ .kind = K_NOTHING };
	for (r = 0; r + 1 < c_of(call); r++) {
		k = (struct known){ .kind = K_VALUE, .value.tag = TAG_NIL };
		if (r + 1 < b_of(i))
			k = f->now[a_of(i) + r];
		if (!assign(f, outer, after, a + r, k))
			return REFUSED;
	}
	for (pc = f->pc + 1; pc < f->scope->p->ncode; pc++)
		last &= !f->scope->reached[pc];
	flow(outer, f->call + 1, after, last && outer->reached[f->call + 1] < 2 ? 1 : 2);
	if (!last)
		emit_jump(f->c->e, outer->labels[f->call + 1]);
	return ENDS;
}

static enum end compile_inside(struct fast *f, u32 i)
{
	const struct proto *p = f->c->inlines[f->pc];
	u32 r, pc = f->pc, a = a_of(i);
	struct known *begin;

	/* With several results, an earlier one could overwrite an argument that is still needed. */
	if (c_of(i) > 2 || p->nregs > LOOP_REGISTERS || !make_scope(f, &f->inner, p)) {
		free_scope(&f->inner);
		return REFUSED;
	}
	begin = f->inner.known;
	for (r = 0; r < p->nregs; r++) {
		begin[r] = (struct known){ .kind = K_VALUE, .value.tag = TAG_NIL };
		if (r < p->nparams && r + 1 < b_of(i))
			begin[r] = f->now[a + 1 + r];
	}
	memset(f->inner_slots, 0, sizeof(f->inner_slots));
	f->inner.reached[0] = 1;
	f->scope = &f->inner;
	f->call = pc;
	compile_scope(f, 0, p->ncode);
	f->scope = &f->outer;
	f->pc = pc;
	free_scope(&f->inner);
	return ENDS;
}

/* -- System calls --------------------------------------------------------------------------- */

/* Loads the arguments, which are integers, into their registers; r0 is free until the last one. */
static bool load_arguments(struct fast *f, u32 i, const char *kinds)
{
	u32 n, a = a_of(i);
	u8 reg;

	f->cached = NOT_CACHED;
	for (n = 0; kinds[n]; n++) {
		if (n + 1 >= b_of(i)) {
			emit_constant(f->c->e, syscall_places[n], 0);
			continue;
		}
		/* The check for an integer needs r0. */
		if (!syscall_places[n] && f->now[a + 1 + n].kind == K_NUMBER)
			return false;
		reg = get_integer(f, a + 1 + n, syscall_places[n]);
		if (reg == NO_REG)
			return false;
		if (reg != syscall_places[n])
			emit_mov(f->c->e, syscall_places[n], reg);
	}
	return true;
}

/* After the call, only the result is known of the registers from @a on, if it is used. */
static void take_result(struct fast *f, u32 a, bool wanted, bool may_be_large)
{
	u32 r;

	for (r = a; r < f->c->p->nregs; r++)
		f->now[r] = (struct known){ .kind = K_FRAME, .n = r };
	if (wanted && may_be_large) {
		check_integer(f->c, 1, leave_for(f, f->pc, f->now));
		if (!f->failed)
			f->leaves[f->nleaves - 1].large = true;
	}
	for (r = a; r < f->c->p->nregs; r++)
		f->now[r] = (struct known){ .kind = K_NOTHING };
	if (wanted)
		put_number(f, a, K_INTEGER, 1);
}

/* A system call does not change the loop's invariants. */
static enum end compile_syscall(struct fast *f, u32 i)
{
	long nr = certain_syscall(f->c, f->pc);

	if (nr < 0 || c_of(i) > 2 || f->carried[a_of(i)] ||
	    !load_arguments(f, i, syscall_kinds(nr)))
		return REFUSED;
	emit_syscall(f->c->e, nr);
	emit_mov(f->c->e, 1, 0);
	take_result(f, a_of(i), c_of(i) == 2, !syscall_is_small(nr));
	return GOES_ON;
}

/* -- Strings and bits ----------------------------------------------------------------------- */

/* R(A) = a function or table of a library, which is certain. */
static bool compile_library(struct fast *f, u32 i)
{
	struct value v;

	if (f->scope != &f->outer ||
	    !types_library(&f->c->types, f->pc, fact_at(&f->c->types, f->pc, 0), &v))
		return false;
	f->libraries = true;
	if (op_of(i) == OP_SELF && !table_of(f, b_of(i), TAG_STRING))
		return false;
	if (op_of(i) == OP_SELF && !assign(f, f->scope, f->now, a_of(i) + 1, f->now[b_of(i)]))
		return false;
	return assign(f, f->scope, f->now, a_of(i), (struct known){ .kind = K_VALUE, .value = v });
}

/* r5 = string.byte() of the string R(@text) at the index R(@rk), or at 1. */
static bool compile_byte(struct fast *f, u32 text, u32 rk, bool has_index)
{
	const struct table *t = table_of(f, text, TAG_STRING);
	struct emit *e = f->c->e;
	u8 reg;

	if (!t)
		return false;
	emit_constant(e, 1, 0);
	if (has_index) {
		reg = get_integer(f, rk, 1);
		if (reg == NO_REG)
			return false;
		emit_mov(e, 1, reg);
		emit_alu_imm(e, INSN_SUB, 1, 1);
	}
	emit_load(e, INSN_DW, 2, INSN_R10, place_of(t->slot));
	emit_branch(e, INSN_JGE, 1, 2, leaves(f));
	emit_load(e, INSN_DW, 3, INSN_R10, place_of(t->slot + 1));
	emit_alu(e, INSN_ADD, 3, 1);
	emit_load(e, INSN_B, CACHED, 3, STRING_TEXT);
	f->cached = NOT_CACHED;
	return true;
}

static bool compile_function(struct fast *f, u32 i, int intrinsic, u32 n)
{
	struct compiler *c = f->c;
	u32 before = c->pc;

	if (intrinsic == INTRINSIC_str_byte)
		return (n == 1 || n == 2) && compile_byte(f, a_of(i) + 1, a_of(i) + 2, n == 2);
	if (!bits_takes(intrinsic, n))
		return false;
	c->loop = f;
	c->pc = f->pc;
	bits_compute(c, a_of(i), n, intrinsic, leaves(f));
	c->loop = NULL;
	c->pc = before;
	f->cached = NOT_CACHED;
	emit_mov(c->e, CACHED, 1);
	return !f->refused;
}

/* A call of string.byte() or of an operation on bits. */
static enum end compile_library_call(struct fast *f, u32 i)
{
	const struct types *t = &f->c->types;
	struct known callee = f->now[a_of(i)];
	u32 a = a_of(i), r;
	struct range range;
	int intrinsic = callee.kind == K_VALUE && callee.value.tag == TAG_FUNCTION ?
				intrinsic_of(t->runtime, callee.value.bits) : -1;

	if (intrinsic < 0 || expected_result(t, f->pc, fact_at(t, f->pc, 0), &range) != T_INTEGER ||
	    !compile_function(f, i, intrinsic, expected_arguments(t, f->pc)))
		return REFUSED;
	put_number(f, a, K_INTEGER, CACHED);
	for (r = a + 1; r < f->c->p->nregs; r++)
		f->now[r] = (struct known){ .kind = K_NOTHING };
	return GOES_ON;
}

static enum end compile_call_in_loop(struct fast *f, u32 i)
{
	if (f->scope != &f->outer)
		return REFUSED;
	if (f->c->inlines[f->pc])
		return compile_inside(f, i);
	if (certain_syscall(f->c, f->pc) >= 0)
		return compile_syscall(f, i);
	return compile_library_call(f, i);
}

/* -- Instructions ---------------------------------------------------------------------------- */

static enum end compile_value(struct fast *f, u32 reg, struct value v)
{
	struct known k = { .kind = K_VALUE, .value = v };

	return assign(f, f->scope, f->now, reg, k) ? GOES_ON : REFUSED;
}

static enum end compile_one(struct fast *f)
{
	u32 i = insn_at(f), a = a_of(i), b = b_of(i);
	const struct types *t = &f->c->types;
	struct value v;

	switch (op_of(i)) {
	case OP_MOVE:
		if (f->scope == &f->outer && types_takes_integer(t, f->pc, fact_at(t, f->pc, 0)) &&
		    get_integer(f, b, 1) == NO_REG)
			return REFUSED;
		return assign(f, f->scope, f->now, a, f->now[b]) ? GOES_ON : REFUSED;
	case OP_LOADK:
		return compile_value(f, a, f->scope->p->k[bx_of(i)]);
	case OP_LOADBOOL:
		v = (struct value){ .tag = TAG_BOOLEAN, .bits = b };
		return c_of(i) ? REFUSED : compile_value(f, a, v);
	case OP_LOADNIL:
		return a == b ? compile_value(f, a, (struct value){ .tag = TAG_NIL }) : REFUSED;
	case OP_GETUPVAL:
		return upvalue_is_fixed(f->c->runtime, f->scope->p, b, &v) ?
			       compile_value(f, a, v) : REFUSED;
	case OP_GETGLOBAL: case OP_SELF:
		return compile_library(f, i) ? GOES_ON : REFUSED;
	case OP_GETTABLE:
		return compile_library(f, i) || compile_element(f, i) ? GOES_ON : REFUSED;
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_MOD:
		return compile_arithmetic(f, i) ? GOES_ON : REFUSED;
	case OP_EQ: case OP_LT: case OP_LE:
		return compile_compare(f, i);
	case OP_TEST:
		return compile_test(f, i);
	case OP_JMP:
		emit_jump(f->c->e, jumps_to(f, target_of(f, f->pc)));
		return ENDS;
	case OP_CALL:
		return compile_call_in_loop(f, i);
	case OP_RETURN:
		return f->scope == &f->inner ? compile_result(f, i) : REFUSED;
	default:
		return REFUSED;
	}
}

/* -- Before the loop ----------------------------------------------------------------------- */

static void load_kept(struct fast *f, u32 reg, u32 fail)
{
	struct emit *e = f->c->e;
	u8 types = fact_before(f, reg)->types;

	if (types & ~T_NUMBERS) {
		emit_load(e, INSN_W, 0, REG_BASE, slot_tag(f->c, reg));
		emit_branch_imm(e, INSN_JNE, 0, TAG_NUMBER, fail);
	}
	emit_load(e, INSN_DW, 1, REG_BASE, slot(f->c, reg));
	if (types & T_NUMBER)
		check_integer(f->c, 1, fail);
	emit_store(e, INSN_DW, INSN_R10, place_of(f->kept[reg]), 1);
}

/* r1 = the value of a field of the table in r1. */
static void load_field(struct fast *f, const struct table *t, u32 fail)
{
	struct emit *e = f->c->e;
	s32 at = t->node * NODE_SIZE;

	load_nodes(f->c, t->node, fail);
	emit_address(e, 2, t->name - (uintptr_t)f->c->runtime->arena);
	check_key(f->c, at, fail);
	emit_load(e, INSN_W, 0, 3, at + VALUE_TAG);
	emit_branch_imm(e, INSN_JNE, 0, t->tag, fail);
	emit_load(e, INSN_DW, 1, 3, at);
}

static void load_table(struct fast *f, const struct table *t, u32 fail)
{
	struct emit *e = f->c->e;

	u8 type = t->tag == TAG_STRING ? T_STRING : T_TABLE;

	if (!t->in_frame) {
		emit_address(e, 1, t->address - (uintptr_t)f->c->runtime->arena);
	} else {
		if (fact_before(f, t->reg)->types != type) {
			emit_load(e, INSN_W, 0, REG_BASE, slot_tag(f->c, t->reg));
			emit_branch_imm(e, INSN_JNE, 0, t->tag, fail);
		}
		emit_load(e, INSN_DW, 1, REG_BASE, slot(f->c, t->reg));
	}
	if (t->name)
		load_field(f, t, fail);
	if (t->tag == TAG_NUMBER) {
		check_integer(f->c, 1, fail);
		return emit_store(e, INSN_DW, INSN_R10, place_of(t->slot), 1);
	}
	if (t->tag == TAG_STRING) {
		emit_load(e, INSN_DW, 2, 1, STRING_LEN);
		emit_store(e, INSN_DW, INSN_R10, place_of(t->slot), 2);
		return emit_store(e, INSN_DW, INSN_R10, place_of(t->slot + 1), 1);
	}
	emit_load(e, INSN_W, 2, 1, TABLE_SIZEARRAY);
	emit_alu_imm(e, INSN_LSH, 2, 4);
	emit_store(e, INSN_DW, INSN_R10, place_of(t->slot), 2);
	emit_load(e, INSN_DW, 2, 1, TABLE_ARRAY);
	emit_store(e, INSN_DW, INSN_R10, place_of(t->slot + 1), 2);
}

static void store_constant(struct fast *f, u32 slot, s64 v)
{
	emit_constant(f->c->e, 1, v);
	emit_store(f->c->e, INSN_DW, INSN_R10, place_of(slot), 1);
}

/* Enters the fast code, or the normal code if values are not as expected. */
static void emit_begin(struct fast *f)
{
	struct compiler *c = f->c;
	u32 a = a_of(c->p->code[f->last]), fail = c->labels[f->first], n;

	if (f->libraries) {
		emit_address(c->e, 1, c->runtime->replaced - (uintptr_t)c->runtime->arena);
		emit_load(c->e, INSN_W, 1, 1, 0);
		emit_branch_imm(c->e, INSN_JNE, 1, 0, fail);
	}
	for (n = 0; n < c->p->nregs; n++)
		if (f->kept[n])
			load_kept(f, n, fail);
	for (n = 0; n < f->ntables; n++)
		load_table(f, &f->tables[n], fail);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a + 1));
	emit_store(c->e, INSN_DW, INSN_R10, place_of(SLOT_LIMIT), 1);
	store_constant(f, SLOT_MOST, INTEGER_MOST);
	store_constant(f, SLOT_LEAST, -INTEGER_MOST - 1);
	emit_load(c->e, INSN_DW, REG_COUNTER, REG_BASE, slot(c, a));
	emit_mov(c->e, REG_OFFSET, REG_COUNTER);
	emit_alu_imm(c->e, INSN_SUB, REG_OFFSET, 1);
	emit_alu_imm(c->e, INSN_LSH, REG_OFFSET, 4);
	emit_jump(c->e, f->top);
}

/* -- After the loop ------------------------------------------------------------------------- */

/* Stores a register to Lua's frame if it may be read from @pc on. */
static void store_register(struct fast *f, u32 reg, const struct known *k, u32 pc)
{
	struct compiler *c = f->c;

	if ((k->kind == K_FRAME && k->n == reg) || f->carried[reg] || is_dead(f, reg, pc))
		return;
	switch (k->kind) {
	case K_INTEGER: case K_NUMBER:
		emit_load(c->e, INSN_DW, 1, INSN_R10, place_of(k->n));
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, reg), 1);
		break;
	case K_COUNTER:
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, reg), REG_COUNTER);
		break;
	case K_VALUE:
		return defer_store(c, reg, k->value, 1);
	case K_FRAME:
		emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, k->n));
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, reg), 1);
		emit_load(c->e, INSN_W, 1, REG_BASE, slot_tag(c, k->n));
		return emit_store(c->e, INSN_W, REG_BASE, slot_tag(c, reg), 1);
	default:
		f->failed = true;
		return;
	}
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, reg), TAG_NUMBER);
}

/* The value of r2 in emit_end() for this exit. */
static u32 key_of(const struct leave *to)
{
	return to->pc * 2 + to->large;
}

static u32 target_of_leave(const struct fast *f, const struct leave *to)
{
	return to->large ? to->label : f->c->labels[to->pc];
}

/* With Lua's frame complete: stores the result of the call, and continues after the call. */
static void emit_large(struct fast *f, const struct leave *to)
{
	struct emit *e = f->c->e;

	emit_land(e, to->label);
	emit_load(e, INSN_DW, 3, INSN_R10, place_of(SLOT_LARGE));
	emit_mov(e, 1, REG_L);
	emit_constant(e, 2, to->pc);
	emit_call(e, f->c->runtime->exports.helpers[HELPER_integer]);
	emit_load(e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	emit_jump(e, f->c->labels[to->pc + 1]);
}

/* Stores the registers that all exits store, and continues at the instruction in r2. */
static void emit_end(struct fast *f)
{
	struct compiler *c = f->c;
	u32 a = a_of(c->p->code[f->last]), n, m;

	for (n = 0; n < c->p->nregs; n++) {
		if (!f->carried[n])
			continue;
		emit_load(c->e, INSN_DW, 1, INSN_R10, place_of(f->outer_slots[n]));
		emit_store(c->e, INSN_DW, REG_BASE, slot(c, n), 1);
	}
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), REG_COUNTER);
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a + 3), REG_COUNTER);
	for (n = 1; n < f->nleaves; n++) {
		for (m = 0; m < n && key_of(&f->leaves[m]) != key_of(&f->leaves[n]); m++)
			;
		if (m == n)
			emit_branch_imm(c->e, INSN_JEQ, 2, key_of(&f->leaves[n]),
					target_of_leave(f, &f->leaves[n]));
	}
	emit_jump(c->e, target_of_leave(f, &f->leaves[0]));
	for (n = 0; n < f->nleaves; n++)
		if (f->leaves[n].large)
			emit_large(f, &f->leaves[n]);
}

static void emit_leaves(struct fast *f)
{
	struct emit *e = f->c->e;
	u32 end = emit_label(e), n, r;

	for (n = 0; n < f->nleaves && !f->failed; n++) {
		struct leave *to = &f->leaves[n];

		emit_land(e, to->label);
		if (to->large)
			emit_store(e, INSN_DW, INSN_R10, place_of(SLOT_LARGE), 1);
		/* At the loop's end, registers may contain the counter of the last pass. */
		if (n == f->done)
			emit_alu_imm(e, INSN_SUB, REG_COUNTER, 1);
		for (r = 0; r < f->c->p->nregs; r++)
			store_register(f, r, &to->now[r], to->pc);
		emit_constant(e, 2, key_of(to));
		emit_jump(e, end);
		if (to->large)
			to->label = emit_label(e);
	}
	emit_land(e, end);
	emit_end(f);
}

/* -- The loop ------------------------------------------------------------------------------ */

/* The facts at the beginning of each pass. */
static bool begin(struct fast *f)
{
	struct compiler *c = f->c;
	u32 pc, r, a = a_of(c->p->code[f->last]);

	for (r = 0; r < c->p->nregs; r++) {
		for (pc = f->first; pc < f->last; pc++)
			f->written[r] |= op_writes(c->p->code[pc], r);
		f->now[r] = (struct known){ .kind = K_FRAME, .n = r };
		if (!f->written[r])
			continue;
		f->now[r] = (struct known){ .kind = K_NOTHING };
		if (is_dead(f, r, f->first))
			continue;
		if (!(fact_before(f, r)->types & T_INTEGER))
			return false;
		f->carried[r] = true;
		f->kept[r] = slot_of(f, &f->outer, r);
		f->now[r] = (struct known){ .kind = K_INTEGER, .n = f->kept[r] };
	}
	if (f->written[a] || f->written[a + 1] || f->written[a + 2] || f->written[a + 3])
		return false;
	f->now[a + 3] = (struct known){ .kind = K_COUNTER };
	flow(&f->outer, f->first, f->now, 2);
	return true;
}

static void emit_again(struct fast *f)
{
	struct emit *e = f->c->e;
	struct known *now = &f->outer.known[f->last * f->c->p->nregs];
	u32 done = leave_for(f, f->last + 1, now);

	f->done = f->nleaves - 1;
	emit_land(e, f->outer.labels[f->last]);
	emit_alu_imm(e, INSN_ADD, REG_COUNTER, 1);
	emit_load(e, INSN_DW, 2, INSN_R10, place_of(SLOT_LIMIT));
	emit_branch(e, INSN_JSGT, REG_COUNTER, 2, done);
	emit_alu_imm(e, INSN_ADD, REG_OFFSET, 16);
	emit_jump(e, f->top);
}

/* False if the loop is not worth it, or too large. */
static bool emit_fast(struct fast *f)
{
	struct emit *e = f->c->e;
	u32 start = emit_label(e);

	if (!make_scope(f, &f->outer, f->c->p) || !begin(f))
		return false;
	emit_jump(e, start);
	emit_land(e, f->top);
	compile_scope(f, f->first, f->last);
	if (f->failed || !f->outer.reached[f->last])
		return false;
	emit_again(f);
	emit_leaves(f);
	emit_land(e, start);
	emit_begin(f);
	return !f->failed && !e->failed;
}

static bool compile_fast(struct compiler *c, u32 first, u32 last)
{
	struct fast *f = calloc(1, sizeof(*f));
	struct emit_mark before = emit_mark(c->e);
	bool done = false;
	u32 r;

	if (f)
		f->seen = calloc(c->p->ncode + 1, sizeof(*f->seen));
	if (f && f->seen) {
		*f = (struct fast){
			.c = c, .first = first, .last = last, .top = emit_label(c->e),
			.outer.slots = f->outer_slots, .inner.slots = f->inner_slots,
			.scope = &f->outer, .nslots = SLOT_FIRST, .cached = NOT_CACHED,
			.seen = f->seen,
		};
		done = emit_fast(f);
		if (f->nslots > c->slots)
			c->slots = f->nslots;
		/* Lua's frame may lack tags for the known types, so all are stored. */
		for (r = 0; r < REGISTERS && done; r++)
			c->has_deferred[r] |= f->written[r] || r >= c->p->nregs;
		free_scope(&f->outer);
		free(f->seen);
	}
	free(f);
	if (!done)
		emit_rewind(c->e, before);
	return done;
}

/* Is it an innermost loop with step 1 and without closures? */
static bool may_be_fast(const struct compiler *c, u32 first, u32 last)
{
	s64 step;
	u32 pc, i;

	if (c->caller || c->p->has_closures || c->p->nregs > LOOP_REGISTERS ||
	    last - first > LOOP_INSNS || !for_step(&c->types, first - 1, &step) || step != 1)
		return false;
	for (pc = first; pc < last; pc++) {
		i = c->p->code[pc];
		if (op_of(i) == OP_FORPREP || op_of(i) == OP_FORLOOP || op_of(i) == OP_TFORLOOP ||
		    (op_of(i) == OP_JMP && sbx_of(i) < 0))
			return false;
	}
	return true;
}

void loop_emit(struct compiler *c, const struct cold *cold)
{
	u32 first = cold->pc + 1 + sbx_of(c->p->code[cold->pc]);

	if (!compile_fast(c, first, cold->pc))
		emit_jump(c->e, c->labels[first]);
}

bool loop_find(struct compiler *c)
{
	struct emit_mark before = emit_mark(c->e);
	u32 pc, i, first;

	c->fast = calloc(c->p->ncode + 1, sizeof(*c->fast));
	if (!c->fast)
		return false;
	for (pc = 0; pc < c->p->ncode; pc += 1 + proto_operands(c->p, pc)) {
		i = c->p->code[pc];
		first = pc + 1 + sbx_of(i);
		if (op_of(i) != OP_FORLOOP || !c->types.reached[pc] ||
		    loop_prep(c, pc) == ~0U || !may_be_fast(c, first, pc))
			continue;
		c->fast[pc] = compile_fast(c, first, pc);
		emit_rewind(c->e, before);
		if (!c->fast[pc])
			continue;
		/* The normal code may be entered at any instruction, and rarely runs. */
		memset(c->types.target + first, true, pc + 2 - first);
		memset(c->in_loop + first, false, pc + 1 - first);
	}
	return true;
}
