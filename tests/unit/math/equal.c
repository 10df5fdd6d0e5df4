// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The two builds of each math function compute the same, bit for bit. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	20000

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Any double; one near 1; one of ordinary size; one near a multiple of pi/2. */
static double argument(int i)
{
	uint64_t bits = draw();
	double x;

	memcpy(&x, &bits, sizeof(x));
	switch (i % 4) {
	case 0:
		return x;
	case 1:
		return 1 + ldexp((double)(int64_t)bits, -66 - (int)(draw() % 30));
	case 2:
		return ldexp((double)(int64_t)bits, -63 + (int)(draw() % 12));
	default:
		return (double)(draw() % 1000) * M_PI_2 + ldexp((double)(bits % 1000), -50);
	}
}

static int same(double a, double b)
{
	return !memcmp(&a, &b, sizeof(a)) || (isnan(a) && isnan(b));
}

static int failures;

static void compare(const char *name, double x, double y, double a, double b)
{
	if (same(a, b))
		return;
	if (failures++ < 10)
		printf("%s(%a, %a): plain %a, fused %a\n", name, x, y, a, b);
}

#define CHECK1(name)							\
	do {								\
		extern double name##_plain(double), name##_fused(double); \
		for (int i = 0; i < ROUNDS; i++) {			\
			double x = argument(i);				\
			compare(#name, x, 0, name##_plain(x), name##_fused(x)); \
		}							\
	} while (0)

#define CHECK2(name)							\
	do {								\
		extern double name##_plain(double, double), name##_fused(double, double); \
		for (int i = 0; i < ROUNDS; i++) {			\
			double x = argument(i), y = argument(i + i / 4); \
			compare(#name, x, y, name##_plain(x, y), name##_fused(x, y)); \
		}							\
	} while (0)

int main(void)
{
	if (!__builtin_cpu_supports("fma")) {
		puts("this CPU has no FMA");
		return 77;
	}
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
	return !!failures;
}
