/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Emits instructions of images (linux/syscript_image.h), with labels. If memory runs out, or a
 * jump gets too long, @failed is set, to be tested at the end.
 */
#ifndef LIB_LUA_EMIT_H
#define LIB_LUA_EMIT_H

#include <linux/syscript_image.h>

#include "../../core/types.h"

/* Calls of functions by their number in the table, which only the linker knows. */
struct call_fixup {
	u32 insn, number;
};

struct jump_fixup {
	u32 insn, label;
};

/*
 * The origin of instructions from @insn on: instruction @pc of the function at @proto, an offset
 * in the arena.
 */
struct origin {
	u32 insn, proto, pc;
};

#define NO_PROTO	0	/* code of a pattern, which several functions may share */
#define SHARED_PROTO	1	/* code that slow paths share: after a helper, which has stored Lua's pc */

struct emit {
	struct image_insn *insns;
	u32 n, room;
	s32 *labels;		/* its position; LABEL_NEW: no jump to it; or LABEL_WANTED */
	u32 nlabels, label_room;
	struct jump_fixup *jumps;
	u32 njumps, jump_room;
	struct call_fixup *calls;
	u32 ncalls, call_room;
	struct origin *origins;
	u32 norigins, origin_room;
	bool failed;
};

#define NO_LABEL	(~0U)
#define LABEL_NEW	(-1)
#define LABEL_WANTED	(-2)

void emit_insn(struct emit *e, u8 code, u8 dst, u8 src, s16 off, s32 imm);
void emit_free(struct emit *e);
/* Sets the origin of the following instructions. */
void emit_origin(struct emit *e, u32 proto, u32 pc);

/* A position in the code: emit_rewind() removes what was added after it. */
struct emit_mark {
	u32 n, njumps, ncalls, norigins;
};

struct emit_mark emit_mark(const struct emit *e);
void emit_rewind(struct emit *e, struct emit_mark mark);

u32 emit_label(struct emit *e);
void emit_land(struct emit *e, u32 label);
/* Does a jump refer to the label, which has no position yet? */
bool emit_is_wanted(const struct emit *e, u32 label);
/* Resolves all jumps from @from on, the first instruction of a function. */
void emit_resolve(struct emit *e);

void emit_jump(struct emit *e, u32 label);
/* A conditional jump: INSN_JEQ and so on, by a register or a constant. */
void emit_branch(struct emit *e, u8 op, u8 dst, u8 src, u32 label);
void emit_branch_imm(struct emit *e, u8 op, u8 dst, s32 imm, u32 label);

void emit_alu(struct emit *e, u8 op, u8 dst, u8 src);
void emit_alu_imm(struct emit *e, u8 op, u8 dst, s32 imm);
void emit_mov(struct emit *e, u8 dst, u8 src);
/* Loads a constant by as few instructions as possible. */
void emit_constant(struct emit *e, u8 dst, s64 value);
/* Loads the address of @offset in the arena. */
void emit_address(struct emit *e, u8 dst, u32 offset);

/* INSN_DW and so on. */
void emit_load(struct emit *e, u8 size, u8 dst, u8 base, s32 off);
void emit_store(struct emit *e, u8 size, u8 base, s32 off, u8 src);
void emit_store_imm(struct emit *e, u8 size, u8 base, s32 off, s32 imm);

void emit_exit(struct emit *e);
/* System call @nr, or one of the engine's calls. */
void emit_syscall(struct emit *e, u32 nr);
void emit_engine_call(struct emit *e, u32 call);
/* Calls function @number of the table: directly, or the table's current entry. */
void emit_call(struct emit *e, u32 number);
void emit_call_by(struct emit *e, u8 reg);

#endif /* LIB_LUA_EMIT_H */
