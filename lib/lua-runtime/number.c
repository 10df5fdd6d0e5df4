// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements number.h with SoftFloat's functions.  Included by runtime.c, the runtime's only
 * compiled file.
 */
#include <limits.h>
#include <string.h>

#include "number.h"
#include "softfloat/softfloat.c"

#define BIAS		(1UL << 51)
#define MINUS		(1UL << 63)
#define EXPONENT(bits)	((int)((bits) >> 52 & 0x7ff))
#define FRACTION(bits)	((bits) & ((1UL << 52) - 1))

/* -- Words ------------------------------------------------------------------------ */

/* The double's value as an integer, if it is one that has a word of its own. */
static bool small_integer(unsigned long bits, long *v)
{
	unsigned long m = FRACTION(bits) | 1UL << 52;
	int below = 1075 - EXPONENT(bits);	/* number of bits after the point */

	if (below > 52 || below < 1)
		return false;
	if (m & ((1UL << below) - 1))
		return false;
	*v = bits & MINUS ? -(long)(m >> below) : (long)(m >> below);
	return num_is_int(*v);
}

static long num_of_bits(unsigned long bits)
{
	long v;

	if (!bits)
		return 0;
	if (EXPONENT(bits) == 0x7ff && FRACTION(bits))
		return NUM_NAN;
	if (small_integer(bits, &v))
		return v;
	return (long)((bits << 1 | bits >> 63) + BIAS);
}

static __attribute__((noinline)) long num_of_large(long v)
{
	return num_of_bits(i64_to_f64(v).v);
}

static inline __attribute__((always_inline)) long num_of_long(long v)
{
	return num_is_int(v) ? v : num_of_large(v);
}

static long num_of_ulong(unsigned long v)
{
	/* The last bit is the sticky bit: set if any bit is shifted out. */
	return v >> 63 ? num_scale(num_of_long((long)(v >> 1 | (v & 1))), 1) :
			 num_of_long((long)v);
}

static unsigned long num_bits(long n)
{
	unsigned long turned = (unsigned long)n - BIAS;

	return num_is_int(n) ? i64_to_f64(n).v : turned >> 1 | turned << 63;
}

static float64_t double_of(long n)
{
	return (float64_t){ num_bits(n) };
}

static long number_of(float64_t d)
{
	return num_of_bits(d.v);
}

static __attribute__((noinline)) long num_truncated(long n)
{
	unsigned long bits = num_bits(n), m = FRACTION(bits) | 1UL << 52;
	int below = 1075 - EXPONENT(bits);

	if (below > 52)
		return 0;
	if (below < -10)
		return LONG_MIN;
	m = below > 0 ? m >> below : m << -below;
	return bits & MINUS ? -(long)m : (long)m;
}

static inline long num_to_long(long n)
{
	return num_is_int(n) ? n : num_truncated(n);
}

static int num_to_int(long n)
{
	long v = num_to_long(n);

	return v == (int)v ? (int)v : INT_MIN;
}

static unsigned int num_to_bits(long n)
{
	/* The last bit of the double is its units digit. */
	const float64_t large = { 0x4338000000000000UL };

	if (num_is_int(n))
		return (unsigned int)n;
	return n == NUM_NAN ? 0 : (unsigned int)f64_add(double_of(n), large).v;
}

static bool num_is_negative(long n)
{
	return num_is_int(n) ? n < 0 : ((unsigned long)n - BIAS) & 1;
}

static bool num_is_integer(long n, long *v)
{
	*v = num_to_long(n);
	if (num_is_int(n))
		return true;
	return *v >= -(1L << 53) && *v <= 1L << 53 && num_eq(num_of_long(*v), n);
}

/* -- Arithmetic -------------------------------------------------------------------- */

static long num_add_any(long a, long b)
{
	return number_of(f64_add(double_of(a), double_of(b)));
}

static long num_sub_any(long a, long b)
{
	return number_of(f64_sub(double_of(a), double_of(b)));
}

static long num_mul_any(long a, long b)
{
	return number_of(f64_mul(double_of(a), double_of(b)));
}

static long num_div_any(long a, long b)
{
	/* The quotient of two integers is often an integer; but 0 may be -0. */
	if (a && b && num_is_int(a) && num_is_int(b) && !(a % b))
		return num_of_long(a / b);
	return number_of(f64_div(double_of(a), double_of(b)));
}

static float64_t rounded(float64_t d, uint_fast8_t mode)
{
	return f64_roundToInt(d, mode, false);
}

/* As LuaJIT computes it, with the same roundings. */
static long num_mod_any(long a, long b)
{
	float64_t x = double_of(a), y = double_of(b);
	float64_t q = rounded(f64_div(x, y), softfloat_round_min);

	return number_of(f64_sub(x, f64_mul(q, y)));
}

static bool num_lt_any(long a, long b)
{
	return f64_lt_quiet(double_of(a), double_of(b));
}

static bool num_le_any(long a, long b)
{
	return f64_le_quiet(double_of(a), double_of(b));
}

static long num_floor(long a)
{
	return num_is_int(a) ? a : number_of(rounded(double_of(a), softfloat_round_min));
}

static long num_ceil(long a)
{
	return num_is_int(a) ? a : number_of(rounded(double_of(a), softfloat_round_max));
}

static long num_trunc(long a)
{
	return num_is_int(a) ? a : number_of(rounded(double_of(a), softfloat_round_minMag));
}

static long num_scale(long a, int n)
{
	unsigned long bits = num_bits(a), m = FRACTION(bits);
	int exponent = EXPONENT(bits);

	if (!(bits << 1) || exponent == 0x7ff)
		return a;
	if (exponent)
		m |= 1UL << 52;
	else
		exponent = 1;
	exponent += n > 9999 ? 9999 : n < -9999 ? -9999 : n;
	return number_of(softfloat_normRoundPackToF64(bits >> 63, exponent + 9, m));
}

static long num_sqrt(long a)
{
	return number_of(f64_sqrt(double_of(a)));
}

/* By IEEE's remainder of the absolute values, which is exact. */
static long num_fmod(long a, long b)
{
	float64_t x = { num_bits(a) & ~MINUS }, y = { num_bits(b) & ~MINUS }, rest;

	if (EXPONENT(y.v) == 0x7ff && !FRACTION(y.v) && EXPONENT(x.v) != 0x7ff)
		return a;
	rest = f64_rem(x, y);
	if (rest.v & MINUS && rest.v << 1)
		rest = f64_add(rest, y);
	rest.v &= ~MINUS;
	return num_of_bits(rest.v | (num_bits(a) & MINUS));
}

/* -- Decimals ----------------------------------------------------------------------- */

#define BILLION		1000000000U
#define LIMBS		200
#define POINT		44	/* limbs before the point, more than any double has */

/* A number without sign: limbs d[first] .. d[last - 1] of nine digits. */
struct decimal {
	unsigned int d[LIMBS];
	int first, last;
};

static void decimal_times(struct decimal *n, int shift)
{
	unsigned long carry = 0;
	int i;

	for (i = n->last; i-- > n->first;) {
		carry += (unsigned long)n->d[i] << shift;
		n->d[i] = carry % BILLION;
		carry /= BILLION;
	}
	if (carry)
		n->d[--n->first] = carry;
	while (n->last > POINT && n->last > n->first && !n->d[n->last - 1])
		n->last--;
}

/* Divides by 2^shift, with shift up to 9. Digits that do not fit become one sticky bit. */
static void decimal_over(struct decimal *n, int shift)
{
	unsigned int carry = 0, limb;
	int i;

	for (i = n->first; i < n->last; i++) {
		limb = n->d[i];
		n->d[i] = (limb >> shift) + carry;
		carry = (BILLION >> shift) * (limb & ((1U << shift) - 1));
	}
	if (carry && n->last < LIMBS)
		n->d[n->last++] = carry;
	else if (carry)
		n->d[LIMBS - 1] |= 1;
	while (n->first < n->last && !n->d[n->first])
		n->first++;
}

static void decimal_of(struct decimal *n, unsigned long bits)
{
	int exponent = EXPONENT(bits) ? EXPONENT(bits) - 1075 : -1074, some;
	unsigned long m = FRACTION(bits) | (EXPONENT(bits) ? 1UL << 52 : 0);

	n->d[POINT - 2] = m / BILLION;
	n->d[POINT - 1] = m % BILLION;
	n->first = m / BILLION ? POINT - 2 : POINT - 1;
	n->last = POINT;
	for (; exponent > 0; exponent -= some) {
		some = exponent < 29 ? exponent : 29;
		decimal_times(n, some);
	}
	for (; exponent < 0; exponent += some) {
		some = exponent > -9 ? -exponent : 9;
		decimal_over(n, some);
	}
}

static const unsigned long power_of_5[] = {
	1UL, 5UL, 25UL, 125UL, 625UL, 3125UL, 15625UL, 78125UL, 390625UL, 1953125UL, 9765625UL,
	48828125UL, 244140625UL, 1220703125UL, 6103515625UL, 30517578125UL, 152587890625UL,
	762939453125UL, 3814697265625UL, 19073486328125UL, 95367431640625UL, 476837158203125UL,
	2384185791015625UL, 11920928955078125UL, 59604644775390625UL, 298023223876953125UL,
	1490116119384765625UL, 7450580596923828125UL,
};

/*
 * Multiplies a positive double by 10^@scale, exactly, and rounds it down and to the nearest
 * integer, of two to the even one.  False where that takes more than a word, or @scale is too
 * large or negative: decimal_of() does all.
 */
static bool num_scaled(unsigned long bits, int scale, unsigned long *down, unsigned long *nearest)
{
	/* The double is an integer of 53 bits, by 2^@shift; 10^@scale is 5^@scale, by 2^@scale. */
	int shift = 1075 - EXPONENT(bits) - scale;
	unsigned long rest, below = 0;
	struct uint128 product;

	if (!EXPONENT(bits) || scale < 0 || scale > 27 || shift <= 0 || shift >= 128)
		return false;
	product = softfloat_mul64To128(FRACTION(bits) | 1UL << 52, power_of_5[scale]);
	if (shift > 64) {
		below = product.v0 << (128 - shift);
		product.v0 = product.v64 << (128 - shift) | product.v0 >> (shift - 64);
		product.v64 >>= shift - 64;
		shift = 64;
	}
	if (shift < 64 && product.v64 >> shift)
		return false;
	*down = shift < 64 ? product.v64 << (64 - shift) | product.v0 >> shift : product.v64;
	rest = shift < 64 ? product.v0 << (64 - shift) : product.v0;
	*nearest = *down + (rest > MINUS || (rest == MINUS && (below || *down & 1)));
	return *down < MINUS;
}

static int num_digits(unsigned long bits, char *digits, int *n)
{
	struct decimal decimal;
	char *to = digits;
	int i, j, skip = 0;
	unsigned int limb;

	decimal_of(&decimal, bits);
	for (i = decimal.first; i < decimal.last; i++, to += 9) {
		limb = decimal.d[i];
		for (j = 9; j-- > 0; limb /= 10)
			to[j] = (char)('0' + limb % 10);
	}
	while (digits + skip < to && digits[skip] == '0')
		skip++;
	*n = (int)(to - digits) - skip;
	memmove(digits, digits + skip, *n);
	return *n ? (POINT - decimal.first) * 9 - skip : 1;
}

/* Number of binary digits in the integer part, which has at most three limbs. */
static unsigned long integer_part(const struct decimal *n)
{
	unsigned long v = 0;
	int i;

	for (i = n->first; i < POINT && i < n->last; i++)
		v = v * BILLION + n->d[i];
	return v;
}

/* The nearest double: scales the number until the integer part has enough bits. */
static unsigned long decimal_bits(struct decimal *n)
{
	int exponent = 0, shift, i;
	unsigned long v;
	bool rest = false;

	while (n->first < POINT - 2) {
		decimal_over(n, 9);
		exponent += 9;
	}
	while ((v = integer_part(n)) < 1UL << 55 && n->last > POINT) {
		shift = v ? __builtin_clzl(v) - 4 : 29;
		shift = shift < 29 ? shift : 29;
		decimal_times(n, shift);
		exponent -= shift;
	}
	for (i = POINT; i < n->last; i++)
		rest = rest || n->d[i];
	if (!v)
		return 0;
	/* The sticky bit is below all significant bits. */
	if (v < 1UL << 61) {
		v = v << 1 | rest;
		exponent--;
	} else {
		v |= rest;
	}
	return softfloat_normRoundPackToF64(false, 0x43c + exponent, v).v;
}

/* -- Text --------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As in LuaJIT: a longer exponent makes no number. */
#define EXPONENT_MAX	(1 << 20)

/*
 * Parses the exponent after "e" or "p"; *s stays if there is none, and becomes NULL if it is
 * malformed.
 */
static int parse_exponent(const char **s, char letter)
{
	const char *p = *s;
	bool negative;
	int v = 0;

	if ((*p | 32) != letter)
		return 0;
	p++;
	negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (!is_digit(*p)) {
		*s = NULL;
		return 0;
	}
	for (; is_digit(*p) && v < EXPONENT_MAX; p++)
		v = v * 10 + (*p - '0');
	*s = v < EXPONENT_MAX ? p : NULL;
	return negative ? -v : v;
}

/* Adds digit @c at 10^@place; digits beyond every double's precision only set the sticky bit. */
static void put_digit(struct decimal *n, int place, unsigned int c)
{
	static const unsigned int power[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
	};
	int up = place + 9 * (LIMBS - POINT), limb = LIMBS - 1 - up / 9;

	if (up < 0) {
		n->d[LIMBS - 1] |= c != 0;
		limb = LIMBS - 1;
	} else {
		n->d[limb] += c * power[up % 9];
	}
	if (!c)
		return;
	if (limb < n->first)
		n->first = limb;
	if (limb >= n->last)
		n->last = limb + 1;
}

/* The first digit that is not 0, and the number of digits. */
struct numeral {
	const char *digits, *end;
	int point;		/* number of digits before the point */
	int first, n;
};

static bool scan(struct numeral *numeral, const char *s)
{
	bool after = false;

	*numeral = (struct numeral){ .digits = s, .first = -1 };
	for (; is_digit(*s) || (*s == '.' && !after); s++) {
		if (*s == '.') {
			after = true;
			continue;
		}
		if (*s != '0' && numeral->first < 0)
			numeral->first = numeral->n;
		numeral->n++;
		numeral->point += !after;
	}
	numeral->end = s;
	return numeral->n;
}

static unsigned long scaled(const struct numeral *numeral, int exponent)
{
	struct decimal n;
	const char *s;
	int place = numeral->point + exponent;

	if (numeral->first < 0 || place - numeral->first < -330)
		return 0;
	if (place - numeral->first > 310)
		return 0x7ffUL << 52;
	memset(&n, 0, sizeof(n));
	n.first = LIMBS;
	for (s = numeral->digits; s < numeral->end; s++)
		if (*s != '.')
			put_digit(&n, --place, *s - '0');
	/* An integer has all its limbs, including trailing zeros. */
	if (n.first < POINT && n.last < POINT)
		n.last = POINT;
	return decimal_bits(&n);
}

/* Up to 15 digits without a point are an integer that has a word. */
static bool parse_short(const struct numeral *numeral, long *v)
{
	const char *s;

	if (numeral->n > 15 || numeral->n != numeral->point || *numeral->end == '.' ||
	    (*numeral->end | 32) == 'e')
		return false;
	*v = 0;
	for (s = numeral->digits; is_digit(*s); s++)
		*v = *v * 10 + (*s - '0');
	return true;
}

/*
 * The double that up to 15 digits without an exponent, with a point among them, stand for: one
 * exact integer divided by another, which rounds once.
 */
static bool parse_fraction(const struct numeral *numeral, unsigned long *bits)
{
	long v = 0, power = 1;
	int place = numeral->n - numeral->point;
	const char *s;

	if (numeral->n > 15 || (*numeral->end | 32) == 'e')
		return false;
	for (s = numeral->digits; s < numeral->end; s++)
		if (*s != '.')
			v = v * 10 + (*s - '0');
	while (place-- > 0)
		power *= 10;
	*bits = f64_div(i64_to_f64(v), i64_to_f64(power)).v;
	return true;
}

static const char *parse_decimal(const char *s, bool negative, long *n)
{
	struct numeral numeral;
	unsigned long bits;
	int exponent;

	if (!scan(&numeral, s))
		return NULL;
	if (parse_short(&numeral, n)) {
		*n = !negative ? *n : *n ? num_of_long(-*n) : NUM_MINUS_ZERO;
		*n = negative ? *n : num_of_long(*n);
		return numeral.end;
	}
	s = numeral.end;
	exponent = parse_exponent(&s, 'e');
	if (s) {
		if (!parse_fraction(&numeral, &bits))
			bits = scaled(&numeral, exponent);
		*n = num_of_bits(bits | (negative ? MINUS : 0));
	}
	return s;
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

/* Digits of @bits bits each, after leading zeros: 62 bits, and a sticky bit. */
struct bits {
	unsigned long v;
	int exponent, digits;
};

static void put_bits(struct bits *b, int bits, unsigned int digit)
{
	b->digits++;
	if (b->v < 1UL << 58) {
		b->v = b->v << bits | digit;
	} else {
		b->v |= digit != 0;
		b->exponent += bits;
	}
}

static unsigned long bits_scaled(const struct bits *b, int exponent)
{
	if (!b->v)
		return 0;
	return softfloat_normRoundPackToF64(false, 0x43c + b->exponent + exponent, b->v).v;
}

/* Parses the digits after "0x". */
static const char *parse_hex(const char *s, bool negative, long *n)
{
	struct bits b = { 0 };
	bool after = false;
	int exponent;

	for (; digit_of(*s) < 16 || (*s == '.' && !after); s++) {
		if (*s == '.') {
			after = true;
			continue;
		}
		put_bits(&b, 4, digit_of(*s));
		b.exponent -= after ? 4 : 0;
	}
	if (!b.digits)
		return NULL;
	exponent = parse_exponent(&s, 'p');
	*n = num_of_bits(bits_scaled(&b, exponent) | (negative ? MINUS : 0));
	return s;
}

/* Parses the digits after "0b": at most 64, besides leading zeros. */
static const char *parse_binary(const char *s, bool negative, long *n)
{
	struct bits b = { 0 };
	int skipped = 0;

	for (; *s == '0'; s++)
		skipped++;
	for (; *s == '0' || *s == '1'; s++)
		put_bits(&b, 1, *s - '0');
	if (!(skipped + b.digits) || b.digits > 64)
		return NULL;
	*n = num_of_bits(bits_scaled(&b, 0) | (negative ? MINUS : 0));
	return s;
}

static const char *parse_word(const char *s, const char *word)
{
	for (; *word; s++, word++)
		if ((*s | 32) != *word)
			return NULL;
	return s;
}

/* Parses names as LuaJIT: "inf", "infinity", "nan". */
static const char *parse_name(const char *s, bool negative, long *n)
{
	const char *end = parse_word(s, "nan"), *more;

	*n = NUM_NAN;
	if (end)
		return end;
	end = parse_word(s, "inf");
	more = end ? parse_word(end, "inity") : NULL;
	*n = negative ? NUM_INFINITY + 1 : NUM_INFINITY;
	return more ? more : end;
}

static long num_parse(const char *s, char **end)
{
	const char *p = s, *after;
	bool negative;
	long n = 0;

	while (is_space(*p))
		p++;
	negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (*p == '0' && (p[1] | 32) == 'x')
		after = parse_hex(p + 2, negative, &n);
	else if (*p == '0' && (p[1] | 32) == 'b')
		after = parse_binary(p + 2, negative, &n);
	else if (is_digit(*p) || *p == '.')
		after = parse_decimal(p, negative, &n);
	else
		after = parse_name(p, negative, &n);
	*end = (char *)(after ? after : s);
	return n;
}

static long num_parse_base(const char *s, char **end, int base)
{
	const char *p = s;
	bool negative, fits = true;
	unsigned long v = 0;
	int digit;
	long n;

	while (is_space(*p))
		p++;
	negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (base == 16 && p[0] == '0' && (p[1] | 32) == 'x' && digit_of(p[2]) < 16)
		p += 2;
	for (*end = (char *)s; (digit = digit_of(*p)) < base; *end = (char *)++p) {
		fits = fits && v <= (~0UL - digit) / base;
		v = v * base + digit;
	}
	n = num_of_ulong(fits ? v : ~0UL);
	return negative ? num_unm(n) : n;
}
