// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The fields of their view that programs read: the analysis never misses one. */
#include "../../lib/programs/view_fields.c"
#include "lib_test.h"

#define MAX	16

#define MOV(to, from)	{ INSN_ALU64 | INSN_MOV | INSN_X, to, from, 0, 0 }
#define ADD(to, imm)	{ INSN_ALU64 | INSN_ADD, to, 0, 0, imm }
#define ADD_REG(to, from)	{ INSN_ALU64 | INSN_ADD | INSN_X, to, from, 0, 0 }
#define AND(to, imm)	{ INSN_ALU64 | INSN_AND, to, 0, 0, imm }
#define LOAD(size, to, from, off)	{ INSN_LDX | INSN_MEM | (size), to, from, off, 0 }
#define STORE(to, off, from)	{ INSN_STX | INSN_MEM | INSN_DW, to, from, off, 0 }
#define FETCH_ADD(to, off, from) \
	{ INSN_STX | INSN_ATOMIC | INSN_DW, to, from, off, INSN_ADD | INSN_FETCH }
#define IF_ZERO(reg, over)	{ INSN_JMP | INSN_JEQ, reg, 0, over, 0 }
#define FUNCTION(n)	{ INSN_JMP | INSN_CALL, 0, 0, 0, IMAGE_FUNCTION + (n) }
#define LOCAL(over)	{ INSN_JMP | INSN_CALL, 0, INSN_LOCAL, 0, over }
#define EXIT		{ INSN_JMP | INSN_EXIT, 0, 0, 0, 0 }

/* Word @n of the view. */
#define WORD(n)		(1ULL << (n))
#define FROM(n)		(~0ULL << (n))

static const struct test {
	const char *what;
	uint64_t sees;
	struct image_insn insns[MAX];
} tests[] = {
	{ "nothing", 0, { EXIT } },
	{ "a field", WORD(2), { LOAD(INSN_W, 0, 1, 8), EXIT } },
	{ "two words", WORD(8) | WORD(9), { LOAD(INSN_DW, 0, 1, 32), EXIT } },
	{ "a byte", WORD(5), { LOAD(INSN_B, 0, 1, 23), EXIT } },
	{ "beyond", WORD(63), { LOAD(INSN_B, 0, 1, 400), EXIT } },
	{ "by another register", WORD(3), { MOV(6, 1), ADD(6, 4), LOAD(INSN_W, 0, 6, 8), EXIT } },
	{ "a write is no read", 0, { STORE(1, 8, 2), EXIT } },
	{ "but an atomic one is", WORD(2) | WORD(3) | WORD(4) | WORD(5),
	  { FETCH_ADD(1, 8, 2), EXIT } },
	{ "from a length on", WORD(6) | FROM(10),
	  { LOAD(INSN_H, 2, 1, 26), ADD_REG(1, 2), LOAD(INSN_H, 0, 1, 40), EXIT } },
	{ "the sum the other way round", WORD(6) | FROM(10),
	  { LOAD(INSN_H, 2, 1, 26), ADD_REG(2, 1), LOAD(INSN_H, 0, 2, 40), EXIT } },
	{ "a masked number is a length", WORD(8) | WORD(9) | FROM(10),
	  { LOAD(INSN_DW, 2, 1, 32), AND(2, 255), ADD_REG(1, 2), LOAD(INSN_H, 0, 1, 40), EXIT } },
	{ "any number", ~0ULL,
	  { LOAD(INSN_DW, 2, 1, 32), ADD_REG(1, 2), LOAD(INSN_H, 0, 1, 40), EXIT } },
	{ "before it", ~0ULL, { LOAD(INSN_H, 0, 1, -8), EXIT } },
	{ "either of two places", WORD(0) | FROM(2),
	  { MOV(6, 1), LOAD(INSN_W, 2, 1, 0), IF_ZERO(2, 1), ADD(6, 40), LOAD(INSN_W, 0, 6, 8),
	    EXIT } },
	{ "a place or a number", ~0ULL,
	  { MOV(2, 1), IF_ZERO(3, 1), MOV(2, 4), LOAD(INSN_W, 0, 2, 8), EXIT } },
	{ "a loop", FROM(0),
	  { LOAD(INSN_W, 2, 1, 0), ADD(1, 4), IF_ZERO(2, -3), EXIT } },
	{ "its address is stored", ~0ULL, { STORE(10, -8, 1), EXIT } },
	{ "and returned", ~0ULL, { MOV(0, 1), EXIT } },
	{ "a function gets it", FROM(13), { ADD(1, 52), FUNCTION(0), EXIT } },
	{ "and another register", FROM(4),
	  { MOV(2, 1), ADD(2, 16), { INSN_ALU64 | INSN_MOV, 1, 0, 0, 7 }, FUNCTION(0), EXIT } },
	{ "one of the program's", WORD(1) | WORD(7),
	  { MOV(6, 1), LOCAL(2), LOAD(INSN_W, 0, 6, 28), EXIT, LOAD(INSN_W, 0, 1, 4), EXIT } },
	{ "by number", ~0ULL, { { INSN_JMP | INSN_CALL | INSN_X, 2, 0, 0, 0 }, EXIT } },
	{ "in 32 bits it is lost", ~0ULL,
	  { { INSN_ALU | INSN_ADD, 1, 0, 0, 4 }, LOAD(INSN_W, 0, 1, 8), EXIT } },
	{ "a register that is none", ~0ULL, { LOAD(INSN_W, 12, 1, 8), EXIT } },
	{ "the same of a sum", ~0ULL, { ADD(15, 4), EXIT } },
	{ "the same of a constant", ~0ULL, { { INSN_LD | INSN_DW, 11, 0, 0, 1 }, { 0 }, EXIT } },
	{ "the same that a fetch fills", WORD(2) | WORD(3) | WORD(4) | WORD(5),
	  { FETCH_ADD(1, 8, 14), EXIT } },
	{ "code that is not reached", 0, { EXIT, LOAD(INSN_W, 0, 1, 8), EXIT } },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		struct {
			struct image_header header;
			struct image_func funcs[1];
			struct image_insn insns[MAX];
		} image = { .header = { .ninsns = MAX, .nfuncs = 1 } };
		uint64_t sees;

		memcpy(image.insns, tests[i].insns, sizeof(image.insns));
		sees = view_fields((const char *)&image, sizeof(image));
		if (sees != tests[i].sees) {
			fprintf(stderr, "%s: %#llx, not %#llx\n", tests[i].what,
				(unsigned long long)sees, (unsigned long long)tests[i].sees);
			return 1;
		}
	}
	return 0;
}
