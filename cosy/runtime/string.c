// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * <string.h>, <stdlib.h> and <ctype.h>, the functions that segments use.  Each access is masked,
 * so memory is copied by words where that is possible.
 */
#define __COSY_RUNTIME__
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime.h"

typedef unsigned char u8;
typedef unsigned long __attribute__((aligned(1), may_alias)) word;
typedef unsigned int __attribute__((aligned(1), may_alias)) half;

#define ONES	0x0101010101010101UL
#define HIGHS	0x8080808080808080UL

static inline void copy_words(word *to, const word *from)
{
	word a = from[0], b = from[1], c = from[2], d = from[3];

	to[0] = a;
	to[1] = b;
	to[2] = c;
	to[3] = d;
}

/* The last copy of several words, or of one, has bytes of the one before it. */
void *memcpy(void *to, const void *from, size_t n)
{
	bool is_short = n < 8, is_long = n >= 32;
	u8 *t = to;
	const u8 *f = from;

	for (; n > 32; n -= 32, t += 32, f += 32)
		copy_words((word *)t, (const word *)f);
	if (is_long) {
		copy_words((word *)(t + n - 32), (const word *)(f + n - 32));
		return to;
	}
	for (; n > 8; n -= 8, t += 8, f += 8)
		*(word *)t = *(const word *)f;
	if (!is_short) {
		*(word *)(t + n - 8) = *(const word *)(f + n - 8);
		return to;
	}
	while (n--)
		*t++ = *f++;
	return to;
}

static void move_down(u8 *to, const u8 *from, size_t n)
{
	for (; n >= 8; n -= 8)
		*(word *)(to + n - 8) = *(const word *)(from + n - 8);
	while (n--)
		to[n] = from[n];
}

void *memmove(void *to, const void *from, size_t n)
{
	u8 *t = to;
	const u8 *f = from;

	if ((size_t)(t - f) >= n) {
		/* memcpy() loads four words before it stores any, but goes upwards. */
		for (; n >= 8; n -= 8, t += 8, f += 8)
			*(word *)t = *(const word *)f;
		while (n--)
			*t++ = *f++;
	} else {
		move_down(t, f, n);
	}
	return to;
}

void *mempcpy(void *to, const void *from, size_t n)
{
	return (u8 *)memcpy(to, from, n) + n;
}

void *memset(void *to, int c, size_t n)
{
	unsigned long v = ONES * (u8)c;
	word *t = to;
	u8 *tb;

	for (; n >= 32; n -= 32, t += 4) {
		t[0] = v;
		t[1] = v;
		t[2] = v;
		t[3] = v;
	}
	for (; n >= 8; n -= 8)
		*t++ = v;
	tb = (u8 *)t;
	while (n--)
		*tb++ = c;
	return to;
}

void bzero(void *to, size_t n)
{
	memset(to, 0, n);
}

/* The difference of the first bytes that differ; no instruction finds them. */
static int difference(unsigned long x, unsigned long y)
{
	unsigned long d = x ^ y, below = (d & -d) - 1;
	unsigned long bits = ((below & HIGHS) >> 7) * ONES >> 56 << 3;

	return (int)(x >> bits & 255) - (int)(y >> bits & 255);
}

/* The last word overlaps the one before it; so do halves of a word. */
int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a, *q = b;
	unsigned long x, y;
	size_t i, last;

	if (n < 4) {
#pragma clang loop unroll(disable)
		for (; n; n--, p++, q++)
			if (*p != *q)
				return *p - *q;
		return 0;
	}
	if (n < 8) {
		last = n - 4;
		x = *(const half *)p | (unsigned long)*(const half *)(p + last) << 32;
		y = *(const half *)q | (unsigned long)*(const half *)(q + last) << 32;
		return x == y ? 0 : difference(x, y);
	}
	last = n - 8;
	for (i = 0; i < last; i += 8) {
		x = *(const word *)(p + i);
		y = *(const word *)(q + i);
		if (x != y)
			return difference(x, y);
	}
	x = *(const word *)(p + last);
	y = *(const word *)(q + last);
	return x == y ? 0 : difference(x, y);
}

/* Do they differ?  The plugin calls it for memcmp() if the order is not used. */
int bcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a, *q = b;

	if (__builtin_expect(n - 4 < 4, 1)) {
		if (*(const half *)p != *(const half *)q)
			return 1;
		n -= 4;
		return *(const half *)(p + n) != *(const half *)(q + n);
	}
#pragma clang loop unroll(disable)
	for (; n >= 8; n -= 8, p += 8, q += 8)
		if (*(const word *)p != *(const word *)q)
			return 1;
#pragma clang loop unroll(disable)
	for (; n; n--, p++, q++)
		if (*p != *q)
			return 1;
	return 0;
}

/*
 * Bytes that are 0 in a word have their highest bit set in (w - ONES) & ~w & HIGHS; the lowest such
 * bit belongs to the first one. No instruction finds a bit's index.
 */
static inline const u8 *place_of(const u8 *p, unsigned long found, unsigned long highs)
{
	unsigned long ones = highs >> 7;

	return p - 1 + (((found - 1) & ones) * ones >> 56);
}

static inline unsigned long find(const u8 *p, unsigned long v, unsigned long minus,
				 unsigned long highs)
{
	unsigned long w = *(const word *)p ^ v;

	return (w + minus) & highs & ~w;
}

void *memchr(const void *from, int c, size_t n)
{
	unsigned long ones = ONES, v, minus, highs, found;
	const u8 *p = from;

	/* Otherwise the compiler would load each constant where it is used. */
	asm("" : "+r"(ones));
	v = ones * (u8)c;
	highs = ones << 7;
	asm("" : "+r"(highs));
	minus = -ones;
	asm("" : "+r"(minus));
#pragma clang loop unroll(disable)
	for (; n >= 48; n -= 48, p += 48) {
		if ((found = find(p, v, minus, highs)))
			goto found_0;
		if ((found = find(p + 8, v, minus, highs)))
			goto found_8;
		if ((found = find(p + 16, v, minus, highs)))
			goto found_16;
		if ((found = find(p + 24, v, minus, highs)))
			goto found_24;
		if ((found = find(p + 32, v, minus, highs)))
			goto found_32;
		if ((found = find(p + 40, v, minus, highs)))
			goto found_40;
	}
#pragma clang loop unroll(disable)
	for (; n >= 8; n -= 8, p += 8)
		if ((found = find(p, v, minus, highs)))
			goto found_0;
#pragma clang loop unroll(disable)
	for (; n; n--, p++)
		if (*p == (u8)v)
			return (void *)p;
	return NULL;
found_40:
	p += 8;
found_32:
	p += 8;
found_24:
	p += 8;
found_16:
	p += 8;
found_8:
	p += 8;
found_0:
	return (void *)place_of(p, found, highs);
}

void *memrchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	while (n--)
		if (p[n] == (u8)c)
			return (void *)(p + n);
	return NULL;
}

void *rawmemchr(const void *s, int c)
{
	return memchr(s, c, LONG_MAX);
}

void *memmem(const void *s, size_t n, const void *what, size_t len)
{
	const u8 *p = s, *w = what;

	if (!len)
		return (void *)s;
	while (n >= len) {
		const u8 *next = memchr(p, *w, n - len + 1);

		if (!next)
			return NULL;
		if (!memcmp(next, what, len))
			return (void *)next;
		n -= next + 1 - p;
		p = next + 1;
	}
	return NULL;
}

size_t strnlen(const char *s, size_t max)
{
	const char *end = memchr(s, 0, max);

	return end ? (size_t)(end - s) : max;
}

size_t strlen(const char *s)
{
	return strnlen(s, LONG_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, LONG_MAX);
}

int tolower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

int toupper(int c)
{
	return c >= 'a' && c <= 'z' ? c - 32 : c;
}

int strncasecmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (tolower((u8)*a) != tolower((u8)*b) || !*a)
			return tolower((u8)*a) - tolower((u8)*b);
	return 0;
}

int strcasecmp(const char *a, const char *b)
{
	return strncasecmp(a, b, LONG_MAX);
}

char *strchrnul(const char *s, int c)
{
	while (*s && *s != (char)c)
		s++;
	return (char *)s;
}

char *strchr(const char *s, int c)
{
	s = strchrnul(s, c);
	return *s == (char)c ? (char *)s : NULL;
}

char *index(const char *s, int c)
{
	return strchr(s, c);
}

char *strrchr(const char *s, int c)
{
	return memrchr(s, c, strlen(s) + 1);
}

char *rindex(const char *s, int c)
{
	return strrchr(s, c);
}

char *strstr(const char *s, const char *what)
{
	return memmem(s, strlen(s), what, strlen(what));
}

char *stpcpy(char *to, const char *from)
{
	size_t n = strlen(from);

	return (char *)memcpy(to, from, n + 1) + n;
}

char *strcpy(char *to, const char *from)
{
	stpcpy(to, from);
	return to;
}

char *stpncpy(char *to, const char *from, size_t n)
{
	size_t len = strnlen(from, n);

	memcpy(to, from, len);
	memset(to + len, 0, n - len);
	return to + len;
}

char *strncpy(char *to, const char *from, size_t n)
{
	stpncpy(to, from, n);
	return to;
}

char *strcat(char *to, const char *from)
{
	strcpy(to + strlen(to), from);
	return to;
}

char *strncat(char *to, const char *from, size_t n)
{
	size_t at = strlen(to), len = strnlen(from, n);

	memcpy(to + at, from, len);
	to[at + len] = '\0';
	return to;
}

static int is_in(char c, const char *set)
{
	return *strchrnul(set, c) == c && c;
}

size_t strspn(const char *s, const char *set)
{
	size_t n = 0;

	while (is_in(s[n], set))
		n++;
	return n;
}

size_t strcspn(const char *s, const char *set)
{
	size_t n = 0;

	while (s[n] && !is_in(s[n], set))
		n++;
	return n;
}

char *strpbrk(const char *s, const char *set)
{
	s += strcspn(s, set);
	return *s ? (char *)s : NULL;
}

/* -- <ctype.h>: functions, and the table that its macros use -------------------- */

enum {
	UPPER = 1 << 8, LOWER = 1 << 9, ALPHA = 1 << 10, DIGIT = 1 << 11,
	XDIGIT = 1 << 12, SPACE = 1 << 13, PRINT = 1 << 14, GRAPH = 1 << 15,
	BLANK = 1 << 0, CNTRL = 1 << 1, PUNCT = 1 << 2, ALNUM = 1 << 3,
};

#define HEXUPPER (UPPER | ALPHA | XDIGIT | PRINT | GRAPH | ALNUM)
#define HEXLOWER (LOWER | ALPHA | XDIGIT | PRINT | GRAPH | ALNUM)

/* Indexes begin at EOF (-1), after 127 more entries that the C library has as well. */
static const unsigned short classes[384] = {
	[128 + 0 ... 128 + 8] = CNTRL,
	[128 + '\t'] = CNTRL | SPACE | BLANK,
	[128 + '\n' ... 128 + '\r'] = CNTRL | SPACE,
	[128 + 14 ... 128 + 31] = CNTRL,
	[128 + ' '] = SPACE | BLANK | PRINT,
	[128 + '!' ... 128 + '/'] = PUNCT | PRINT | GRAPH,
	[128 + '0' ... 128 + '9'] = DIGIT | XDIGIT | PRINT | GRAPH | ALNUM,
	[128 + ':' ... 128 + '@'] = PUNCT | PRINT | GRAPH,
	[128 + 'A' ... 128 + 'F'] = HEXUPPER,
	[128 + 'G' ... 128 + 'Z'] = HEXUPPER & ~XDIGIT,
	[128 + '[' ... 128 + '`'] = PUNCT | PRINT | GRAPH,
	[128 + 'a' ... 128 + 'f'] = HEXLOWER,
	[128 + 'g' ... 128 + 'z'] = HEXLOWER & ~XDIGIT,
	[128 + '{' ... 128 + '~'] = PUNCT | PRINT | GRAPH,
	[128 + 127] = CNTRL,
};

static const unsigned short *const classes_from_0 = classes + 128;

const unsigned short **__ctype_b_loc(void)
{
	return (const unsigned short **)&classes_from_0;
}

#define LOWER_OF(c)	((c) >= 'A' && (c) <= 'Z' ? (c) + 32 : (c) < -1 ? (c) + 256 : (c))
#define UPPER_OF(c)	((c) >= 'a' && (c) <= 'z' ? (c) - 32 : (c) < -1 ? (c) + 256 : (c))
#define FOR_4(f, c)	f(c), f((c) + 1), f((c) + 2), f((c) + 3)
#define FOR_16(f, c)	FOR_4(f, c), FOR_4(f, (c) + 4), FOR_4(f, (c) + 8), FOR_4(f, (c) + 12)
#define FOR_64(f, c)	FOR_16(f, c), FOR_16(f, (c) + 16), FOR_16(f, (c) + 32), FOR_16(f, (c) + 48)
#define FOR_384(f) \
	FOR_64(f, -128), FOR_64(f, -64), FOR_64(f, 0), FOR_64(f, 64), FOR_64(f, 128), FOR_64(f, 192)

static const int lowers[384] = { FOR_384(LOWER_OF) };
static const int uppers[384] = { FOR_384(UPPER_OF) };
static const int *const lowers_from_0 = lowers + 128;
static const int *const uppers_from_0 = uppers + 128;

const int **__ctype_tolower_loc(void)
{
	return (const int **)&lowers_from_0;
}

const int **__ctype_toupper_loc(void)
{
	return (const int **)&uppers_from_0;
}

#define IS(name, what) \
	int name(int c) { return (unsigned int)(c + 1) < 257 ? classes_from_0[c] & (what) : 0; }
IS(isalnum, ALNUM)
IS(isalpha, ALPHA)
IS(isblank, BLANK)
IS(iscntrl, CNTRL)
IS(isdigit, DIGIT)
IS(isgraph, GRAPH)
IS(islower, LOWER)
IS(isprint, PRINT)
IS(ispunct, PUNCT)
IS(isspace, SPACE)
IS(isupper, UPPER)
IS(isxdigit, XDIGIT)

/* -- <stdlib.h> ------------------------------------------------------------------- */

int abs(int n)
{
	return n < 0 ? -n : n;
}

long labs(long n)
{
	return n < 0 ? -n : n;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

struct parsed {
	unsigned long value;
	int negative, overflow;
};

static void parse(const char *s, char **end, int base, struct parsed *parsed)
{
	const char *start = s;
	int any = 0;

	*parsed = (struct parsed){ 0 };
	while (isspace((u8)*s))
		s++;
	if (*s == '-' || *s == '+')
		parsed->negative = *s++ == '-';
	if ((base == 0 || base == 16) && s[0] == '0' && (s[1] | 32) == 'x' &&
	    digit_of(s[2]) < 16) {
		s += 2;
		base = 16;
	}
	if (!base)
		base = *s == '0' ? 8 : 10;
	for (; digit_of(*s) < base; s++, any = 1) {
		unsigned int digit = digit_of(*s);

		if (parsed->value > (ULONG_MAX - digit) / base)
			parsed->overflow = 1;
		parsed->value = parsed->value * base + digit;
	}
	if (end)
		*end = (char *)(any ? s : start);
}

#define ERANGE	34

unsigned long strtoul(const char *s, char **end, int base)
{
	struct parsed p;

	parse(s, end, base, &p);
	if (p.overflow) {
		piece()->errno_value = ERANGE;
		return ULONG_MAX;
	}
	return p.negative ? -p.value : p.value;
}

long strtol(const char *s, char **end, int base)
{
	struct parsed p;

	parse(s, end, base, &p);
	if (p.overflow || p.value > LONG_MAX + (unsigned long)p.negative) {
		piece()->errno_value = ERANGE;
		return p.negative ? LONG_MIN : LONG_MAX;
	}
	return p.negative ? -p.value : p.value;
}

#define SAME(type, name, as) \
	type name(const char *s, char **end, int base) { return as(s, end, base); }
SAME(long, strtoll, strtol)
SAME(unsigned long, strtoull, strtoul)
SAME(long, __isoc23_strtol, strtol)
SAME(long, __isoc23_strtoll, strtol)
SAME(unsigned long, __isoc23_strtoul, strtoul)
SAME(unsigned long, __isoc23_strtoull, strtoul)

long atol(const char *s)
{
	return strtol(s, NULL, 10);
}

long atoll(const char *s)
{
	return atol(s);
}

int atoi(const char *s)
{
	return atol(s);
}

void *bsearch(const void *key, const void *from, size_t n, size_t size,
	      int (*compare)(const void *, const void *))
{
	const u8 *p = from;

	while (n) {
		const u8 *middle = p + n / 2 * size;
		int order = compare(key, middle);

		if (!order)
			return (void *)middle;
		if (order > 0) {
			p = middle + size;
			n -= n / 2 + 1;
		} else {
			n /= 2;
		}
	}
	return NULL;
}

static void swap(u8 *a, u8 *b, size_t size)
{
	while (size--) {
		u8 t = *a;

		*a++ = *b;
		*b++ = t;
	}
}

/* Heap sort: no recursion, no extra memory, no bad case. */
static void sift(u8 *p, size_t at, size_t n, size_t size,
		 int (*compare)(const void *, const void *))
{
	size_t child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && compare(p + child * size, p + (child + 1) * size) < 0)
			child++;
		if (compare(p + at * size, p + child * size) >= 0)
			return;
		swap(p + at * size, p + child * size, size);
		at = child;
	}
}

void qsort(void *from, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	size_t i;

	for (i = n / 2; i-- > 0;)
		sift(from, i, n, size, compare);
	for (i = n; i-- > 1;) {
		swap(from, (u8 *)from + i * size, size);
		sift(from, 0, i, size, compare);
	}
}
