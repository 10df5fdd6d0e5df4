// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * sin(), log(), pow() and the like, correctly rounded, so that results equal those of LuaJIT's
 * engine, which uses CORE-MATH.
 *
 * They are evaluated in fixed point, first with 128 bits after the point.  If that does not
 * decide the rounding, which happens once in thousands of calls, they are evaluated again with
 * 320 bits.  A result that is then closer to a double, or to the midpoint of two, than any
 * inexact value can be, is exact.
 */

#define WORDS		12
#define AFTER		10	/* words after the point */
#define BITS_AFTER	(32 * AFTER)

/* Without sign, the least significant word first. */
struct fixed {
	unsigned int w[WORDS];
};

/* The index of the first significant word. */
static int lowest;
#define LOWEST_QUICK	6

static const struct fixed ln_2 = { {
	0x6debac98, 0xe7b87620, 0x8baafa2b, 0x8a0d175b, 0x7298b62d, 0x40f34326,
	0x03f2f6af, 0xc9e3b398, 0xd1cf79ab, 0xb17217f7, 0x00000000, 0x00000000,
} };
static const struct fixed log2_e = { {
	0xaa2ed9ac, 0xbc3887ee, 0xa342648f, 0x164a2cd9, 0xbad2b4b1, 0xd6aef551,
	0xd23a7d11, 0x7d0ffda0, 0xb82fe177, 0x71547652, 0x00000001, 0x00000000,
} };
static const struct fixed log10_e = { {
	0x0a0179f9, 0x3aa1277d, 0x7bc7529e, 0x1d1f96a2, 0x22e4d101, 0x1f71a301,
	0xd699ee19, 0x9aadd557, 0x9b9438ca, 0x6f2dec54, 0x00000000, 0x00000000,
} };
static const struct fixed half_pi = { {
	0x1c6809bb, 0xa29410f3, 0x76273644, 0x04177d4c, 0x14cf98e8, 0x52049c11,
	0x01b839a2, 0x898cc517, 0x42d18469, 0x921fb544, 0x00000001, 0x00000000,
} };
static const struct fixed pi = { {
	0x38d01377, 0x452821e6, 0xec4e6c89, 0x082efa98, 0x299f31d0, 0xa4093822,
	0x03707344, 0x13198a2e, 0x85a308d3, 0x243f6a88, 0x00000003, 0x00000000,
} };
static const unsigned int two_over_pi[] = {
	0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
	0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
	0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
	0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
	0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
	0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
	0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d, 0xa9e39161, 0x5ee61b08,
	0x6599855f, 0x14a06840, 0x8dffd880, 0x4d732731,
};

/* -- Fixed point ---------------------------------------------------------------------- */

static const struct fixed one = { { [AFTER] = 1 } };

NUM_ONCE void fixed_add(struct fixed *r, const struct fixed *a, const struct fixed *b)
{
	unsigned long carry = 0;
	int i;

	for (i = lowest; i < WORDS; i++) {
		carry += (unsigned long)a->w[i] + b->w[i];
		r->w[i] = (unsigned int)carry;
		carry >>= 32;
	}
}

/* a - b, which must not be negative. */
NUM_ONCE void fixed_sub(struct fixed *r, const struct fixed *a, const struct fixed *b)
{
	long carry = 0;
	int i;

	for (i = lowest; i < WORDS; i++) {
		carry += (long)a->w[i] - (long)b->w[i];
		r->w[i] = (unsigned int)carry;
		carry >>= 32;
	}
}

static bool fixed_less(const struct fixed *a, const struct fixed *b)
{
	int i = WORDS - 1;

	while (i > lowest && a->w[i] == b->w[i])
		i--;
	return a->w[i] < b->w[i];
}

/* Column by column; columns more than two words below the last significant one are skipped. */
NUM_ONCE void fixed_mul(struct fixed *r, const struct fixed *a, const struct fixed *b)
{
	unsigned long low, high = 0, carry = 0, product;
	struct fixed result;
	int i, k;

	for (k = lowest - 1; k < WORDS; k++) {
		low = carry;
		high = 0;
		i = k + AFTER - (WORDS - 1);
		for (i = i < lowest ? lowest : i; i < WORDS && k + AFTER - i >= lowest; i++) {
			product = (unsigned long)a->w[i] * b->w[k + AFTER - i];
			low += (unsigned int)product;
			high += product >> 32;
		}
		if (k >= lowest)
			result.w[k] = (unsigned int)low;
		carry = high + (low >> 32);
	}
	for (i = lowest; i < WORDS; i++)
		r->w[i] = result.w[i];
}

NUM_ONCE void fixed_over(struct fixed *r, const struct fixed *a, unsigned int n)
{
	unsigned long rest = 0;
	int i;

	for (i = WORDS; i-- > lowest;) {
		rest = rest << 32 | a->w[i];
		r->w[i] = (unsigned int)(rest / n);
		rest %= n;
	}
}

/* The 32 bits that begin at bit @at. */
NUM_ONCE unsigned int word_at(const struct fixed *a, int at)
{
	int i = at >> 5;
	unsigned long v = 0;

	if (i >= lowest && i < WORDS)
		v = a->w[i];
	if (i + 1 >= lowest && i + 1 < WORDS)
		v |= (unsigned long)a->w[i + 1] << 32;
	return (unsigned int)(v >> (at & 31));
}

/* a * 2^n; bits shifted out are lost. */
NUM_ONCE void fixed_shift(struct fixed *r, const struct fixed *a, int n)
{
	struct fixed result;
	int i;

	for (i = lowest; i < WORDS; i++)
		result.w[i] = n > -32 * WORDS && n < 32 * WORDS ? word_at(a, 32 * i - n) : 0;
	for (i = lowest; i < WORDS; i++)
		r->w[i] = result.w[i];
}

/* The index of the highest set bit, or -1. */
NUM_ONCE int fixed_top(const struct fixed *a)
{
	int i;

	for (i = WORDS; i-- > lowest;)
		if (a->w[i])
			return 32 * i + 31 - __builtin_clz(a->w[i]);
	return -1;
}

/* m * 2^exponent */
NUM_ONCE void fixed_set(struct fixed *r, unsigned long m, int exponent)
{
	int i;

	for (i = 0; i < WORDS; i++)
		r->w[i] = 0;
	r->w[AFTER] = (unsigned int)m;
	r->w[AFTER + 1] = (unsigned int)(m >> 32);
	fixed_shift(r, r, exponent);
}

/* An approximation, as a double. */
static float64_t fixed_double(const struct fixed *a)
{
	int top = fixed_top(a) - 63;
	unsigned long v = (unsigned long)word_at(a, top + 32) << 32 | word_at(a, top);

	return softfloat_normRoundPackToF64(false, 0x43c + top - BITS_AFTER + 1, v >> 1);
}

static void fixed_of_double(struct fixed *r, float64_t d)
{
	fixed_set(r, FRACTION(d.v) | 1UL << 52, EXPONENT(d.v) - 1075);
}

/* Iterations: each doubles the bits: 53, 106, 212, 424. */
#define NEWTON_STEPS	(lowest ? 2 : 3)

/* r = 1 / (a * 2^n): returns n, which scales a to between 1/2 and 1. */
NUM_ONCE int fixed_inverse(struct fixed *r, const struct fixed *a)
{
	int n = BITS_AFTER - 1 - fixed_top(a), i;
	struct fixed scaled, t;

	fixed_shift(&scaled, a, n);
	fixed_of_double(r, f64_div(i64_to_f64(1), fixed_double(&scaled)));
	for (i = 0; i < NEWTON_STEPS; i++) {
		fixed_mul(&t, r, &scaled);
		fixed_mul(&t, &t, r);
		fixed_add(r, r, r);
		fixed_sub(r, r, &t);
	}
	return n;
}

/* The square root of a number between 1/4 and 2. */
NUM_ONCE void fixed_root(struct fixed *r, const struct fixed *a)
{
	struct fixed y, t, three;
	int i;

	fixed_set(&three, 3, 0);
	fixed_of_double(&y, f64_div(i64_to_f64(1), f64_sqrt(fixed_double(a))));
	for (i = 0; i < NEWTON_STEPS; i++) {
		fixed_mul(&t, &y, &y);
		fixed_mul(&t, &t, a);
		fixed_sub(&t, &three, &t);
		fixed_mul(&y, &y, &t);
		fixed_over(&y, &y, 2);
	}
	fixed_mul(r, &y, a);
}

/* -- Rounding ------------------------------------------------------------------------ */

/* Number of low bits that truncation errors may have reached. */
#define NOISE	16
/* In the last evaluation: bits that must agree with a boundary for an exact result. */
#define CERTAIN	24

struct rounding {
	bool negative, below;	/* the value is below the rounded one */
	int scale, noise;
};

/* Do all bits from @from up to, but not including, @to equal @ones? */
static bool all_bits(const struct fixed *a, int from, int to, bool ones)
{
	for (; from < to; from++)
		if ((a->w[from >> 5] >> (from & 31) & 1) != ones)
			return false;
	return true;
}

/*
 * a * 2^scale: its first 61 bits, and whether any lower bit is set.  False if the rounding is
 * undecided, which is possible only in the first evaluation.
 */
NUM_ONCE bool fixed_round(const struct fixed *a, const struct rounding *how, long *result)
{
	int top = fixed_top(a), end = 32 * lowest + how->noise, from = top - 60;
	unsigned long v;
	bool zeros, ones, more;

	*result = how->negative ? NUM_MINUS_ZERO : 0;
	if (top < end + 61 + CERTAIN && (lowest || top < 0))
		return !lowest;
	v = (unsigned long)word_at(a, from + 32) << 32 | word_at(a, from);
	zeros = all_bits(a, end, from, false);
	ones = all_bits(a, end, from, true);
	v += ones;
	more = !zeros && !ones;
	if (!more && lowest && !(v & 0x7f))
		return false;
	if (!more && how->below) {
		v--;
		more = true;
	}
	v = v << 1 | more;
	*result = num_of_bits(softfloat_normRoundPackToF64(how->negative, 0x43c + from - 1 -
							   BITS_AFTER + how->scale, v).v);
	return true;
}

/* -- Series, for small arguments ------------------------------------------------------ */

/* sin(x) and cos(x) for x < 1. */
NUM_ONCE void fixed_sin_cos(struct fixed *sin, struct fixed *cos, const struct fixed *x)
{
	struct fixed square, t;
	int n = lowest ? 30 : 68;

	fixed_mul(&square, x, x);
	*sin = *cos = one;
	for (; n > 0; n -= 2) {
		fixed_mul(&t, &square, sin);
		fixed_over(&t, &t, n * (n + 1));
		fixed_sub(sin, &one, &t);
		fixed_mul(&t, &square, cos);
		fixed_over(&t, &t, n * (n - 1));
		fixed_sub(cos, &one, &t);
	}
	fixed_mul(sin, sin, x);
}

/* e^x for x < 1: e^(x / 256), squared eight times. */
NUM_ONCE void fixed_exp(struct fixed *r, const struct fixed *x)
{
	struct fixed small, t;
	int n;

	fixed_shift(&small, x, -8);
	t = one;
	for (n = lowest ? 12 : 28; n > 0; n--) {
		fixed_mul(&t, &t, &small);
		fixed_over(&t, &t, n);
		fixed_add(&t, &t, &one);
	}
	for (n = 0; n < 8; n++)
		fixed_mul(&t, &t, &t);
	*r = t;
}

/* x + x^3/3 + x^5/5 ..., or with alternating signs, for x up to 1/5. */
NUM_ONCE void fixed_odd_powers(struct fixed *r, const struct fixed *x, bool change)
{
	struct fixed square, term, t;
	int n = lowest ? 26 : 70;

	fixed_mul(&square, x, x);
	fixed_over(&t, &one, 2 * n + 1);
	while (n-- > 0) {
		fixed_over(&term, &one, 2 * n + 1);
		fixed_mul(&t, &t, &square);
		if (change)
			fixed_sub(&t, &term, &t);
		else
			fixed_add(&t, &t, &term);
	}
	fixed_mul(r, &t, x);
}

/* atan(x) for x up to 1: 2 * atan(x / (1 + sqrt(1 + x^2))), applied twice. */
NUM_ONCE void fixed_atan(struct fixed *r, const struct fixed *x)
{
	struct fixed t, root, inverse;
	int i, n;

	*r = *x;
	for (i = 0; i < 2; i++) {
		fixed_mul(&t, r, r);
		fixed_add(&t, &t, &one);
		fixed_root(&root, &t);
		fixed_add(&root, &root, &one);
		n = fixed_inverse(&inverse, &root);
		fixed_mul(r, r, &inverse);
		fixed_shift(r, r, n);
	}
	fixed_odd_powers(r, r, true);
	fixed_shift(r, r, 2);
}

/* -- Doubles --------------------------------------------------------------------------- */

/* m * 2^exponent, where m has 53 bits and the first is set, except for 0. */
static unsigned long unpack(unsigned long bits, int *exponent)
{
	unsigned long m = FRACTION(bits);
	int shift;

	*exponent = EXPONENT(bits) - 1075;
	if (EXPONENT(bits))
		return m | 1UL << 52;
	shift = m ? __builtin_clzl(m) - 11 : 0;
	*exponent = -1074 - shift;
	return m << shift;
}

NUM_ONCE void fixed_of_bits(struct fixed *r, unsigned long bits)
{
	int exponent;
	unsigned long m = unpack(bits, &exponent);

	fixed_set(r, m, exponent);
}

/* |x| < 2^n, and not NaN */
static bool is_below(unsigned long bits, int n)
{
	return EXPONENT(bits) < 1023 + n;
}

#define IS_NAN(bits)		(EXPONENT(bits) == 0x7ff && FRACTION(bits))
#define IS_INFINITE(bits)	(EXPONENT(bits) == 0x7ff && !FRACTION(bits))

typedef bool (*evaluation)(unsigned long x, unsigned long y, long *result);

NUM_ONCE long evaluate(evaluation f, unsigned long x, unsigned long y)
{
	long result;

	lowest = LOWEST_QUICK;
	if (f(x, y, &result))
		return result;
	lowest = 0;
	f(x, y, &result);
	return result;
}

/* -- exp, sinh, cosh, tanh -------------------------------------------------------------- */

/* x = k * ln(2) + rest */
NUM_ONCE long fixed_split(struct fixed *rest, const struct fixed *x)
{
	struct fixed t;
	long k;

	fixed_mul(&t, x, &log2_e);
	k = t.w[AFTER];
	fixed_set(&t, k, 0);
	fixed_mul(&t, &t, &ln_2);
	if (fixed_less(x, &t)) {
		fixed_sub(&t, &t, &ln_2);
		k--;
	}
	fixed_sub(rest, x, &t);
	return k;
}

static bool evaluate_exp(unsigned long x, unsigned long y, long *result)
{
	struct rounding how = { .noise = NOISE };
	struct fixed rest;

	(void)y;
	fixed_of_bits(&rest, x);
	how.scale = (int)fixed_split(&rest, &rest);
	if (x & MINUS) {
		how.scale = -how.scale - 1;
		fixed_sub(&rest, &ln_2, &rest);
	}
	fixed_exp(&rest, &rest);
	return fixed_round(&rest, &how, result);
}

static long num_exp(long n)
{
	unsigned long x = num_bits(n);

	if (IS_NAN(x))
		return NUM_NAN;
	if (is_below(x, -54))
		return 1;
	if (!is_below(x, 10))
		return x & MINUS ? 0 : NUM_INFINITY;
	return evaluate(evaluate_exp, x, 0);
}

enum hyperbolic { SINH, COSH, TANH };

/* With f = e^|x| / 2^k: (f +- 1/f / 2^2k) * 2^(k - 1) */
static bool evaluate_hyperbolic(unsigned long x, unsigned long which, long *result)
{
	struct rounding how = { .noise = NOISE, .negative = which != COSH && x & MINUS };
	struct fixed f, inverse, sum, rest;
	int k, n;

	fixed_of_bits(&f, x);
	k = (int)fixed_split(&f, &f);
	fixed_exp(&f, &f);
	n = fixed_inverse(&inverse, &f);
	fixed_shift(&inverse, &inverse, n - 2 * k);
	fixed_add(&sum, &f, &inverse);
	fixed_sub(&rest, &f, &inverse);
	how.scale = k - 1;
	if (which == TANH) {
		how.scale = fixed_inverse(&inverse, &sum);
		fixed_mul(&rest, &rest, &inverse);
	}
	return fixed_round(which == COSH ? &sum : &rest, &how, result);
}

static long hyperbolic(long n, enum hyperbolic which)
{
	unsigned long x = num_bits(n);

	if (IS_NAN(x))
		return NUM_NAN;
	if (is_below(x, -28))
		return which == COSH ? 1 : n;
	if (which == TANH && !is_below(x, 5))
		return x & MINUS ? -1 : 1;
	if (!is_below(x, 10))
		return which == COSH || !(x & MINUS) ? NUM_INFINITY : NUM_INFINITY + 1;
	return evaluate(evaluate_hyperbolic, x, which);
}

static long num_sinh(long n)
{
	return hyperbolic(n, SINH);
}

static long num_cosh(long n)
{
	return hyperbolic(n, COSH);
}

static long num_tanh(long n)
{
	return hyperbolic(n, TANH);
}

/* -- Logarithms, pow ---------------------------------------------------------------------- */

/* |log(x)| * @factor; returns whether log(x) is negative. */
NUM_ONCE bool fixed_log(struct fixed *r, unsigned long bits, const struct fixed *factor)
{
	struct fixed m, t, inverse;
	int exponent, n;
	bool less;

	/* m is scaled to between 3/4 and 3/2. */
	fixed_set(&m, unpack(bits, &exponent), -52);
	exponent += 52;
	if (m.w[AFTER - 1] >> 31) {
		fixed_shift(&m, &m, -1);
		exponent++;
	}
	less = fixed_less(&m, &one);
	fixed_add(&t, &m, &one);
	n = fixed_inverse(&inverse, &t);
	if (less)
		fixed_sub(&t, &one, &m);
	else
		fixed_sub(&t, &m, &one);
	fixed_mul(&t, &t, &inverse);
	fixed_shift(&t, &t, n);
	fixed_odd_powers(&t, &t, false);
	fixed_shift(&t, &t, 1);
	fixed_set(r, exponent < 0 ? -exponent : exponent, 0);
	if (factor) {
		fixed_mul(r, r, &ln_2);
	} else {
		fixed_mul(&t, &t, &log2_e);
		factor = &one;
	}
	if (!exponent)
		*r = t;
	else if (less == (exponent < 0))
		fixed_add(r, r, &t);
	else
		fixed_sub(r, r, &t);
	fixed_mul(r, r, factor);
	return exponent ? exponent < 0 : less;
}

enum logarithm { LOG, LOG2, LOG10 };

static bool evaluate_log(unsigned long x, unsigned long which, long *result)
{
	struct rounding how = { .noise = NOISE };
	struct fixed r;

	how.negative = fixed_log(&r, x, which == LOG ? &one : which == LOG2 ? NULL : &log10_e);
	return fixed_round(&r, &how, result);
}

static long logarithm(long n, enum logarithm which)
{
	unsigned long x = num_bits(n);

	if (!(x << 1))
		return NUM_INFINITY + 1;
	if (IS_NAN(x) || x & MINUS)
		return NUM_NAN;
	if (IS_INFINITE(x))
		return n;
	if (n == 1)
		return 0;
	return evaluate(evaluate_log, x, which);
}

static long num_log(long n)
{
	return logarithm(n, LOG);
}

static long num_log2(long n)
{
	return logarithm(n, LOG2);
}

static long num_log10(long n)
{
	return logarithm(n, LOG10);
}

/* 2^(y * log2(|x|)); the result's sign is @x's, and y's sign is applied to the logarithm. */
static bool evaluate_pow(unsigned long x, unsigned long y, long *result)
{
	struct rounding how = { .noise = NOISE + 12, .negative = x & MINUS };
	struct fixed t, factor;
	int exponent, top;
	bool less = fixed_log(&t, x & ~MINUS, NULL) != !!(y & MINUS);

	fixed_set(&factor, unpack(y, &exponent), -52);
	exponent += 52;
	fixed_mul(&t, &t, &factor);
	top = fixed_top(&t) - BITS_AFTER;
	if (top + exponent > 10) {
		*result = num_of_bits((less ? 0 : 0x7ffUL << 52) | (x & MINUS));
		return true;
	}
	fixed_shift(&t, &t, exponent);
	how.noise += exponent > 0 ? exponent : 0;
	how.scale = (int)t.w[AFTER];
	t.w[AFTER] = 0;
	if (less) {
		how.scale = -how.scale - 1;
		fixed_sub(&t, &one, &t);
	}
	fixed_mul(&t, &t, &ln_2);
	fixed_exp(&t, &t);
	return fixed_round(&t, &how, result);
}

/* -- sin, cos, tan ------------------------------------------------------------------------ */

/* Words of 2/pi by which a number is multiplied. */
#define PI_WORDS	16

static unsigned int product_word(const unsigned int *product, int at)
{
	int i = at >> 5;
	unsigned long v = 0;

	if (i < PI_WORDS + 2)
		v = product[i];
	if (i + 1 < PI_WORDS + 2)
		v |= (unsigned long)product[i + 1] << 32;
	return (unsigned int)(v >> (at & 31));
}

/*
 * |x| * 2/pi, modulo 4: words of 2/pi whose products are multiples of 4 are skipped, and so are
 * those far below the point.
 */
static void fixed_turns(struct fixed *r, unsigned long x)
{
	unsigned int product[PI_WORDS + 2] = { 0 };
	unsigned long carry, m, low;
	int exponent, first, shift, i;

	m = unpack(x, &exponent);
	first = exponent > 2 ? (exponent - 2) / 32 : 0;
	for (carry = i = 0; i < PI_WORDS; i++) {
		carry += two_over_pi[first + PI_WORDS - 1 - i] * (m & 0xffffffff);
		product[i] = (unsigned int)carry;
		carry >>= 32;
	}
	product[i] = (unsigned int)carry;
	for (carry = i = 0; i < PI_WORDS; i++) {
		low = two_over_pi[first + PI_WORDS - 1 - i] * (m >> 32);
		carry += product[i + 1] + (low & 0xffffffff);
		product[i + 1] = (unsigned int)carry;
		carry = (carry >> 32) + (low >> 32);
	}
	product[i + 1] = (unsigned int)carry;
	shift = 32 * PI_WORDS - BITS_AFTER - (exponent - 32 * first);
	for (i = 0; i < WORDS; i++)
		r->w[i] = product_word(product, shift + 32 * i);
}

enum trigonometric { SIN, COS, TAN };

static bool evaluate_trigonometric(unsigned long x, unsigned long which, long *result)
{
	struct rounding how = { .noise = NOISE };
	struct fixed t, sin, cos, swap;
	unsigned int quadrant;

	fixed_turns(&t, x);
	quadrant = t.w[AFTER] & 3;
	t.w[AFTER] = t.w[AFTER + 1] = 0;
	if (t.w[AFTER - 1] >> 31) {
		fixed_sub(&t, &one, &t);
		fixed_mul(&t, &t, &half_pi);
		fixed_sin_cos(&cos, &sin, &t);
	} else {
		fixed_mul(&t, &t, &half_pi);
		fixed_sin_cos(&sin, &cos, &t);
	}
	if (quadrant & 1) {
		swap = sin;
		sin = cos;
		cos = swap;
	}
	if (which == COS) {
		how.negative = quadrant == 1 || quadrant == 2;
		return fixed_round(&cos, &how, result);
	}
	how.negative = !!(x & MINUS) != (which == SIN ? quadrant >= 2 : quadrant & 1);
	if (which == TAN) {
		how.scale = fixed_inverse(&t, &cos);
		fixed_mul(&sin, &sin, &t);
	}
	return fixed_round(&sin, &how, result);
}

static long trigonometric(long n, enum trigonometric which)
{
	unsigned long x = num_bits(n);

	if (EXPONENT(x) == 0x7ff)
		return NUM_NAN;
	if (is_below(x, -28))
		return which == COS ? 1 : n;
	return evaluate(evaluate_trigonometric, x, which);
}

static long num_sin(long n)
{
	return trigonometric(n, SIN);
}

static long num_cos(long n)
{
	return trigonometric(n, COS);
}

static long num_tan(long n)
{
	return trigonometric(n, TAN);
}

/* -- asin, acos, atan, atan2 ------------------------------------------------------------- */

/* The angle of (x, y), where both are not negative and x^2 + y^2 is 1. */
NUM_ONCE void fixed_angle(struct fixed *r, const struct fixed *x, const struct fixed *y)
{
	bool steep = fixed_less(x, y);
	struct fixed inverse;
	int n = fixed_inverse(&inverse, steep ? y : x);

	fixed_mul(r, steep ? x : y, &inverse);
	fixed_shift(r, r, n);
	fixed_atan(r, r);
	if (steep)
		fixed_sub(r, &half_pi, r);
}

/* sqrt(1 - x^2), as sqrt((1 - x) * (1 + x)), which loses no bits near 1. */
NUM_ONCE void fixed_other_side(struct fixed *r, const struct fixed *x)
{
	struct fixed less, more;
	int n;

	fixed_sub(&less, &one, x);
	fixed_add(&more, &one, x);
	n = (BITS_AFTER - fixed_top(&less)) / 2;
	fixed_shift(&less, &less, 2 * n);
	fixed_mul(&less, &less, &more);
	fixed_over(&less, &less, 4);
	fixed_root(r, &less);
	fixed_shift(r, r, 1 - n);
}

static bool evaluate_asin(unsigned long x, unsigned long y, long *result)
{
	struct rounding how = { .noise = NOISE, .negative = x & MINUS };
	struct fixed sine, cosine, r;

	(void)y;
	fixed_of_bits(&sine, x);
	fixed_other_side(&cosine, &sine);
	fixed_angle(&r, &cosine, &sine);
	return fixed_round(&r, &how, result);
}

static bool evaluate_acos(unsigned long x, unsigned long y, long *result)
{
	struct rounding how = { .noise = NOISE };
	struct fixed sine, cosine, r;

	(void)y;
	fixed_of_bits(&cosine, x);
	fixed_other_side(&sine, &cosine);
	fixed_angle(&r, &cosine, &sine);
	if (x & MINUS)
		fixed_sub(&r, &pi, &r);
	return fixed_round(&r, &how, result);
}

/* pi or pi / 2, with a sign, as a double */
static long num_pi(int halves, bool negative)
{
	return num_of_bits((0x400921fb54442d18UL - ((unsigned long)(2 - halves) << 52)) |
			   (negative ? MINUS : 0));
}

static long num_asin(long n)
{
	unsigned long x = num_bits(n);

	if (is_below(x, -28))
		return n;
	if (n == 1 || n == -1)
		return num_pi(1, n < 0);
	return is_below(x, 0) ? evaluate(evaluate_asin, x, 0) : NUM_NAN;
}

static long num_acos(long n)
{
	unsigned long x = num_bits(n);

	if (n == 1 || n == -1)
		return n == 1 ? 0 : num_pi(2, false);
	return is_below(x, 0) ? evaluate(evaluate_acos, x, 0) : NUM_NAN;
}

/* A quotient below 2^FLAT equals its angle after rounding. */
#define FLAT	(-64)

static bool evaluate_atan2(unsigned long y, unsigned long x, long *result)
{
	struct rounding how = { .noise = NOISE, .negative = y & MINUS };
	bool steep = (x & ~MINUS) < (y & ~MINUS), left = x & MINUS;
	unsigned long less = steep ? x : y, more = steep ? y : x;
	struct fixed r, t, inverse;
	int above, below, n;

	fixed_set(&r, unpack(less, &above), -52);
	fixed_set(&t, unpack(more, &below), -52);
	n = fixed_inverse(&inverse, &t) + above - below;
	fixed_mul(&r, &r, &inverse);
	if (n < FLAT && !steep && !left) {
		how.scale = n;
		how.below = true;
		return fixed_round(&r, &how, result);
	}
	fixed_shift(&r, &r, n);
	fixed_atan(&r, &r);
	if (steep && left)
		fixed_add(&r, &half_pi, &r);
	else if (steep)
		fixed_sub(&r, &half_pi, &r);
	else if (left)
		fixed_sub(&r, &pi, &r);
	return fixed_round(&r, &how, result);
}

static long num_atan2(long y_word, long x_word)
{
	unsigned long y = num_bits(y_word), x = num_bits(x_word);
	bool negative = y & MINUS, left = x & MINUS;
	const long quarter = num_of_bits(0x3fe921fb54442d18UL | (negative ? MINUS : 0));

	if (IS_NAN(x) || IS_NAN(y))
		return NUM_NAN;
	if (IS_INFINITE(x) && IS_INFINITE(y))
		return left ? num_mul(quarter, 3) : quarter;
	if (!(y << 1) || IS_INFINITE(x))
		return left ? num_pi(2, negative) : num_of_bits(negative ? MINUS : 0);
	if (!(x << 1) || IS_INFINITE(y))
		return num_pi(1, negative);
	return evaluate(evaluate_atan2, y, x);
}

static long num_atan(long n)
{
	return num_atan2(n, 1);
}

/* -- Powers ------------------------------------------------------------------------------- */

static bool is_odd(long n)
{
	long v;

	return num_is_integer(n, &v) && v & 1;
}

/* Powers of infinities, NaN and 0, and with such exponents, by C's rules. */
static bool special_power(long a, long b, long *result)
{
	unsigned long x = num_bits(a), y = num_bits(b), size = x & ~MINUS;
	const unsigned long one = 1023UL << 52, infinite = 0x7ffUL << 52;
	bool grows;

	if (!(y << 1) || a == 1)
		*result = 1;
	else if (a == NUM_NAN || b == NUM_NAN)
		*result = NUM_NAN;
	else if ((y & ~MINUS) == infinite && size == one)
		*result = 1;
	else if ((y & ~MINUS) == infinite || size == infinite || !size) {
		grows = (size > one) == !(y & MINUS);
		*result = num_of_bits((grows ? infinite : 0) | (is_odd(b) ? x & MINUS : 0));
	} else {
		return false;
	}
	return true;
}

/* x^n by multiplications; false if any was rounded. */
static bool exact_power(float64_t x, unsigned long n, long *result)
{
	float64_t r = i64_to_f64(1);

	softfloat_exceptionFlags = 0;
	for (;;) {
		if (n & 1)
			r = f64_mul(r, x);
		n >>= 1;
		if (!n || softfloat_exceptionFlags)
			break;
		x = f64_mul(x, x);
	}
	*result = number_of(r);
	return !softfloat_exceptionFlags;
}

/* An exponent below 2^NO_EXPONENT gives 1 for any base. */
#define NO_EXPONENT	(-65)

static long num_pow(long a, long b)
{
	unsigned long x = num_bits(a), y = num_bits(b);
	long result;

	if (special_power(a, b, &result))
		return result;
	if (x & MINUS && !num_eq(num_floor(b), b))
		return NUM_NAN;
	if (num_is_int(b) && b > 0 && exact_power(double_of(a), b, &result))
		return result;
	if (is_below(y, NO_EXPONENT))
		return 1;
	if (x & MINUS && !is_odd(b))
		x &= ~MINUS;
	if (x << 1 == 1023UL << 53)
		return x & MINUS ? -1 : 1;
	return evaluate(evaluate_pow, x, y);
}
