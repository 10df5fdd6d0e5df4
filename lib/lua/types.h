/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Infers facts about a function's registers before each of its instructions. */
#ifndef LIB_LUA_TYPES_H
#define LIB_LUA_TYPES_H

#include "bytecode.h"

/* Sets of types.  Integers are those of INTEGER_BITS, T_NUMBER all other numbers. */
enum {
	T_NIL = 1 << 0, T_BOOLEAN = 1 << 1, T_INTEGER = 1 << 2, T_NUMBER = 1 << 3,
	T_STRING = 1 << 4, T_TABLE = 1 << 5, T_FUNCTION = 1 << 6, T_OTHER = 1 << 7,
	T_ANY = 0xff,
};
#define T_NUMBERS	(T_INTEGER | T_NUMBER)

/* fact.origin: a table made by this function, so that it has few fields, or none. */
#define NEW_TABLE	1

/**
 * struct fact - a fact about a register
 * @types:  the types that it may hold
 * @origin: its value when the script was compiled, as a guess: the address of a function or
 *          table; ID_SYSCALL and a number; NEW_TABLE; 0: unknown
 * @sure:   it certainly is that value
 * @constant: it is the integer @origin
 * @low, @high: if it is an integer, it is within this struct range
 */
struct fact {
	uint8_t types;
	bool sure, constant;
	int8_t low, high;
	uint64_t origin;
};

/* Integers of at least -2^@low, or 0 if @low is negative, and less than 2^@high. */
struct range {
	int low, high;
};

#define RANGE_OF_INTEGERS	((struct range){ INTEGER_BITS - 1, INTEGER_BITS - 1 })
#define NOT_NEGATIVE		(-1)

/**
 * struct types - for each instruction @facts[pc * p->nregs + register]
 * @reached: for each instruction: it may be executed
 * @target:  for each instruction: a jump may lead to it
 * @chain:   for the first and the last instruction of a possible chain: its number of instructions
 * @args:    facts about the @nargs arguments of the call for which the function is inlined; NULL:
 *           any call
 * @expected: for each parameter that is expected to be an integer: its bits, see types_expected()
 * The other fields are private to types_infer().
 */
struct types {
	const struct runtime *runtime;
	const struct proto *p;
	struct fact *facts;
	bool *reached, *target;
	uint8_t *chain;
	const struct fact *args;
	uint32_t nargs;
	uint8_t expected[REGISTERS];
	uint32_t *taken;	/* for each instruction: the call whose argument it makes, or 0 */
	bool *waiting;		/* for each instruction: to be visited again */
	uint32_t next;		/* the next instruction to visit */
	struct fact *now;	/* REGISTERS facts, as of the current instruction */
};

/* Infers the facts. False if out of memory, or if too much would be needed. */
bool types_infer(struct types *types, const struct runtime *runtime, const struct proto *p);
/* As above, for a function that is called with @args. */
bool types_infer_for(struct types *types, const struct runtime *runtime, const struct proto *p,
		     const struct fact *args, uint32_t nargs);
void types_free(struct types *types);

static inline const struct fact *fact_at(const struct types *t, uint32_t pc, uint32_t reg)
{
	return &t->facts[pc * t->p->nregs + reg];
}

/*
 * inline.c: the function that the instruction at @pc calls, with the facts @f before it, if it
 * can be inlined; then @result has the types of its first result.
 */
const struct proto *types_inline(const struct types *types, uint32_t pc, const struct fact *f,
				 uint8_t *result);

/* The types of the result of the arithmetic at @pc, which is left if it is not an integer. */
uint8_t types_of_arith(const struct types *types, uint32_t pc);

/* The types of an operand, a register or a constant. */
uint8_t types_of_rk(const struct types *types, uint32_t pc, uint32_t rk);
/* Is the operand always the same integer? */
bool rk_is_constant(const struct types *types, uint32_t pc, uint32_t rk, int64_t *value);
/* ranges.c: where the operand is, if it is an integer. */
struct range range_of_rk(const struct types *types, uint32_t pc, uint32_t rk);
struct range range_of_constant(int64_t value);
/* Where the result of an OP_ADD, OP_SUB or OP_MUL of two integers is, if it is not rounded. */
struct range range_of_arith(uint32_t op, struct range b, struct range c);
/* The result of the instruction at @pc, arithmetic, if it is an integer. */
struct range range_of_result(const struct types *types, uint32_t pc);
/* The result of the call of math.floor() at @pc, probably of a quotient. */
struct range range_of_floor(const struct types *types, uint32_t pc);
bool range_fits(struct range range);
/* n with |v| <= 2^n for all integers of the range. */
int range_bits(struct range range);

/* The address of the function that the register probably holds (fact.origin), or 0. */
uint64_t function_at(const struct types *types, uint32_t pc, uint32_t reg);

/* The value that the instruction at @pc certainly finds in a library, as nothing was replaced. */
bool types_library(const struct types *types, uint32_t pc, const struct fact *f,
		   struct value *found);

/* The closure that the OP_SELF at @pc probably finds as its object is a frame, or 0. */
uint64_t types_view_method(const struct types *types, uint32_t pc, const struct fact *f);

/* Which function of the runtime the closure at @origin is: INTRINSIC_*, or -1. */
int intrinsic_of(const struct runtime *runtime, uint64_t origin);

/*
 * The certain or expected types of the result of a call of a library function: compiled code
 * leaves to the interpreter if a result is not an integer of @range as expected.
 */
uint8_t expected_result(const struct types *types, uint32_t pc, const struct fact *f,
			struct range *range);

/*
 * The number of arguments of the call at @pc; if the last ones are the results of another call,
 * as expected of that. ~0: unknown.
 */
uint32_t expected_arguments(const struct types *types, uint32_t pc);

/**
 * struct scalar - a scalar in memory, for util.peek() and util.poke()
 */
struct scalar {
	uint32_t size;
	bool is_signed, is_big;
};

/*
 * results.c: the kind that R(@reg), an argument of the call at @pc, names. False: not certain.
 */
bool types_scalar(const struct types *types, uint32_t pc, uint32_t reg, struct scalar *kind);
/*
 * Moves @pc back to the last instruction before it whose R(A) is at most @reg, if that is on the
 * straight line to @pc: so R(@reg) has not been written since.
 */
bool types_last_at(const struct types *types, uint32_t *pc, uint32_t reg);
/* The string that R(@reg) certainly holds before the instruction at @pc; 0: unknown. */
uint64_t types_constant_text(const struct types *types, uint32_t pc, uint32_t reg);

/**
 * struct result - a result of a call
 * @types: its certain types
 * @range: where it is, if it is an integer
 */
struct result {
	uint8_t types;
	struct range range;
};

#define RESULTS_MOST	8

/* The first results of the call at @pc that are known; returns their number. */
uint32_t types_results(const struct types *types, uint32_t pc, const struct fact *f,
		       struct result results[RESULTS_MOST]);

/* Fills in types.taken. */
void types_find_taken(struct types *types);
/*
 * Does the instruction at @pc make an argument for which only an integer is expected? If it
 * cannot, compiled code is left there, so afterwards it and the operands are integers.
 */
bool types_takes_integer(const struct types *types, uint32_t pc, const struct fact *f);

/*
 * Fills in types.expected, by the facts without it. False: no parameter is expected to be an
 * integer.
 */
bool types_find_expected(struct types *types);
/*
 * Is the parameter expected to be an integer, of @range? Then the function is left at its beginning
 * if it is not.
 */
bool types_expected(const struct types *types, uint32_t reg, struct range *range);

/* arith.c: fills in types.chain. False if out of memory. */
bool types_find_chains(struct types *types);
/*
 * The number of instructions of the chain that begins or ends at @pc, or 0. Its last instruction is
 * a remainder by a constant, which is expected to be an integer.
 */
uint32_t types_chain(const struct types *types, uint32_t pc);

/*
 * For a call all of whose results are the last arguments of the next call: the number of calls that
 * follow until one has a known number of results. 0: another instruction follows.
 */
uint32_t open_calls(const struct types *types, uint32_t pc);

/* bits.c: is it a function of the library "bit" that is inline with @n arguments? */
bool bits_takes(int intrinsic, uint32_t n);
/* Where its result is. */
struct range bits_range(const struct types *types, uint32_t pc, int intrinsic);

bool is_integer(uint64_t bits);

/* Does the upvalue always hold @value, as at compile time? */
bool upvalue_is_fixed(const struct runtime *runtime, const struct proto *p, uint32_t up,
		      struct value *value);

/* Does the upvalue probably hold an integer, because it did at compile time? */
bool upvalue_is_integer(const struct runtime *runtime, const struct proto *p, uint32_t up);

/* Is the step of the loop with the OP_FORPREP at @pc known? */
bool for_step(const struct types *types, uint32_t pc, int64_t *step);

/* The number of the system call @name, or -1. */
long syscall_number(const char *name);
/* The kinds of its arguments, as in syscalls.def. */
const char *syscall_kinds(long nr);
/* Is its result always of fewer bits than INTEGER_BITS? */
bool syscall_is_small(long nr);
/* Does the kernel write to none of its arguments that may be strings? */
bool syscall_only_reads(long nr);
/* The system call of the function at @origin, or -1. */
long syscall_of(const struct runtime *runtime, uint64_t origin);

#endif /* LIB_LUA_TYPES_H */
