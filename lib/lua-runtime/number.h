/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Lua's numbers, IEEE doubles as in LuaJIT, in a word each: an integer of 52 bits, as nearly all
 * numbers in scripts are, represents itself; any other number is a double's bits, rotated and
 * offset so that they differ from all such integers.  Each value has one word, so equal words are
 * equal numbers, except that NaN is not equal to itself and -0 equals 0.
 *
 * The arithmetic of doubles is Berkeley SoftFloat's: the engine has no floating point.
 */
#ifndef LUA_RUNTIME_NUMBER_H
#define LUA_RUNTIME_NUMBER_H

#include <stdbool.h>

/* Not inlined, so that the image has one copy. */
#define NUM_ONCE	static __attribute__((noinline))

static inline bool num_is_int(long n)
{
	/*
	 * The bits above the sign are 0 or -1. Without a 64-bit constant, which takes three
	 * instructions.
	 */
	return (unsigned long)(n >> 51) + 1 < 2;
}

/* Are all three integers?  One test of the bits above the sign: each is 0 or -1. */
static inline bool num_are_ints(long a, long b, long c)
{
	return (((unsigned long)(a >> 51) + 1) | ((unsigned long)(b >> 51) + 1) |
		((unsigned long)(c >> 51) + 1)) <= 1;
}

/* Conversions to words, and from them. */
NUM_ONCE long num_of_long(long v);
NUM_ONCE long num_of_ulong(unsigned long v);
NUM_ONCE long num_of_bits(unsigned long bits);
NUM_ONCE unsigned long num_bits(long n);

/* Rounds towards zero; LONG_MIN if the number does not fit into a long. */
NUM_ONCE long num_to_long(long n);
/* Rounds towards zero; INT_MIN if the number does not fit into an int. */
NUM_ONCE int num_to_int(long n);
/* Rounded and modulo 2^32, as in LuaJIT's bit library. */
NUM_ONCE unsigned int num_to_bits(long n);
/* Is it an integer within 2^53, as arguments of system calls and addresses must be? */
NUM_ONCE bool num_is_integer(long n, long *v);

/* The general cases, for any numbers, out of line. */
NUM_ONCE long num_add_any(long a, long b);
NUM_ONCE long num_sub_any(long a, long b);
NUM_ONCE long num_mul_any(long a, long b);
NUM_ONCE long num_div_any(long a, long b);
NUM_ONCE long num_mod_any(long a, long b);
NUM_ONCE bool num_lt_any(long a, long b);
NUM_ONCE bool num_le_any(long a, long b);

/* Negative, as x86 generates it: loops test the sign. */
#define NUM_NAN		((long)0xffe8000000000003UL)
#define NUM_INFINITY	((long)0xffe8000000000000UL)
#define NUM_MINUS_ZERO	((long)0x0008000000000001UL)

static inline long num_add(long a, long b)
{
	long sum = (long)((unsigned long)a + (unsigned long)b);

	return num_are_ints(a, b, sum) ? sum : num_add_any(a, b);
}

static inline long num_sub(long a, long b)
{
	long rest = (long)((unsigned long)a - (unsigned long)b);

	return num_are_ints(a, b, rest) ? rest : num_sub_any(a, b);
}

static inline long num_mul(long a, long b)
{
	long product = (long)((unsigned long)a * (unsigned long)b);

	/* A product of 0 may have to be -0. */
	if (a == (int)a && b == (int)b && product && num_is_int(product))
		return product;
	return num_mul_any(a, b);
}

static inline long num_div(long a, long b)
{
	return num_div_any(a, b);
}

static inline long num_mod(long a, long b)
{
	long rest;

	if (!num_is_int(a) || !num_is_int(b) || !b)
		return num_mod_any(a, b);
	rest = a % b;
	return rest && (rest ^ b) < 0 ? rest + b : rest;
}

static inline long num_unm(long a)
{
	return num_is_int(a) && a ? num_of_long(-a) : num_sub_any(NUM_MINUS_ZERO, a);
}

NUM_ONCE bool num_is_negative(long n);

static inline bool num_eq(long a, long b)
{
	if (a == b)
		return a != NUM_NAN;
	return (!a && b == NUM_MINUS_ZERO) || (!b && a == NUM_MINUS_ZERO);
}

static inline bool num_lt(long a, long b)
{
	return num_is_int(a) && num_is_int(b) ? a < b : num_lt_any(a, b);
}

static inline bool num_le(long a, long b)
{
	return num_is_int(a) && num_is_int(b) ? a <= b : num_le_any(a, b);
}

/* Does a loop continue with @idx?  Depends on the sign of its step, also if that is 0. */
static inline bool num_loops(long idx, long limit, long step)
{
	return num_is_negative(step) ? num_le(limit, idx) : num_le(idx, limit);
}

NUM_ONCE long num_sqrt(long a);
NUM_ONCE long num_floor(long a);
NUM_ONCE long num_ceil(long a);
NUM_ONCE long num_trunc(long a);
NUM_ONCE long num_fmod(long a, long b);
/* a * 2^n */
NUM_ONCE long num_scale(long a, int n);
NUM_ONCE long num_pow(long a, long b);

/* As strtod(), with LuaJIT's other forms; @end is set to @s if there is no number. */
NUM_ONCE long num_parse(const char *s, char **end);
/* As strtoul(), without a sign. */
NUM_ONCE long num_parse_base(const char *s, char **end, int base);

/*
 * All digits of a finite number's absolute value; @n is set to their number, 0 for 0. Returns how
 * many digits are before the point; negative if zeros lie between the point and the first digit.
 */
#define NUM_DIGITS_MAX	1500
NUM_ONCE int num_digits(unsigned long bits, char *digits, int *n);

#endif /* LUA_RUNTIME_NUMBER_H */
