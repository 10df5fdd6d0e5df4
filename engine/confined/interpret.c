// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An interpreter of images, written from syscript_image.h alone: a reference for generated code. It
 * counts fuel and stack as generated code does, so both end a run at the same instruction.
 */
#include "validate_image.h"
#include "machine.h"

struct frame {
	u64 saved[4];		/* r6 to r9 of the caller */
	const struct checked *checked;	/* the caller's image */
	u32 func, back;		/* the caller's function, and the return address */
	u32 begin;		/* the caller's frame */
	u32 native;		/* stack used by the caller at its entry */
	bool try;
	u64 outer;		/* machine.try_sp of the caller */
};

struct interpreter {
	const struct checked *checked;	/* the image whose code is at @pc */
	const struct checked *own, *base;	/* @base may be NULL */
	struct machine *machine;
	u64 r[11];
	u32 pc, func;
	u32 begin;		/* the frame's beginning, as an offset in the arena */
	u32 native;		/* bytes of the machine's stack in use */
	struct frame *frames;
	u32 depth;
};

static u32 number(const struct interpreter *m)
{
	return image_first_insn(m->checked) + m->pc;
}

static bool end(struct interpreter *m, u32 how, u64 value)
{
	m->machine->end = how;
	m->machine->pc = number(m);
	m->machine->value = value;
	return false;
}

static bool charge(struct interpreter *m, u32 fuel)
{
	m->machine->fuel -= fuel;
	if (m->machine->fuel < 0) {
		m->machine->pc = number(m);
		machine_poll(m->machine);
	}
	return m->machine->end == MACHINE_DONE;
}

/* -- Functions --------------------------------------------------------------- */

static bool function_begin(struct interpreter *m)
{
	const struct image_func *func = &m->checked->funcs[m->func];
	u8 traits = m->checked->traits[m->func];

	m->pc = func->start;
	if (!charge(m, m->checked->charges[m->checked->image->ninsns + m->func]))
		return false;
	if (traits & (TRAIT_CALLS | TRAIT_FRAME) && m->native > m->machine->native_size)
		return end(m, MACHINE_STACK, 0);
	if ((s64)m->begin - func->frame < m->machine->stack)
		return end(m, MACHINE_STACK, 0);
	m->begin -= func->frame;
	m->r[10] = m->machine->user + m->begin + func->frame;
	return true;
}

static bool call(struct interpreter *m, const struct checked *checked, u32 func, bool try)
{
	u8 saves = m->checked->traits[m->func] & TRAIT_SAVES;
	struct frame *frame = &m->frames[m->depth++];

	memcpy(frame->saved, &m->r[6], sizeof(frame->saved));
	frame->checked = m->checked;
	frame->func = m->func;
	frame->back = m->pc + 1;
	frame->begin = m->begin;
	frame->native = m->native;
	frame->try = try;
	frame->outer = m->machine->try_sp;
	if (try)
		m->machine->try_sp = m->depth;
	m->native += 8 * __builtin_popcount(saves) +
		     (try ? MACHINE_NATIVE_TRY : MACHINE_NATIVE_CALL);
	m->checked = checked;
	m->func = func;
	return function_begin(m);
}

static bool go_back(struct interpreter *m)
{
	const struct frame *frame = &m->frames[--m->depth];
	u32 call = frame->back - 1;

	memcpy(&m->r[6], frame->saved, sizeof(frame->saved));
	m->checked = frame->checked;
	m->func = frame->func;
	m->pc = call;
	m->begin = frame->begin;
	m->native = frame->native;
	m->machine->try_sp = frame->outer;
	m->r[10] = m->machine->user + m->begin + m->checked->funcs[m->func].frame;
	if (image_calls_deep(m->checked, call) && !charge(m, m->checked->charges[call]))
		return false;
	m->pc = frame->back;
	return true;
}

/* Calls a function by its number in the joint table of both images. */
static bool call_number(struct interpreter *m, u64 entry, bool try)
{
	u32 func, first = image_first_entry(m->own);

	if (!entry || entry >= first + m->own->image->ntable)
		return end(m, MACHINE_FUNCTION, 0);
	if (try)
		m->r[1] = m->r[2];
	func = entry < first ? m->base->table[entry] : m->own->table[entry - first];
	first = image_first_func(m->own);
	return func < first ? call(m, m->base, func, try) : call(m, m->own, func - first, try);
}

static bool throw(struct interpreter *m)
{
	u64 value = m->r[1];

	while (m->depth && !m->frames[m->depth - 1].try)
		m->depth--;
	if (!m->depth)
		return end(m, MACHINE_THROW, value);
	m->r[0] = value;
	return go_back(m);
}

/* A stopped run is told to end by itself: the innermost IMAGE_CALL_TRY returns. */
static bool catch_stopped(struct interpreter *m)
{
	m->machine->end = MACHINE_DONE;
	m->r[1] = IMAGE_STOPPED;
	return throw(m);
}

static bool call_outside(struct interpreter *m, s32 what)
{
	u64 args[6];

	switch (what) {
	case IMAGE_CALL_TRY:
		return call_number(m, m->r[1], true);
	case IMAGE_CALL_THROW:
		return throw(m);
	case IMAGE_CALL_ABORT:
		return end(m, MACHINE_ABORT, m->r[1]);
	}
	memcpy(args, &m->r[1], 5 * sizeof(u64));
	args[5] = m->r[0];
	m->machine->pc = number(m);
	m->r[0] = machine_call(args, m->machine, what);
	memset(&m->r[1], 0, 5 * sizeof(u64));
	m->pc++;
	return m->machine->end == MACHINE_DONE;
}

static bool step_call(struct interpreter *m, const struct image_insn *insn)
{
	if (insn->code & INSN_X)
		return call_number(m, m->r[insn->dst], false);
	if (insn->src == INSN_LOCAL)
		return call(m, m->checked,
			    image_func_at(m->checked, m->pc + 1 + insn->imm), false);
	if (insn->src == INSN_BASE)
		return call(m, m->base, insn->imm, false);
	return call_outside(m, insn->imm);
}

/* -- Memory ------------------------------------------------------------------- */

/* The address @reg + @off, or NULL at the end of the run. */
static void *place(struct interpreter *m, u8 reg, const struct image_insn *insn)
{
	const struct image_header *image = m->checked->image;
	u64 mask = (1ULL << image->arena_shift) - 1, base = m->r[reg];
	u32 width = insn_width(insn->code);
	u64 address = base + insn->off;

	if (image->flags & IMAGE_CHECKED && reg != INSN_R10 &&
	    address - m->machine->user > mask + 1 - width) {
		end(m, MACHINE_ACCESS, address);
		return NULL;
	}
	if (INSN_CLASS(insn->code) == INSN_STX &&
	    INSN_MODE(insn->code) == INSN_ATOMIC)
		return (u8 *)(unsigned long)m->machine->base + (address & mask & ~(u64)(width - 1));
	return (u8 *)(unsigned long)m->machine->base + (base & mask) + insn->off;
}

static bool step_load(struct interpreter *m, const struct image_insn *insn)
{
	const void *p = place(m, insn->src, insn);
	bool sign = INSN_MODE(insn->code) == INSN_MEMSX;
	u64 v = 0;

	if (!p)
		return false;
	memcpy(&v, p, insn_width(insn->code));
	switch (sign ? insn_width(insn->code) : 0) {
	case 1: v = (s8)v; break;
	case 2: v = (s16)v; break;
	case 4: v = (s32)v; break;
	}
	m->r[insn->dst] = v;
	m->pc++;
	return true;
}

#define ATOMIC(type, p, insn, m) do {						\
	type *at = (p), with = (m)->r[(insn)->src], old = (m)->r[0];		\
										\
	switch ((insn)->imm) {							\
	case INSN_ADD: __atomic_fetch_add(at, with, __ATOMIC_SEQ_CST); break;	\
	case INSN_AND: __atomic_fetch_and(at, with, __ATOMIC_SEQ_CST); break;	\
	case INSN_OR:  __atomic_fetch_or(at, with, __ATOMIC_SEQ_CST); break;	\
	case INSN_XOR: __atomic_fetch_xor(at, with, __ATOMIC_SEQ_CST); break;	\
	case INSN_ADD | INSN_FETCH:						\
		(m)->r[(insn)->src] = __atomic_fetch_add(at, with, __ATOMIC_SEQ_CST); \
		break;								\
	case INSN_XCHG:								\
		(m)->r[(insn)->src] = __atomic_exchange_n(at, with, __ATOMIC_SEQ_CST); \
		break;								\
	case INSN_CMPXCHG:							\
		__atomic_compare_exchange_n(at, &old, with, false, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST);			\
		(m)->r[0] = old;						\
		break;								\
	}									\
} while (0)

static bool step_store(struct interpreter *m, const struct image_insn *insn)
{
	void *p = place(m, insn->dst, insn);
	u64 v = INSN_CLASS(insn->code) == INSN_ST ? (u64)(s64)insn->imm :
						    m->r[insn->src];

	if (!p)
		return false;
	if (INSN_MODE(insn->code) != INSN_ATOMIC)
		memcpy(p, &v, insn_width(insn->code));
	else if (insn_width(insn->code) == 8)
		ATOMIC(u64, p, insn, m);
	else
		ATOMIC(u32, p, insn, m);
	m->pc++;
	return true;
}

/* -- Arithmetic ---------------------------------------------------------------- */

static u64 divide64(u64 a, u64 b, bool is_signed, bool mod)
{
	if (!b)
		return mod ? a : 0;
	if (!is_signed)
		return mod ? a % b : a / b;
	if (b == ~0ULL)
		return mod ? 0 : -a;
	return mod ? (s64)a % (s64)b : (s64)a / (s64)b;
}

static u32 divide32(u32 a, u32 b, bool is_signed, bool mod)
{
	if (!b)
		return mod ? a : 0;
	if (!is_signed)
		return mod ? a % b : a / b;
	if (b == ~0U)
		return mod ? 0 : -a;
	return mod ? (s32)a % (s32)b : (s32)a / (s32)b;
}

static u64 swap(u64 v, const struct image_insn *insn)
{
	bool swaps = insn->code & INSN_X || INSN_CLASS(insn->code) == INSN_ALU64;

	switch (insn->imm) {
	case 16: return swaps ? __builtin_bswap16(v) : (u16)v;
	case 32: return swaps ? __builtin_bswap32(v) : (u32)v;
	default: return swaps ? __builtin_bswap64(v) : v;
	}
}

static u64 move(u64 v, const struct image_insn *insn)
{
	switch (insn->off) {
	case 8: return (s8)v;
	case 16: return (s16)v;
	case 32: return (s32)v;
	}
	return v;
}

static u64 alu64(const struct image_insn *insn, u64 a, u64 b)
{
	switch (INSN_OP(insn->code)) {
	case INSN_ADD: return a + b;
	case INSN_SUB: return a - b;
	case INSN_MUL: return a * b;
	case INSN_OR: return a | b;
	case INSN_AND: return a & b;
	case INSN_XOR: return a ^ b;
	case INSN_LSH: return a << (b & 63);
	case INSN_RSH: return a >> (b & 63);
	case INSN_ARSH: return (s64)a >> (b & 63);
	case INSN_NEG: return -a;
	case INSN_DIV: return divide64(a, b, insn->off, false);
	case INSN_MOD: return divide64(a, b, insn->off, true);
	case INSN_END: return swap(a, insn);
	default: return move(b, insn);
	}
}

static u64 alu32(const struct image_insn *insn, u32 a, u32 b)
{
	switch (INSN_OP(insn->code)) {
	case INSN_LSH: return a << (b & 31);
	case INSN_RSH: return a >> (b & 31);
	case INSN_ARSH: return (u32)((s32)a >> (b & 31));
	case INSN_DIV: return divide32(a, b, insn->off, false);
	case INSN_MOD: return divide32(a, b, insn->off, true);
	default: return (u32)alu64(insn, a, b);
	}
}

static bool step_alu(struct interpreter *m, const struct image_insn *insn)
{
	u64 a = m->r[insn->dst];
	u64 b = insn->code & INSN_X ? m->r[insn->src] : (u64)(s64)insn->imm;

	if (INSN_OP(insn->code) == INSN_END)
		m->r[insn->dst] = swap(a, insn);
	else if (INSN_CLASS(insn->code) == INSN_ALU64)
		m->r[insn->dst] = alu64(insn, a, b);
	else
		m->r[insn->dst] = alu32(insn, a, b);
	m->pc++;
	return true;
}

static bool step_imm64(struct interpreter *m, const struct image_insn *insn)
{
	if (insn->src == INSN_ARENA)
		m->r[insn->dst] = m->machine->user + insn->imm;
	else
		m->r[insn->dst] = (u32)insn->imm | (u64)insn[1].imm << 32;
	m->pc += 2;
	return true;
}

/* -- Jumps ---------------------------------------------------------------------- */

static bool holds(u8 op, u64 a, u64 b, s64 sa, s64 sb)
{
	switch (op) {
	case INSN_JEQ: return a == b;
	case INSN_JNE: return a != b;
	case INSN_JSET: return a & b;
	case INSN_JGT: return a > b;
	case INSN_JGE: return a >= b;
	case INSN_JLT: return a < b;
	case INSN_JLE: return a <= b;
	case INSN_JSGT: return sa > sb;
	case INSN_JSGE: return sa >= sb;
	case INSN_JSLT: return sa < sb;
	case INSN_JSLE: return sa <= sb;
	default: return true;
	}
}

static bool step_jump(struct interpreter *m, const struct image_insn *insn)
{
	u64 a = m->r[insn->dst];
	u64 b = insn->code & INSN_X ? m->r[insn->src] : (u64)(s64)insn->imm;
	u32 target = m->pc + 1 + insn_jump_offset(insn);
	u8 op = INSN_OP(insn->code);
	bool taken;

	if (INSN_CLASS(insn->code) == INSN_JMP)
		taken = holds(op, a, b, a, b);
	else
		taken = holds(op, (u32)a, (u32)b, (s32)a, (s32)b);
	m->pc = taken ? target : m->pc + 1;
	return true;
}

static bool step(struct interpreter *m)
{
	const struct image_insn *insn = &m->checked->insns[m->pc];

	if (!image_calls_deep(m->checked, m->pc) && !charge(m, m->checked->charges[m->pc]))
		return false;
	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		return step_alu(m, insn);
	case INSN_LD:
		return step_imm64(m, insn);
	case INSN_LDX:
		return step_load(m, insn);
	case INSN_ST: case INSN_STX:
		return step_store(m, insn);
	}
	if (insn_is_jump(insn))
		return step_jump(m, insn);
	if (insn->code != (INSN_JMP | INSN_EXIT))
		return step_call(m, insn);
	if (!m->depth)
		return end(m, MACHINE_DONE, m->r[0]);
	return go_back(m);
}

void machine_interpret(const struct checked *checked, const struct checked *base,
		       struct machine *machine)
{
	struct interpreter m = {
		.checked = base ?: checked, .own = checked, .base = base,
		.machine = machine, .begin = machine->frame,
		.native = MACHINE_NATIVE_CALL,
	};
	bool goes_on;

	/* Each call takes at least this much stack, except the innermost. */
	m.frames = image_alloc((machine->native_size / MACHINE_NATIVE_CALL + 2) *
			       sizeof(*m.frames));
	if (!m.frames) {
		machine->end = MACHINE_STOP;
		return;
	}
	memcpy(&m.r[1], machine->args, sizeof(machine->args));
	goes_on = function_begin(&m);
	while (goes_on || machine->end == MACHINE_CATCH)
		goes_on = goes_on ? step(&m) : catch_stopped(&m);
	image_free(m.frames);
}
