/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Instructions of Lua 5.1, whose lopcodes.h explains them. */
#ifndef LIB_LUA_OPCODES_H
#define LIB_LUA_OPCODES_H

#include <stdint.h>

enum op {
	OP_MOVE, OP_LOADK, OP_LOADBOOL, OP_LOADNIL, OP_GETUPVAL, OP_GETGLOBAL, OP_GETTABLE,
	OP_SETGLOBAL, OP_SETUPVAL, OP_SETTABLE, OP_NEWTABLE, OP_SELF, OP_ADD, OP_SUB, OP_MUL,
	OP_DIV, OP_MOD, OP_POW, OP_UNM, OP_NOT, OP_LEN, OP_CONCAT, OP_JMP, OP_EQ, OP_LT, OP_LE,
	OP_TEST, OP_TESTSET, OP_CALL, OP_TAILCALL, OP_RETURN, OP_FORLOOP, OP_FORPREP,
	OP_TFORLOOP, OP_SETLIST, OP_CLOSE, OP_CLOSURE, OP_VARARG, OPS
};

static inline enum op op_of(uint32_t i)
{
	return i & 0x3f;
}

static inline uint32_t a_of(uint32_t i)
{
	return i >> 6 & 0xff;
}

static inline uint32_t b_of(uint32_t i)
{
	return i >> 23;
}

static inline uint32_t c_of(uint32_t i)
{
	return i >> 14 & 0x1ff;
}

static inline uint32_t bx_of(uint32_t i)
{
	return i >> 14;
}

static inline int32_t sbx_of(uint32_t i)
{
	return (int32_t)bx_of(i) - 0x1ffff;
}

/* Operands B and C of some instructions: a register or, with this bit, a constant. */
#define RK_K	0x100

#endif /* LIB_LUA_OPCODES_H */
