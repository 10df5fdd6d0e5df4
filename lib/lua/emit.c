// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements emit.h: instructions and fixups in arrays that grow; a failed allocation is recorded
 * and reported at the end.
 */
#include <stdlib.h>

#include "emit.h"

/* Makes room for another element of @size bytes after @n. */
static void *grow(struct emit *e, void *array, u32 n, u32 *room, size_t size)
{
	void *more;

	if (n < *room)
		return array;
	more = realloc(array, (*room * 2 + 64) * size);
	if (!more) {
		e->failed = true;
		return NULL;
	}
	*room = *room * 2 + 64;
	return more;
}

#define GROW(e, array, n, room) ({ \
	void *more_ = grow(e, (e)->array, (e)->n, &(e)->room, sizeof(*(e)->array)); \
	if (more_) \
		(e)->array = more_; \
	more_; })

void emit_free(struct emit *e)
{
	free(e->insns);
	free(e->labels);
	free(e->jumps);
	free(e->calls);
	free(e->origins);
}

void emit_insn(struct emit *e, u8 code, u8 dst, u8 src, s16 off, s32 imm)
{
	if (GROW(e, insns, n, room))
		e->insns[e->n++] = (struct image_insn){ code, dst, src, off, imm };
}

void emit_origin(struct emit *e, u32 proto, u32 pc)
{
	if (GROW(e, origins, norigins, origin_room))
		e->origins[e->norigins++] = (struct origin){ e->n, proto, pc };
}

/* -- Jumps ---------------------------------------------------------------------------- */

struct emit_mark emit_mark(const struct emit *e)
{
	return (struct emit_mark){ e->n, e->njumps, e->ncalls, e->norigins };
}

void emit_rewind(struct emit *e, struct emit_mark mark)
{
	e->n = mark.n;
	e->njumps = mark.njumps;
	e->ncalls = mark.ncalls;
	e->norigins = mark.norigins;
}

u32 emit_label(struct emit *e)
{
	if (!GROW(e, labels, nlabels, label_room))
		return 0;
	e->labels[e->nlabels] = LABEL_NEW;
	return e->nlabels++;
}

void emit_land(struct emit *e, u32 label)
{
	if (label < e->nlabels)
		e->labels[label] = e->n;
}

bool emit_is_wanted(const struct emit *e, u32 label)
{
	return label < e->nlabels && e->labels[label] == LABEL_WANTED;
}

static void add_jump(struct emit *e, u32 label)
{
	if (label < e->nlabels && e->labels[label] == LABEL_NEW)
		e->labels[label] = LABEL_WANTED;
	if (GROW(e, jumps, njumps, jump_room))
		e->jumps[e->njumps++] = (struct jump_fixup){ e->n, label };
}

void emit_jump(struct emit *e, u32 label)
{
	add_jump(e, label);
	emit_insn(e, INSN_JMP32 | INSN_JA, 0, 0, 0, 0);
}

void emit_branch(struct emit *e, u8 op, u8 dst, u8 src, u32 label)
{
	add_jump(e, label);
	emit_insn(e, INSN_JMP | op | INSN_X, dst, src, 0, 0);
}

void emit_branch_imm(struct emit *e, u8 op, u8 dst, s32 imm, u32 label)
{
	add_jump(e, label);
	emit_insn(e, INSN_JMP | op, dst, 0, 0, imm);
}

void emit_resolve(struct emit *e)
{
	u32 i;

	for (i = 0; i < e->njumps && !e->failed; i++) {
		struct image_insn *insn = &e->insns[e->jumps[i].insn];
		s64 to = e->jumps[i].label < e->nlabels ? e->labels[e->jumps[i].label] : -1;
		s64 distance = to - e->jumps[i].insn - 1;

		if (to < 0)
			e->failed = true;
		else if (insn->code == (INSN_JMP32 | INSN_JA))
			insn->imm = distance;
		else if (distance == (s16)distance)
			insn->off = distance;
		else
			e->failed = true;
	}
	e->njumps = 0;
	e->nlabels = 0;
}

/* -- Registers -------------------------------------------------------------------------- */

void emit_alu(struct emit *e, u8 op, u8 dst, u8 src)
{
	emit_insn(e, INSN_ALU64 | op | INSN_X, dst, src, 0, 0);
}

void emit_alu_imm(struct emit *e, u8 op, u8 dst, s32 imm)
{
	emit_insn(e, INSN_ALU64 | op, dst, 0, 0, imm);
}

void emit_mov(struct emit *e, u8 dst, u8 src)
{
	if (dst != src)
		emit_alu(e, INSN_MOV, dst, src);
}

static void emit_imm64(struct emit *e, u8 dst, u8 src, u64 value)
{
	emit_insn(e, INSN_LD | INSN_DW | INSN_IMM, dst, src, 0, (s32)value);
	emit_insn(e, 0, 0, 0, 0, (s32)(value >> 32));
}

void emit_constant(struct emit *e, u8 dst, s64 value)
{
	if (value == (s32)value)
		emit_alu_imm(e, INSN_MOV, dst, value);
	else if (value == (u32)value)
		emit_insn(e, INSN_ALU | INSN_MOV, dst, 0, 0, (s32)value);
	else
		emit_imm64(e, dst, 0, value);
}

void emit_address(struct emit *e, u8 dst, u32 offset)
{
	emit_imm64(e, dst, INSN_ARENA, offset);
}

/* -- Memory ------------------------------------------------------------------------------ */

void emit_load(struct emit *e, u8 size, u8 dst, u8 base, s32 off)
{
	emit_insn(e, INSN_LDX | INSN_MEM | size, dst, base, off, 0);
}

void emit_store(struct emit *e, u8 size, u8 base, s32 off, u8 src)
{
	emit_insn(e, INSN_STX | INSN_MEM | size, base, src, off, 0);
}

void emit_store_imm(struct emit *e, u8 size, u8 base, s32 off, s32 imm)
{
	emit_insn(e, INSN_ST | INSN_MEM | size, base, 0, off, imm);
}

/* -- Calls ------------------------------------------------------------------------------- */

void emit_exit(struct emit *e)
{
	emit_insn(e, INSN_JMP | INSN_EXIT, 0, 0, 0, 0);
}

void emit_engine_call(struct emit *e, u32 call)
{
	emit_insn(e, INSN_JMP | INSN_CALL, 0, 0, 0, call);
}

void emit_syscall(struct emit *e, u32 nr)
{
	emit_engine_call(e, IMAGE_SYSCALL + nr);
}

void emit_call(struct emit *e, u32 number)
{
	if (GROW(e, calls, ncalls, call_room))
		e->calls[e->ncalls++] = (struct call_fixup){ e->n, number };
	emit_insn(e, INSN_JMP | INSN_CALL, 0, INSN_LOCAL, 0, 0);
}

void emit_call_by(struct emit *e, u8 reg)
{
	emit_insn(e, INSN_JMP | INSN_CALL | INSN_X, reg, 0, 0, 0);
}
