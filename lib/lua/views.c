// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Compiles the methods of frames that servers call for each frame, declared in compile.h: a call
 * would take as long as its work, or three times as long. They are inline if the view is
 * the one that a method was last called on, whose frame the runtime stores (frames_seen in
 * lib/lua-runtime/frames.c). Otherwise, and in rare cases, the code calls the method.
 */
#include <linux/syscript_image_batch.h>
#include <stddef.h>

#include "compile.h"

#define FIELD(name)	offsetof(struct image_batch_frame, name)
#define UDP_HEADER	8

/* r2 = the frame of the view in R(@view).  Overwrites r0, r1 and r3. */
static void load_frame(struct compiler *c, u32 view, u32 slow)
{
	check_tag(c, view, 0, TAG_POINTER, slow);
	emit_load(c->e, INSN_DW, 1, REG_BASE, slot(c, view));
	emit_address(c->e, 2, c->runtime->seen - (uintptr_t)c->runtime->arena);
	emit_load(c->e, INSN_DW, 3, 2, SEEN_VIEW);
	emit_branch(c->e, INSN_JNE, 1, 3, slow);
	emit_load(c->e, INSN_DW, 2, 2, SEEN_FRAME);
}

/* R(@reg) = the integer in @from. */
static void put(struct compiler *c, u32 reg, u8 from)
{
	emit_store(c->e, INSN_DW, REG_BASE, slot(c, reg), from);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, reg), TAG_NUMBER);
}

/* Stores as many of the method's @n results, in r1 and r3, as the call asks for. */
static void put_results(struct compiler *c, u32 i, u32 n)
{
	u32 a = a_of(i), wanted = c_of(i) - 1;

	if (wanted)
		put(c, a, 1);
	if (wanted > 1 && n > 1)
		put(c, a + 1, 3);
	store_nils(c, i, n);
}

/* r1 = the value of @size bytes, in network byte order, at the offset in R(@off). */
static void load_bytes(struct compiler *c, u32 off, u32 size, u32 slow)
{
	static const u8 sizes[] = { [1] = INSN_B, [2] = INSN_H, [4] = INSN_W };

	load_integer(c, 1, off, slow);
	emit_load(c->e, INSN_W, 3, 2, FIELD(len));
	emit_branch(c->e, INSN_JGT, 1, 3, slow);
	emit_alu(c->e, INSN_SUB, 3, 1);
	emit_branch_imm(c->e, INSN_JLT, 3, size, slow);
	emit_load(c->e, INSN_DW, 3, 2, FIELD(at));
	emit_alu(c->e, INSN_ADD, 1, 3);
	emit_load(c->e, sizes[size], 1, 1, 0);
	if (size > 1)
		emit_insn(c->e, INSN_ALU64 | INSN_END, 1, 0, 0, size * 8);
}

/*
 * r1, r3 = the offset and the length of the payload of the UDP datagram that the frame had when
 * it arrived.  The slow path if it had none, or has been changed since.
 */
static void load_datagram(struct compiler *c, u32 slow)
{
	emit_load(c->e, INSN_H, 0, 2, FIELD(changed));
	emit_branch_imm(c->e, INSN_JNE, 0, 0, slow);
	emit_load(c->e, INSN_H, 1, 2, FIELD(found));
	emit_branch_imm(c->e, INSN_JEQ, 1, 0, slow);
	emit_load(c->e, INSN_H, 3, 2, FIELD(found_len));
	emit_store(c->e, INSN_H, 2, FIELD(udp), 1);
	emit_store(c->e, INSN_H, 2, FIELD(payload_len), 3);
	emit_alu_imm(c->e, INSN_ADD, 1, UDP_HEADER);
}

static void load_ports(struct compiler *c, u32 slow)
{
	emit_load(c->e, INSN_H, 1, 2, FIELD(udp));
	emit_branch_imm(c->e, INSN_JEQ, 1, 0, slow);
	emit_load(c->e, INSN_DW, 3, 2, FIELD(at));
	emit_alu(c->e, INSN_ADD, 1, 3);
	emit_load(c->e, INSN_W, 1, 1, 0);
	emit_insn(c->e, INSN_ALU64 | INSN_END, 1, 0, 0, 32);
	emit_mov(c->e, 3, 1);
	emit_alu_imm(c->e, INSN_AND, 3, 0xffff);
	emit_alu_imm(c->e, INSN_RSH, 1, 16);
}

/* r3 and r4 = the address and the length of the bytes that str() returns. */
static void load_text(struct compiler *c, u32 a, u32 slow)
{
	load_integer(c, 3, a + 2, slow);
	load_integer(c, 4, a + 3, slow);
	emit_load(c->e, INSN_W, 1, 2, FIELD(len));
	emit_branch(c->e, INSN_JGT, 3, 1, slow);
	emit_alu(c->e, INSN_SUB, 1, 3);
	emit_branch(c->e, INSN_JGT, 4, 1, slow);
	emit_load(c->e, INSN_DW, 1, 2, FIELD(at));
	emit_alu(c->e, INSN_ADD, 3, 1);
}

static void compile_str(struct compiler *c, u32 i, u32 slow)
{
	load_text(c, a_of(i), slow);
	emit_mov(c->e, 1, REG_L);
	emit_mov(c->e, 2, REG_BASE);
	emit_alu_imm(c->e, INSN_ADD, 2, slot(c, a_of(i)));
	emit_call(c->e, c->runtime->exports.helpers[HELPER_frame_text]);
	emit_load(c->e, INSN_DW, REG_BASE, REG_L, STATE_BASE);
	store_nils(c, i, 1);
}

/* Longer frames, gaps after the frame's end, and frames that have to grow take the slow path. */
static void compile_put(struct compiler *c, u32 i, u32 slow)
{
	u32 a = a_of(i), within = emit_label(c->e);

	load_integer(c, 3, a + 2, slow);
	check_tag(c, a + 3, T_STRING, TAG_STRING, slow);
	emit_load(c->e, INSN_DW, 4, REG_BASE, slot(c, a + 3));
	emit_load(c->e, INSN_DW, 5, 4, STRING_LEN);
	emit_load(c->e, INSN_W, 0, 2, FIELD(room));
	emit_branch(c->e, INSN_JGT, 5, 0, slow);
	emit_alu(c->e, INSN_SUB, 0, 5);
	emit_branch(c->e, INSN_JGT, 3, 0, slow);
	emit_load(c->e, INSN_W, 0, 2, FIELD(len));
	emit_branch(c->e, INSN_JGT, 3, 0, slow);
	emit_mov(c->e, 1, 3);
	emit_alu(c->e, INSN_ADD, 1, 5);
	emit_branch(c->e, INSN_JLE, 1, 0, within);
	emit_store(c->e, INSN_W, 2, FIELD(len), 1);
	emit_land(c->e, within);
	emit_store_imm(c->e, INSN_H, 2, FIELD(changed), 1);
	emit_load(c->e, INSN_DW, 1, 2, FIELD(at));
	emit_alu(c->e, INSN_ADD, 1, 3);
	emit_mov(c->e, 2, 4);
	emit_alu_imm(c->e, INSN_ADD, 2, STRING_TEXT);
	emit_mov(c->e, 3, 5);
	emit_call(c->e, c->runtime->exports.helpers[HELPER_copied]);
	store_nils(c, i, 0);
}

static void compile_reply(struct compiler *c, u32 i, u32 slow)
{
	u32 a = a_of(i);

	load_integer(c, 3, a + 2, slow);
	emit_mov(c->e, 1, 2);
	emit_mov(c->e, 2, 3);
	emit_load(c->e, INSN_DW, 3, REG_BASE, slot(c, a + 1));
	emit_call(c->e, c->runtime->exports.helpers[HELPER_replied]);
	emit_branch_imm(c->e, INSN_JEQ, 0, 0, slow);
	if (c_of(i) == 1)
		return;
	emit_store_imm(c->e, INSN_W, REG_BASE, slot(c, a), 1);
	emit_store_imm(c->e, INSN_W, REG_BASE, slot_tag(c, a), TAG_BOOLEAN);
	store_nils(c, i, 1);
}

/*
 * Is R(@a) certainly the method if R(@a + 1) is a view? It is if OP_SELF has set both on the
 * straight line to this call, and then only higher registers are written.
 */
static bool is_method_of_view(const struct compiler *c, u32 a)
{
	u32 pc = c->pc, i;

	if (!types_last_at(&c->types, &pc, a + 1))
		return false;
	i = c->p->code[pc];
	return op_of(i) == OP_SELF && a_of(i) == a &&
	       types_view_method(&c->types, pc, fact_at(&c->types, pc, 0)) != 0;
}

bool is_view_intrinsic(const struct compiler *c, int intrinsic)
{
	u32 i = call_here(c), b = b_of(i);

	switch (intrinsic) {
	case INTRINSIC_frame_udp_of: case INTRINSIC_frame_ports_of:
		return b == 2 && c_of(i);
	case INTRINSIC_frame_len:
		return b == 2;
	case INTRINSIC_frame_reply_of:
		return b == 3 && c_of(i);
	case INTRINSIC_frame_str: case INTRINSIC_frame_put:
		return b == 4 && c_of(i);
	case INTRINSIC_frame_u1: case INTRINSIC_frame_u2: case INTRINSIC_frame_u4:
		return b == 3;
	default:
		return false;
	}
}

/* True if the code reads no register for this argument when it is a constant number. */
bool view_knows(int intrinsic, u32 arg)
{
	return arg == 2 || (arg == 3 && intrinsic == INTRINSIC_frame_str);
}

void compile_view_method(struct compiler *c, u32 i, int intrinsic, u32 back)
{
	u32 a = a_of(i), slow = cold_call(c, back);

	if (is_method_of_view(c, a))
		check_open(c, slow);
	else
		check_function(c, a, intrinsic, slow);
	load_frame(c, a + 1, slow);
	switch (intrinsic) {
	case INTRINSIC_frame_u1:
		load_bytes(c, a + 2, 1, slow);
		return put_results(c, i, 1);
	case INTRINSIC_frame_u2:
		load_bytes(c, a + 2, 2, slow);
		return put_results(c, i, 1);
	case INTRINSIC_frame_u4:
		load_bytes(c, a + 2, 4, slow);
		return put_results(c, i, 1);
	case INTRINSIC_frame_udp_of:
		load_datagram(c, slow);
		return put_results(c, i, 2);
	case INTRINSIC_frame_str:
		return compile_str(c, i, slow);
	case INTRINSIC_frame_put:
		return compile_put(c, i, slow);
	case INTRINSIC_frame_reply_of:
		return compile_reply(c, i, slow);
	case INTRINSIC_frame_ports_of:
		load_ports(c, slow);
		return put_results(c, i, 2);
	default:
		emit_load(c->e, INSN_W, 1, 2, FIELD(len));
		return put_results(c, i, 1);
	}
}
