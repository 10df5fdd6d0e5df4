/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The part of libm that CORE-MATH lacks: fma, fmod, ldexp and floor, in integers. They are exact
 * or correctly rounded, as CORE-MATH is, so that a script computes the same numbers in the kernel
 * and in user space on every CPU.
 */
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 u128;

double floor(double x);
double fma(double x, double y, double z);
double fmod(double x, double y);
double ldexp(double x, int n);

#define SIGN		(1ULL << 63)
#define FRACTION	((1ULL << 52) - 1)
#define BIAS		1075		/* value = mantissa * 2^(exponent - BIAS) */

static uint64_t bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static double number(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

static int finite_nonzero(double x)
{
	uint64_t u = bits(x) & ~SIGN;

	return u != 0 && u < 0x7ffULL << 52;
}

/* Mantissa with its top bit at 52, also for subnormals, and the exponent. */
static uint64_t split(double x, int *exponent)
{
	uint64_t m = bits(x) & FRACTION;
	int e = bits(x) >> 52 & 0x7ff;

	if (e) {
		m |= 1ULL << 52;
	} else {
		int shift = __builtin_clzll(m) - 11;

		m <<= shift;
		e = 1 - shift;
	}
	*exponent = e - BIAS;
	return m;
}

/* m * 2^e, rounded to nearest even; bit 0 of m may stand for lower bits. */
static double round128(uint64_t sign, u128 m, int e)
{
	int top, drop;
	u128 rest;
	uint64_t u;

	if (!m)
		return number(sign);
	top = m >> 64 ? 127 - __builtin_clzll(m >> 64) :
			63 - __builtin_clzll((uint64_t)m);
	drop = top - 52;
	if (e + drop < 1 - BIAS)	/* subnormal: fewer bits remain */
		drop = 1 - BIAS - e;
	if (drop > 127)
		return number(sign);
	if (drop <= 0) {
		u = (uint64_t)m << -drop;
		rest = 0;
	} else {
		u = m >> drop;
		rest = m << (128 - drop);
	}
	e += drop;
	if (rest > (u128)1 << 127 || (rest == (u128)1 << 127 && (u & 1)))
		u++;
	if (u >> 53) {
		u >>= 1;
		e++;
	}
	if (!(u >> 52))
		return number(sign | u);
	e += BIAS;
	if (e >= 0x7ff)
		return number(sign | 0x7ffULL << 52);
	return number(sign | (uint64_t)e << 52 | (u & FRACTION));
}

static u128 shift_sticky(u128 m, int n)
{
	if (n > 126)
		return 1;
	return m >> n | ((m & (((u128)1 << n) - 1)) != 0);
}

double fma(double x, double y, double z)
{
	int ex, ey, ez, ep;
	uint64_t mx, my, sp, sz;
	u128 p, q;

	if (!finite_nonzero(x) || !finite_nonzero(y))
		return x * y + z;
	if (!finite_nonzero(z))
		return z == 0 ? x * y : z + z;
	mx = split(x, &ex);
	my = split(y, &ey);
	sp = (bits(x) ^ bits(y)) & SIGN;
	sz = bits(z) & SIGN;
	p = (u128)mx * my << 20;	/* top at bit 124 or 125 */
	ep = ex + ey - 20;
	q = (u128)split(z, &ez) << 73;	/* top at bit 125 */
	ez -= 73;
	if (ep > ez) {
		q = shift_sticky(q, ep - ez);
	} else if (ez > ep) {
		p = shift_sticky(p, ez - ep);
		ep = ez;
	}
	if (sp == sz)
		return round128(sp, p + q, ep);
	if (p == q)
		return 0.0;
	return p > q ? round128(sp, p - q, ep) : round128(sz, q - p, ep);
}

double floor(double x)
{
	int e = (int)(bits(x) >> 52 & 0x7ff) - 1023;
	uint64_t fraction;

	if (e >= 52)
		return x;			/* an integer, infinite or NaN */
	if (e < 0)
		return bits(x) >> 63 ? (x == 0 ? x : -1.0) : 0.0;
	fraction = FRACTION >> e;
	if (!(bits(x) & fraction))
		return x;
	/* Rounds a negative number away from zero: a carry goes into the exponent. */
	return number((bits(x) + (bits(x) >> 63 ? fraction : 0)) & ~fraction);
}

double fmod(double x, double y)
{
	uint64_t mx, my;
	int ex, ey;

	if (!finite_nonzero(y) || !finite_nonzero(x)) {
		if (bits(x) << 1 == 0 && y != 0 && y == y)
			return x;			/* fmod(+-0, y) */
		if (finite_nonzero(x) && bits(y) << 1 == 0xffe0000000000000ULL)
			return x;			/* fmod(x, +-inf) */
		return (x * y) / (x * y);
	}
	mx = split(x, &ex);
	my = split(y, &ey);
	if (ex < ey)
		return x;
	mx %= my;
	while (ex > ey) {
		int n = ex - ey < 11 ? ex - ey : 11;	/* The top bits are free. */

		mx = (mx << n) % my;
		ex -= n;
	}
	return round128(bits(x) & SIGN, mx, ey);
}

double ldexp(double x, int n)
{
	int e;
	uint64_t m;

	if (!finite_nonzero(x))
		return x;
	m = split(x, &e);
	if (n > 5000)
		n = 5000;
	if (n < -5000)
		n = -5000;
	return round128(bits(x) & SIGN, m, e + n);
}

/* Compilers emit calls of these where the CPU may lack SSE4.1. */

double sqrt(double x);
double roundeven(double x);
double round(double x);
double fmin(double x, double y);
double fmax(double x, double y);
double frexp(double x, int *exponent);
double modf(double x, double *integer);

double sqrt(double x)
{
	double root;

	__asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x));
	return root;
}

/* Adding 2^52 leaves no room for a fraction. */
double roundeven(double x)
{
	volatile double big = number(0x433ULL << 52 | (bits(x) & SIGN));
	double r;

	if ((bits(x) >> 52 & 0x7ff) >= 1075)
		return x;
	r = x + big;
	r -= big;
	return number((bits(r) & ~SIGN) | (bits(x) & SIGN));
}

/* Rounds halves away from zero. */
double round(double x)
{
	double r = roundeven(x), rest = x - r;

	if (rest == 0.5)
		return r + (x > 0);
	if (rest == -0.5)
		return r - (x < 0);
	return r;
}

double fmin(double x, double y)
{
	return y != y || x < y ? x : y;
}

double fmax(double x, double y)
{
	return y != y || x > y ? x : y;
}

double frexp(double x, int *exponent)
{
	uint64_t m;

	*exponent = 0;
	if (!finite_nonzero(x))
		return x;
	m = split(x, exponent);
	*exponent += 53;
	return number((bits(x) & SIGN) | 0x3feULL << 52 | (m & FRACTION));
}

double modf(double x, double *integer)
{
	int e = bits(x) >> 52 & 0x7ff;
	uint64_t below;

	if (e >= 1075) {
		*integer = x;
		return x != x ? x : number(bits(x) & SIGN);
	}
	below = e < 1023 ? ~SIGN : FRACTION >> (e - 1023);
	*integer = number(bits(x) & ~below);
	return number((bits(x - *integer) & ~SIGN) | (bits(x) & SIGN));
}
