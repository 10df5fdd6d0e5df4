// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The code generator's half for x86-64: translates each instruction of an image. No access may
 * leave the arena, whatever values registers hold and wherever a misprediction leads, but a mask
 * for each access would be expensive: so masked addresses are kept in r10 and r11, and each
 * function below proves its code safe. arch/registers.h lists the registers, emit_x86.h the
 * encodings.
 */
#include "emit_x86.h"

#define FRAME	RBP
#define BASE	R12
#define MACHINE	R9

static const u8 regs[] = {
	RAX, RDI, RSI, RDX, RCX, R8, RBX, R13, R14, R15,
};

static struct amode in_machine(s32 offset)
{
	return (struct amode){ MACHINE, NONE, offset };
}

/* Loads the instruction's number into r11, where stubs expect it. */
static void emit_pc(struct gen *g)
{
	mov_imm32(g, R11, image_first_insn(g->checked) + g->pc);
}

static void emit_return(struct gen *g)
{
	if (IMAGE_RETURN_STUB)
		return jump_stub(g, confined_return);
	emit8(g, RET);
	emit8(g, INT3);
}

void jit_emit_entry(struct gen *g)
{
	static const u8 landing[] = { V_LANDING };
	unsigned int i;

	for (i = 0; i < sizeof(landing); i++)
		emit8(g, landing[i]);
	/* rax held the entry's address, which r0 must not reveal. */
	op_reg(g, false, XOR, RAX, RAX);
	jump(g, entry_of(g, 0));
}

void jit_emit_distance(u8 *code, u64 exec, u64 to)
{
	u32 distance = to - (exec + 4);

	memcpy(code, &distance, 4);
}

/* rax, rdx and rcx were used as temporaries: the verifier does not know their values. */
static void forget_borrowed(struct gen *g)
{
	g->in_place &= ~(1 << 0 | 1 << 3 | 1 << 4);	/* rax, rdx, rcx */
}

/* Takes r10 or r11, but not @avoid, as a scratch register for one instruction. */
static u8 scratch(struct gen *g, u8 avoid)
{
	u8 reg = avoid == R10 ? R11 : R10;

	g->masked[reg - R10] = NONE;
	return reg;
}

/* -- Operands --------------------------------------------------------------- */

/* The machine register of the program's register @reg; r10's value is computed into @spare. */
static u8 operand(struct gen *g, u8 reg, u8 spare)
{
	if (reg != INSN_R10)
		return regs[reg];
	op_mem(g, true, LEA, spare, (struct amode){ FRAME, NONE, frame_size(g) });
	op_mem(g, true, FROM(ADD), spare, in_machine(MACHINE_AT_USER));
	g->masked[spare - R10] = NONE;
	return spare;
}

/* Loads a 32-bit constant, sign-extended where @wide. */
static void load_imm(struct gen *g, bool wide, u8 to, s32 imm)
{
	u32 key = g->jit->key;

	if (!is_plain(g, imm)) {
		mov_imm32(g, to, imm ^ key);
		op_imm32(g, false, XOR, to, key);
		if (wide)
			op_reg(g, true, MOVSXD, to, to);
	} else if (wide && imm < 0) {
		op_reg(g, true, MOV_IMM32, MOV_IMM32_REG, to);
		emit32(g, imm);
	} else {
		mov_imm32(g, to, imm);
	}
}

static void load_imm64(struct gen *g, u8 to, u64 imm)
{
	u64 key = g->jit->key;
	u8 spare;

	if (imm <= 0xffff || (imm <= 0x7fffffff && key == 0))
		return mov_imm32(g, to, imm);
	emit_op(g, true, MOV_CONSTANT | (to & 7), 0, 0, to, false);
	emit64(g, imm ^ key);
	if (!key)
		return;
	spare = scratch(g, NONE);
	emit_op(g, true, MOV_CONSTANT | (spare & 7), 0, 0, spare, false);
	emit64(g, key);
	op_reg(g, true, XOR, spare, to);
}

/* Emits "op" with a constant of the program. */
static void op_constant(struct gen *g, bool wide, u8 op, u8 reg, s32 imm)
{
	u8 spare;

	if (is_plain(g, imm))
		return op_imm(g, wide, op, reg, imm);
	spare = scratch(g, reg);
	load_imm(g, wide, spare, imm);
	op_reg(g, wide, op, spare, reg);
}

/* -- Addresses -------------------------------------------------------------- */

static void mask(struct gen *g, u8 reg)
{
	op_imm32(g, false, AND, reg, g->mask);
}

/*
 * Proof for all accesses: r12 is the arena's address. An access adds to it rbp, a masked register
 * or nothing, and a constant. rbp is less than the arena's size (jit_emit_prologue(),
 * jit_emit_epilogue()). So is a masked register, by the AND below, which cannot be skipped: no
 * branch or load comes between the AND and the access. The constant is at least -2^15
 * (check_place() for r10) and at most 2^15 + 2^15 for frames, which end inside the arena.
 */
static u8 mask_reg(struct gen *g, u8 reg)
{
	unsigned int i;
	u8 to;

	if (g->in_place & 1 << reg)
		return regs[reg];
	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			return R10 + i;
	if (jit_may_mask_in_place(g, reg)) {
		g->in_place |= 1 << reg;
		mask(g, regs[reg]);
		return regs[reg];
	}
	if (g->masked[g->next_scratch] != NONE && g->masked[!g->next_scratch] == NONE)
		g->next_scratch = !g->next_scratch;
	to = R10 + g->next_scratch;
	g->masked[g->next_scratch] = reg;
	g->next_scratch = !g->next_scratch;
	mov(g, false, to, regs[reg]);
	mask(g, to);
	return to;
}

/* IMAGE_CHECKED: reports addresses outside of the arena, which are masked as well. */
static void check_range(struct gen *g, u8 reg, s16 off, u32 width)
{
	u32 in_range;

	forget_scratch(g);
	op_mem(g, true, LEA, R10, (struct amode){ regs[reg], NONE, off });
	mov(g, true, R11, R10);
	op_mem(g, true, FROM(SUB), R11, in_machine(MACHINE_AT_USER));
	op_imm32(g, true, CMP, R11, g->mask + 1 - width);
	in_range = jump_short(g, JBE);
	emit_pc(g);
	call_stub(g, confined_fault_access);
	bind_short(g, in_range);
}

static struct amode amode(struct gen *g, u8 reg, s16 off, u32 width)
{
	if (reg == INSN_R10)
		return (struct amode){ BASE, FRAME, (s32)frame_size(g) + off };
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, reg, off, width);
	else if (g->known[reg] != UNKNOWN && is_plain(g, g->known[reg] + off))
		return (struct amode){ BASE, NONE, g->known[reg] + off };
	return (struct amode){ BASE, mask_reg(g, reg), off };
}

/*
 * Atomic operations: the offset is added before the mask, which clears the low
 * bits as well, so no operation reaches into a second cache line.
 */
static struct amode amode_atomic(struct gen *g, u8 reg, s16 off, u32 width)
{
	u8 to;

	if (reg == INSN_R10)
		return amode(g, reg, off, width);
	if (g->checked->image->flags & IMAGE_CHECKED)
		check_range(g, reg, off, width);
	to = scratch(g, NONE);
	op_mem(g, false, LEA, to, (struct amode){ regs[reg], NONE, off });
	op_imm32(g, false, AND, to, g->mask & ~(width - 1));
	return (struct amode){ BASE, to, 0 };
}

/* -- Registers to registers -------------------------------------------------- */

static void gen_mul(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 src;

	if (insn->code & INSN_X) {
		src = operand(g, insn->src, R10);
	} else {
		src = scratch(g, NONE);
		load_imm(g, wide, src, insn->imm);
	}
	op_reg(g, wide, IMUL, dst, src);
}

static void gen_shift(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 op = INSN_OP(insn->code);
	u8 ext = op == INSN_LSH ? SHL : op == INSN_RSH ? SHR : SAR, src;

	if (!(insn->code & INSN_X)) {
		op_reg(g, wide, GROUP2_IMM8, ext, dst);
		emit8(g, insn->imm);
		return;
	}
	src = operand(g, insn->src, R11);
	if (src == RCX)
		return op_reg(g, wide, GROUP2_CL, ext, dst);
	g->masked[0] = NONE;
	forget_borrowed(g);
	mov(g, true, R10, RCX);
	mov(g, true, RCX, src);
	op_reg(g, wide, GROUP2_CL, ext, dst == RCX ? R10 : dst);
	mov(g, true, RCX, R10);
}

/*
 * rax and rdx are set for the division; r11 is the divisor.  A divisor of 0 and the overflowing
 * quotient (MIN / -1) branch around it.
 */
static void emit_division(struct gen *g, bool wide, bool is_signed, bool mod)
{
	u32 by_zero, by_minus_1 = 0, done, done_zero = 0;

	op_reg(g, wide, TEST, R11, R11);
	by_zero = jump_short(g, JE);
	if (is_signed) {
		op_imm(g, wide, CMP, R11, -1);
		by_minus_1 = jump_short(g, JE);
		emit_op(g, wide, CDQ, 0, 0, 0, false);
		op_reg(g, wide, GROUP3, IDIV, R11);
	} else {
		op_reg(g, false, XOR, RDX, RDX);
		op_reg(g, wide, GROUP3, DIV, R11);
	}
	done = jump_short(g, JMP_SHORT);
	bind_short(g, by_zero);
	if (mod)
		mov(g, wide, RDX, RAX);
	else
		op_reg(g, false, XOR, RAX, RAX);
	if (is_signed) {
		done_zero = jump_short(g, JMP_SHORT);
		bind_short(g, by_minus_1);
		if (mod)
			op_reg(g, false, XOR, RDX, RDX);
		else
			op_reg(g, wide, GROUP3, NEG, RAX);
		bind_short(g, done_zero);
	}
	bind_short(g, done);
}

static void gen_division(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	bool mod = INSN_OP(insn->code) == INSN_MOD;

	forget_scratch(g);
	forget_borrowed(g);
	if (insn->code & INSN_X)
		mov(g, wide, R11, operand(g, insn->src, R11));
	else
		load_imm(g, wide, R11, insn->imm);
	if (dst != RAX) {
		mov(g, true, R10, RAX);
		mov(g, wide, RAX, dst);
	}
	if (dst != RDX)
		push(g, RDX);
	emit_division(g, wide, insn->off, mod);
	mov(g, wide, R11, mod ? RDX : RAX);
	if (dst != RDX)
		pop(g, RDX);
	if (dst != RAX)
		mov(g, true, RAX, R10);
	mov(g, wide, dst, R11);
}

static void gen_mov(struct gen *g, bool wide, u8 dst, const struct image_insn *insn)
{
	u8 src;

	if (!(insn->code & INSN_X))
		return load_imm(g, wide, dst, insn->imm);
	src = operand(g, insn->src, R10);
	switch (insn->off) {
	case 0:
		return mov(g, wide, dst, src);
	case 8:
		emit_op(g, wide, MOVSX8, dst, 0, src, true);
		return emit8(g, 0xc0 | (dst & 7) << 3 | (src & 7));
	case 16:
		return op_reg(g, wide, MOVSX16, dst, src);
	default:
		return op_reg(g, true, MOVSXD, dst, src);
	}
}

static void gen_swap(struct gen *g, u8 dst, const struct image_insn *insn)
{
	bool swap = insn->code & INSN_X || INSN_CLASS(insn->code) == INSN_ALU64;

	if (insn->imm == 16) {
		if (!swap)
			return op_reg(g, false, MOVZX16, dst, dst);
		emit_op(g, false, BSWAP | (dst & 7), 0, 0, dst, false);
		op_reg(g, false, GROUP2_IMM8, SHR, dst);
		emit8(g, 16);
	} else if (swap) {
		emit_op(g, insn->imm == 64, BSWAP | (dst & 7), 0, 0, dst, false);
	} else if (insn->imm == 32) {
		mov(g, false, dst, dst);
	}
}

/* Operations that are one instruction with the same operands. */
static const u8 ops[16] = {
	[INSN_ADD >> 4] = ADD, [INSN_SUB >> 4] = SUB,
	[INSN_OR >> 4] = OR, [INSN_AND >> 4] = AND,
	[INSN_XOR >> 4] = XOR,
};

/* Proof: writes dst, which is not r9, r12, rbp or rsp; and r10 or r11. */
void jit_emit_alu(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 dst = regs[insn->dst], op = INSN_OP(insn->code);

	switch (op) {
	case INSN_MUL:
		gen_mul(g, wide, dst, insn);
		break;
	case INSN_DIV: case INSN_MOD:
		gen_division(g, wide, dst, insn);
		break;
	case INSN_LSH: case INSN_RSH: case INSN_ARSH:
		gen_shift(g, wide, dst, insn);
		break;
	case INSN_NEG:
		op_reg(g, wide, GROUP3, NEG, dst);
		break;
	case INSN_MOV:
		gen_mov(g, wide, dst, insn);
		break;
	case INSN_END:
		gen_swap(g, dst, insn);
		break;
	default:
		if (insn->code & INSN_X)
			op_reg(g, wide, ops[op >> 4], operand(g, insn->src, R10), dst);
		else
			op_constant(g, wide, ops[op >> 4], dst, insn->imm);
		g->flags_at = g->at;
		g->flags_of = dst;
		g->flags_wide = wide;
	}
}

void jit_emit_imm64(struct gen *g, const struct image_insn *insn)
{
	u8 dst = regs[insn->dst];

	if (insn->src != INSN_ARENA)
		return load_imm64(g, dst, (u32)insn->imm | (u64)insn[1].imm << 32);
	op_mem(g, true, LOAD, dst, in_machine(MACHINE_AT_USER));
	op_constant(g, true, ADD, dst, insn->imm);
}

void jit_emit_sum(struct gen *g, bool wide, const struct jit_sum *sum)
{
	struct amode p = { regs[sum->base], NONE, sum->disp };
	u8 to = regs[sum->to];

	if (sum->index != NONE)
		p.index = regs[sum->index];
	emit_op(g, wide, LEA, to, p.index == NONE ? 0 : p.index, p.base, false);
	emit_scaled(g, to, p, sum->shift);
}

void jit_emit_rotation(struct gen *g, bool wide, u8 to, u8 from, u8 n)
{
	if (to != from)
		mov(g, wide, regs[to], regs[from]);
	op_reg(g, wide, GROUP2_IMM8, ROL, regs[to]);
	emit8(g, n);
}

/* -- Memory: amode() and amode_atomic() have the proof ------------------------ */

void jit_emit_load(struct gen *g, const struct image_insn *insn)
{
	bool sign = INSN_MODE(insn->code) == INSN_MEMSX;
	struct amode p = amode(g, insn->src, insn->off, insn_width(insn->code));
	u8 dst = regs[insn->dst];

	switch (INSN_SIZE(insn->code)) {
	case INSN_B:
		op_mem(g, sign, sign ? MOVSX8 : MOVZX8, dst, p);
		break;
	case INSN_H:
		op_mem(g, sign, sign ? MOVSX16 : MOVZX16, dst, p);
		break;
	case INSN_W:
		op_mem(g, sign, sign ? MOVSXD : LOAD, dst, p);
		break;
	case INSN_DW:
		op_mem(g, true, LOAD, dst, p);
		break;
	}
}

/* A constant of 32 bits, sign-extended where the store is wider, in the instruction itself. */
static void store_imm(struct gen *g, u32 width, struct amode p, s32 imm)
{
	op_mem(g, width == 8, MOV_IMM32, MOV_IMM32_REG, p);
	emit32(g, imm);
}

void jit_emit_store(struct gen *g, const struct image_insn *insn)
{
	u32 width = insn_width(insn->code);
	struct amode p = amode(g, insn->dst, insn->off, width);
	u8 spare = p.index == R10 ? R11 : R10, src;

	if (INSN_CLASS(insn->code) == INSN_ST) {
		if (width >= 4 && is_plain(g, insn->imm))
			return store_imm(g, width, p, insn->imm);
		src = scratch(g, p.index);
		load_imm(g, width == 8, src, insn->imm);
	} else {
		src = operand(g, insn->src, spare);
	}
	if (width == 2)
		emit8(g, OPERAND16);
	emit_op(g, width == 8, width == 1 ? MOV8 : MOV, src,
		p.index == NONE ? 0 : p.index, p.base, width == 1);
	emit_amode(g, src, p);
}

void jit_emit_atomic(struct gen *g, const struct image_insn *insn)
{
	bool wide = INSN_SIZE(insn->code) == INSN_DW;
	struct amode p = amode_atomic(g, insn->dst, insn->off, wide ? 8 : 4);
	u8 src = operand(g, insn->src, p.index == R10 ? R11 : R10);

	if (insn->imm != INSN_XCHG)	/* xchg locks without a lock prefix */
		emit8(g, LOCK);
	switch (insn->imm) {
	case INSN_ADD:
		return op_mem(g, wide, ADD, src, p);
	case INSN_AND:
		return op_mem(g, wide, AND, src, p);
	case INSN_OR:
		return op_mem(g, wide, OR, src, p);
	case INSN_XOR:
		return op_mem(g, wide, XOR, src, p);
	case INSN_ADD | INSN_FETCH:
		return op_mem(g, wide, XADD, src, p);
	case INSN_XCHG:
		return op_mem(g, wide, XCHG, src, p);
	default:
		op_mem(g, wide, CMPXCHG, src, p);
		if (!wide)
			mov(g, false, RAX, RAX);
	}
}

/* -- Functions ---------------------------------------------------------------- */

/* Emits the charges that fuel.c has placed; the proof is there. */
void jit_emit_charge(struct gen *g, u32 fuel)
{
	u32 enough;

	op_mem(g, true, GROUP1_IMM32, IMM_OF(SUB), in_machine(MACHINE_AT_FUEL));
	emit32(g, fuel);
	enough = jump_short(g, JNS);
	emit_pc(g);
	call_stub(g, confined_poll);
	bind_short(g, enough);
}

/* Calls have pushed the return address. */
void jit_emit_link(struct gen *g)
{
	(void)g;
}

static void move_frame(struct gen *g, u8 op)
{
	op_imm(g, false, op, FRAME, frame_size(g));
}

static void mask_frame(struct gen *g)
{
	op_imm32(g, false, AND, FRAME, g->mask);
}

static void fault_unless(struct gen *g, u8 op)
{
	u32 fine = jump_short(g, op);

	emit_pc(g);
	call_stub(g, confined_fault_stack);
	bind_short(g, fine);
}

/*
 * Proof for frames: rbp was less than the arena's size. If the processor speculates past a frame
 * that does not fit, or comes here or to jit_emit_epilogue() by a mispredicted return, the mask
 * still bounds rbp.
 */
void jit_emit_prologue(struct gen *g)
{
	unsigned int i;

	if (needs_room(g)) {
		op_mem(g, true, FROM(CMP), RSP, in_machine(MACHINE_AT_NATIVE));
		fault_unless(g, JAE);
	}
	if (frame_size(g)) {
		move_frame(g, SUB);
		op_mem(g, false, FROM(CMP), FRAME, in_machine(MACHINE_AT_STACK));
		fault_unless(g, JGE);
		mask_frame(g);
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
		move_frame(g, ADD);
		mask_frame(g);
	}
	emit_return(g);
}

/* -- Jumps and calls ------------------------------------------------------------ */

static const u8 jcc[16] = {
	[INSN_JEQ >> 4] = JE, [INSN_JNE >> 4] = JNE, [INSN_JSET >> 4] = JNE,
	[INSN_JGT >> 4] = JA, [INSN_JGE >> 4] = JAE,
	[INSN_JLT >> 4] = JB, [INSN_JLE >> 4] = JBE,
	[INSN_JSGT >> 4] = JG, [INSN_JSGE >> 4] = JGE,
	[INSN_JSLT >> 4] = JL, [INSN_JSLE >> 4] = JLE,
};

void jit_emit_branch(struct gen *g, const struct image_insn *insn, u32 target)
{
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;
	u8 op = INSN_OP(insn->code), dst, src;

	dst = operand(g, insn->dst, R11);
	if (insn->code & INSN_X) {
		src = operand(g, insn->src, R11);
		op_reg(g, wide, op == INSN_JSET ? TEST : CMP, src, dst);
	} else if (op == INSN_JSET) {
		src = scratch(g, dst);
		load_imm(g, wide, src, insn->imm);
		op_reg(g, wide, TEST, src, dst);
	} else if (!insn->imm && (op == INSN_JEQ || op == INSN_JNE) && g->flags_at == g->at &&
		   g->flags_of == dst && g->flags_wide == wide) {
		;	/* the previous instruction has set the flags */
	} else if (!insn->imm) {
		op_reg(g, wide, TEST, dst, dst);
	} else {
		op_constant(g, wide, CMP, dst, insn->imm);
	}
	jump_insn(g, jcc[op >> 4], target);
}

void jit_emit_jump(struct gen *g, u32 target)
{
	jump_insn(g, JMP_SHORT, target);
}

void jit_emit_load_use(struct gen *g, const struct image_insn *load,
		       const struct image_insn *next)
{
	bool wide = INSN_SIZE(load->code) == INSN_DW, right = next->src == load->dst;
	struct amode p = amode(g, load->src, load->off, wide ? 8 : 4);
	u8 op = INSN_OP(next->code), other = regs[right ? next->dst : next->src];

	if (!insn_is_jump(next))
		return op_mem(g, wide, FROM(ops[op >> 4]), other, p);
	op_mem(g, wide, right ? FROM(CMP) : CMP, other, p);
	g->pc++;
	jump_insn(g, jcc[op >> 4], g->pc + 1 + insn_jump_offset(next));
	g->pc--;
}

void jit_emit_call(struct gen *g, u64 to)
{
	emit_rel32(g, CALL, to);
}

void jit_emit_call_number(struct gen *g, u8 reg)
{
	mov(g, true, R10, operand(g, reg, R10));
	emit_pc(g);
	emit_rel32(g, CALL, exec_at(g, g->numbers));
}

void jit_emit_call_outside(struct gen *g, s32 what)
{
	emit_pc(g);
	switch (what) {
	case IMAGE_CALL_TRY:
		return emit_rel32(g, CALL, exec_at(g, g->try));
	case IMAGE_CALL_THROW:
		return call_stub(g, confined_throw);
	case IMAGE_CALL_ABORT:
		return call_stub(g, confined_abort);
	}
	mov_imm32(g, R10, what);
	call_stub(g, confined_thunk);
}

/*
 * As confined_thunk, inlined. Proof: C preserves rbx, rbp and r12 to r15. r9 is saved on the
 * stack, above the sixth argument of thunks that have one. All other registers that C may have
 * written are zeroed, except r10 and r11, which are written before they are read.
 */
void jit_emit_thunk(struct gen *g, u32 nr)
{
	static const u8 cleared[] = { RDI, RSI, RDX, RCX, R8 };
	struct jit_thunk thunk = g->jit->thunk(nr);
	unsigned int i;

	push(g, R9);
	if (thunk.args > 5)
		push(g, RAX);
	if (g->jit->barrier)
		call_stub(g, confined_barrier);
	op_mem(g, false, MOV_IMM32, MOV_IMM32_REG, in_machine(MACHINE_AT_PC));
	emit32(g, image_first_insn(g->checked) + g->pc);
	op_mem(g, true, LOAD, R9, in_machine(MACHINE_AT_RUN));
	emit_rel32(g, CALL, thunk.address);
	if (thunk.args > 5)
		pop(g, RCX);
	pop(g, R9);
	for (i = 0; i < sizeof(cleared); i++)
		op_reg(g, false, XOR, cleared[i], cleared[i]);
}

/* -- Calls by number, which is in r10 --------------------------------------------- */

void jit_emit_goto(struct gen *g, u64 to)
{
	jump(g, to);
}

void jit_emit_goto_stub(struct gen *g, const u8 *stub)
{
	jump_stub(g, stub);
}

void jit_emit_base_numbers(struct gen *g, u32 n, u64 base)
{
	u32 own;

	op_imm32(g, true, CMP, R10, n);
	own = jump_short(g, JAE);
	jump(g, base);
	bind_short(g, own);
}

/* A number below @from, such as 0, wraps to the largest, so that one comparison is enough. */
void jit_emit_range(struct gen *g, s32 from, s32 to, const u8 *beyond)
{
	u32 in_range;

	op_mem(g, true, LEA, R10, (struct amode){ R10, NONE, -from });
	op_imm(g, true, CMP, R10, to - from);
	op_mem(g, true, LEA, R10, (struct amode){ R10, NONE, from });
	in_range = jump_short(g, JB);
	jump_stub(g, beyond);
	bind_short(g, in_range);
}

u32 jit_emit_split(struct gen *g, u32 n)
{
	op_imm32(g, false, CMP, R10, n);
	emit8(g, ESCAPE);
	emit8(g, LONG(JAE));
	emit32(g, 0);
	return g->at;
}

void jit_emit_bind(struct gen *g, u32 split)
{
	u32 distance = g->at - split;

	if (g->at <= g->room)
		memcpy(g->code + split - 4, &distance, 4);
}

/* IMAGE_CALL_TRY; confined_throw pops what this pushes. */
void jit_emit_try(struct gen *g)
{
	static const u8 saved[] = { RBP, RBX, R13, R14, R15 };
	unsigned int i;

	g->try = g->at;
	jit_label(g, (struct verify_state){ .calls = true, .room = 1, .credit = TRY_CREDIT,
					.unset = V_BIT(R10) });
	for (i = 0; i < sizeof(saved); i++)
		push(g, saved[i]);
	op_mem(g, false, PUSH_MEM, PUSH_MEM_REG, in_machine(MACHINE_AT_TRY));
	op_mem(g, true, MOV, RSP, in_machine(MACHINE_AT_TRY));
	mov(g, true, R10, RDI);
	mov(g, true, RDI, RSI);
	emit_rel32(g, CALL, exec_at(g, g->numbers));
	op_mem(g, false, POP_MEM, POP_MEM_REG, in_machine(MACHINE_AT_TRY));
	op_imm(g, true, ADD, RSP, 8 * sizeof(saved));
	emit_return(g);
}
