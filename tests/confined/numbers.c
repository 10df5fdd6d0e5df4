// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Numbers of Lua on the confined engine (lib/lua-runtime/number.h), natively, compared with this
 * machine's doubles, the C library's conversions and CORE-MATH.
 *
 * usage: numbers [ROUNDS [SEED]]
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* Here numbers are printed for no script. */
static void runtime_depends(unsigned int on)
{
	(void)on;
}

#include "number.c"
#include "functions.c"
#include "print.c"

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double double_at(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

static double d_of(long n)
{
	return double_at(num_bits(n));
}

static long n_of(double d)
{
	return num_of_bits(bits_of(d));
}

/* Edge cases: zeros, infinities, and neighbours of integers stored as such. */
static const double edges[] = {
	0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, -0.5, 2, 3, 0x1p51, -0x1p51, 0x1p51 - 1,
	-0x1p51 - 1, 0x1p52 + 1, 0x1p53, 0x1p53 - 1, -0x1p53 + 1, 0x1p63, -0x1p63, 0x1p64,
	5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e308, 0x1p-54, 0x1p-28,
	0x1.fffffffffffffp-1, 0x1.0000000000001p0, 10, 100, 1e15, 1e22, 1e23, 0x1p31, -0x1p31,
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static double any(void)
{
	uint64_t bits = draw();

	switch (draw() % 9) {
	case 0:
		return (int)bits;
	case 1:
		return (double)((long)bits >> (8 + draw() % 20));
	case 2:
		return double_at(bits);
	case 3:
		return (int)(bits % 21) - 10;
	case 4:
		return (double)(int)bits / (1 << draw() % 12);
	case 5:
		return edges[bits % COUNT(edges)];
	case 6:
		return double_at((bits & 0x800fffffffffffffUL) | (1013 + draw() % 70) << 52);
	case 7:
		return double_at((bits & 0x800fffffffffffffUL) | (990 + draw() % 40) << 52);
	}
	return (double)(long)(bits >> 11);
}

static long failures;

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : bits_of(a) == bits_of(b);
}

static void check(const char *what, double a, double b, long got, double expected)
{
	/* Each number has exactly one representation. */
	bool canonical = got == n_of(d_of(got));

	if ((canonical && same(d_of(got), expected)) || failures++ >= 20)
		return;
	printf("%s(%a, %a) is %a, not %a%s\n", what, a, b, d_of(got), expected,
	       canonical ? "" : ", in another word");
}

static void check_text(const char *what, double d, const char *got, const char *expected)
{
	if (strcmp(got, expected) && failures++ < 20)
		printf("%s of %a is '%s', not '%s'\n", what, d, got, expected);
}

static void check_arithmetic(double a, double b)
{
	long x = n_of(a), y = n_of(b), v;
	double cut = trunc(a);

	check("itself", a, b, x, a);
	check("add", a, b, num_add(x, y), a + b);
	check("sub", a, b, num_sub(x, y), a - b);
	check("mul", a, b, num_mul(x, y), a * b);
	check("div", a, b, num_div(x, y), a / b);
	check("mod", a, b, num_mod(x, y), a - floor(a / b) * b);
	check("unm", a, b, num_unm(x), -a);
	check("floor", a, b, num_floor(x), floor(a));
	check("ceil", a, b, num_ceil(x), ceil(a));
	check("trunc", a, b, num_trunc(x), cut);
	check("sqrt", a, b, num_sqrt(x), sqrt(a));
	check("fmod", a, b, num_fmod(x, y), fmod(a, b));
	v = (long)(draw() % 4000) - 2000;
	check("scale", a, (double)v, num_scale(x, (int)v), ldexp(a, (int)v));
	v = (long)draw() >> draw() % 64;
	check("long", (double)v, 0, num_of_long(v), (double)v);
	check("ulong", (double)(uint64_t)v, 0, num_of_ulong(v), (double)(uint64_t)v);
	if (num_lt(x, y) != (a < b) || num_le(x, y) != (a <= b) || num_eq(x, y) != (a == b))
		check("comparison", a, b, x, NAN);
	if (num_to_long(x) != (fabs(cut) < 0x1p63 ? (long)cut : LONG_MIN))
		check("to_long", a, b, x, NAN);
	if (num_is_integer(x, &v) != (cut == a && fabs(a) <= 0x1p53))
		check("is_integer", a, b, x, NAN);
	if (num_is_negative(x) != (isnan(a) || signbit(a)))
		check("is_negative", a, b, x, NAN);
	if ((isnan(a) && num_to_bits(x)) ||
	    (fabs(a) < 0x1p51 && num_to_bits(x) != (uint32_t)bits_of(a + 0x1.8p52)))
		check("to_bits", a, b, x, NAN);
}

/* Numerals of any length, up to those exactly between two doubles. */
static void check_parsing(double d)
{
	static char text[2400];
	double next = nextafter(d, INFINITY);
	char *end;

	snprintf(text, sizeof(text), "%.*e", (int)(draw() % 20), d);
	check("parsed %e", d, 0, num_parse(text, &end), strtod(text, NULL));
	snprintf(text, sizeof(text), "%.*f", (int)(draw() % 20), d);
	check("parsed %f", d, 0, num_parse(text, &end), strtod(text, NULL));
	snprintf(text, sizeof(text), "%a", d);
	check("parsed %a", d, 0, num_parse(text, &end), d);
	if (isfinite(d) && isfinite(next)) {
		snprintf(text, sizeof(text), "%.1100Lf", ((long double)d + next) / 2);
		check("parsed middle", d, 0, num_parse(text, &end), strtod(text, NULL));
		strcat(text, "000000001");
		check("parsed beyond", d, 0, num_parse(text, &end), strtod(text, NULL));
	}
	if (*end)
		check_text("what is left", d, end, "");
}

/* Not %a with a precision, which LuaJIT rounds in a way of its own. */
static void check_printing(double d)
{
	static const char conversions[] = "eEfFgG";
	char format[16], got[ITEM_MAX], expected[ITEM_MAX];
	struct format f;
	int i;

	num_print(got, n_of(d));
	snprintf(expected, sizeof(expected), "%.14g", d);
	check_text("%.14g", d, got, isnan(d) ? "nan" : expected);
	if (isnan(d))
		return;
	for (i = 0; conversions[i]; i++) {
		snprintf(format, sizeof(format), "%%%.*s%d.%d%c", (int)(draw() % 3),
			 &"-+ #0+#-0 "[draw() % 8], (int)(draw() % 99), (int)(draw() % 60),
			 conversions[i]);
		parse_format(&f, format + 1);
		put_double(got, &f, bits_of(d));
		snprintf(expected, sizeof(expected), format, d);
		check_text(format, d, got, expected);
	}
	parse_format(&f, "a");
	put_double(got, &f, bits_of(d));
	snprintf(expected, sizeof(expected), "%a", d);
	if (fabs(d) >= 0x1p-1022 || d == 0)
		check_text("%a", d, got, expected);
}

#define CHECK1(name) \
	do { \
		extern double name##_plain(double); \
		check(#name, a, 0, num_##name(x), name##_plain(a)); \
	} while (0)
#define CHECK2(name) \
	do { \
		extern double name##_plain(double, double); \
		check(#name, a, b, num_##name(x, y), name##_plain(a, b)); \
	} while (0)

static void check_functions(double a, double b)
{
	long x = n_of(a), y = n_of(b);

	CHECK1(sin);
	CHECK1(cos);
	CHECK1(tan);
	CHECK1(asin);
	CHECK1(acos);
	CHECK1(atan);
	CHECK1(sinh);
	CHECK1(cosh);
	CHECK1(tanh);
	CHECK1(exp);
	CHECK1(log);
	CHECK1(log2);
	CHECK1(log10);
	CHECK2(atan2);
	CHECK2(pow);
}

/* Powers whose value is exact, or halfway between two doubles. */
static void check_exact_powers(void)
{
	double root = (double)(draw() % 100000 + 1), a = root * root;

	check_functions(a, (double)(draw() % 7) / 2 - 1);
	check_functions(a * a, (double)(draw() % 9) / 4 - 1);
	check_functions(ldexp(root, (int)(draw() % 64) - 32), (double)(draw() % 8));
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000000, i;
	size_t j, k;

	state = argc > 2 ? strtoul(argv[2], NULL, 0) | 1 : 88172645463325252UL;
	for (j = 0; j < COUNT(edges); j++) {
		check_printing(edges[j]);
		for (k = 0; k < COUNT(edges); k++) {
			check_arithmetic(edges[j], edges[k]);
			check_functions(edges[j], edges[k]);
		}
	}
	for (i = 0; i < rounds; i++) {
		check_arithmetic(any(), any());
		if (i % 100 == 0)
			check_functions(any(), any());
		if (i % 100 == 1)
			check_printing(any());
		if (i % 400 == 2)
			check_parsing(any());
		if (i % 400 == 3)
			check_exact_powers();
	}
	if (failures)
		printf("%ld failures\n", failures);
	return failures != 0;
}
