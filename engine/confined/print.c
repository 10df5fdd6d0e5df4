// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements print.h: a disassembler in the notation of LLVM's BPF assembler, with the kernel's
 * names of system calls.
 */
#include "syscalls_nr.h"
#include "print.h"

#define SYSCALLS_MAX	512

static const struct {
	const char *name;
	u8 args;
} syscalls[SYSCALLS_MAX] = {
#define SYSCALL(name, kinds, flags) [__NR_##name] = { #name, sizeof(kinds) - 1 },
#include "syscalls.def"
};

static const char *const alu_ops[16] = {
	[INSN_ADD >> 4] = "+=", [INSN_SUB >> 4] = "-=", [INSN_MUL >> 4] = "*=",
	[INSN_DIV >> 4] = "/=", [INSN_OR >> 4] = "|=", [INSN_AND >> 4] = "&=",
	[INSN_LSH >> 4] = "<<=", [INSN_RSH >> 4] = ">>=", [INSN_MOD >> 4] = "%=",
	[INSN_XOR >> 4] = "^=", [INSN_MOV >> 4] = "=", [INSN_ARSH >> 4] = "s>>=",
};

static const char *const jump_ops[16] = {
	[INSN_JEQ >> 4] = "==", [INSN_JGT >> 4] = ">", [INSN_JGE >> 4] = ">=",
	[INSN_JSET >> 4] = "&", [INSN_JNE >> 4] = "!=", [INSN_JSGT >> 4] = "s>",
	[INSN_JSGE >> 4] = "s>=", [INSN_JLT >> 4] = "<", [INSN_JLE >> 4] = "<=",
	[INSN_JSLT >> 4] = "s<", [INSN_JSLE >> 4] = "s<=",
};

#define print(text, ...)	snprintf(text, PRINT_LEN - 8, __VA_ARGS__)

/* A source operand: "r1", "w1" for its lower half, or a constant. */
static const char *source(const struct image_insn *insn, char kind, char *text)
{
	if (insn->code & INSN_X)
		snprintf(text, 16, "%c%u", kind, insn->src);
	else
		snprintf(text, 16, "%d", insn->imm);
	return text;
}

static const char *type_of(u8 code, bool is_signed)
{
	static const char *const names[2][4] = {
		{ "u32", "u16", "u8", "u64" }, { "s32", "s16", "s8", "s64" },
	};

	return names[is_signed][INSN_SIZE(code) >> 3];
}

static void print_alu(const struct image_insn *insn, char *text)
{
	char kind = INSN_CLASS(insn->code) == INSN_ALU64 ? 'r' : 'w', from[16];
	u8 op = INSN_OP(insn->code);

	source(insn, kind, from);
	if (op == INSN_NEG)
		print(text, "%c%u = -%c%u", kind, insn->dst, kind, insn->dst);
	else if (op == INSN_END)
		print(text, "r%u = %s%d r%u", insn->dst,
		      kind == 'r' ? "bswap" : insn->code & INSN_X ? "be" : "le",
		      insn->imm, insn->dst);
	else if (op == INSN_MOV && insn->off)
		print(text, "%c%u = (s%d)%s", kind, insn->dst, insn->off, from);
	else
		print(text, "%c%u %s%s %s", kind, insn->dst,
		      insn->off ? "s" : "", alu_ops[op >> 4], from);
}

static void print_atomic(const struct image_insn *insn, char *text)
{
	const char *type = type_of(insn->code, false);

	if (insn->imm == INSN_XCHG)
		print(text, "r%u = xchg_%s(r%u %+d, r%u)", insn->src, type, insn->dst,
		      insn->off, insn->src);
	else if (insn->imm == INSN_CMPXCHG)
		print(text, "r0 = cmpxchg_%s(r%u %+d, r0, r%u)", type, insn->dst, insn->off,
		      insn->src);
	else
		print(text, "lock %s*(%s *)(r%u %+d) %s r%u",
		      insn->imm & INSN_FETCH ? "fetch " : "", type, insn->dst, insn->off,
		      alu_ops[INSN_OP(insn->imm) >> 4], insn->src);
}

static void print_memory(const struct image_insn *insn, char *text)
{
	u8 class = INSN_CLASS(insn->code), mode = INSN_MODE(insn->code);
	const char *type = type_of(insn->code, mode == INSN_MEMSX);

	if (mode == INSN_ATOMIC)
		print_atomic(insn, text);
	else if (class == INSN_LDX)
		print(text, "r%u = *(%s *)(r%u %+d)", insn->dst, type, insn->src, insn->off);
	else if (class == INSN_STX)
		print(text, "*(%s *)(r%u %+d) = r%u", type, insn->dst, insn->off, insn->src);
	else
		print(text, "*(%s *)(r%u %+d) = %d", type, insn->dst, insn->off, insn->imm);
}

u8 print_syscall_args(u32 nr)
{
	return nr < SYSCALLS_MAX ? syscalls[nr].args : 0;
}

void print_syscall(u32 nr, char *text)
{
	if (nr < SYSCALLS_MAX && syscalls[nr].name)
		print(text, "%s(2)", syscalls[nr].name);
	else
		print(text, "system call %u", nr);
}

static void print_outside(s32 what, char *text)
{
	static const char *const names[] = {
		[IMAGE_CALL_SYSCALL] = "call system call r1",
		[IMAGE_CALL_TRY] = "try", [IMAGE_CALL_THROW] = "throw",
		[IMAGE_CALL_ABORT] = "abort", [IMAGE_CALL_BATCH] = "call batch r1",
	};

	if (what < IMAGE_SYSCALL) {
		print(text, "%s", names[what]);
		return;
	}
	if (what >= IMAGE_FUNCTION) {
		print(text, "call function %d", what - IMAGE_FUNCTION);
		return;
	}
	memcpy(text, "call ", 5);
	print_syscall(what - IMAGE_SYSCALL, text + 5);
}

static void print_jump(const struct image_insn *insn, u32 pc, char *text)
{
	char kind = INSN_CLASS(insn->code) == INSN_JMP ? 'r' : 'w', to[16];
	u8 op = INSN_OP(insn->code);

	if (op == INSN_EXIT)
		print(text, "exit");
	else if (op == INSN_CALL && insn->code & INSN_X)
		print(text, "call table[r%u]", insn->dst);
	else if (op == INSN_CALL && insn->src == INSN_LOCAL)
		print(text, "call %u", pc + 1 + insn->imm);
	else if (op == INSN_CALL && insn->src == INSN_BASE)
		print(text, "call function %d of the base", insn->imm);
	else if (op == INSN_CALL)
		print_outside(insn->imm, text);
	else if (op == INSN_JA)
		print(text, "goto %u", pc + 1 + (kind == 'w' ? insn->imm : insn->off));
	else
		print(text, "if %c%u %s %s goto %u", kind, insn->dst, jump_ops[op >> 4],
		      source(insn, kind, to), pc + 1 + insn->off);
}

unsigned int print_insn(const struct image_insn *insn, u32 pc, char *text)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		print_alu(insn, text);
		return 1;
	case INSN_JMP: case INSN_JMP32:
		print_jump(insn, pc, text);
		return 1;
	case INSN_LD:
		if (insn->src == INSN_ARENA)
			print(text, "r%u = arena + 0x%x", insn->dst, insn->imm);
		else
			print(text, "r%u = 0x%llx", insn->dst,
			      (u32)insn->imm | (unsigned long long)insn[1].imm << 32);
		return 2;
	}
	print_memory(insn, text);
	return 1;
}
