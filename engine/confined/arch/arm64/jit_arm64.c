// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The code generator's half for A64: translates each instruction of an image. No access may leave
 * the arena, whatever values registers hold and wherever a misprediction leads: one AND masks an
 * address into w16 or w17, where following accesses of a straight line find it. registers.h lists
 * the registers, emit_arm64.h the encodings; verify_arm64.c accepts no others.
 */
#include "emit_arm64.h"

#define FRAME	X23
#define BASE	X24
#define MACHINE	X25
#define FUEL	X26
#define FRAME_PLACE	X27
#define PLACES		X10	/* JIT_PLACES of them */
#define NATIVE	X28
#define LINK	X30
/* Within one instruction: constants, and quotients. */
#define SPARE	X9

static const u8 regs[] = { X6, X0, X1, X2, X3, X4, X19, X20, X21, X22 };

static u8 arena_shift(const struct gen *g)
{
	return g->checked->image->arena_shift;
}

/* -- Constants -------------------------------------------------------------------- */

static void load_u64(struct gen *g, u8 to, u64 v)
{
	unsigned int i, ones = 0, zeros = 0;
	u16 fill;
	bool begun = false;

	for (i = 0; i < 4; i++) {
		ones += (u16)(v >> 16 * i) == 0xffff;
		zeros += !(u16)(v >> 16 * i);
	}
	fill = ones > zeros ? 0xffff : 0;
	for (i = 0; i < 4; i++) {
		u16 piece = v >> 16 * i;

		if (piece == fill && (begun || i < 3))
			continue;
		if (begun)
			mov_wide(g, true, MOVK, to, piece, i);
		else
			mov_wide(g, true, fill ? MOVN : MOVZ, to, fill ? (u16)~piece : piece, i);
		begun = true;
	}
}

/* A 32-bit constant, sign-extended where @wide. */
static void load_imm(struct gen *g, bool wide, u8 to, s32 imm)
{
	load_u64(g, to, wide ? (u64)(s64)imm : (u32)imm);
}

/* Loads the instruction's number into w17, where stubs expect it: always two instructions. */
static void emit_pc(struct gen *g)
{
	u32 pc = image_first_insn(g->checked) + g->pc;

	mov_wide(g, false, MOVZ, X17, pc, 0);
	mov_wide(g, false, MOVK, X17, pc >> 16, 1);
}

/* -- Branches --------------------------------------------------------------------- */

enum {
	B = 0x14000000, BL = 0x94000000, RET = 0xd65f03c0,
	B_COND = 0x54000000, CBZ = 0x34000000, TBZ = 0x36000000,
	/* Added to CBZ and TBZ for the opposite. */
	NOT_ZERO = 1 << 24,
};

/* The bits of a branch that have its distance, in words. */
static u32 distance_field(u32 insn)
{
	if ((insn & 0x7c000000) == B)
		return 0x3ffffff;
	return (insn & 0x7e000000) == TBZ ? 0x3fff << 5 : 0x7ffff << 5;
}

static u32 with_distance(u32 insn, s64 distance)
{
	u32 field = distance_field(insn), words = distance >> 2;

	return (insn & ~field) | ((insn & 0x7c000000) == B ? words & field : words << 5 & field);
}

void jit_emit_distance(u8 *code, u64 exec, u64 to)
{
	u32 insn;

	memcpy(&insn, code, 4);
	insn = with_distance(insn, (s64)(to - exec));
	memcpy(code, &insn, 4);
}

static void branch_to(struct gen *g, u32 insn, u64 to)
{
	if (g->drafts)
		jit_add_fixup(g, to);
	emit32(g, with_distance(insn, (s64)(to - exec_at(g, g->at))));
}

/* Emits a conditional branch forward, to where bind_here() is called. */
static u32 branch_unless(struct gen *g, u8 cond)
{
	emit32(g, B_COND | cond);
	return g->at - 4;
}

static void bind_here(struct gen *g, u32 branch)
{
	u32 insn;

	if (branch + 4 > g->room)
		return;
	memcpy(&insn, g->code + branch, 4);
	insn = with_distance(insn, g->at - branch);
	memcpy(g->code + branch, &insn, 4);
}

static void call_stub(struct gen *g, const u8 *stub)
{
	branch_to(g, BL, (u64)(unsigned long)stub);
}

void jit_emit_goto(struct gen *g, u64 to)
{
	branch_to(g, B, to);
}

void jit_emit_goto_stub(struct gen *g, const u8 *stub)
{
	jit_emit_goto(g, (u64)(unsigned long)stub);
}

/* b.cond and cbz reach 1 MiB, tbz 32 KiB: more than the code of this many instructions. */
#define NEAR_INSNS	4096
#define NEARER_INSNS	128

/* @insn: a conditional branch, without its distance */
static void branch_insn(struct gen *g, u32 insn, u32 target)
{
	u32 away = target > g->pc ? target - g->pc : g->pc - target, skip;

	if (away < ((insn & 0x7e000000) == TBZ ? NEARER_INSNS : NEAR_INSNS))
		return branch_to(g, insn, exec_of(g, target));
	skip = g->at;
	emit32(g, insn ^ ((insn & 0x7c000000) == CBZ ? NOT_ZERO : 1));
	branch_to(g, B, exec_of(g, target));
	bind_here(g, skip);
	jit_label_next(g);
}

/* Keeps processors from running on past a jump: dsb nsh; isb, which are not executed. */
static void emit_barrier(struct gen *g)
{
	emit32(g, 0xd503379f);
	emit32(g, 0xd5033fdf);
}

static bool is_last(const struct gen *g)
{
	return g->pc + 1 == image_func_end(g->checked, g->func);
}

/* The function after it assumes that nothing was pushed. */
void jit_emit_jump(struct gen *g, u32 target)
{
	branch_to(g, B, exec_of(g, target));
	if (is_last(g))
		emit_barrier(g);
}

/* -- Operands and addresses --------------------------------------------------------- */

static void load_machine(struct gen *g, u8 to, u32 offset)
{
	mem_imm(g, 3, 1, to, MACHINE, offset);
}

static void store_machine(struct gen *g, u8 from, u32 offset)
{
	mem_imm(g, 3, 0, from, MACHINE, offset);
}

/* @to = @from + @imm, which is less than 2^24 either way: constants of 12 bits, one shifted. */
static void add_near(struct gen *g, bool wide, u8 to, u8 from, s32 imm)
{
	u32 op = imm < 0 ? SUB : ADD, size = imm < 0 ? -imm : imm;

	if (size >> 12) {
		op_imm12(g, wide, op, to, from, size >> 12 | SHIFTED);
		from = to;
	}
	if (size & 0xfff || !(size >> 12))
		op_imm12(g, wide, op, to, from, size & 0xfff);
}

/* @to = @from + @imm, by way of x9 for large constants. */
static void add_constant(struct gen *g, bool wide, u8 to, u8 from, s64 imm)
{
	if (imm > -(1 << 24) && imm < 1 << 24)
		return add_near(g, wide, to, from, imm);
	load_u64(g, SPARE, wide ? (u64)imm : (u32)imm);
	op3(g, wide, ADD, to, from, SPARE);
}

/* @to = r10 + @disp */
static void frame_address(struct gen *g, u8 to, s32 disp)
{
	load_machine(g, to, MACHINE_AT_USER);
	op3(g, true, ADD, to, to, FRAME);
	add_constant(g, true, to, to, (s64)frame_size(g) + disp);
}

void jit_emit_frame(struct gen *g, u8 to, s32 disp)
{
	frame_address(g, regs[to], disp);
}

/* The machine register of the program's register @reg; r10's value is computed into @spare. */
static u8 operand(struct gen *g, u8 reg, u8 spare)
{
	if (reg != INSN_R10)
		return regs[reg];
	frame_address(g, spare, 0);
	g->masked[spare - X16] = NONE;
	return spare;
}

/* Takes x16 or x17, but not @avoid, as a scratch register for one instruction. */
static u8 scratch(struct gen *g, u8 avoid)
{
	u8 reg = avoid == X16 ? X17 : X16;

	g->masked[reg - X16] = NONE;
	return reg;
}

/**
 * struct amode - an operand in memory: the arena's address + w@index + @disp
 * @index: or XZR (NONE is a register's number here), or the register of PLACES that has the sum of
 *         the first two
 */
struct amode {
	u8 index;
	s32 disp;
};

static bool is_sum(u8 reg)
{
	return reg >= PLACES && reg < PLACES + JIT_PLACES;
}

static u8 mask_reg(struct gen *g, u8 reg)
{
	unsigned int i;
	u8 to;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			return X16 + i;
	if (g->masked[g->next_scratch] != NONE && g->masked[!g->next_scratch] == NONE)
		g->next_scratch = !g->next_scratch;
	to = X16 + g->next_scratch;
	g->masked[g->next_scratch] = reg;
	g->next_scratch = !g->next_scratch;
	and_ones(g, to, regs[reg], arena_shift(g));
	return to;
}

/* @to = x24 + w@index */
static void emit_place(struct gen *g, u8 to, u8 index)
{
	emit32(g, 0x8b204000 | index << 16 | BASE << 5 | to);
}

/*
 * The address at the program's register @reg plus @off. A distance is added to a sum, which stays
 * in a register for following accesses.
 */
static struct amode sum_place(struct gen *g, u8 reg, s16 off)
{
	unsigned int i;
	u8 index;

	for (i = 0; i < JIT_PLACES; i++)
		if (g->placed[i] == reg)
			return (struct amode){ PLACES + i, off };
	index = mask_reg(g, reg);
	if (!off)
		return (struct amode){ index, 0 };
	i = g->next_placed;
	g->next_placed = (i + 1) % JIT_PLACES;
	g->placed[i] = reg;
	emit_place(g, PLACES + i, index);
	return (struct amode){ PLACES + i, off };
}

/* IMAGE_CHECKED: reports addresses outside of the arena, which are masked as well. */
static void check_range(struct gen *g, u8 reg, s16 off, u32 width)
{
	u32 in_range;

	forget_scratch(g);
	add_constant(g, true, X16, regs[reg], off);
	load_machine(g, X17, MACHINE_AT_USER);
	op3(g, true, SUB, X17, X16, X17);
	load_u64(g, SPARE, (u64)g->mask + 1 - width);
	op3(g, true, SUBS, XZR, X17, SPARE);
	in_range = branch_unless(g, LS);
	emit_pc(g);
	call_stub(g, confined_fault_access);
	bind_here(g, in_range);
}

/* The register that has the offset @known in the arena may not have been loaded. */
static struct amode known_place(struct gen *g, s64 known, s16 off)
{
	u8 to;

	if (known + off < 1 << 24)
		return (struct amode){ XZR, known + off };
	to = scratch(g, XZR);
	load_u64(g, to, known);
	and_ones(g, to, to, arena_shift(g));
	return (struct amode){ to, off };
}

static struct amode place_of(struct gen *g, u8 reg, s16 off, u32 width)
{
	if (reg == INSN_R10)
		return (struct amode){ FRAME, (s32)frame_size(g) + off };
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, reg, off, width);
	else if (g->known[reg] != UNKNOWN)
		return known_place(g, g->known[reg], off);
	return sum_place(g, reg, off);
}

static u8 log_of(u8 code)
{
	switch (INSN_SIZE(code)) {
	case INSN_B: return 0;
	case INSN_H: return 1;
	case INSN_W: return 2;
	}
	return 3;
}

/* Can an instruction that accesses 1 << @log bytes add @disp to its base? */
static bool is_near(u8 log, s32 disp)
{
	return (disp >= 0 && disp < 0x1000 << log && !(disp & ((1 << log) - 1))) ||
	       (disp >= -256 && disp < 256);
}

/*
 * Proof for all accesses: x24 is the arena's address, w@index less than its size, and the
 * distance reaches at most into the guards. x9 holds their sum, a secret, within this sequence,
 * so @reg of a store is another register. x27 is the sum already where the index is the frame, and
 * x10 to x13 are sums.
 */
static void access(struct gen *g, u8 log, u8 opc, u8 reg, struct amode p)
{
	s32 high = p.disp >> 12, disp = p.disp;
	u8 base = BASE;

	if (p.index != XZR && !disp && !is_sum(p.index))
		return mem_index(g, log, opc, reg, BASE, p.index);
	if (is_sum(p.index)) {
		base = p.index;
	} else if (p.index == FRAME) {
		base = FRAME_PLACE;
	} else if (p.index != XZR) {
		emit_place(g, SPARE, p.index);
		base = SPARE;
	}
	if (!is_near(log, disp) && high) {
		add_near(g, true, SPARE, base, high * 0x1000);
		base = SPARE;
		disp &= 0xfff;
	}
	if (!is_near(log, disp)) {
		add_near(g, true, SPARE, base, disp);
		base = SPARE;
		disp = 0;
	}
	if (disp < 0 || disp & ((1 << log) - 1))
		return mem_unscaled(g, log, opc, reg, base, disp);
	mem_imm(g, log, opc, reg, base, disp);
}

static void emit_load(struct gen *g, const struct image_insn *insn, struct amode p)
{
	bool sign = INSN_MODE(insn->code) == INSN_MEMSX;

	access(g, log_of(insn->code), sign ? 2 : 1, regs[insn->dst], p);
}

void jit_emit_load(struct gen *g, const struct image_insn *insn)
{
	emit_load(g, insn, place_of(g, insn->src, insn->off, insn_width(insn->code)));
}

static void emit_store(struct gen *g, const struct image_insn *insn, struct amode p)
{
	u8 src = XZR;

	if (INSN_CLASS(insn->code) == INSN_STX)
		src = operand(g, insn->src, p.index == X16 ? X17 : X16);
	else if (insn->imm)
		load_imm(g, true, src = scratch(g, p.index), insn->imm);
	access(g, log_of(insn->code), 0, src, p);
}

void jit_emit_store(struct gen *g, const struct image_insn *insn)
{
	emit_store(g, insn, place_of(g, insn->dst, insn->off, insn_width(insn->code)));
}

/* The arena begins at a multiple of its size, so its address in the process need not be added. */
void jit_emit_indexed(struct gen *g, const struct image_insn *use, s32 from, bool frame, u8 index)
{
	struct amode p = { scratch(g, XZR), use->off };

	if (frame)
		op3(g, false, ADD, p.index, FRAME, regs[index]);
	add_constant(g, false, p.index, frame ? p.index : regs[index],
		     frame ? (s64)from + frame_size(g) : from);
	and_ones(g, p.index, p.index, arena_shift(g));
	if (INSN_CLASS(use->code) == INSN_LDX)
		emit_load(g, use, p);
	else
		emit_store(g, use, p);
}

enum {
	LDADDAL = 0x38e00000, LDCLRAL = 0x38e01000, LDEORAL = 0x38e02000, LDSETAL = 0x38e03000,
	SWPAL = 0x38e08000, CASAL = 0x08e0fc00,
};

/* At [x9]: @s is the operand or, of casal, the expected value. */
static void emit_atomic(struct gen *g, u32 op, u8 log, u8 s, u8 t)
{
	emit32(g, (u32)log << 30 | op | s << 16 | SPARE << 5 | t);
}

/*
 * The offset is added before the mask, which clears the low bits as well, so no operation reaches
 * into a second cache line.
 */
static struct amode atomic_place(struct gen *g, const struct image_insn *insn, u8 log)
{
	if (insn->dst == INSN_R10)
		return place_of(g, insn->dst, insn->off, 1 << log);
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, insn->dst, insn->off, 1 << log);
	scratch(g, XZR);
	add_constant(g, false, X16, regs[insn->dst], insn->off);
	and_run(g, X16, X16, log, arena_shift(g) - log);
	return (struct amode){ X16, 0 };
}

/* The processor has LSE, or the platform refuses the image: arch_has_atomics(). */
void jit_emit_atomic(struct gen *g, const struct image_insn *insn)
{
	bool is_and = insn->imm == INSN_AND;
	u8 log = log_of(insn->code), src;
	struct amode p = atomic_place(g, insn, log);

	src = operand(g, insn->src, X17);
	if (is_and) {	/* ldclr clears the bits that are set: the complement's */
		op3(g, log == 3, ORN, X17, XZR, src);
		g->masked[1] = NONE;
		src = X17;
	}
	emit_place(g, SPARE, p.index);
	if (p.disp)
		add_near(g, true, SPARE, SPARE, p.disp);
	switch (insn->imm) {
	case INSN_CMPXCHG:
		return emit_atomic(g, CASAL, log, regs[0], src);
	case INSN_XCHG:
		return emit_atomic(g, SWPAL, log, src, src);
	case INSN_ADD | INSN_FETCH:
		return emit_atomic(g, LDADDAL, log, src, src);
	case INSN_ADD:
		return emit_atomic(g, LDADDAL, log, src, XZR);
	case INSN_XOR:
		return emit_atomic(g, LDEORAL, log, src, XZR);
	}
	emit_atomic(g, is_and ? LDCLRAL : LDSETAL, log, src, XZR);
}

/* -- Registers to registers ---------------------------------------------------------- */

/* @dst = @left op the second operand. */
static void gen_shift(struct gen *g, bool wide, u8 dst, u8 left, const struct image_insn *insn)
{
	u8 width = wide ? 64 : 32, n = insn->imm & (width - 1), op = INSN_OP(insn->code);

	if (insn->code & INSN_X)
		return op3(g, wide, op == INSN_LSH ? LSLV : op == INSN_RSH ? LSRV : ASRV, dst, left,
			   operand(g, insn->src, X17));
	if (op == INSN_LSH)
		return bitfield(g, wide, 0x53, dst, left, (width - n) & (width - 1), width - 1 - n);
	bitfield(g, wide, op == INSN_RSH ? 0x53 : 0x13, dst, left, n, width - 1);
}

/*
 * The second operand; a constant is loaded into x9, sign-extended: operations of 32 bits read the
 * lower half, and negative constants are often one instruction only as 64 bits.
 */
static u8 second(struct gen *g, const struct image_insn *insn)
{
	if (insn->code & INSN_X)
		return operand(g, insn->src, X17);
	load_imm(g, true, SPARE, insn->imm);
	return SPARE;
}

/* A64 divides as BPF does: by 0 gives 0, and MIN / -1 is MIN. */
static void gen_division(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 by = second(g, insn), to = dst;

	if (INSN_OP(insn->code) == INSN_MOD)
		to = scratch(g, by);
	op3(g, wide, insn->off ? SDIV : UDIV, to, dst, by);
	if (to != dst)	/* dst - quotient * by */
		emit32(g, (wide ? SF : 0) | MSUB | by << 16 | dst << 10 | to << 5 | dst);
}

static void gen_mov(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 src;

	if (!(insn->code & INSN_X))
		return load_imm(g, wide, dst, insn->imm);
	if (insn->src == INSN_R10 && wide && !insn->off)
		return frame_address(g, dst, 0);
	src = operand(g, insn->src, X16);
	if (insn->off)
		return bitfield(g, wide, 0x13, dst, src, 0, insn->off - 1);
	mov(g, wide, dst, src);
}

static void gen_swap(struct gen *g, u8 dst, const struct image_insn *insn)
{
	bool swap = insn->code & INSN_X || INSN_CLASS(insn->code) == INSN_ALU64;

	if (swap)
		emit32(g, (insn->imm == 64 ? 0xdac00c00 :
			   insn->imm == 32 ? 0x5ac00800 : 0x5ac00400) | dst << 5 | dst);
	if (insn->imm == 16)
		bitfield(g, false, 0x53, dst, dst, 0, 15);
	else if (insn->imm == 32 && !swap)
		mov(g, false, dst, dst);
}

static const u32 ops[16] = {
	[INSN_ADD >> 4] = ADD, [INSN_SUB >> 4] = SUB, [INSN_OR >> 4] = ORR,
	[INSN_AND >> 4] = AND, [INSN_XOR >> 4] = EOR,
};

/* A logical operation on a constant that is a run of ones. */
static bool gen_logical(struct gen *g, bool wide, u32 op, u8 dst, u8 left, s32 imm)
{
	u32 fields;

	/* AND is one of 32 bits where the upper half becomes zero, for the verifier. */
	if (op == AND && imm >= 0)
		wide = false;
	if (!logical_fields(wide, (s64)imm, &fields))
		return false;
	op_logical(g, wide, op, dst, left, fields);
	return true;
}

void jit_emit_binary(struct gen *g, const struct image_insn *insn, u8 left_reg)
{
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 dst = regs[insn->dst], left = regs[left_reg], op = INSN_OP(insn->code);

	switch (op) {
	case INSN_MUL:
		emit32(g, (wide ? SF : 0) | MADD | second(g, insn) << 16 | XZR << 10 |
			  left << 5 | dst);
		break;
	case INSN_LSH: case INSN_RSH: case INSN_ARSH:
		gen_shift(g, wide, dst, left, insn);
		break;
	default:
		if (!(insn->code & INSN_X) && (op == INSN_ADD || op == INSN_SUB))
			return add_constant(g, wide, dst, left,
					    op == INSN_ADD ? insn->imm : -(s64)insn->imm);
		if (!(insn->code & INSN_X) &&
		    gen_logical(g, wide, ops[op >> 4], dst, left, insn->imm))
			return;
		op3(g, wide, ops[op >> 4], dst, left, second(g, insn));
	}
}

void jit_emit_alu(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 dst = regs[insn->dst];

	switch (INSN_OP(insn->code)) {
	case INSN_DIV: case INSN_MOD:
		gen_division(g, wide, dst, insn);
		break;
	case INSN_NEG:
		op3(g, wide, SUB, dst, XZR, dst);
		break;
	case INSN_MOV:
		gen_mov(g, wide, dst, insn);
		break;
	case INSN_END:
		gen_swap(g, dst, insn);
		break;
	default:
		jit_emit_binary(g, insn, insn->dst);
	}
}

void jit_emit_imm64(struct gen *g, const struct image_insn *insn)
{
	u8 dst = regs[insn->dst];

	if (insn->src != INSN_ARENA)
		return load_u64(g, dst, (u32)insn->imm | (u64)insn[1].imm << 32);
	load_machine(g, dst, MACHINE_AT_USER);
	if (insn->imm)
		add_constant(g, true, dst, dst, insn->imm);
}

void jit_emit_sum(struct gen *g, bool wide, const struct jit_sum *sum)
{
	u8 to = regs[sum->to], base = regs[sum->base];

	if (sum->index == NONE)
		return add_constant(g, wide, to, base, sum->disp);
	emit32(g, (wide ? SF : 0) | ADD | regs[sum->index] << 16 | sum->shift << 10 |
		  base << 5 | to);
}

void jit_emit_combined(struct gen *g, bool wide, const struct jit_combined *c)
{
	u8 to = regs[c->to], left = regs[c->left], from = regs[c->from];

	if (c->multiply)
		emit32(g, (wide ? SF : 0) | MADD | second(g, c->multiply) << 16 | left << 10 |
			  from << 5 | to);
	else
		op3(g, wide, ops[c->op >> 4] | (u32)c->shift << 22 | (u32)c->n << 10, to, left,
		    from);
}

void jit_emit_rotation(struct gen *g, bool wide, u8 to, u8 from, u8 n)
{
	u8 width = wide ? 64 : 32;

	/* extr, of the same register twice: to the right */
	emit32(g, (wide ? 0x93c00000 : 0x13800000) | regs[from] << 16 |
		  (width - n) % width << 10 | regs[from] << 5 | regs[to]);
}

void jit_emit_field(struct gen *g, bool wide, u8 to, u8 from, u8 low, u8 bits)
{
	bitfield(g, wide, 0x53, regs[to], regs[from], low, low + bits - 1);
}

/* -- Functions ------------------------------------------------------------------------- */

void jit_emit_charge(struct gen *g, u32 fuel)
{
	u32 enough;

	if (fuel >> 12)
		op_imm12(g, true, SUBS, FUEL, FUEL, fuel >> 12 | SHIFTED);
	op_imm12(g, true, SUBS, FUEL, FUEL, fuel & 0xfff);
	enough = branch_unless(g, PL);
	emit_pc(g);
	call_stub(g, confined_poll);
	bind_here(g, enough);
}

/* Saved registers and return addresses: str x, [x28, #-8]! and ldr x, [x28], #8. */
static void push(struct gen *g, u8 reg)
{
	emit32(g, 0xf81f8c00 | NATIVE << 5 | reg);
}

static void pop(struct gen *g, u8 reg)
{
	emit32(g, 0xf8408400 | NATIVE << 5 | reg);
}

static void fault_unless(struct gen *g, u8 cond)
{
	u32 fine = branch_unless(g, cond);

	emit_pc(g);
	call_stub(g, confined_fault_stack);
	bind_here(g, fine);
}

static void move_frame(struct gen *g, s32 by)
{
	add_near(g, false, FRAME, FRAME, by);
}

void jit_emit_link(struct gen *g)
{
	push(g, LINK);
}

/* Also where mispredicted, the frame is in the arena. */
static void place_frame(struct gen *g)
{
	and_ones(g, FRAME, FRAME, arena_shift(g));
	emit_place(g, FRAME_PLACE, FRAME);
}

/* A frame that does not fit is masked as well, in case the processor speculates past the check. */
void jit_emit_prologue(struct gen *g)
{
	unsigned int i;

	if (needs_room(g)) {
		load_machine(g, X16, MACHINE_AT_NATIVE);
		op3(g, true, SUBS, XZR, NATIVE, X16);
		fault_unless(g, HS);
	}
	if (frame_size(g)) {
		move_frame(g, -(s32)frame_size(g));
		load_machine(g, X16, MACHINE_AT_STACK);
		op3(g, false, SUBS, XZR, FRAME, X16);
		fault_unless(g, GE);
		place_frame(g);
	}
	for (i = 0; i < 4; i++)
		if (saves(g) & 1 << i)
			push(g, regs[6 + i]);
}

void jit_emit_epilogue(struct gen *g)
{
	int i;

	for (i = 3; i >= 0; i--)
		if (saves(g) & 1 << i)
			pop(g, regs[6 + i]);
	if (frame_size(g)) {
		move_frame(g, frame_size(g));
		place_frame(g);
	}
	pop(g, LINK);
	emit32(g, RET);
	/* Code of the same function assumes that the stack has what was popped. */
	if (!is_last(g) || g->pc + 1 == g->checked->image->ninsns)
		emit_barrier(g);
}

/* -- Jumps and calls --------------------------------------------------------------------- */

static const u8 conditions[16] = {
	[INSN_JEQ >> 4] = EQ, [INSN_JNE >> 4] = NE, [INSN_JSET >> 4] = NE,
	[INSN_JGT >> 4] = HI, [INSN_JGE >> 4] = HS, [INSN_JLT >> 4] = LO, [INSN_JLE >> 4] = LS,
	[INSN_JSGT >> 4] = GT, [INSN_JSGE >> 4] = GE, [INSN_JSLT >> 4] = LT, [INSN_JSLE >> 4] = LE,
};

/* The branch if bit @n is set, or if it is not. */
static u32 bit_test(u8 n, bool set)
{
	return TBZ | (set ? NOT_ZERO : 0) | (u32)(n >> 5) << 31 | (u32)(n & 31) << 19;
}

/* The branch that tests a register itself, as a comparison with @imm does; 0: none does. */
static u32 test_of(u8 op, bool wide, s32 imm)
{
	u8 sign = wide ? 63 : 31;

	switch (op) {
	case INSN_JEQ:
		return imm ? 0 : CBZ | (wide ? SF : 0);
	case INSN_JNE:
		return imm ? 0 : CBZ | NOT_ZERO | (wide ? SF : 0);
	case INSN_JSLT: case INSN_JSGE:
		return imm ? 0 : bit_test(sign, op == INSN_JSLT);
	case INSN_JSGT: case INSN_JSLE:
		return imm != -1 ? 0 : bit_test(sign, op == INSN_JSLE);
	case INSN_JSET:
		if (!imm || imm & ((u32)imm - 1) || (wide && imm < 0))
			return 0;
		return bit_test(__builtin_ctz(imm), true);
	}
	return 0;
}

void jit_emit_branch(struct gen *g, const struct image_insn *insn, u32 target)
{
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;
	u8 op = INSN_OP(insn->code), dst = operand(g, insn->dst, X16);
	u32 test = insn->code & INSN_X ? 0 : test_of(op, wide, insn->imm), fields;

	if (test)
		return branch_insn(g, test | dst, target);
	if (!(insn->code & INSN_X) && op == INSN_JSET &&
	    logical_fields(wide, (s64)insn->imm, &fields))
		op_logical(g, wide, ANDS, XZR, dst, fields);
	else if (!(insn->code & INSN_X) && op != INSN_JSET && insn->imm > -0x1000 &&
		 insn->imm < 0x1000)
		op_imm12(g, wide, insn->imm < 0 ? ADDS : SUBS, XZR, dst,
			 insn->imm < 0 ? -insn->imm : insn->imm);
	else
		op3(g, wide, op == INSN_JSET ? ANDS : SUBS, XZR, dst, second(g, insn));
	branch_insn(g, B_COND | conditions[op >> 4], target);
}

void jit_emit_call(struct gen *g, u64 to)
{
	branch_to(g, BL, to);
}

void jit_emit_call_number(struct gen *g, u8 reg)
{
	mov(g, true, X16, operand(g, reg, X16));
	emit_pc(g);
	branch_to(g, BL, exec_at(g, g->numbers));
}

void jit_emit_call_outside(struct gen *g, s32 what)
{
	emit_pc(g);
	switch (what) {
	case IMAGE_CALL_TRY:
		return branch_to(g, BL, exec_at(g, g->try));
	case IMAGE_CALL_THROW:
		return call_stub(g, confined_throw);
	case IMAGE_CALL_ABORT:
		return call_stub(g, confined_abort);
	}
	mov_wide(g, false, MOVZ, X16, what, 0);
	call_stub(g, confined_thunk);
}

/*
 * As confined_thunk, inlined. Proof: C preserves x19 to x28, and no value of the program is on the
 * processor's stack; x30 has been pushed. x6 is a sixth argument, for thunks that read one, and
 * then the result. The other registers of the program are zeroed, and so are the flags; x9, x16
 * and x17 are written before they are read.
 */
void jit_emit_thunk(struct gen *g, u32 nr)
{
	struct jit_thunk thunk = g->jit->thunk(nr);
	unsigned int i;

	if (!thunk.address)
		return jit_emit_call_outside(g, IMAGE_SYSCALL + nr);
	emit_pc(g);
	mem_imm(g, 2, 0, X17, MACHINE, MACHINE_AT_PC);
	if (g->jit->barrier)
		call_stub(g, confined_barrier);
	store_machine(g, FUEL, MACHINE_AT_FUEL);
	load_machine(g, X5, MACHINE_AT_RUN);
	branch_to(g, BL, thunk.address);
	mov(g, true, regs[0], X0);
	load_machine(g, FUEL, MACHINE_AT_FUEL);
	for (i = 1; i < 5; i++)
		mov(g, true, regs[i], XZR);
	op3(g, true, ANDS, regs[5], XZR, XZR);
}

void jit_emit_load_use(struct gen *g, const struct image_insn *load,
		       const struct image_insn *next)
{
	bool wide = INSN_SIZE(load->code) == INSN_DW, right = next->src == load->dst;
	struct amode p = place_of(g, load->src, load->off, wide ? 8 : 4);
	u8 other = regs[right ? next->dst : next->src], loaded = regs[load->dst];

	access(g, log_of(load->code), 1, loaded, p);
	if (!insn_is_jump(next))
		return jit_emit_alu(g, next);
	op3(g, wide, SUBS, XZR, right ? other : loaded, right ? loaded : other);
	g->pc++;
	branch_insn(g, B_COND | conditions[INSN_OP(next->code) >> 4],
		    g->pc + 1 + insn_jump_offset(next));
	g->pc--;
}

/* -- Calls by number, which is in x16 ------------------------------------------------------ */

static void compare_number(struct gen *g, u32 n)
{
	if (n < 0x1000)
		return op_imm12(g, true, SUBS, XZR, X16, n);
	mov_wide(g, false, MOVZ, SPARE, n, 0);
	mov_wide(g, false, MOVK, SPARE, n >> 16, 1);
	op3(g, true, SUBS, XZR, X16, SPARE);
}

void jit_emit_base_numbers(struct gen *g, u32 n, u64 base)
{
	u32 own;

	compare_number(g, n);
	own = branch_unless(g, HS);
	jit_emit_goto(g, base);
	bind_here(g, own);
}

/* A number below @from, such as 0, wraps to the largest, so that one comparison is enough. */
void jit_emit_range(struct gen *g, s32 from, s32 to, const u8 *beyond)
{
	u32 in_range;

	add_constant(g, true, X16, X16, -(s64)from);
	compare_number(g, to - from);
	add_constant(g, true, X16, X16, from);
	in_range = branch_unless(g, LO);
	jit_emit_goto_stub(g, beyond);
	bind_here(g, in_range);
}

u32 jit_emit_split(struct gen *g, u32 n)
{
	compare_number(g, n);
	return branch_unless(g, HS);
}

/* b.cond reaches the whole lookup: 20 bytes for each of IMAGE_TABLE_MAX / 2 numbers. */
void jit_emit_bind(struct gen *g, u32 split)
{
	bind_here(g, split);
}

void jit_emit_entry(struct gen *g)
{
	emit32(g, 0xd503245f);		/* bti c */
	jit_emit_goto(g, entry_of(g, 0));
	emit_barrier(g);		/* x16 and x17 are the kernel's: the lookup may read them */
}

/* IMAGE_CALL_TRY; confined_throw pops what this pushes. */
void jit_emit_try(struct gen *g)
{
	static const u8 saved[] = { LINK, FRAME, X19, X20, X21, X22 };
	int i;

	g->try = g->at;
	jit_label(g, (struct verify_state){ .calls = true, .room = 1, .credit = TRY_CREDIT,
					.unset = V_SCRATCH & ~V_BIT(V_PC) });
	for (i = 0; i < 6; i++)
		push(g, saved[i]);
	load_machine(g, X16, MACHINE_AT_TRY);
	push(g, X16);
	store_machine(g, NATIVE, MACHINE_AT_TRY);
	mov(g, true, X16, regs[1]);
	mov(g, true, regs[1], regs[2]);
	branch_to(g, BL, exec_at(g, g->numbers));
	pop(g, X16);
	store_machine(g, X16, MACHINE_AT_TRY);
	op_imm12(g, true, ADD, NATIVE, NATIVE, 8 * 5);
	pop(g, LINK);
	emit32(g, RET);
}
