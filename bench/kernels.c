// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernels of kernels.h. KERNELS names the table: kernels_plain or kernels_confined.
 *
 * The algorithms are common in programs and written in the usual way; nothing is tuned for one of
 * the two compilers.
 */
#include <cosy.h>
#include <stddef.h>
#include <string.h>

#include "kernels.h"

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define LOOP(name)								\
	COSY_FUNCTION static long loop_##name(struct kernel_data *shared, long count)	\
	{									\
		struct kernel_data *data = COSY_SHARED(shared);			\
		u64 sum = 0;							\
										\
		while (count--)							\
			sum = sum * 31 + name(data);				\
		return sum;							\
	}

static u64 get64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 rotate(u64 v, int by)
{
	return v << by | v >> (64 - by);
}

/* -- Text search: as in bench/compound_apps.c ------------------------------------ */

static u64 scan(struct kernel_data *data)
{
	const char *text = (const char *)data->prose, *end = text + KERNEL_TEXT;
	long len = strlen(data->pattern), found = 0;

	for (const char *p = text; (p = memchr(p, data->pattern[0], end - p)); p++) {
		if (end - p < len)
			break;
		if (!memcmp(p, data->pattern, len))
			found++;
	}
	return found;
}

LOOP(scan)

/* -- Hashes and checksums ---------------------------------------------------------- */

#define SIP_ROUND do {								\
	v0 += v1; v1 = rotate(v1, 13); v1 ^= v0; v0 = rotate(v0, 32);		\
	v2 += v3; v3 = rotate(v3, 16); v3 ^= v2;				\
	v0 += v3; v3 = rotate(v3, 21); v3 ^= v0;				\
	v2 += v1; v1 = rotate(v1, 17); v1 ^= v2; v2 = rotate(v2, 32);		\
} while (0)

static u64 siphash_of(const u8 *p, size_t len, u64 k0, u64 k1)
{
	u64 v0 = 0x736f6d6570736575UL ^ k0, v1 = 0x646f72616e646f6dUL ^ k1;
	u64 v2 = 0x6c7967656e657261UL ^ k0, v3 = 0x7465646279746573UL ^ k1;
	u64 last = (u64)len << 56;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		u64 m = get64(p + i);

		v3 ^= m;
		SIP_ROUND;
		SIP_ROUND;
		v0 ^= m;
	}
	for (; i < len; i++)
		last |= (u64)p[i] << 8 * (i & 7);
	v3 ^= last;
	SIP_ROUND;
	SIP_ROUND;
	v0 ^= last;
	v2 ^= 0xff;
	SIP_ROUND;
	SIP_ROUND;
	SIP_ROUND;
	SIP_ROUND;
	return v0 ^ v1 ^ v2 ^ v3;
}

/* Keys of 5 to 60 bytes, as in a hash table. */
static u64 siphash(struct kernel_data *data)
{
	u64 sum = 0;

	for (size_t at = 0, len = 5; at + len <= KERNEL_TEXT; at += len, len = 5 + at % 56)
		sum += siphash_of(data->prose + at, len, 1, 2);
	return sum;
}

LOOP(siphash)

#define XX1	0x9e3779b185ebca87UL
#define XX2	0xc2b2ae3d27d4eb4fUL
#define XX3	0x165667b19e3779f9UL
#define XX4	0x85ebca77c2b2ae63UL
#define XX5	0x27d4eb2f165667c5UL

static u64 xx_round(u64 acc, u64 input)
{
	return rotate(acc + input * XX2, 31) * XX1;
}

static u64 xx_merge(u64 hash, u64 acc)
{
	return (hash ^ xx_round(0, acc)) * XX1 + XX4;
}

static u64 xxhash(struct kernel_data *data)
{
	const u8 *p = data->prose, *end = p + KERNEL_TEXT - 5;
	u64 a = XX1 + XX2, b = XX2, c = 0, d = -XX1, hash;

	for (; p + 32 <= end; p += 32) {
		a = xx_round(a, get64(p));
		b = xx_round(b, get64(p + 8));
		c = xx_round(c, get64(p + 16));
		d = xx_round(d, get64(p + 24));
	}
	hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
	hash = xx_merge(xx_merge(xx_merge(xx_merge(hash, a), b), c), d);
	hash += KERNEL_TEXT - 5;
	for (; p + 8 <= end; p += 8)
		hash = rotate(hash ^ xx_round(0, get64(p)), 27) * XX1 + XX4;
	for (; p < end; p++)
		hash = rotate(hash ^ *p * XX5, 11) * XX1;
	hash = (hash ^ hash >> 33) * XX2;
	hash = (hash ^ hash >> 29) * XX3;
	return hash ^ hash >> 32;
}

LOOP(xxhash)

static u64 fnv(struct kernel_data *data)
{
	u64 hash = 0xcbf29ce484222325UL;

	for (size_t i = 0; i < KERNEL_TEXT; i++)
		hash = (hash ^ data->prose[i]) * 0x100000001b3UL;
	return hash;
}

LOOP(fnv)

static u64 crc32(struct kernel_data *data)
{
	u32 crc = ~0U;

	for (size_t i = 0; i < KERNEL_TEXT; i++)
		crc = data->crc_table[(crc ^ data->prose[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

LOOP(crc32)

static u64 adler32(struct kernel_data *data)
{
	const u8 *p = data->prose;
	u32 a = 1, b = 0;
	size_t left = KERNEL_TEXT;

	while (left) {
		size_t n = left < 400 ? left : 400;

		left -= n;
		while (n--) {
			a += *p++;
			b += a;
		}
		a %= 65521;
		b %= 65521;
	}
	return b << 16 | a;
}

LOOP(adler32)

/* -- Text ---------------------------------------------------------------------------- */

static int continues(u8 c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the character at @p in bytes, or 0. */
static int utf8_length(const u8 *p, const u8 *end)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xe0)
		return end - p >= 2 && p[0] >= 0xc2 && continues(p[1]) ? 2 : 0;
	if (p[0] < 0xf0) {
		if (end - p < 3 || !continues(p[1]) || !continues(p[2]))
			return 0;
		if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
			return 0;
		return 3;
	}
	if (end - p < 4 || p[0] > 0xf4 || !continues(p[1]) || !continues(p[2]) ||
	    !continues(p[3]))
		return 0;
	if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return 4;
}

static u64 utf8(struct kernel_data *data)
{
	const u8 *p = data->utf8, *end = p + KERNEL_TEXT;
	u64 characters = 0;

	while (p < end) {
		int n = utf8_length(p, end);

		if (!n)
			return p - data->utf8;
		characters++;
		p += n;
	}
	return characters << 32;
}

LOOP(utf8)

static u64 base64(struct kernel_data *data)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const u8 *p = data->prose, *end = p + KERNEL_TEXT / 3 * 3;
	u8 *to = data->out;

	for (; p < end; p += 3) {
		u32 v = p[0] << 16 | p[1] << 8 | p[2];

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = digits[v >> 6 & 63];
		*to++ = digits[v & 63];
	}
	return to - data->out;
}

LOOP(base64)

static int hex(u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static u64 url_decode(struct kernel_data *data)
{
	const u8 *p = data->url, *end = p + KERNEL_TEXT;
	u8 *to = data->out;

	while (p < end) {
		u8 c = *p++;

		if (c == '+') {
			c = ' ';
		} else if (c == '%' && end - p >= 2) {
			int high = hex(p[0]), low = hex(p[1]);

			if (high >= 0 && low >= 0) {
				c = high << 4 | low;
				p += 2;
			}
		}
		*to++ = c;
	}
	return to - data->out;
}

LOOP(url_decode)

/* Does @p match @s, with * and ?; backtracks to the last * only. */
static int matches(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*p == '*') {
			star = p++;
			from = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++from;
		} else {
			return 0;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

static u64 glob(struct kernel_data *data)
{
	static const char patterns[6][12] = {
		"*er", "a*", "*i*n*", "?o*", "*tt*", "s*t*e",
	};
	u64 sum = 0;

	for (int i = 0; i < 6; i++)
		for (int name = 0; name < KERNEL_NAMES; name++)
			sum += sum + matches(patterns[i], data->names[name]);
	return sum;
}

LOOP(glob)

static u64 json(struct kernel_data *data)
{
	const u8 *p = data->json, *end = p + KERNEL_TEXT;
	u64 depth = 0, deepest = 0, strings = 0, numbers = 0, keys = 0, others = 0;

	while (p < end) {
		u8 c = *p++;

		switch (c) {
		case ' ': case '\t': case '\n': case '\r': case ',':
			break;
		case '{': case '[':
			if (++depth > deepest)
				deepest = depth;
			break;
		case '}': case ']':
			depth--;
			break;
		case ':':
			keys++;
			break;
		case '"':
			while (p < end && *p != '"')
				p += *p == '\\' ? 2 : 1;
			p++;
			strings++;
			break;
		case '-': case '0': case '1': case '2': case '3': case '4':
		case '5': case '6': case '7': case '8': case '9':
			while (p < end && ((*p >= '0' && *p <= '9') || *p == '.' || *p == 'e' ||
					   *p == '-' || *p == '+'))
				p++;
			numbers++;
			break;
		default:
			while (p < end && *p >= 'a' && *p <= 'z')
				p++;
			others++;
		}
	}
	return strings + numbers * 3 + keys * 5 + others * 7 + deepest * 11 + depth * 13;
}

LOOP(json)

/* Sums of columns of signed numbers. */
static u64 csv(struct kernel_data *data)
{
	const u8 *p = data->csv, *end = p + KERNEL_TEXT;
	u64 *sums = data->work;
	unsigned int column = 0;

	for (int i = 0; i < 8; i++)
		sums[i] = 0;
	while (p < end) {
		int negative = *p == '-';
		u64 v = 0;

		for (p += negative; p < end && *p >= '0' && *p <= '9'; p++)
			v = v * 10 + *p - '0';
		sums[column & 7] += negative ? -v : v;
		column++;
		if (p < end && *p++ == '\n')
			column = 0;
	}
	return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

LOOP(csv)

static u64 decimal(struct kernel_data *data)
{
	u8 *to = data->out;

	for (int i = 0; i < KERNEL_WORDS / 4; i++) {
		u64 v = data->words[i] >> i;
		u8 digits[20];
		int n = 0;

		do
			digits[n++] = '0' + v % 10;
		while (v /= 10);
		while (n)
			*to++ = digits[--n];
		*to++ = ' ';
	}
	return to - data->out;
}

LOOP(decimal)

/* Looks words of the prose up in a sorted table by comparing strings. */
static int compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (u8)*a - (u8)*b;
}

static u64 keywords(struct kernel_data *data)
{
	const u8 *p = data->prose, *end = p + KERNEL_TEXT;
	u64 sum = 0;

	while (p < end) {
		int from = 0, to = KERNEL_NAMES;
		char word[24];
		size_t n = 0;

		while (p < end && *p > ' ' && n < sizeof(word) - 1)
			word[n++] = *p++;
		word[n] = '\0';
		p++;
		while (from < to) {
			int middle = (from + to) / 2;
			int order = compare(word, data->names[middle]);

			if (!order) {
				sum += middle + 1;
				break;
			}
			if (order < 0)
				to = middle;
			else
				from = middle + 1;
		}
	}
	return sum;
}

LOOP(keywords)

/* -- Packed data --------------------------------------------------------------------- */

static size_t lz4_length(const u8 **p, size_t n)
{
	u8 more;

	if (n == 15)
		do {
			more = *(*p)++;
			n += more;
		} while (more == 255);
	return n;
}

static u64 lz4(struct kernel_data *data)
{
	const u8 *p = data->packed, *end = p + data->packed_len;
	u8 *to = data->out;

	while (p < end) {
		u8 token = *p++;
		size_t n = lz4_length(&p, token >> 4);
		const u8 *from;

		while (n--)
			*to++ = *p++;
		if (p >= end)
			break;
		from = to - (p[0] | p[1] << 8);
		p += 2;
		if (from < data->out)
			return 0;
		for (n = lz4_length(&p, token & 15) + 4; n; n--)
			*to++ = *from++;
	}
	return to - data->out;
}

LOOP(lz4)

static u64 varint(struct kernel_data *data)
{
	const u8 *p = data->varints, *end = p + data->varints_len;
	u64 sum = 0;

	while (p < end) {
		u64 v = 0;
		int shift = 0;

		do
			v |= (u64)(*p & 0x7f) << shift;
		while (shift += 7, *p++ & 0x80);
		sum += v >> 1 ^ -(v & 1);
	}
	return sum;
}

LOOP(varint)

/* -- Order, and tables ------------------------------------------------------------------ */

static void sort(u64 *a, long from, long to)
{
	while (to - from > 8) {
		u64 pivot = a[(from + to) / 2];
		long i = from, j = to - 1;

		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j) {
				u64 v = a[i];

				a[i++] = a[j];
				a[j--] = v;
			}
		}
		if (j - from < to - i) {
			sort(a, from, j + 1);
			from = i;
		} else {
			sort(a, i, to);
			to = j + 1;
		}
	}
	for (long i = from + 1; i < to; i++) {
		u64 v = a[i];
		long j = i;

		for (; j > from && a[j - 1] > v; j--)
			a[j] = a[j - 1];
		a[j] = v;
	}
}

static u64 quicksort(struct kernel_data *data)
{
	memcpy(data->work, data->words, sizeof(data->words));
	sort(data->work, 0, KERNEL_WORDS);
	return data->work[7] ^ data->work[KERNEL_WORDS - 8];
}

LOOP(quicksort)

static void push(u64 *heap, size_t n, u64 v)
{
	while (n) {
		size_t parent = (n - 1) / 2;

		if (heap[parent] <= v)
			break;
		heap[n] = heap[parent];
		n = parent;
	}
	heap[n] = v;
}

static u64 pop(u64 *heap, size_t n)
{
	u64 least = heap[0], v = heap[--n];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (v <= heap[child])
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = v;
	return least;
}

static u64 heap(struct kernel_data *data)
{
	u64 sum = 0;

	for (size_t i = 0; i < KERNEL_WORDS; i++)
		push(data->work, i, data->words[i]);
	for (size_t n = KERNEL_WORDS; n; n--)
		sum = sum * 3 + pop(data->work, n);
	return sum;
}

LOOP(heap)

/* A binary search for multiples of 12345. */
static u64 bisect(struct kernel_data *data)
{
	u64 sum = 0;

	for (size_t i = 0; i < KERNEL_WORDS; i++)
		data->work[i] = 12345 * i;
	for (size_t i = 0; i < KERNEL_WORDS; i++) {
		u64 want = data->words[i] % (12345 * KERNEL_WORDS);
		size_t from = 0, to = KERNEL_WORDS;

		while (to - from > 1) {
			size_t middle = (from + to) / 2;

			if (data->work[middle] <= want)
				from = middle;
			else
				to = middle;
		}
		sum += from;
	}
	return sum;
}

LOOP(bisect)

static u32 *slot_of(struct kernel_data *data, u32 key)
{
	u32 at = key * 0x9e3779b1U >> 23;

	while (data->slots[at] && data->slots[at] != key)
		at = (at + 1) & (KERNEL_SLOTS - 1);
	return &data->slots[at];
}

static u64 hash_table(struct kernel_data *data)
{
	u64 found = 0;

	memset(data->slots, 0, sizeof(data->slots));
	for (int i = 0; i < KERNEL_WORDS; i++)
		*slot_of(data, data->words[i] | 1) = data->words[i] | 1;
	for (int i = 0; i < KERNEL_WORDS; i++) {
		found += *slot_of(data, data->words[i] | 1) != 0;
		found += *slot_of(data, ~data->words[i] | 1) != 0;
	}
	return found;
}

LOOP(hash_table)

kernel_loop *const KERNELS[] = {
#define KERNEL(name)	loop_##name,
#include "kernels.def"
};
