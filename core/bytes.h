/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Scripts that parse text byte by byte spend most of their time on it, in any language that
 * checks each access. These functions scan memory eight bytes at a time: for the first byte of a
 * set, for a decimal number, for a checksum. A mark is the highest bit of a byte of a word; as
 * borrows only come from a marked byte, the lowest mark is always right.
 *
 * Plain C for engines: lib_util.c and lib/lua-runtime/lib.c. A text may be given in pieces.
 */
#ifndef SYSCRIPT_BYTES_H
#define SYSCRIPT_BYTES_H

#define BYTES_WORD	8UL
#define BYTES_EACH(byte)	(0x0101010101010101UL * (unsigned char)(byte))
#define BYTES_MARKS	BYTES_EACH(0x80)

static inline unsigned long bytes_word(const char *p)
{
	unsigned long word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

/* A word of fewer than eight bytes, with zeros after them. */
static inline unsigned long bytes_short_word(const char *p, unsigned long n)
{
	unsigned long word = 0, i = n & 4;
	unsigned short two;
	unsigned int four;

	if (n & 4) {
		__builtin_memcpy(&four, p, sizeof(four));
		word = four;
	}
	if (n & 2) {
		__builtin_memcpy(&two, p + i, sizeof(two));
		word |= (unsigned long)two << 8 * i;
		i += 2;
	}
	if (n & 1)
		word |= (unsigned long)(unsigned char)p[i] << 8 * i;
	return word;
}

/* The number of bytes before the first mark in @marks, which has one. */
static inline unsigned long bytes_unmarked(unsigned long marks)
{
	return (((marks - 1) & ~marks & BYTES_EACH(1)) * BYTES_EACH(1) >> 56) - 1;
}

/* -- Sets ------------------------------------------------------------------------------ */

#define BYTES_SET_MOST	256	/* bytes that a set is made from */
#define BYTES_FEW	3	/* members that are compared by words */

struct bytes_set {
	unsigned int n;
	unsigned long few[BYTES_FEW];	/* at most that many members: words of each, repeated */
	unsigned long bits[4];		/* more: a bit for each byte */
};

/* @members: @n bytes, at most BYTES_SET_MOST */
static inline void bytes_set(struct bytes_set *set, const char *members, unsigned long n)
{
	unsigned long i;

	set->n = (unsigned int)n;
	if (n <= BYTES_FEW) {
		for (i = 0; n && i < BYTES_FEW; i++)
			set->few[i] = BYTES_EACH(members[i < n ? i : n - 1]);
		return;
	}
	set->bits[0] = set->bits[1] = set->bits[2] = set->bits[3] = 0;
	for (i = 0; i < n; i++) {
		unsigned char member = (unsigned char)members[i];

		set->bits[member >> 6] |= 1UL << (member & 63);
	}
}

/* Marks the bytes of a word that are those of @each. */
static inline unsigned long bytes_equal(unsigned long word, unsigned long each)
{
	unsigned long x = word ^ each;

	return (x - BYTES_EACH(1)) & ~x & BYTES_MARKS;
}

/* The position of the first of @n bytes that is one of @each, or @n. */
static inline unsigned long bytes_find_one(unsigned long each, const char *p, unsigned long n)
{
	unsigned long marks, i, found;

	for (i = 0; n - i >= BYTES_WORD; i += BYTES_WORD) {
		marks = bytes_equal(bytes_word(p + i), each);
		if (marks)
			return i + bytes_unmarked(marks);
	}
	marks = bytes_equal(bytes_short_word(p + i, n - i), each);
	found = marks ? i + bytes_unmarked(marks) : n;
	return found < n ? found : n;
}

/* Marks the members of a set of two or three. */
static inline unsigned long bytes_few(const struct bytes_set *set, unsigned long word)
{
	return bytes_equal(word, set->few[0]) | bytes_equal(word, set->few[1]) |
	       bytes_equal(word, set->few[2]);
}

static inline unsigned long bytes_find_few(const struct bytes_set *set, const char *p,
					   unsigned long n)
{
	unsigned long marks, i, found;

	for (i = 0; n - i >= BYTES_WORD; i += BYTES_WORD) {
		marks = bytes_few(set, bytes_word(p + i));
		if (marks)
			return i + bytes_unmarked(marks);
	}
	marks = bytes_few(set, bytes_short_word(p + i, n - i));
	found = marks ? i + bytes_unmarked(marks) : n;
	return found < n ? found : n;
}

/* The position of the first of @n bytes that is in @set, or @n. */
static inline unsigned long bytes_find(const struct bytes_set *set, const char *p,
				       unsigned long n)
{
	unsigned long i;

	if (!set->n)
		return n;
	if (set->n == 1)
		return bytes_find_one(set->few[0], p, n);
	if (set->n <= BYTES_FEW)
		return bytes_find_few(set, p, n);
	for (i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)p[i];

		if (set->bits[byte >> 6] >> (byte & 63) & 1)
			break;
	}
	return i;
}

/* -- Decimal numbers ------------------------------------------------------------------- */

#define BYTES_NUMBER_MOST	(1UL << 53)	/* as a double holds any integer up to it */

/* A number that is being read; zeroed before. */
struct bytes_number {
	unsigned long value;	/* more than BYTES_NUMBER_MOST: the number is, too */
	unsigned long n;	/* bytes read, with the sign */
	unsigned int negative;
};

/* The number of digits that the word begins with; *@value is their number. */
static inline unsigned long bytes_word_digits(unsigned long word, unsigned long *value)
{
	unsigned long x = word ^ BYTES_EACH('0'), n = BYTES_WORD;
	unsigned long marks = (((x & BYTES_EACH(0x7f)) + BYTES_EACH(0x80 - 10)) | x) & BYTES_MARKS;

	if (marks)
		n = bytes_unmarked(marks);
	if (!n)
		return 0;
	/* Leading zeros, then pairs of digits, of pairs, and of these. */
	x <<= 8 * (BYTES_WORD - n);
	x = (x & BYTES_EACH(0x0f)) * (10 << 8 | 1) >> 8;
	x = (x & 0x00ff00ff00ff00ffUL) * (100UL << 16 | 1) >> 16;
	*value = (x & 0x0000ffff0000ffffUL) * (10000UL << 32 | 1) >> 32;
	return n;
}

static inline void bytes_append(struct bytes_number *number, unsigned long digits, unsigned long n)
{
	static const unsigned int powers[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
	};

	if (!number->value)
		number->value = digits;
	else if (number->value > BYTES_NUMBER_MOST / powers[n])
		number->value = BYTES_NUMBER_MOST + 1;
	else
		number->value = number->value * powers[n] + digits;
}

/* Reads on at @p; returns 0 where the number ends before @n bytes do. */
static inline int bytes_number(struct bytes_number *number, const char *p, unsigned long n)
{
	unsigned long i = 0, word, digits, count;

	if (!number->n && n && *p == '-')
		number->negative = i = 1;
	do {
		word = n - i >= BYTES_WORD ? bytes_word(p + i) : bytes_short_word(p + i, n - i);
		count = bytes_word_digits(word, &digits);
		if (count)
			bytes_append(number, digits, count);
		i += count;
	} while (count == BYTES_WORD);
	number->n += i;
	return i == n;
}

/* Are there digits, and does a double hold their number? */
static inline int bytes_is_number(const struct bytes_number *number)
{
	return number->n > number->negative && number->value <= BYTES_NUMBER_MOST;
}

static inline long bytes_number_value(const struct bytes_number *number)
{
	return number->negative ? -(long)number->value : (long)number->value;
}

/* -- CRC-32, as of Ethernet, gzip and zlib ----------------------------------------------- */

#define BYTES_CRC_POLYNOMIAL	0xedb88320U	/* reflected */

/* tables[k][b]: the remainder of byte b with k zero bytes after it */
struct bytes_crc {
	unsigned int tables[BYTES_WORD][256];
};

static inline void bytes_crc_init(struct bytes_crc *crc)
{
	unsigned int b, k, v;

	for (b = 0; b < 256; b++) {
		v = b;
		for (k = 0; k < 8; k++)
			v = v >> 1 ^ (v & 1 ? BYTES_CRC_POLYNOMIAL : 0);
		crc->tables[0][b] = v;
	}
	for (k = 1; k < BYTES_WORD; k++)
		for (b = 0; b < 256; b++) {
			v = crc->tables[k - 1][b];
			crc->tables[k][b] = v >> 8 ^ crc->tables[0][v & 255];
		}
}

/* The checksum of the bytes that @before is that of (0: of none), and of @n more. */
static inline unsigned int bytes_crc32(const struct bytes_crc *crc, unsigned int before,
				       const char *p, unsigned long n)
{
	unsigned int v = ~before, i;
	unsigned long word;

	for (; n >= BYTES_WORD; n -= BYTES_WORD, p += BYTES_WORD) {
		word = bytes_word(p) ^ v;
		for (v = i = 0; i < BYTES_WORD; i++)
			v ^= crc->tables[BYTES_WORD - 1 - i][word >> 8 * i & 255];
	}
	for (; n; n--, p++)
		v = v >> 8 ^ crc->tables[0][(v ^ (unsigned char)*p) & 255];
	return ~v;
}

#endif /* SYSCRIPT_BYTES_H */
