// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements verify_insn.h for A64: the instructions and sequences of instructions that generated
 * code may have. Everything else is refused, even if it is valid for processors.
 *
 * The arena is accessed in four forms. [x24, wN, uxtw] is one instruction. For other distances a
 * sequence computes the address into x9, and accesses memory there; it is checked as one
 * instruction, so no branch leads into it, and x9 may not be read afterwards. x27 is an address in
 * the arena at all times: it is written only as x24 + w23, with w23 masked, and moved by stubs with
 * the arena. It is checked as the frame is, but need not be that of the present frame. x10 to x13
 * are written only as x24 + wN, with wN masked: for these, a set bit of verify_state.masked says
 * that it is such a sum, so they are bases only, and never indices; C code may change them.
 */
#include "../../machine.h"
#include "../../verify_insn.h"

#define BASE	X24
#define FUEL	X26
#define NATIVE	X28
#define LINK	X30
/* The register for addresses of the kernel. */
#define PLACE	X9

static u32 word_at(const u8 *code, u32 i)
{
	u32 w;

	memcpy(&w, code + 4 * i, sizeof(w));
	return w;
}

/* The set of one register; 31 is none. */
static u32 set_of(u32 reg)
{
	return (reg & 31) == XZR ? 0 : V_BIT(reg & 31);
}

static u32 rd(u32 w)
{
	return w & 31;
}

static u32 rn(u32 w)
{
	return w >> 5 & 31;
}

static u32 rm(u32 w)
{
	return w >> 16 & 31;
}

static bool is_wide(u32 w)
{
	return w >> 31;
}

static s64 sign_extend(u32 v, u32 bits)
{
	return (s32)(v << (32 - bits)) >> (32 - bits);
}

/* -- Sequences that are checked as one instruction --------------------------------- */

/**
 * struct part - a word of a sequence: @value in the bits of @mask
 */
struct part {
	u32 value, mask;
};

#define EXACT(value)	{ value, ~0U }
/* w17 = any number; bl anywhere */
#define PC_LOW		{ 0x52800011, 0xffe0001f }
#define PC_HIGH		{ 0x72a00011, 0xffe0001f }
#define CALL		{ 0x94000000, 0xfc000000 }
/* A branch around the code after it. */
#define UNLESS(cond)	EXACT(0x54000080 | (cond)), PC_LOW, PC_HIGH, CALL
enum { HS = 2, PL = 5, LS = 9, GE = 10 };

#define LOAD_MACHINE(to, at)	EXACT(0xf9400000U | (at) / 8 << 10 | V_MACHINE << 5 | (to))
#define STORE_MACHINE(from, at)	EXACT(0xf9000000U | (at) / 8 << 10 | V_MACHINE << 5 | (from))
#define PUSH(reg)	EXACT(0xf81f8c00U | NATIVE << 5 | (reg))
#define POP(reg)	EXACT(0xf8408400U | NATIVE << 5 | (reg))

static const struct part entry[] = { EXACT(0xd503245f) };
/* fuel -= imm << 12 */
static const struct part fuel_high[] = { { 0xf1400000 | FUEL << 5 | FUEL, 0xffc003ff } };
/* fuel -= imm; b.pl */
static const struct part charge[] = { { 0xf1000000 | FUEL << 5 | FUEL, 0xffc003ff }, UNLESS(PL) };
/* x16 = machine.native; x28 and x16; b.hs */
static const struct part room[] = {
	LOAD_MACHINE(X16, MACHINE_AT_NATIVE), EXACT(0xeb10039f), UNLESS(HS)
};
/* x16 = machine.stack; w23 and w16; b.ge */
static const struct part frame[] = {
	LOAD_MACHINE(X16, MACHINE_AT_STACK), EXACT(0x6b1002ff), UNLESS(GE)
};
/* x17 and x9; b.ls */
static const struct part range[] = { EXACT(0xeb09023f), UNLESS(LS) };
/*
 * Push of x30, x23, x19 to x22 and machine.try; machine.try = x28; x16 = x0; x0 = x1; bl; pop of
 * machine.try; x28 += 40; pop of x30
 */
static const struct part try[] = {
	PUSH(LINK), PUSH(V_FRAME), PUSH(X19), PUSH(X20), PUSH(X21), PUSH(X22),
	LOAD_MACHINE(X16, MACHINE_AT_TRY), PUSH(X16), STORE_MACHINE(NATIVE, MACHINE_AT_TRY),
	EXACT(0xaa0003f0), EXACT(0xaa0103e0), CALL,
	POP(X16), STORE_MACHINE(X16, MACHINE_AT_TRY), EXACT(0x9100a39c), POP(LINK),
};
#define TRY_CALL	11
/*
 * w17 = any number; machine.pc = w17; perhaps a call of confined_barrier; machine.fuel = x26;
 * x5 = machine.run; call of the thunk; x6 = x0; x26 = machine.fuel; then argument registers and
 * flags are cleared of values that C may have left.
 */
#define THUNK_BEGINS	PC_LOW, PC_HIGH, \
			EXACT(0xb9000000U | MACHINE_AT_PC / 4 << 10 | V_MACHINE << 5 | V_PC)
#define THUNK_ENDS	STORE_MACHINE(FUEL, MACHINE_AT_FUEL), LOAD_MACHINE(X5, MACHINE_AT_RUN), \
			CALL, EXACT(0xaa0003e6), LOAD_MACHINE(FUEL, MACHINE_AT_FUEL), \
			EXACT(0xaa1f03e0), EXACT(0xaa1f03e1), EXACT(0xaa1f03e2), \
			EXACT(0xaa1f03e3), EXACT(0xea1f03e4)
static const struct part thunk[] = { THUNK_BEGINS, THUNK_ENDS };
static const struct part thunk_barrier[] = { THUNK_BEGINS, CALL, THUNK_ENDS };
#define THUNK_BARRIER	3
#define THUNK_CALL	5

/* dsb nsh; isb: against straight-line speculation */
static const struct part barrier[] = { EXACT(0xd503379f), EXACT(0xd5033fdf) };

#define FITS(code, n, parts)	fits(code, n, parts, sizeof(parts) / sizeof(*(parts)))

static bool fits(const u8 *code, u32 n, const struct part *parts, u32 len)
{
	u32 i;

	if (len > n)
		return false;
	for (i = 0; i < len; i++)
		if ((word_at(code, i) & parts[i].mask) != parts[i].value)
			return false;
	return true;
}

/* The sequence of @len words; that at @call is a call. */
static bool take_row(const u8 *code, struct verify_insn *in, u8 kind, u32 len, u32 call)
{
	in->kind = kind;
	in->len = 4 * len;
	in->to = 4 * ((s64)call + sign_extend(word_at(code, call), 26));
	in->writes = V_SCRATCH;
	in->leaves = V_SCRATCH | V_PLACES;
	return true;
}

static bool decode_charge(const u8 *code, u32 n, struct verify_insn *in)
{
	u32 high = FITS(code, n, fuel_high);

	if (!FITS(code + 4 * high, n - high, charge))
		return false;
	in->imm = word_at(code, high) >> 10 & 0xfff;
	if (high)
		in->imm |= (word_at(code, 0) >> 10 & 0xfff) << 12;
	return take_row(code, in, V_CHARGE, high + 5, high + 4);
}

static bool decode_thunk(const u8 *code, u32 n, struct verify_insn *in)
{
	u32 more = FITS(code, n, thunk_barrier);

	if (!more && !FITS(code, n, thunk))
		return false;
	if (more)
		in->barrier = 4 * (THUNK_BARRIER + sign_extend(word_at(code, THUNK_BARRIER), 26));
	take_row(code, in, V_THUNK, sizeof(thunk) / sizeof(*thunk) + more, THUNK_CALL + more);
	in->writes |= V_BIT(X0) | V_BIT(X1) | V_BIT(X2) | V_BIT(X3) | V_BIT(X4) | V_BIT(X6);
	return true;
}

static bool decode_row(const u8 *code, u32 n, struct verify_insn *in)
{
	if (FITS(code, n, entry)) {
		in->kind = V_ENTRY;
		in->len = 4;
		return true;
	}
	if (FITS(code, n, room))
		return take_row(code, in, V_ROOM, 6, 5);
	if (FITS(code, n, frame)) {
		in->reads = V_BIT(V_FRAME);
		return take_row(code, in, V_UNLESS, 6, 5);
	}
	if (FITS(code, n, range)) {
		in->reads = V_BIT(V_ADDRESS) | V_BIT(X17) | V_BIT(X9);
		return take_row(code, in, V_UNLESS, 5, 4);
	}
	if (FITS(code, n, try)) {
		in->reads = V_BIT(X0) | V_BIT(X1);
		take_row(code, in, V_TRY, sizeof(try) / sizeof(*try), TRY_CALL);
		in->writes = V_BIT(X16) | V_BIT(X0);
		in->leaves = 0;
		in->slots = 7;
		return true;
	}
	return decode_charge(code, n, in) || decode_thunk(code, n, in);
}

/* -- Accesses ------------------------------------------------------------------------ */

/* The size as a logarithm, of an access that is not atomic; opcodes of prefetches are refused. */
static bool is_move(u32 w)
{
	return (w >> 22 & 3) < 2 || ((w >> 22 & 3) == 2 && w >> 30 < 3);
}

static void take_value(u32 w, struct verify_insn *in)
{
	if (w >> 22 & 3)
		in->writes |= set_of(rd(w));
	else
		in->reads |= set_of(rd(w));
}

/* Loads and stores at [@base] plus a constant, which is added to @in->disp. */
static bool take_access(u32 w, u32 base, struct verify_insn *in)
{
	if (rn(w) != base || !is_move(w))
		return false;
	if ((w & 0x3f000000) == 0x39000000)
		in->disp += (w >> 10 & 0xfff) << (w >> 30);
	else if ((w & 0x3f200c00) == 0x38000000)
		in->disp += sign_extend(w >> 12, 9);
	else
		return false;
	take_value(w, in);
	return true;
}

/* ldaddal, ldclral, ldeoral, ldsetal, swpal, casal at [x9] */
static bool take_atomic(u32 w, struct verify_insn *in)
{
	if (rn(w) != PLACE)
		return false;
	if ((w & 0xbfe0fc00) == 0x88e0fc00) {
		in->reads |= set_of(rd(w)) | set_of(rm(w));
		in->writes |= set_of(rm(w));
	} else if ((w & 0xbfe0cc00) == 0xb8e00000 || (w & 0xbfe0fc00) == 0xb8e08000) {
		in->reads |= set_of(rm(w));
		in->writes |= set_of(rd(w));
	} else {
		return false;
	}
	in->align = w >> 30 & 1 ? 8 : 4;
	return true;
}

/* x9 = @from plus or minus a constant, which is added to @in->disp */
static bool take_distance(u32 w, u32 from, struct verify_insn *in)
{
	s32 imm = w >> 10 & 0xfff;

	if ((w & 0xbf8003ff) != (0x91000000 | from << 5 | PLACE))
		return false;
	imm <<= w & 1U << 22 ? 12 : 0;
	in->disp += w & 1U << 30 ? -imm : imm;
	return true;
}

static bool is_place(u32 reg)
{
	return V_BIT(reg) & V_PLACES;
}

/* x24 + wN: sets @in->index. */
static bool take_sum(u32 w, struct verify_insn *in)
{
	in->index = rm(w);
	return (w & 0xffe0ffe0) == (0x8b204000 | BASE << 5) && rm(w) != XZR && !is_place(rm(w));
}

/*
 * The address in x9, from x10 to x13, x27, x24, or x24 and an index; perhaps plus constants; then
 * an access there, which must not read x9 as a value.
 */
static bool decode_place(const u8 *code, u32 n, struct verify_insn *in)
{
	u32 w = word_at(code, 0), i;

	if (is_place(rn(w)) && take_distance(w, rn(w), in))
		in->index = rn(w);
	else if (take_distance(w, V_FRAME_PLACE, in))
		in->index = V_FRAME;
	else if (take_distance(w, BASE, in))
		in->index = NO_INDEX;
	else if (rd(w) != PLACE || !take_sum(w, in))
		return false;
	for (i = 1; i < n && i < 3 && take_distance(word_at(code, i), PLACE, in); i++)
		;
	if (i == n ||
	    (!take_access(word_at(code, i), PLACE, in) && !take_atomic(word_at(code, i), in)))
		return false;
	in->arena = true;
	in->leaves = V_BIT(PLACE);
	in->len = 4 * (i + 1);
	if (in->reads & V_BIT(PLACE))
		return false;
	in->writes |= V_BIT(PLACE);
	return true;
}

/* x27 = x24 + w23, where an access at w23 would be allowed */
#define PLACE_FRAME	(0x8b204000 | V_FRAME << 16 | BASE << 5 | V_FRAME_PLACE)

/* Accesses at x24, x27 or x10 to x13 plus a constant, or at [x24, wN, uxtw]; and such sums. */
static bool decode_access(u32 w, struct verify_insn *in)
{
	in->arena = true;
	if (take_access(w, BASE, in))
		return true;
	if (w == PLACE_FRAME || take_access(w, V_FRAME_PLACE, in)) {
		in->index = V_FRAME;
		return true;
	}
	if (is_place(rn(w)) && take_access(w, rn(w), in)) {
		in->index = rn(w);
		return true;
	}
	if (is_place(rd(w)) && take_sum(w, in)) {
		in->places = V_BIT(rd(w));
		return true;
	}
	if ((w & 0x3f20fc00) != 0x38204800 || rn(w) != BASE || !is_move(w) || rm(w) == XZR ||
	    is_place(rm(w)))
		return false;
	in->index = rm(w);
	take_value(w, in);
	return true;
}

/* -- Instructions on registers ---------------------------------------------------------- */

#define RD	V_BIT(0)	/* writes the register of bits 0 to 4 */
#define RD_OLD	V_BIT(1)	/* reads it as well */
#define RN	V_BIT(2)	/* reads the register of bits 5 to 9 */
#define RM	V_BIT(3)	/* 16 to 20 */
#define RA	V_BIT(4)	/* 10 to 14 */
#define NO_SP	V_BIT(5)	/* registers 31 would be the stack pointer */
#define COMPARES	V_BIT(6)	/* except if 31 is written, and the result dropped */
#define WIDTH_N	V_BIT(7)	/* bit 22 is set with 64 bits; else bits 15 and 21 are clear */
#define WIDTH_15	V_BIT(8)	/* bit 15 may be set with 64 bits only */
#define WIDTH_22	V_BIT(9)	/* bit 22 likewise */
#define LOGICAL		V_BIT(10)	/* a run of ones, but not all */

static const struct row {
	u32 value, mask, does;
} rows[] = {
	/* add, adds, sub, subs: registers, the second shifted left; constants */
	{ 0x0b000000, 0x1fe00000, RD | RN | RM | WIDTH_15 },
	{ 0x11000000, 0x3f800000, RD | RN | NO_SP },
	{ 0x31000000, 0x3f800000, RD | RN | NO_SP | COMPARES },
	/* and, orr, eor, ands: of the second shifted or rotated; and of its complement */
	{ 0x0a000000, 0x1f000000, RD | RN | RM | WIDTH_15 },
	/* and, with a constant: see decode_mask(); orr and eor; ands; with 64 bits */
	{ 0x12000000, 0xffe08000, RD | RN | NO_SP | LOGICAL },
	{ 0x32000000, 0xffe08000, RD | RN | NO_SP | LOGICAL },
	{ 0x52000000, 0xffe08000, RD | RN | NO_SP | LOGICAL },
	{ 0x72000000, 0xffe08000, RD | RN | NO_SP | COMPARES | LOGICAL },
	{ 0x92400000, 0xffc00000, RD | RN | NO_SP | LOGICAL },
	{ 0xb2400000, 0xffc00000, RD | RN | NO_SP | LOGICAL },
	{ 0xd2400000, 0xffc00000, RD | RN | NO_SP | LOGICAL },
	{ 0xf2400000, 0xffc00000, RD | RN | NO_SP | COMPARES | LOGICAL },
	/* sbfm; ubfm; extr */
	{ 0x13000000, 0x7f800000, RD | RN | WIDTH_N },
	{ 0x53000000, 0x7f800000, RD | RN | WIDTH_N },
	{ 0x13800000, 0x7fa00000, RD | RN | RM | WIDTH_N },
	/* movn, movz, movk */
	{ 0x12800000, 0x7f800000, RD | WIDTH_22 },
	{ 0x52800000, 0x7f800000, RD | WIDTH_22 },
	{ 0x72800000, 0x7f800000, RD | RD_OLD | WIDTH_22 },
	/* udiv and sdiv; lslv and lsrv; asrv and rorv; madd and msub */
	{ 0x1ac00800, 0x7fe0f800, RD | RN | RM },
	{ 0x1ac02000, 0x7fe0f800, RD | RN | RM },
	{ 0x1ac02800, 0x7fe0f800, RD | RN | RM },
	{ 0x1b000000, 0x7fe00000, RD | RN | RM | RA },
	/* rev16 and rev, of 32 bits; rev, of 64 */
	{ 0x5ac00400, 0xfffffc00, RD | RN },
	{ 0x5ac00800, 0xfffffc00, RD | RN },
	{ 0xdac00c00, 0xfffffc00, RD | RN },
};

/* Are the bits that encode the width, or depend on it, what the row says? */
static bool fits_width(u32 w, u32 does)
{
	if (does & WIDTH_N && (w >> 22 & 1) != is_wide(w))
		return false;
	if (is_wide(w))
		return true;
	if (does & WIDTH_N && (w & 1U << 15 || ((w & 0x1f800000) == 0x13000000 && w & 1U << 21)))
		return false;
	return !(does & WIDTH_15 && w & 1U << 15) && !(does & WIDTH_22 && w & 1U << 22);
}

static bool fits_registers(u32 w, u32 does)
{
	if (does & LOGICAL && (w >> 10 & 63) == (is_wide(w) ? 63 : 31))
		return false;
	if (!(does & NO_SP))
		return true;
	return rn(w) != XZR && (rd(w) != XZR || does & COMPARES);
}

/* The 32 bits of a logical constant: a run of ones, rotated right. */
static void decode_mask(u32 w, struct verify_insn *in)
{
	u32 ones = w >> 10 & 31, by = w >> 16 & 31, v = (2U << ones) - 1;

	in->imm = by ? v >> by | v << (32 - by) : v;
	in->kind = rd(w) == rn(w) ? V_MASK : V_MASK_COPY;
	in->reg = rd(w);
}

static bool decode_row_of_registers(u32 w, const struct row *row, struct verify_insn *in)
{
	if (!fits_width(w, row->does) || !fits_registers(w, row->does))
		return false;
	in->writes = set_of(rd(w));
	in->reads = row->does & RD_OLD ? set_of(rd(w)) : 0;
	in->reads |= row->does & RN ? set_of(rn(w)) : 0;
	in->reads |= row->does & RM ? set_of(rm(w)) : 0;
	in->reads |= row->does & RA ? set_of(w >> 10) : 0;
	if (row->value == 0x12000000)
		decode_mask(w, in);
	if (row->value == 0x11000000 && !is_wide(w) && rd(w) == V_FRAME && rn(w) == V_FRAME) {
		in->kind = V_MOVE_FRAME;
		in->imm = (w >> 10 & 0xfff) << (w & 1U << 22 ? 12 : 0);
	}
	return true;
}

static bool decode_registers(u32 w, struct verify_insn *in)
{
	u32 i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if ((w & rows[i].mask) == rows[i].value)
			return decode_row_of_registers(w, &rows[i], in);
	return false;
}

/* -- The stack, branches, and machine.user ------------------------------------------------ */

static bool decode_stack(u32 w, struct verify_insn *in)
{
	in->reg = rd(w);
	switch (w & ~31U) {
	case 0xf81f8c00U | NATIVE << 5:
		in->kind = rd(w) == LINK ? V_LINK : V_PUSH;
		in->reads = rd(w) == LINK ? 0 : set_of(rd(w));
		in->slots = 1;
		return true;
	case 0xf8408400U | NATIVE << 5:
		in->kind = rd(w) == LINK ? V_UNLINK : V_POP;
		in->writes = rd(w) == LINK ? 0 : set_of(rd(w));
		return true;
	case 0xf9400000U | MACHINE_AT_USER / 8 << 10 | V_MACHINE << 5:
		in->writes = set_of(rd(w));
		return true;
	}
	return false;
}

static bool decode_branch(u32 w, struct verify_insn *in)
{
	if (w == 0xd65f03c0) {
		in->kind = V_RETURN;
		return true;
	}
	if ((w & 0x7c000000) == 0x14000000) {
		in->kind = is_wide(w) ? V_CALL : V_JUMP;
		in->to = 4 * sign_extend(w, 26);
		return true;
	}
	if ((w & 0x7c000000) == 0x34000000) {
		/* cbz and cbnz; tbz and tbnz */
		in->kind = V_BRANCH;
		in->to = 4 * sign_extend(w >> 5, w >> 25 & 1 ? 14 : 19);
		in->reads = set_of(rd(w));
		return true;
	}
	if ((w & 0xff000010) != 0x54000000)
		return false;
	in->kind = V_BRANCH;
	in->to = 4 * sign_extend(w >> 5, 19);
	/* Not on overflow or sign: flags may depend on an address of the kernel. Not always. */
	return (w & 15) < 4 || ((w & 15) > 7 && (w & 15) < 14);
}

static bool decode_word(u32 w, struct verify_insn *in)
{
	static const struct verify_insn none = { .index = NO_INDEX, .len = 4 };

	*in = none;
	if (decode_branch(w, in))
		return true;
	*in = none;
	if (decode_stack(w, in))
		return true;
	*in = none;
	if (decode_registers(w, in))
		return true;
	*in = none;
	return decode_access(w, in);
}

bool verify_decode(const u8 *code, u32 left, struct verify_insn *in)
{
	static const struct verify_insn none = { .index = NO_INDEX };

	if (left < 4)
		return false;
	*in = none;
	if (decode_row(code, left / 4, in))
		return true;
	*in = none;
	if (decode_place(code, left / 4, in))
		return true;
	if (!decode_word(word_at(code, 0), in))
		return false;
	if (in->kind == V_JUMP || in->kind == V_RETURN) {
		in->runs_on = !FITS(code + 4, left / 4 - 1, barrier);
		in->len = in->runs_on ? 4 : 12;
	}
	return true;
}
