/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What is known of a function's registers before each of its instructions.
 */
#ifndef LIB_LUA_TYPES_H
#define LIB_LUA_TYPES_H

#include "read.h"

/* Sets of types.  Integers are those of INTEGER_BITS, T_NUMBER all other numbers. */
enum {
	T_NIL = 1 << 0, T_BOOLEAN = 1 << 1, T_INTEGER = 1 << 2, T_NUMBER = 1 << 3,
	T_STRING = 1 << 4, T_TABLE = 1 << 5, T_FUNCTION = 1 << 6, T_OTHER = 1 << 7,
	T_ANY = 0xff,
};
#define T_NUMBERS	(T_INTEGER | T_NUMBER)

/* fact.origin: made by this function, so that it has few fields, or none. */
#define NEW_TABLE	1

/**
 * struct fact - of a register
 * @types:  what it may hold
 * @origin: what it held when the script was compiled, for a guess: the address of a
 *          function or table, or ID_SYSCALL and a number; NEW_TABLE; 0: unknown
 * @sure:   it is that and nothing else
 * @constant: it is an integer, which @origin is
 */
struct fact {
	uint8_t types;
	bool sure, constant;
	uint64_t origin;
};

/**
 * struct types - for each instruction @facts[pc * p->nregs + register]
 * @reached: it is ever executed
 * @target:  more than the instruction before leads there
 * @args:    of the call that it is compiled for, @nargs of them; NULL: for any
 * The rest is of types_infer().
 */
struct types {
	const struct runtime *runtime;
	const struct proto *p;
	struct fact *facts;
	bool *reached, *target;
	const struct fact *args;
	uint32_t nargs;
	bool *waiting;		/* its facts have changed since it was looked at */
	uint32_t next;		/* to look at */
	struct fact *now;	/* as it is looked at: REGISTERS of them */
};

/* False if there is no memory, or too much would be needed. */
bool types_infer(struct types *types, const struct runtime *runtime, const struct proto *p);
/* The same, of a function that is called with @args. */
bool types_infer_for(struct types *types, const struct runtime *runtime, const struct proto *p,
		     const struct fact *args, uint32_t nargs);
void types_free(struct types *types);

static inline const struct fact *fact_at(const struct types *t, uint32_t pc, uint32_t reg)
{
	return &t->facts[pc * t->p->nregs + reg];
}

/*
 * inline.c: the function that the instruction at @pc calls, with the facts @f before it, if
 * its code can take the call's place; then @result has the types of what it returns first.
 */
const struct proto *types_inline(const struct types *types, uint32_t pc, const struct fact *f,
				 uint8_t *result);

/* The types of an operand, a register or a constant. */
uint8_t types_of_rk(const struct types *types, uint32_t pc, uint32_t rk);
/* Is the operand always the same integer, of 32 bits? */
bool rk_is_constant(const struct types *types, uint32_t pc, uint32_t rk, int64_t *value);
/* The function that the register probably holds, fact.origin, or 0. */
uint64_t function_at(const struct types *types, uint32_t pc, uint32_t reg);

/* The value that the instruction at @pc certainly finds in a library, as nothing was replaced. */
bool types_library(const struct types *types, uint32_t pc, const struct fact *f,
		   struct value *found);

/* Which of the runtime's functions the closure at @origin is: INTRINSIC_*, or -1. */
int intrinsic_of(const struct runtime *runtime, uint64_t origin);

/*
 * The types of the result of a call of a function of a library, as far as they are certain, or
 * expected: compiled code leaves where the result is no integer but was expected to be one.
 */
uint8_t expected_result(const struct types *types, uint32_t pc, const struct fact *f);

/* bits.c: is it a function of the library "bit" that is inline with @n arguments? */
bool bits_takes(int intrinsic, uint32_t n);

bool is_integer(uint64_t bits);

/* Does the upvalue always hold @value, as when the script was compiled? */
bool upvalue_is_fixed(const struct runtime *runtime, const struct proto *p, uint32_t up,
		      struct value *value);

/* An upvalue that held an integer when the script was compiled probably still does. */
bool upvalue_is_integer(const struct runtime *runtime, const struct proto *p, uint32_t up);

/* Is the step of the loop with the OP_FORPREP at @pc known? */
bool for_step(const struct types *types, uint32_t pc, int64_t *step);

/* The number of a system call, or -1. */
long syscall_number(const char *name);
/* Kinds of its arguments, as in syscalls.def. */
const char *syscall_kinds(long nr);
/* Is its result always of fewer bits than INTEGER_BITS? */
bool syscall_is_small(long nr);
/* Does the kernel write to none of its arguments that may be strings? */
bool syscall_only_reads(long nr);
/* The system call that is the function at @origin, or -1. */
long syscall_of(const struct runtime *runtime, uint64_t origin);

#endif /* LIB_LUA_TYPES_H */
