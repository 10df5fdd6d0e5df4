// SPDX-License-Identifier: GPL-2.0
/* Arguments, results and variables of all types, and all kinds of calls. */
#include <cosy.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { long a, b; };
struct big { long v[9]; };
struct mixed { char c; short s; int i; long l; struct pair p; };
union both { uint64_t n; unsigned char bytes[8]; };

static long many(long a, int b, char c, short d, long e, unsigned f, long g, struct pair h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h.a + 9 * h.b;
}

static struct pair make_pair(long a, long b)
{
	struct pair p = { a, b };

	return p;
}

static struct big make_big(long n)
{
	struct big b;

	for (int i = 0; i < 9; i++)
		b.v[i] = n + i;
	return b;
}

static long sum_big(struct big b)
{
	long sum = 0;

	for (int i = 0; i < 9; i++)
		sum += b.v[i];
	b.v[0] = 0;
	return sum;
}

static int odd(unsigned n);
static int even(unsigned n)
{
	return n ? odd(n - 1) : 1;
}

static int odd(unsigned n)
{
	return n ? even(n - 1) : 0;
}

static unsigned ackermann(unsigned m, unsigned n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

typedef long (*binary)(long, long);
static long add(long a, long b) { return a + b; }
static long sub(long a, long b) { return a - b; }
static long mul(long a, long b) { return a * b; }
static const binary table[] = { add, sub, mul, NULL };
typedef long (*wide)(long, long, long, long, long, long, long);
static long seven(long a, long b, long c, long d, long e, long f, long g)
{
	return a + b * c + d * e + f * g;
}

static long apply(binary f, long a, long b)
{
	return f ? f(a, b) : -1;
}

static int counter = 5;
static long grid[4][4];
static const char *words[] = { "alpha", "beta", "gamma" };
static const char *const fixed[] = { "one", "two" };
static int *where = &counter;
static struct { int n; struct pair p[2]; } state = { 3, { { 1, 2 }, { 3, 4 } } };

static long variables(int n)
{
	static int calls;
	long sum = 0;

	COSY_START;
	calls++;
	counter += n;
	*where += 1;
	grid[n & 3][calls & 3] = counter;
	words[0] = words[n & 1];
	sum += strlen(words[0]) + strlen(fixed[n & 1]);
	state.p[n & 1].b += state.n;
	for (int i = 0; i < 16; i++)
		sum += grid[i / 4][i % 4];
	COSY_END;
	return sum * 1000 + calls;
}

static uint64_t arithmetic(uint64_t x, int64_t y)
{
	uint64_t r = 0;
	union both u = { x };

	COSY_START;
	r += x / 7 + x % 10 + (uint64_t)(y / 7) + (uint64_t)(y % -3);
	r ^= x << (y & 63) ^ x >> 5 ^ (uint64_t)(y >> 9);
	r += (uint32_t)x * (uint32_t)y + (uint16_t)(x >> 3) - (int8_t)x;
	r += __builtin_bswap32(x) + __builtin_bswap64(x) + __builtin_bswap16(x);
	r += __builtin_popcountl(x) + __builtin_clzl(x | 1) + __builtin_ctzl(x | 1);
	r += x > (uint64_t)y ? 3 : 5;
	r += y > -4 ? u.bytes[3] : u.bytes[5];
	r += (int)(x ^ y) % 17 * ((int)x / ((int)y | 1));
	COSY_END;
	return r;
}

int main(void)
{
	struct mixed m = { 'x', -5, 70000, 1L << 40, { 1, 2 } };
	struct big b = make_big(100);
	struct pair p;
	long sum = 0, calls = 0;
	char text[300];

	COSY_START;
	sum = many(1, -2, 'c', -4, 5, 6, 7, make_pair(8, 9));
	p = make_pair(m.l + m.s, m.i + m.c);
	m.p = p;
	sum += sum_big(make_big(3)) + sum_big(b);
	for (int i = 0; i < 4; i++)
		calls = calls * 10 + apply(table[i], 7, i);
	calls += ((wide)seven)(1, 2, 3, 4, 5, 6, 7);
	sum += even(100) + odd(7) * 2 + ackermann(2, 3);
	memset(text, 'a', sizeof(text) - 1);
	text[299] = '\0';
	memmove(text + 1, text, 100);
	COSY_END;
	printf("%ld %ld %ld %ld %d %ld\n", sum, calls, p.a, p.b, m.c, m.p.b);
	printf("%ld %zu\n", b.v[0], strlen(text));
	for (int i = 0; i < 6; i++)
		printf("%ld ", variables(i));
	printf("%d %s %ld %ld\n", counter, words[0], state.p[0].b, state.p[1].b);
	for (uint64_t x = 1; x; x = x * 0x9e3779b97f4a7c15UL + (x >> 60 ? 1 : 0x1234)) {
		printf("%lx\n", arithmetic(x, (int64_t)(x * 31)));
		if (x % 16 == 5)
			break;
	}
	return 0;
}
