// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Compiles instructions (see aot/aot_priv.h), except calls and accesses to the arena. */
#include <stdlib.h>
#include <string.h>

#include "aot_priv.h"

static uint32_t insn_at(const struct function *f)
{
	return f->p->code[f->pc];
}

/* -- Registers ----------------------------------------------------------------------- */

static int32_t slot_of(uint32_t reg)
{
	return -8 * (int32_t)(reg - REGS_HELD + 1);
}

int32_t spare(const struct function *f)
{
	return -(int32_t)f->instance->frame;
}

struct known known_of(const struct function *f, uint32_t rk)
{
	return rk & RK_K ? known_value(f->p->k[rk & ~RK_K]) : f->now[rk];
}

void load_nil(struct function *f, uint8_t reg)
{
	emit_constant(f->e, reg, NIL);
}

void get(struct function *f, uint8_t reg, uint32_t rk)
{
	struct known k = known_of(f, rk);

	if (k.kind == K_NIL)
		load_nil(f, reg);
	else if (k.kind == K_NUMBER && k.fixed && !k.nil)
		emit_constant(f->e, reg, k.value.bits);
	else if (rk & RK_K)
		emit_constant(f->e, reg, f->p->k[rk & ~RK_K].bits & 1);
	else if (rk < REGS_HELD)
		emit_mov(f->e, reg, 7 + rk);
	else
		emit_load(f->e, INSN_DW, reg, INSN_R10, slot_of(rk));
}

void put_nothing(struct function *f, uint32_t to, struct known known)
{
	f->now[to] = known;
}

void put(struct function *f, uint32_t to, uint8_t reg, struct known known)
{
	if (to < REGS_HELD)
		emit_mov(f->e, 7 + to, reg);
	else
		emit_store(f->e, INSN_DW, INSN_R10, slot_of(to), reg);
	put_nothing(f, to, known);
}

/* -- Ends of a call -------------------------------------------------------------------------- */

struct late *later(struct function *f, void (*emit)(struct function *, const struct late *))
{
	static struct late none;
	struct late *late;

	if (f->nlate == sizeof(f->late) / sizeof(f->late[0])) {
		refuse(f, "the function is too long");
		return &none;
	}
	late = &f->late[f->nlate++];
	*late = (struct late){ .emit = emit, .label = emit_label(f->e), .pc = f->pc };
	return late;
}

static void emit_end(struct function *f, const struct late *late)
{
	emit_constant(f->e, 1, late->value);
	emit_insn(f->e, INSN_JMP | INSN_CALL, 0, 0, 0, IMAGE_CALL_ABORT);
	emit_exit(f->e);
}

uint32_t fails(struct function *f, enum image_reason reason)
{
	struct late *late = later(f, emit_end);

	late->value = reason;
	return late->label;
}

bool get_number(struct function *f, uint8_t reg, uint32_t rk)
{
	struct known k = known_of(f, rk);

	if (k.kind == K_NIL) {
		refuse(f, "nil where a number is needed");
		return false;
	}
	if (k.kind != K_NUMBER) {
		refuse(f, k.kind == K_MIXED ? "a value that may be of several kinds" :
		       k.kind == K_QUOTIENT ? "a quotient: only math.floor(a / b) is compiled" :
		       "a number is needed here, an integer within 2^51");
		return false;
	}
	get(f, reg, rk);
	if (k.nil) {
		load_nil(f, 0);
		emit_branch(f->e, INSN_JEQ, reg, 0, fails(f, IMAGE_NIL));
	}
	return true;
}

struct known check_range(struct function *f, uint8_t reg, struct known known)
{
	if (known.bits <= NUMBER_BITS)
		return known;
	emit_mov(f->e, 0, reg);
	emit_alu_imm(f->e, INSN_LSH, 0, 63 - NUMBER_BITS);
	emit_alu_imm(f->e, INSN_ARSH, 0, 63 - NUMBER_BITS);
	emit_branch(f->e, INSN_JNE, 0, reg, fails(f, IMAGE_RANGE));
	known.bits = NUMBER_BITS;
	return known;
}

/* -- Arithmetic ------------------------------------------------------------------------- */

static uint8_t most(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

/* r1 = r1 * r2, checked for overflow of 64 bits. */
static void check_factors(struct function *f)
{
	for (uint8_t reg = 1; reg <= 2; reg++) {
		emit_insn(f->e, INSN_ALU64 | INSN_MOV | INSN_X, 0, reg, 32, 0);
		emit_branch(f->e, INSN_JNE, 0, reg, fails(f, IMAGE_RANGE));
	}
}

/* A signed division if @below. */
static void emit_divide(struct function *f, uint8_t op, uint8_t dst, uint8_t src, bool below)
{
	emit_insn(f->e, INSN_ALU64 | op | INSN_X, dst, src, below, 0);
}

/* Rounds towards minus infinity: r1 = r1 / r2 or r1 % r2. */
static void emit_floor(struct function *f, uint8_t op, bool below)
{
	uint32_t exact;

	if (!below)
		return emit_divide(f, op, 1, 2, false);
	exact = emit_label(f->e);
	emit_mov(f->e, 3, 1);
	emit_divide(f, INSN_MOD, 3, 2, true);
	emit_mov(f->e, 4, 1);
	emit_alu(f->e, INSN_XOR, 4, 2);
	if (op == INSN_DIV)
		emit_divide(f, INSN_DIV, 1, 2, true);
	else
		emit_mov(f->e, 1, 3);
	emit_branch_imm(f->e, INSN_JEQ, 3, 0, exact);
	emit_branch_imm(f->e, INSN_JSGE, 4, 0, exact);
	if (op == INSN_DIV)
		emit_alu_imm(f->e, INSN_SUB, 1, 1);
	else
		emit_alu(f->e, INSN_ADD, 1, 2);
	emit_land(f->e, exact);
}

static struct known compile_division(struct function *f, uint32_t i, struct known b,
				     struct known c)
{
	bool below = b.below || c.below, mod = op_of(i) == OP_MOD;
	int64_t k = c.value.bits;
	struct known result = a_number(mod ? c.bits : b.bits + 1, mod ? c.below : below);

	if (c.fixed && !k) {
		refuse(f, "a division by 0");
		return result;
	}
	if (!mod)
		result.kind = K_QUOTIENT;
	if (c.fixed && k > 0 && !(k & (k - 1)) && k <= 1 << 30) {
		if (mod)
			emit_alu_imm(f->e, INSN_AND, 1, k - 1);
		else
			emit_alu_imm(f->e, INSN_ARSH, 1, __builtin_ctzll(k));
		return result;
	}
	if (!c.fixed)
		emit_branch_imm(f->e, INSN_JEQ, 2, 0, fails(f, IMAGE_ZERO));
	emit_floor(f, mod ? INSN_MOD : INSN_DIV, below);
	return result;
}

static void compile_arith(struct function *f, uint32_t i)
{
	struct known b = known_of(f, b_of(i)), c = known_of(f, c_of(i)), result;

	if (!get_number(f, 1, b_of(i)) || !get_number(f, 2, c_of(i)))
		return;
	result = a_number(most(b.bits, c.bits) + 1, b.below || c.below);
	switch (op_of(i)) {
	case OP_ADD:
		emit_alu(f->e, INSN_ADD, 1, 2);
		break;
	case OP_SUB:
		emit_alu(f->e, INSN_SUB, 1, 2);
		result.below = true;
		break;
	case OP_MUL:
		result.bits = b.bits + c.bits;
		if (result.bits > 62)
			check_factors(f);
		emit_alu(f->e, INSN_MUL, 1, 2);
		break;
	default:
		result = compile_division(f, i, b, c);
	}
	put(f, a_of(i), 1, check_range(f, 1, result));
}

static void compile_minus(struct function *f, uint32_t i)
{
	struct known b = known_of(f, b_of(i));

	if (!get_number(f, 1, b_of(i)))
		return;
	emit_insn(f->e, INSN_ALU64 | INSN_NEG, 1, 0, 0, 0);
	put(f, a_of(i), 1, a_number(b.bits, true));
}

/* -- Tests ------------------------------------------------------------------------------- */

/* The truth value of R(@reg): 0 or 1, or -1 if known only at run time. */
static int truth_of(struct known k)
{
	if (k.kind == K_NIL)
		return 0;
	return k.nil || k.kind == K_BOOLEAN || k.kind == K_MIXED ? -1 : 1;
}

/* Jumps if R(@reg) is false, else continues. */
static void jump_if_false(struct function *f, uint32_t reg, uint32_t if_false)
{
	struct known k = known_of(f, reg);

	if (k.kind == K_MIXED)
		refuse(f, "a value that may be of several kinds");
	get(f, 1, reg);
	if (k.nil) {
		load_nil(f, 0);
		emit_branch(f->e, INSN_JEQ, 1, 0, if_false);
	}
	if (k.kind == K_BOOLEAN)
		emit_branch_imm(f->e, INSN_JEQ, 1, 0, if_false);
}

static uint32_t jump_target(const struct function *f, uint32_t pc)
{
	return pc + 1 + sbx_of(f->p->code[pc]);
}

/* Control may reach @pc with R(@reg) known to be true or false. */
static void flow_tested(struct function *f, uint32_t pc, uint32_t reg, bool is_true)
{
	struct known k = f->now[reg];

	if (is_true)
		f->now[reg].nil = false;
	else if (k.kind != K_BOOLEAN && k.nil)
		f->now[reg] = (struct known){ .kind = K_NIL, .nil = true };
	flow_to(f, pc);
	f->now[reg] = k;
}

/* Completes a test with the JMP after it: @held if it is true, otherwise @pc + 2. */
static bool compile_test(struct function *f, uint32_t reg, bool wanted)
{
	uint32_t held = jump_target(f, f->pc + 1), other = f->pc + 2;
	uint32_t if_true = wanted ? held : other, if_false = wanted ? other : held;
	int truth = truth_of(known_of(f, reg));

	if (truth >= 0) {
		emit_jump(f->e, f->labels[truth ? if_true : if_false]);
		flow_tested(f, truth ? if_true : if_false, reg, truth);
		return false;
	}
	jump_if_false(f, reg, f->labels[if_false]);
	emit_jump(f->e, f->labels[if_true]);
	flow_tested(f, if_true, reg, true);
	flow_tested(f, if_false, reg, false);
	return false;
}

static void copy(struct function *f, uint32_t to, uint32_t rk)
{
	struct known k = known_of(f, rk);

	if (k.kind > K_NIL && k.kind != K_QUOTIENT)
		return put_nothing(f, to, k);
	get(f, 1, rk);
	put(f, to, 1, k);
}

/* R(A) = R(B) if the test succeeds. */
static bool compile_testset(struct function *f, uint32_t i)
{
	uint32_t held = jump_target(f, f->pc + 1), other = f->pc + 2;
	int truth = truth_of(known_of(f, b_of(i)));
	uint32_t set = emit_label(f->e);
	struct known before = f->now[a_of(i)];

	if (truth >= 0 && truth != !!c_of(i)) {
		emit_jump(f->e, f->labels[other]);
		flow_to(f, other);
		return false;
	}
	if (truth < 0) {
		jump_if_false(f, b_of(i), c_of(i) ? f->labels[other] : set);
		if (!c_of(i))
			emit_jump(f->e, f->labels[other]);
		flow_tested(f, other, b_of(i), !c_of(i));
	}
	emit_land(f->e, set);
	copy(f, a_of(i), b_of(i));
	emit_jump(f->e, f->labels[held]);
	flow_tested(f, held, a_of(i), c_of(i));
	f->now[a_of(i)] = before;
	return false;
}

static void compile_not(struct function *f, uint32_t i)
{
	int truth = truth_of(known_of(f, b_of(i)));
	uint32_t is_false, done;

	if (truth >= 0) {
		emit_constant(f->e, 1, !truth);
	} else {
		is_false = emit_label(f->e);
		done = emit_label(f->e);
		jump_if_false(f, b_of(i), is_false);
		emit_constant(f->e, 1, 0);
		emit_jump(f->e, done);
		emit_land(f->e, is_false);
		emit_constant(f->e, 1, 1);
		emit_land(f->e, done);
	}
	put(f, a_of(i), 1, (struct known){ .kind = K_BOOLEAN });
}

/* Are two known values equal?  -1: known only at run time. */
static int equal(struct known b, struct known c)
{
	if (b.kind == K_STATIC && c.kind == K_STATIC)
		return b.value.tag == c.value.tag && b.value.bits == c.value.bits;
	if (b.kind == K_NIL && c.kind == K_NIL)
		return 1;
	if (b.kind == K_NIL || c.kind == K_NIL)
		return (b.kind == K_NIL ? c : b).nil ? -1 : 0;
	return b.kind == c.kind || (b.nil && c.nil) ? -1 : 0;
}

static bool jump_to(struct function *f, uint32_t pc)
{
	emit_jump(f->e, f->labels[pc]);
	flow_to(f, pc);
	return false;
}

/* An integer of 64 bits, say, which may equal a number. */
static bool is_object(struct known k)
{
	return k.kind == K_STATIC && k.value.tag == TAG_USERDATA;
}

static bool compile_equal(struct function *f, uint32_t i)
{
	uint32_t held = jump_target(f, f->pc + 1), other = f->pc + 2;
	struct known b = known_of(f, b_of(i)), c = known_of(f, c_of(i));
	int sure = equal(b, c);

	if (b.kind == K_MIXED || c.kind == K_MIXED)
		refuse(f, "a value that may be of several kinds");
	if (is_object(b) || is_object(c))
		refuse(f, "an integer of 64 bits");
	if (sure >= 0)
		return jump_to(f, sure == (int)a_of(i) ? held : other);
	get(f, 1, b_of(i));
	if (c.kind == K_NUMBER && c.fixed && !c.nil &&
	    c.value.bits == (uint64_t)(int32_t)c.value.bits) {
		emit_branch_imm(f->e, a_of(i) ? INSN_JEQ : INSN_JNE, 1, c.value.bits,
				f->labels[held]);
	} else {
		get(f, 2, c_of(i));
		emit_branch(f->e, a_of(i) ? INSN_JEQ : INSN_JNE, 1, 2, f->labels[held]);
	}
	emit_jump(f->e, f->labels[other]);
	if (c.kind == K_NIL && !(b_of(i) & RK_K)) {
		flow_tested(f, held, b_of(i), !a_of(i));
		flow_tested(f, other, b_of(i), a_of(i));
		return false;
	}
	flow_to(f, held);
	flow_to(f, other);
	return false;
}

static bool compile_less(struct function *f, uint32_t i)
{
	uint32_t held = jump_target(f, f->pc + 1), other = f->pc + 2;
	bool strict = op_of(i) == OP_LT;

	if (!get_number(f, 1, b_of(i)) || !get_number(f, 2, c_of(i)))
		return false;
	if (a_of(i))
		emit_branch(f->e, strict ? INSN_JSLT : INSN_JSLE, 1, 2, f->labels[held]);
	else
		emit_branch(f->e, strict ? INSN_JSGE : INSN_JSGT, 1, 2, f->labels[held]);
	emit_jump(f->e, f->labels[other]);
	flow_to(f, held);
	flow_to(f, other);
	return false;
}

/* -- Loops ---------------------------------------------------------------------------------- */

static bool compile_forprep(struct function *f, uint32_t i)
{
	uint32_t a = a_of(i);
	struct known step = known_of(f, a + 2);

	if (step.kind != K_NUMBER || !step.fixed || step.nil || !step.value.bits) {
		refuse(f, "a loop whose step is not a constant");
		return false;
	}
	if (!get_number(f, 2, a + 1) || !get_number(f, 1, a))
		return false;
	emit_constant(f->e, 2, step.value.bits);
	emit_alu(f->e, INSN_SUB, 1, 2);
	put(f, a, 1, a_number(NUMBER_BITS, true));
	return jump_to(f, jump_target(f, f->pc));
}

static bool compile_forloop(struct function *f, uint32_t i)
{
	uint32_t a = a_of(i), again = jump_target(f, f->pc), done = emit_label(f->e);
	struct known step = known_of(f, a + 2), limit = known_of(f, a + 1);
	bool up = (int64_t)step.value.bits > 0;

	/* The loop's beginning is not reached, because the step is not constant. */
	if (step.kind != K_NUMBER || !step.fixed)
		return false;
	get(f, 1, a);
	emit_constant(f->e, 2, step.value.bits);
	emit_alu(f->e, INSN_ADD, 1, 2);
	get(f, 2, a + 1);
	emit_branch(f->e, up ? INSN_JSGT : INSN_JSLT, 1, 2, done);
	put(f, a, 1, a_number(NUMBER_BITS, true));
	put(f, a + 3, 1, a_number(up ? limit.bits : NUMBER_BITS, true));
	emit_jump(f->e, f->labels[again]);
	flow_to(f, again);
	emit_land(f->e, done);
	return true;
}

/* -- Returning ----------------------------------------------------------------------------- */

/* The return of run(): its result is a number. */
static void emit_result(struct function *f, struct known k)
{
	if (k.kind == K_NIL)
		emit_jump(f->e, fails(f, IMAGE_NIL));
	if (k.nil && k.kind != K_NIL) {
		load_nil(f, 1);
		emit_branch(f->e, INSN_JEQ, 0, 1, fails(f, IMAGE_NIL));
	}
	if (k.kind != K_NUMBER && k.kind != K_BOOLEAN && k.kind != K_NIL)
		refuse(f, k.kind == K_MIXED ? "a value that may be of several kinds" :
		       "run() returns a value that is not a number");
}

/* Does it return the single result of the call before? */
static bool returns_call(const struct function *f, uint32_t i)
{
	uint32_t before = f->pc ? f->p->code[f->pc - 1] : 0;

	return !b_of(i) && a_of(before) == a_of(i) &&
	       (op_of(before) == OP_CALL || op_of(before) == OP_TAILCALL);
}

static bool compile_return(struct function *f, uint32_t i)
{
	struct known k = { .kind = K_NIL, .nil = true };
	bool one = b_of(i) == 2 || returns_call(f, i);

	if (b_of(i) != 1 && !one) {
		refuse(f, "more than one result");
		return false;
	}
	if (one)
		k = known_of(f, a_of(i));
	if (k.kind <= K_NIL && one)
		get(f, 0, a_of(i));
	else
		load_nil(f, 0);
	if (f->instance == f->b->instances[0])
		emit_result(f, k);
	else
		f->instance->result = joined(f->instance->result, k);
	if (f->sure && f->instance->result.kind == K_MIXED)
		refuse(f, "results of several kinds");
	emit_exit(f->e);
	return false;
}

/* -- Names and upvalues ---------------------------------------------------------------------- */

static void load_known(struct function *f, uint32_t to, struct value v)
{
	struct known k = known_value(v);

	if (k.kind == K_BOOLEAN)
		emit_constant(f->e, 1, v.bits & 1);
	else if (k.kind == K_NUMBER)
		emit_constant(f->e, 1, v.bits);
	else if (k.kind == K_NIL)
		load_nil(f, 1);
	else
		return put_nothing(f, to, k);
	put(f, to, 1, k);
}

static void compile_getglobal(struct function *f, uint32_t i)
{
	char text[64];

	text_of(f->b, f->p->k[bx_of(i)], text, sizeof(text));
	load_known(f, a_of(i), global_of(f->b, text));
}

static void compile_getupval(struct function *f, uint32_t i)
{
	struct value v;
	uint32_t at = upvalue_place(f, b_of(i), &v);

	if (!at)
		return load_known(f, a_of(i), v);
	emit_address(f->e, 1, at);
	emit_load(f->e, INSN_DW, 1, 1, 0);
	put(f, a_of(i), 1, v.tag == TAG_NUMBER ? a_number(NUMBER_BITS, true) :
						 (struct known){ .kind = K_BOOLEAN });
}

static void compile_setupval(struct function *f, uint32_t i)
{
	struct known k = known_of(f, a_of(i));
	struct value v;
	uint32_t at;

	upvalue_changes(f, b_of(i));
	at = upvalue_place(f, b_of(i), &v);
	if (!at)
		return;
	if (v.tag == TAG_NUMBER && !get_number(f, 1, a_of(i)))
		return;
	if (v.tag == TAG_BOOLEAN) {
		if (k.kind != K_BOOLEAN || k.nil)
			return refuse(f, "a boolean is needed here");
		get(f, 1, a_of(i));
	}
	emit_address(f->e, 2, at);
	emit_store(f->e, INSN_DW, 2, 0, 1);
}

static void compile_len(struct function *f, uint32_t i)
{
	struct known k = known_of(f, b_of(i));
	uint32_t len = 0;

	if (k.kind == K_STATIC && k.value.tag == TAG_STRING)
		len = runtime_word(&f->b->runtime, k.value.bits + STRING_LEN, 8);
	else if (k.kind == K_STATIC && k.value.tag == TAG_TABLE)
		while (runtime_value(&f->b->runtime,
				     runtime_word(&f->b->runtime, k.value.bits + TABLE_ARRAY, 8) +
				     len * VALUE_SIZE).tag != TAG_NIL &&
		       len < runtime_word(&f->b->runtime, k.value.bits + TABLE_SIZEARRAY, 4))
			len++;
	else
		return refuse(f, "the length of a value that is not known at load");
	load_known(f, a_of(i), (struct value){ TAG_NUMBER, len });
}

/* -- Dispatch ---------------------------------------------------------------------------------- */

static const char *const refused[OPS] = {
	[OP_SETGLOBAL] = "sets a global: use a local of the file, or program.table",
	[OP_NEWTABLE] = "makes a table, but a call has no memory for it: use program.table",
	[OP_POW] = "a power",
	[OP_CONCAT] = "makes a string, but a call has no memory for it",
	[OP_TFORLOOP] = "a loop over pairs: use a numeric one",
	[OP_SETLIST] = "makes a table, but a call has no memory for it",
	[OP_CLOSURE] = "makes a function, but a call has no memory for it",
	[OP_VARARG] = "takes any number of arguments",
};

static void load_boolean(struct function *f, uint32_t i)
{
	emit_constant(f->e, 1, b_of(i));
	put(f, a_of(i), 1, (struct known){ .kind = K_BOOLEAN });
}

bool compile_one(struct function *f)
{
	uint32_t i = insn_at(f), r;

	switch (op_of(i)) {
	case OP_MOVE:
		copy(f, a_of(i), b_of(i));
		return true;
	case OP_LOADK:
		load_known(f, a_of(i), f->p->k[bx_of(i)]);
		return true;
	case OP_LOADBOOL:
		load_boolean(f, i);
		return c_of(i) ? jump_to(f, f->pc + 2) : true;
	case OP_LOADNIL:
		for (r = a_of(i); r <= b_of(i); r++)
			load_known(f, r, (struct value){ .tag = TAG_NIL });
		return true;
	case OP_GETUPVAL:
		compile_getupval(f, i);
		return true;
	case OP_SETUPVAL:
		compile_setupval(f, i);
		return true;
	case OP_GETGLOBAL:
		compile_getglobal(f, i);
		return true;
	case OP_GETTABLE:
		compile_field(f, i);
		return true;
	case OP_SETTABLE:
		compile_set_field(f, i);
		return true;
	case OP_SELF:
		compile_method(f, i);
		return true;
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MOD:
		compile_arith(f, i);
		return true;
	case OP_UNM:
		compile_minus(f, i);
		return true;
	case OP_NOT:
		compile_not(f, i);
		return true;
	case OP_LEN:
		compile_len(f, i);
		return true;
	case OP_JMP:
		return jump_to(f, jump_target(f, f->pc));
	case OP_EQ:
		return compile_equal(f, i);
	case OP_LT: case OP_LE:
		return compile_less(f, i);
	case OP_TEST:
		return compile_test(f, a_of(i), c_of(i));
	case OP_TESTSET:
		return compile_testset(f, i);
	case OP_FORPREP:
		return compile_forprep(f, i);
	case OP_FORLOOP:
		return compile_forloop(f, i);
	case OP_CALL: case OP_TAILCALL:
		compile_whole_call(f, i);
		return true;
	case OP_RETURN:
		return compile_return(f, i);
	case OP_CLOSE:
		return true;
	default:
		refuse(f, "%s", refused[op_of(i)]);
		return false;
	}
}
