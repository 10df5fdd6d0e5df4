// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Inline forms of the runtime's functions (see compile.h): system calls, and access to memory,
 * where a script is expected to call these functions. The code checks each time that the function
 * is the expected one.
 */
#include <linux/syscript_image_batch.h>
#include <string.h>

#include "compile.h"

static u32 insn_at(const struct compiler *c)
{
	return call_here(c);
}

/* -- Arguments and results -------------------------------------------------------------------- */

u32 call_here(const struct compiler *c)
{
	u32 i = c->p->code[c->pc];

	if (op_of(i) != OP_CALL && op_of(i) != OP_TAILCALL)
		return i;
	if (b_of(i) || !c->pc || c->open_pc != c->pc - 1 || c->open_end <= a_of(i))
		return i;
	return (i & ~(0x1ffU << 23)) | (c->open_end - a_of(i)) << 23;
}

/* r1 = the address of R(@reg). */
static void load_place(struct compiler *c, u8 to, u32 reg)
{
	emit_mov(c->e, to, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, to, slot(c, reg));
}

void end_results(struct compiler *c, u32 n)
{
	c->open_pc = c->pc;
	c->open_end = a_of(c->p->code[c->pc]) + n;
	load_place(c, 0, c->open_end);
	emit_store(c->e, INSN_DW, REG_L, STATE_TOP, 0);
}

void check_open(struct compiler *c, u32 slow)
{
	if (b_of(c->p->code[c->pc]) || !b_of(insn_at(c)))
		return;
	load_place(c, 1, c->open_end);
	emit_load(c->e, INSN_DW, 0, REG_L, STATE_TOP);
	emit_branch(c->e, INSN_JNE, 0, 1, slow);
}

void emit_for_integer(struct compiler *c, const struct cold *cold)
{
	u32 a = a_of(c->p->code[cold->pc]), other = emit_label(c->e), n;
	struct range range;

	call_helper(c, HELPER_call, cold->pc);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	if (!cold->helper)
		return emit_jump(c->e, cold->back);
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, a));
	emit_branch_imm(c->e, INSN_JNE, 0, TAG_NUMBER, other);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, a));
	expected_result(&c->types, cold->pc, fact_at(&c->types, cold->pc, 0), &range);
	check_within(c, 1, range, other);
	emit_jump(c->e, cold->back);
	emit_land(c->e, other);
	/* The interpreter cannot take over between calls that pass on all results. */
	for (n = 1; n <= open_calls(&c->types, cold->pc); n++) {
		call_helper(c, HELPER_call, cold->pc + n);
		emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	}
	emit_constant(c->e, 2, cold->pc + n);
	emit_jump(c->e, c->leave);
}

/* The runtime makes the tail call, in place of the frame. */
static void emit_tail(struct compiler *c, const struct cold *cold)
{
	call_helper(c, HELPER_tail, cold->pc);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	emit_jump(c->e, cold->back);
}

u32 cold_call(struct compiler *c, u32 back)
{
	if (op_of(c->p->code[c->pc]) == OP_TAILCALL)
		return cold_path(c, emit_tail, 0, back);
	return cold_path(c, emit_helper, HELPER_call, back);
}

u32 cold_for_integer(struct compiler *c, u32 back)
{
	struct range range;
	bool is_expected = expected_result(&c->types, c->pc, fact_at(&c->types, c->pc, 0),
					   &range) == T_INTEGER;

	if (op_of(c->p->code[c->pc]) == OP_TAILCALL)
		return cold_call(c, back);
	if (c->caller)
		return cold_leave(c);
	return cold_path(c, emit_for_integer, is_expected, back);
}

/* The result in r1 is too large for an integer of INTEGER_BITS. */
static void emit_large(struct compiler *c, const struct cold *cold)
{
	emit_mov(c->e, 3, 1);
	call_helper(c, HELPER_integer, cold->pc);
	emit_jump(c->e, cold->back);
}

/* Sets the results after the first @n that the caller wants to nil; false if it wants none. */
static bool wants_results(struct compiler *c, u32 i, u32 n)
{
	u32 r, wanted = c_of(i) - 1;

	for (r = n; r < wanted; r++)
		emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a_of(i) + r), TAG_NIL);
	return wanted;
}

static bool wants_result(struct compiler *c, u32 i)
{
	return wants_results(c, i, 1);
}

void store_nils(struct compiler *c, u32 i, u32 n)
{
	wants_results(c, i, n);
}

/* r1 is the first of the call's @n results. */
static void store_results(struct compiler *c, u32 i, u32 n, bool may_be_large, u32 back)
{
	u32 a = a_of(i);

	if (!wants_results(c, i, n))
		return;
	if (may_be_large)
		check_integer(c, 1, cold_path(c, emit_large, 0, back));
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_NUMBER);
}

void store_result(struct compiler *c, u32 i, bool may_be_large, u32 back)
{
	store_results(c, i, 1, may_be_large, back);
}

/* -- System calls ------------------------------------------------------------------------ */

const u8 syscall_places[] = { 1, 2, 3, 4, 5, 0 };

#define IS_OPTIONAL(kind)	(!((kind) & 0x20))

/* Omitted arguments must be optional, and the first one no length: that could be a string's. */
static bool takes(const char *kinds, u32 nargs)
{
	size_t most = strlen(kinds);

	if (nargs > most || kinds[nargs] == 'L')
		return false;
	for (; nargs < most; nargs++)
		if (!IS_OPTIONAL(kinds[nargs]))
			return false;
	return true;
}

/* An argument is a string, whose bytes the kernel reads. */
static void emit_text(struct compiler *c, const struct cold *cold)
{
	u8 reg = syscall_places[cold->helper];

	emit_load(c->e, INSN_DW, reg, REG_BASE,
		  slot(c, a_of(c->p->code[cold->pc]) + 1 + cold->helper));
	emit_alu_imm(c->e, INSN_ADD, reg, STRING_TEXT);
	emit_jump(c->e, cold->back);
}

/* Loads argument @n: an integer, or a string, to which the kernel does not write. */
static void load_text(struct compiler *c, u32 reg, u32 n, u32 slow)
{
	u32 back = emit_label(c->e), text = cold_path(c, emit_text, n, back);

	/* Continues here, where nothing has been stored either. */
	if (c->ncolds)
		c->colds[c->ncolds - 1].deferral.n = 0;
	emit_load(c->e, INSN_W, 0, REG_BASE, slot_tag(c, reg));
	emit_branch_imm(c->e, INSN_JEQ, 0, TAG_STRING, text);
	load_integer(c, syscall_places[n], reg, slow);
	emit_land(c->e, back);
}

/* Loads the arguments into their registers; r0 is free until the last one. */
static void load_arguments(struct compiler *c, long nr, u32 a, u32 nargs, u32 slow)
{
	const char *kinds = syscall_kinds(nr);
	s64 k;
	u32 n;

	if (nargs == 6 && fact_at(&c->types, c->pc, a + 6)->types != T_INTEGER)
		load_integer(c, 1, a + 6, slow);
	for (n = 0; kinds[n]; n++) {
		if (n >= nargs)
			emit_constant(c->e, syscall_places[n], 0);
		else if (kinds[n] == 's' && syscall_only_reads(nr) &&
			 fact_at(&c->types, c->pc, a + 1 + n)->types & T_STRING)
			load_text(c, a + 1 + n, n, slow);
		else if (syscall_places[n])
			load_integer(c, syscall_places[n], a + 1 + n, slow);
		else if (rk_is_constant(&c->types, c->pc, a + 1 + n, &k))
			emit_constant(c->e, 0, k);
		else
			emit_load(c->e, INSN_DW, 0, REG_BASE, slot(c, a + 1 + n));
	}
}

static void check_syscall(struct compiler *c, u32 a, long nr, u32 slow)
{
	check_open(c, slow);
	if (fact_at(&c->types, c->pc, a)->sure)
		return;
	check_tag(c, a, T_FUNCTION, TAG_FUNCTION, slow);
	emit_load(c->e, INSN_DW, 5, REG_BASE, slot(c, a));
	emit_load(c->e, INSN_W, 5, 5, CLOSURE_ID);
	emit_constant(c->e, 0, ID_SYSCALL + nr);
	emit_branch(c->e, INSN_JNE, 5, 0, slow);
}

/* If the result is too large, continues at @stored. */
static void compile_syscall(struct compiler *c, u32 i, long nr, u32 back, u32 stored)
{
	u32 a = a_of(i), nargs = b_of(i) - 1, slow = cold_call(c, back);

	check_syscall(c, a, nr, slow);
	load_arguments(c, nr, a, nargs, slow);
	emit_syscall(c->e, nr);
	emit_mov(c->e, 1, 0);
	store_result(c, i, !syscall_is_small(nr), stored);
}

/* -- Memory ---------------------------------------------------------------------------------- */

static bool is_power_of_two(u64 n)
{
	return n && !(n & (n - 1));
}

/* Goes to @slow unless @size bytes at the address in r1 are in the arena. */
static void check_address(struct compiler *c, u32 size, u32 slow)
{
	emit_address(c->e, 2, 0);
	emit_mov(c->e, 0, 1);
	emit_alu(c->e, INSN_SUB, 0, 2);
	/* A shift is cheaper than a large constant, which the engine blinds. */
	if (size == 1 && is_power_of_two(c->runtime->size)) {
		emit_alu_imm(c->e, INSN_RSH, 0, __builtin_ctzl(c->runtime->size));
		return emit_branch_imm(c->e, INSN_JNE, 0, 0, slow);
	}
	emit_branch_imm(c->e, INSN_JGT, 0, c->runtime->size - size, slow);
}

static const u8 sizes[] = { [1] = INSN_B, [2] = INSN_H, [4] = INSN_W, [8] = INSN_DW };

static void emit_peek(struct compiler *c, struct scalar kind)
{
	u8 mode = kind.is_signed && kind.size < 8 ? INSN_MEMSX : INSN_MEM;

	emit_insn(c->e, INSN_LDX | mode | sizes[kind.size], 1, 1, 0, 0);
	if (kind.is_big)
		emit_insn(c->e, INSN_ALU64 | INSN_END, 1, 0, 0, kind.size * 8);
}

void check_function(struct compiler *c, u32 a, u32 intrinsic, u32 slow)
{
	check_open(c, slow);
	if (fact_at(&c->types, c->pc, a)->sure)
		return;
	check_tag(c, a, T_FUNCTION, TAG_FUNCTION, slow);
	emit_load(c->e, INSN_DW, 5, REG_BASE, slot(c, a));
	emit_load(c->e, INSN_DW, 5, 5, CLOSURE_F);
	emit_branch_imm(c->e, INSN_JNE, 5, c->runtime->exports.intrinsics[intrinsic], slow);
}

static void compile_peek(struct compiler *c, u32 i, u32 back, u32 stored)
{
	u32 a = a_of(i), slow;
	struct scalar kind = { 4, true, false };

	if (b_of(i) == 3)
		types_scalar(&c->types, c->pc, a + 2, &kind);
	slow = cold_call(c, back);
	check_function(c, a, INTRINSIC_util_peek, slow);
	load_integer(c, 1, a + 1, slow);
	check_address(c, kind.size, slow);
	emit_peek(c, kind);
	if (kind.size == 8 && !kind.is_signed)
		check_within(c, 1, (struct range){ NOT_NEGATIVE, INTEGER_BITS - 1 }, slow);
	store_result(c, i, kind.size == 8 && kind.is_signed, stored);
}

/* Goes to @slow unless r3 fits the scalar, as signed or as unsigned. */
static void check_fits(struct compiler *c, struct scalar kind, u32 slow)
{
	u32 bits = kind.size * 8;

	if (bits == 64)
		return;
	emit_mov(c->e, 0, 3);
	emit_alu_imm(c->e, INSN_SUB, 0, (s32)(~0U << (bits - 1)));
	emit_alu_imm(c->e, INSN_RSH, 0, bits - 1);
	emit_branch_imm(c->e, INSN_JGT, 0, 2, slow);
}

static void compile_poke(struct compiler *c, u32 i, u32 back)
{
	u32 a = a_of(i), slow = cold_call(c, back);
	struct scalar kind;

	types_scalar(&c->types, c->pc, a + 2, &kind);
	check_function(c, a, INTRINSIC_util_poke, slow);
	load_integer(c, 1, a + 1, slow);
	load_integer(c, 3, a + 3, slow);
	check_address(c, kind.size, slow);
	check_fits(c, kind, slow);
	if (kind.is_big)
		emit_insn(c->e, INSN_ALU64 | INSN_END, 3, 0, 0, kind.size * 8);
	emit_insn(c->e, INSN_STX | INSN_MEM | sizes[kind.size], 1, 3, 0, 0);
	wants_results(c, i, 0);
}

static void compile_pending(struct compiler *c, u32 i, u32 back)
{
	u32 a = a_of(i), done = emit_label(c->e);

	check_function(c, a, INTRINSIC_util_pending, cold_call(c, back));
	emit_constant(c->e, 1, IMAGE_BATCH_PENDING);
	emit_constant(c->e, 2, 0);
	emit_engine_call(c->e, IMAGE_CALL_BATCH);
	if (!wants_result(c, i))
		return;
	emit_mov(c->e, 1, 0);
	emit_constant(c->e, 0, 1);
	emit_branch_imm(c->e, INSN_JEQ, 1, 1, done);
	emit_constant(c->e, 0, 0);
	emit_land(c->e, done);
	emit_store(c->e, INSN_W, REG_BASE, slot(c, a), 0);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_BOOLEAN);
}

/* -- Files ------------------------------------------------------------------------------------ */

/* Offset of the structure: the frame of a function that calls others has room for it. */
#define IN_FRAME(field)	\
	((s32)offsetof(struct image_batch_file, field) - (s32)sizeof(struct image_batch_file))

/* The second result: the file's size; none if r1 is an error. */
static void store_total(struct compiler *c, u32 i)
{
	u32 a = a_of(i) + 1, failed = emit_label(c->e);

	if (c_of(i) - 1 < 2)
		return;
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_NIL);
	emit_branch_imm(c->e, INSN_JSLT, 1, 0, failed);
	emit_load(c->e, INSN_DW, 0, INSN_R10, IN_FRAME(total));
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, a), 0);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_NUMBER);
	emit_land(c->e, failed);
}

/* The number of bytes is at most a buffer's size, so it is not a large integer. */
static void compile_read_file(struct compiler *c, u32 i, u32 back)
{
	static const struct {
		u8 size;
		s32 at;
	} fields[] = {
		{ INSN_W, IN_FRAME(dirfd) }, { INSN_DW, IN_FRAME(path) },
		{ INSN_DW, IN_FRAME(addr) }, { INSN_DW, IN_FRAME(size) },
		{ INSN_W, IN_FRAME(flags) },
	};
	u32 a = a_of(i), nargs = b_of(i) - 1, slow, n;

	_Static_assert(sizeof(struct image_batch_file) <= FRAME_SIZE, "FRAME_SIZE");
	slow = cold_call(c, back);
	check_function(c, a, INTRINSIC_fs_read_file, slow);
	for (n = 0; n < nargs; n++) {
		load_integer(c, 1, a + 1 + n, slow);
		emit_store(c->e, fields[n].size, INSN_R10, fields[n].at, 1);
	}
	if (nargs == 4)
		emit_store_imm(c->e, INSN_W, INSN_R10, IN_FRAME(flags), 0);
	emit_constant(c->e, 1, IMAGE_BATCH_READ_FILE);
	emit_mov(c->e, 2, INSN_R10);
	emit_alu_imm(c->e, INSN_ADD, 2, -(s32)sizeof(struct image_batch_file));
	emit_engine_call(c->e, IMAGE_CALL_BATCH);
	emit_mov(c->e, 1, 0);
	store_results(c, i, 2, false, back);
	store_total(c, i);
}

/* -- pcall() ---------------------------------------------------------------------------------- */

/* The runtime's helper does it, without the cost of calling a C function. */
static bool compile_pcall(struct compiler *c, u32 i, u32 back)
{
	u32 slow;

	defer_flush(c);
	slow = cold_call(c, back);
	check_function(c, a_of(i), INTRINSIC_luaB_pcall, slow);
	begin_call(c, i);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_pcall]);
	emit_branch_imm(c->e, INSN_JNE, 0, COMPILED_DONE, c->exit);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	return true;
}

/* -- Selection --------------------------------------------------------------------------------- */

int expected_intrinsic(const struct compiler *c, u32 a)
{
	return intrinsic_of(c->runtime, function_at(&c->types, c->pc, a));
}

static long expected_syscall(const struct compiler *c, u32 pc)
{
	u32 i = pc == c->pc ? insn_at(c) : c->p->code[pc];
	long nr = syscall_of(c->runtime, function_at(&c->types, pc, a_of(i)));
	const char *kinds = nr < 0 ? NULL : syscall_kinds(nr);

	return kinds && takes(kinds, b_of(i) - 1) ? nr : -1;
}

long certain_syscall(const struct compiler *c, u32 pc)
{
	u32 i = c->p->code[pc];

	if (!b_of(i) || !c_of(i) || !fact_at(&c->types, pc, a_of(i))->sure)
		return -1;
	return expected_syscall(c, pc);
}

/* As is_intrinsic(), of functions other than text.c's, and of tail calls as well. */
static bool is_other_intrinsic(const struct compiler *c)
{
	u32 i = insn_at(c);
	struct scalar kind;

	if (!b_of(i))
		return false;
	if (is_view_intrinsic(c, expected_intrinsic(c, a_of(i))))
		return true;
	switch (expected_intrinsic(c, a_of(i))) {
	case INTRINSIC_util_peek:
		return b_of(i) == 2 ||
		       (b_of(i) == 3 && types_scalar(&c->types, c->pc, a_of(i) + 2, &kind));
	case INTRINSIC_util_poke:
		return b_of(i) == 4 && c_of(i) &&
		       types_scalar(&c->types, c->pc, a_of(i) + 2, &kind);
	case INTRINSIC_fs_read_file:
		return (b_of(i) == 5 || b_of(i) == 6) && c_of(i);
	case INTRINSIC_util_pending:
		return true;
	default:
		return is_bits_intrinsic(c, expected_intrinsic(c, a_of(i))) ||
		       expected_syscall(c, c->pc) >= 0;
	}
}

bool is_intrinsic(const struct compiler *c)
{
	u32 i = insn_at(c);

	return op_of(i) == OP_CALL &&
	       (is_text_intrinsic(c, expected_intrinsic(c, a_of(i))) || is_other_intrinsic(c));
}

bool intrinsic_knows(const struct compiler *c, u32 reg)
{
	u32 i = insn_at(c), a = a_of(i);
	s64 k;

	if (reg == a)
		return fact_at(&c->types, c->pc, a)->sure;
	if (is_text_intrinsic(c, expected_intrinsic(c, a)))
		return text_knows(c, expected_intrinsic(c, a), reg);
	if (is_view_intrinsic(c, expected_intrinsic(c, a)) &&
	    !view_knows(expected_intrinsic(c, a), reg - a))
		return false;
	if (rk_is_constant(&c->types, c->pc, reg, &k))
		return true;
	/* The kind of the scalar. */
	return reg == a + 2 && (expected_intrinsic(c, a) == INTRINSIC_util_peek ||
				expected_intrinsic(c, a) == INTRINSIC_util_poke);
}

/* The form with one result, or none. */
static void compile_expected(struct compiler *c, u32 i, u32 back, u32 stored)
{
	int intrinsic = expected_intrinsic(c, a_of(i));

	switch (intrinsic) {
	case INTRINSIC_util_peek:
		compile_peek(c, i, back, stored);
		break;
	case INTRINSIC_util_poke:
		compile_poke(c, i, back);
		break;
	case INTRINSIC_fs_read_file:
		compile_read_file(c, i, back);
		break;
	case INTRINSIC_util_pending:
		compile_pending(c, i, back);
		break;
	default:
		if (is_bits_intrinsic(c, intrinsic))
			compile_bits(c, i, intrinsic, back);
		else if (is_view_intrinsic(c, intrinsic))
			compile_view_method(c, i, intrinsic, back);
		else
			compile_syscall(c, i, expected_syscall(c, c->pc), back, stored);
	}
}

bool compile_intrinsic(struct compiler *c, u32 back)
{
	u32 i = insn_at(c), stored;

	if (expected_intrinsic(c, a_of(i)) == INTRINSIC_luaB_pcall)
		return compile_pcall(c, c->p->code[c->pc], back);
	if (!is_intrinsic(c))
		return false;
	if (is_text_intrinsic(c, expected_intrinsic(c, a_of(i)))) {
		compile_text(c, expected_intrinsic(c, a_of(i)), back);
	} else if (c_of(i)) {
		compile_expected(c, i, back, back);
	} else {
		stored = emit_label(c->e);
		compile_expected(c, with_results(i, 1), back, stored);
		emit_land(c->e, stored);
		end_results(c, 1);
	}
	return true;
}

bool compile_intrinsic_tail(struct compiler *c, u32 back)
{
	u32 i = insn_at(c), stored;
	int intrinsic = expected_intrinsic(c, a_of(i));

	/* Its results are returned by the next instruction, as after a slow tail call. */
	if (intrinsic == INTRINSIC_luaB_pcall)
		return compile_pcall(c, c->p->code[c->pc], back);
	if (compile_text_tail(c, intrinsic, back))
		return true;
	if (is_text_intrinsic(c, intrinsic) || !is_other_intrinsic(c) || !can_return(c, 1))
		return false;
	stored = emit_label(c->e);
	check_wanted(c, 1, cold_call(c, back));
	compile_expected(c, with_results(i, 1), back, stored);
	emit_land(c->e, stored);
	return_values(c, a_of(i), 1);
	return true;
}
