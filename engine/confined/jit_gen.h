/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of the code generator's two halves. jit.c goes through an image's instructions,
 * tracks facts about registers and finds sequences that become one instruction; the
 * architecture's half, arch/x86/jit_x86.c or arch/arm64/jit_arm64.c, writes the machine
 * instructions.
 */
#ifndef CONFINED_JIT_GEN_H
#define CONFINED_JIT_GEN_H

#include "jit.h"
#include "machine.h"

/* stubs.S */
extern const u8 confined_poll[], confined_thunk[], confined_barrier[], confined_throw[],
	confined_abort[], confined_return[], confined_beyond[], confined_fault_stack[],
	confined_fault_function[], confined_fault_access[];

#define UNKNOWN	(-1)
#define NONE	0x10		/* no register */

/* The encodings of A64. */
enum jit_shift { JIT_LSL, JIT_LSR, JIT_ASR, JIT_ROR };

/**
 * struct jit_combined - to = left op (from shifted by n); or left + from * an operand
 * @multiply: the multiplication, or NULL
 */
struct jit_combined {
	const struct image_insn *multiply;
	u8 op, shift, n;
	u8 from, left, to;
};

/**
 * struct jit_deferred - an operation that is made together with another one on its result
 * @at, @len: the other's instructions; @len is 0: none
 * @class:    INSN_ALU or INSN_ALU64
 * @reg:      has the result, in the image
 */
struct jit_deferred {
	u32 at, len;
	u8 class, reg;
	struct jit_combined combined;
};

#define JIT_DEFERRED	4

/**
 * struct gen - code that is being generated
 * @code:         destination of @room bytes, or NULL
 * @drafts:       @code is a draft: unknown distances are fixed up later
 * @at:           bytes so far
 * @pc, @func:    the instruction and the function being translated
 * @over:         image_pause() has told to end
 * @dispatch:     offset of the routine that looks up numbers of functions
 * @try:          offset of the routine for IMAGE_CALL_TRY
 * @nlabels:      labels so far; @labelled: offset of the last label
 * @numbers:      target of calls by number
 * @mask:         the arena's size less 1
 * @masked:       for each scratch register of the architecture, the program's register whose
 *                masked value it holds, or NONE
 * @next_scratch: the scratch register to use next
 * @placed:       for each register of the architecture for addresses in the arena, the program's
 *                register whose masked value was added to the arena's address, or NONE
 * @next_placed:  the one of these to use next
 * @in_place:     the program's registers that were masked in place
 * @flags_at:     the offset at which the processor's flags tell whether @flags_of is 0, as 64
 *                bits if @flags_wide
 * @deferred:     shifts and multiplications that are still to be made
 * @known:        for each register, its value as an offset in the arena, or UNKNOWN
 * @bits:         for each register, the number of low bits that may be set
 */
struct gen {
	struct jit *jit;
	u8 *code;
	u32 room;
	bool drafts;
	const struct checked *checked;
	u32 at;
	u32 pc;
	u32 func;
	bool over;
	u32 dispatch, try;
	u32 nlabels, labelled;
	u32 label_room;
	u32 numbers;
	u32 mask;
	u8 masked[2];
	u8 next_scratch;
	u8 placed[JIT_PLACES], next_placed;
	u16 in_place;
	u32 flags_at;
	u8 flags_of;
	bool flags_wide;
	struct jit_deferred deferred[JIT_DEFERRED];
	s64 known[INSN_R10];
	u8 bits[INSN_R10];
};

/* -- jit.c, for the architecture ------------------------------------------------- */

/*
 * Emits a label: tells the verifier the facts @known, which must hold on every path to here.
 * Replaces the label of an earlier instruction that generated no code, whose credit would be
 * larger.
 */
void jit_label(struct gen *g, struct verify_state known);

/* Emits a label before the next instruction, for code that branches around an earlier branch. */
void jit_label_next(struct gen *g);

/* Notes that the draft has a distance to @to here, for jit_emit_distance(). */
void jit_add_fixup(struct gen *g, u64 to);

/*
 * May @reg be masked in place: is it only used as an address until it is written or dead?
 * Reports of addresses outside of the arena need the unmasked value.
 */
bool jit_may_mask_in_place(const struct gen *g, u8 reg);

/* -- The architecture, for jit.c -------------------------------------------------- */

/* Writes the distance to @to at @code, which will run at @exec. */
void jit_emit_distance(u8 *code, u64 exec, u64 to);

/* The entry, where a run begins. */
void jit_emit_entry(struct gen *g);
/* Saves the return address at the beginning of a function: V_LINKED words. */
void jit_emit_link(struct gen *g);
/* The prologue, after the function's charge, and the epilogue. */
void jit_emit_prologue(struct gen *g);
void jit_emit_epilogue(struct gen *g);
/* Pays fuel, and calls confined_poll if it has run out. */
void jit_emit_charge(struct gen *g, u32 fuel);

/* Translate each class of instructions; jit.c tracks the facts about registers. */
void jit_emit_alu(struct gen *g, const struct image_insn *insn);
/* JIT_THREE_OPERANDS: @insn, an operation on two operands, with the register @left as the first. */
void jit_emit_binary(struct gen *g, const struct image_insn *insn, u8 left);
void jit_emit_imm64(struct gen *g, const struct image_insn *insn);
void jit_emit_load(struct gen *g, const struct image_insn *insn);
void jit_emit_store(struct gen *g, const struct image_insn *insn);
void jit_emit_atomic(struct gen *g, const struct image_insn *insn);

/* Jumps to instruction @target: conditionally as @insn says, or always. */
void jit_emit_branch(struct gen *g, const struct image_insn *insn, u32 target);
void jit_emit_jump(struct gen *g, u32 target);

/* Calls: of a function, of the function whose number is in @reg, of a system call's thunk. */
void jit_emit_call(struct gen *g, u64 to);
void jit_emit_call_number(struct gen *g, u8 reg);
void jit_emit_thunk(struct gen *g, u32 nr);
/* Calls by IMAGE_CALL_*, and system calls without a thunk. */
void jit_emit_call_outside(struct gen *g, s32 what);

/*
 * Lookup of a number, which is in a register of the architecture's choice.
 * jit_emit_base_numbers() jumps to @base if the number is below @n; jit_emit_range() jumps to
 * @beyond unless @from <= number < @to; jit_emit_split() jumps, unless the number is below @n, to
 * the place where jit_emit_bind() gets its result.
 */
void jit_emit_base_numbers(struct gen *g, u32 n, u64 base);
void jit_emit_range(struct gen *g, s32 from, s32 to, const u8 *beyond);
u32 jit_emit_split(struct gen *g, u32 n);
void jit_emit_bind(struct gen *g, u32 split);
/* Jump to @to, and to @stub. */
void jit_emit_goto(struct gen *g, u64 to);
void jit_emit_goto_stub(struct gen *g, const u8 *stub);
/* IMAGE_CALL_TRY: the routine at gen.try, with its label. */
void jit_emit_try(struct gen *g);

/**
 * struct jit_sum - to = base + (index << shift) + disp, all registers of the program
 * @index: or NONE
 */
struct jit_sum {
	u8 base, index, shift, to;
	s32 disp;
};

void jit_emit_sum(struct gen *g, bool wide, const struct jit_sum *sum);

/*
 * Only where JIT_THREE_OPERANDS is true; each call is in an if () of that, so that no compiler
 * leaves a call of what an architecture does not define.
 */
void jit_emit_combined(struct gen *g, bool wide, const struct jit_combined *combined);
/* @to = r10 + @disp */
void jit_emit_frame(struct gen *g, u8 to, s32 disp);
/* The load or store @use, at offset @from of the arena, or of r10 if @frame, plus @index. */
void jit_emit_indexed(struct gen *g, const struct image_insn *use, s32 from, bool frame,
		      u8 index);
/* @to = @from, rotated left by @n bits. */
void jit_emit_rotation(struct gen *g, bool wide, u8 to, u8 from, u8 n);
/* @to = the @bits bits of @from from bit @low on. */
void jit_emit_field(struct gen *g, bool wide, u8 to, u8 from, u8 low, u8 bits);
/* @next uses the value that @load loads, as one of its two registers; it is dead afterwards. */
void jit_emit_load_use(struct gen *g, const struct image_insn *load,
		       const struct image_insn *next);

/* -- For both ---------------------------------------------------------------------- */

static inline void emit8(struct gen *g, u8 byte)
{
	if (g->at < g->room)
		g->code[g->at] = byte;
	g->at++;
}

static inline void emit32(struct gen *g, u32 v)
{
	if (g->at + sizeof(v) <= g->room)
		memcpy(g->code + g->at, &v, sizeof(v));
	g->at += sizeof(v);
}

static inline void emit64(struct gen *g, u64 v)
{
	emit32(g, v);
	emit32(g, v >> 32);
}

/*
 * Symbolic addresses in a draft, both non-canonical: of an offset in the draft, and of the code
 * at an index of jit.offsets.
 */
#define DRAFT_PLACE	0x4000000000000000ULL
#define DRAFT_INDEX	0x4100000000000000ULL
#define DRAFT_KIND(to)	((to) & 0xff00000000000000ULL)

static inline u64 exec_at(struct gen *g, u32 offset)
{
	return (g->drafts ? DRAFT_PLACE : g->jit->exec) + offset;
}

/* The address of instruction @i's code or, from ninsns on, of function @i - ninsns. */
static inline u64 exec_of(struct gen *g, u32 i)
{
	return g->drafts ? DRAFT_INDEX + i : exec_at(g, g->jit->offsets[i]);
}

/* The address for calls of function @func: the entry code comes before its first instruction. */
static inline u64 entry_of(struct gen *g, u32 func)
{
	return exec_of(g, g->checked->image->ninsns + func);
}

static inline u32 frame_size(const struct gen *g)
{
	return g->checked->funcs[g->func].frame;
}

/* Is any register of @set live after the instruction at @pc? */
static inline bool is_live(const struct gen *g, u32 pc, u16 set)
{
	return g->jit->live[pc] & set;
}

/*
 * May @imm appear in the code unchanged? A constant that an attacker chose is machine code of the
 * attacker's for a jump into its middle, where instructions may begin anywhere.
 */
static inline bool is_plain(const struct gen *g, s64 imm)
{
	return V_INSN_ALIGN > 1 || !g->jit->key || (imm >= -0x8000 && imm <= 0xffff);
}

static inline void forget_scratch(struct gen *g)
{
	int i;

	g->masked[0] = NONE;
	g->masked[1] = NONE;
	for (i = 0; i < JIT_PLACES; i++)
		g->placed[i] = NONE;
}

/* The program's register @reg was written. */
static inline void forget_reg(struct gen *g, u8 reg)
{
	int i;

	for (i = 0; i < 2; i++)
		if (g->masked[i] == reg)
			g->masked[i] = NONE;
	for (i = 0; i < JIT_PLACES; i++)
		if (g->placed[i] == reg)
			g->placed[i] = NONE;
	g->in_place &= ~(1 << reg);
	g->known[reg] = UNKNOWN;
	g->bits[reg] = 64;
}

static inline u8 saves(const struct gen *g)
{
	return g->checked->traits[g->func] & TRAIT_SAVES;
}

/* Small leaf functions use the stack that callers reserve for them. */
static inline bool needs_room(const struct gen *g)
{
	return g->checked->traits[g->func] & (TRAIT_CALLS | TRAIT_FRAME);
}

/*
 * The fuel that callers pay for these routines, in bytes of code: for dispatch by number, which
 * in an extension may go to its base and back; and for IMAGE_CALL_TRY.
 */
#define DISPATCH_CREDIT	(V_BEYOND_CREDIT + JIT_ROUTINE)
#define NUMBERS_CREDIT	(DISPATCH_CREDIT + JIT_ROUTINE)
#define TRY_CREDIT	(NUMBERS_CREDIT + JIT_ROUTINE)

#endif /* CONFINED_JIT_GEN_H */
