// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See support.h.
 */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "../confined/image.h"
#include "support.h"

/* -- The engine ---------------------------------------------------------------- */

#define ENGINE(number)	((long (*)(long, long))(number))

struct tried {
	void (*f)(struct lua_State *, void *);
	struct lua_State *L;
	void *ud;
};

static long try_it(struct tried *tried)
{
	tried->f(tried->L, tried->ud);
	return 0;
}

static void guest_try(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud)
{
	struct tried tried = { f, L, ud };

	ENGINE(IMAGE_CALL_TRY)((long)try_it, (long)&tried);
}

static void guest_throw(void)
{
	ENGINE(IMAGE_CALL_THROW)(1, 0);
}

static long guest_syscall(long nr, const long args[6])
{
	return ENGINE(IMAGE_CALL_SYSCALL)(nr, (long)args);
}

/* -- Memory ---------------------------------------------------------------------- */

/*
 * Buddies: blocks of BLOCK << order bytes, at multiples of that.  Lua says how large
 * what it frees is, so that blocks in use need no header.
 */
#define BLOCK	32UL
#define ORDERS	26

struct block {
	struct block *next, **link;
};

static struct {
	char *from;
	unsigned long size;
	unsigned char *order;	/* of free blocks, and 1; by their first BLOCK */
	struct block *free[ORDERS];
	unsigned long arena, arena_size;
	unsigned long used, peak;
	struct output *output;
} heap;

static void block_add(unsigned long at, unsigned int order)
{
	struct block *block = (struct block *)(heap.from + at);

	block->next = heap.free[order];
	block->link = &heap.free[order];
	if (block->next)
		block->next->link = &block->next;
	heap.free[order] = block;
	heap.order[at / BLOCK] = order + 1;
}

static void block_remove(struct block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	heap.order[((char *)block - heap.from) / BLOCK] = 0;
}

static void block_put(unsigned long at, unsigned int order)
{
	heap.used -= BLOCK << order;
	for (; order < ORDERS - 1; order++) {
		unsigned long buddy = at ^ BLOCK << order;

		if (buddy >= heap.size || heap.order[buddy / BLOCK] != order + 1)
			break;
		block_remove((struct block *)(heap.from + buddy));
		at &= ~(BLOCK << order);
	}
	block_add(at, order);
}

static void *block_get(unsigned int order)
{
	struct block *block;
	unsigned int has = order;

	while (has < ORDERS && !heap.free[has])
		has++;
	if (has >= ORDERS)
		return NULL;
	block = heap.free[has];
	block_remove(block);
	heap.used += BLOCK << order;
	if (heap.peak < heap.used)
		heap.peak = heap.used;
	while (has-- > order)
		block_add((char *)block - heap.from + (BLOCK << has), has);
	return block;
}

static unsigned int order_of(unsigned long size)
{
	unsigned int order = 0;

	while (order < ORDERS && BLOCK << order < size)
		order++;
	return order;
}

static void guest_heap(struct guest_call *call)
{
	unsigned long at, n = call->heap_size / (BLOCK + 1);
	unsigned int order;

	memset(&heap, 0, sizeof(heap));
	heap.from = call->heap;
	heap.size = n * BLOCK;
	heap.order = (unsigned char *)call->heap + heap.size;
	heap.arena = call->arena;
	heap.arena_size = call->arena_size;
	heap.output = &call->output;
	memset(heap.order, 0, n);
	for (at = 0; at < heap.size; at += BLOCK << order) {
		for (order = ORDERS - 1; at & ((BLOCK << order) - 1) ||
					 heap.size - at < BLOCK << order; order--)
			;
		block_add(at, order);
	}
}

static void set_memory(struct guest_call *call)
{
	call->memory = heap.used;
	call->memory_peak = heap.peak;
}

static void *guest_alloc(void *unused, void *p, size_t old_size, size_t new_size)
{
	unsigned int old = order_of(old_size), new = order_of(new_size);
	void *moved;

	(void)unused;
	if (!p)
		return new_size ? block_get(new) : NULL;
	if (!new_size) {
		block_put((char *)p - heap.from, old);
		return NULL;
	}
	for (; old > new; old--)
		block_put((char *)p - heap.from + (BLOCK << (old - 1)), old - 1);
	if (old == new)
		return p;
	moved = block_get(new);
	if (moved) {
		memcpy(moved, p, old_size);
		block_put((char *)p - heap.from, old);
	}
	return moved;
}

static int guest_in_arena(unsigned long address, unsigned long n)
{
	unsigned long offset = address - heap.arena;

	return offset <= heap.arena_size && n <= heap.arena_size - offset;
}

/* -- Numbers ------------------------------------------------------------------------ */

static long guest_divide(long a, long b)
{
	long q;

	if (b == -1)	/* its quotient may not fit */
		return -a;
	q = a / b;
	return q - (q * b != a && (a ^ b) < 0);
}

static long guest_power(long a, long b)
{
	long r = 1;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, a *= a)
		if (b & 1)
			r *= a;
	return r;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static const char *skip_sign(const char *s, bool *negative)
{
	while (isspace((unsigned char)*s))
		s++;
	*negative = *s == '-';
	return s + (*s == '-' || *s == '+');
}

static unsigned long guest_strtoul(const char *s, char **end, int base)
{
	bool negative;
	const char *p = skip_sign(s, &negative);
	unsigned long v = 0;

	if (base == 16 && p[0] == '0' && (p[1] | 32) == 'x' && digit_of(p[2]) < 16)
		p += 2;
	for (*end = (char *)s; digit_of(*p) < base; *end = (char *)++p)
		v = v * base + digit_of(*p);
	return negative ? -v : v;
}

/* A product of 128 bits is not to be had. */
static bool times_10(long *v)
{
	if (*v < LONG_MIN / 10)
		return false;
	*v *= 10;
	return true;
}

static long guest_number(const char *s, char **end)
{
	bool negative, fits = true;
	const char *p = skip_sign(s, &negative), *digits = p;
	long v = 0, exponent = 0;

	*end = (char *)s;
	/* Downwards: the least number has no positive counterpart. */
	for (; digit_of(*p) < 10; p++)
		fits = fits && times_10(&v) && !__builtin_sub_overflow(v, digit_of(*p), &v);
	if (p > digits && (*p | 32) == 'e') {
		for (p += 1 + (p[1] == '+'); digit_of(*p) < 10 && exponent < 99; p++)
			exponent = exponent * 10 + digit_of(*p);
		fits = fits && digit_of(p[-1]) < 10;
	}
	while (fits && v && exponent-- > 0)
		fits = times_10(&v);
	if (p > digits && fits && (negative || v != LONG_MIN))
		*end = (char *)p;
	return negative ? v : -v;
}

struct format {
	bool left, plus, space, alternate, zeros;
	int width, precision;	/* or -1 */
	char conversion;
};

static void parse_format(struct format *f, const char *s)
{
	memset(f, 0, sizeof(*f));
	for (;; s++) {
		switch (*s) {
		case '-': f->left = true; continue;
		case '+': f->plus = true; continue;
		case ' ': f->space = true; continue;
		case '#': f->alternate = true; continue;
		case '0': f->zeros = true; continue;
		}
		break;
	}
	for (; digit_of(*s) < 10; s++)
		f->width = f->width * 10 + digit_of(*s);
	f->precision = -1;
	if (*s == '.')
		for (f->precision = 0; digit_of(*++s) < 10;)
			f->precision = f->precision * 10 + digit_of(*s);
	while (*s == 'l')
		s++;
	f->conversion = *s;
}

static char *put_many(char *to, char c, long n)
{
	while (n-- > 0)
		*to++ = c;
	return to;
}

/* @prefix and @body, with what fills the width: zeros go between them. */
static void put_padded(char *to, const struct format *f, const char *prefix,
		       const char *body, long len, long zeros)
{
	long fill = f->width - (long)strlen(prefix) - zeros - len;

	if (!f->left)
		to = put_many(to, ' ', fill);
	while (*prefix)
		*to++ = *prefix++;
	to = put_many(to, '0', zeros);
	memcpy(to, body, len);
	to += len;
	if (f->left)
		to = put_many(to, ' ', fill);
	*to = '\0';
}

static const char *prefix_of(const struct format *f, long v)
{
	switch (f->conversion) {
	case 'd': case 'i':
		return v < 0 ? "-" : f->plus ? "+" : f->space ? " " : "";
	case 'x':
		return f->alternate && v ? "0x" : "";
	case 'X':
		return f->alternate && v ? "0X" : "";
	}
	return f->conversion == 'p' ? "0x" : "";
}

static void put_integer(char *to, struct format *f, long v)
{
	const char *set = f->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	bool is_signed = f->conversion == 'd' || f->conversion == 'i';
	unsigned long base = f->conversion == 'o' ? 8 :
			     is_signed || f->conversion == 'u' ? 10 : 16;
	unsigned long u = is_signed && v < 0 ? -(unsigned long)v : (unsigned long)v;
	const char *prefix = prefix_of(f, v);
	char digits[24], *p = digits + sizeof(digits);
	long len, zeros;

	for (; u; u /= base)
		*--p = set[u % base];
	len = digits + sizeof(digits) - p;
	zeros = (f->precision < 0 ? 1 : f->precision) - len;
	if (f->alternate && base == 8 && zeros < 1)
		zeros = 1;
	if (f->zeros && !f->left && f->precision < 0 &&
	    zeros < f->width - len - (long)strlen(prefix))
		zeros = f->width - len - (long)strlen(prefix);
	put_padded(to, f, prefix, p, len, zeros < 0 ? 0 : zeros);
}

static void guest_format(char *to, const char *format, long v)
{
	struct format f;
	char c = (char)v;

	parse_format(&f, format + 1);
	if (f.conversion == 'c')
		put_padded(to, &f, "", &c, 1, 0);
	else if (f.conversion == 's')
		put_padded(to, &f, "", (const char *)v,
			   strnlen((const char *)v, f.precision < 0 ? LONG_MAX : f.precision), 0);
	else
		put_integer(to, &f, v);
}
