// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Numbers as text.  Scripts must print the same on both engines, so the characters are LuaJIT's,
 * rounded as in C.
 */
#include <string.h>

#include "number.h"

/* Longer than "%99.99f" of any number. */
#define ITEM_MAX	512

struct format {
	bool left, plus, space, alternate, zeros;
	int width, precision;	/* -1 if not given */
	char conversion;
};

static int format_digits(const char **s)
{
	int v = 0, n;

	for (n = 0; n < 2 && is_digit(**s); n++)
		v = v * 10 + *(*s)++ - '0';
	return v;
}

/*
 * Parses the option after '%', with at most two digits of width and precision; returns the
 * position after it.
 */
NUM_ONCE const char *parse_format(struct format *f, const char *s)
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
	f->width = format_digits(&s);
	f->precision = -1;
	if (*s == '.') {
		s++;
		f->precision = format_digits(&s);
	}
	f->conversion = *s;
	return s;
}

NUM_ONCE char *put_many(char *to, char c, long n)
{
	while (n-- > 0)
		*to++ = c;
	return to;
}

/* Writes @prefix, @zeros zeros and @body, padded to the width.  Returns the end. */
NUM_ONCE char *put_padded(char *to, const struct format *f, const char *prefix,
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
	return to;
}

/* As above for a number without precision: zeros pad it to the width. */
NUM_ONCE char *put_filled(char *to, const struct format *f, const char *prefix,
			const char *body, long len)
{
	long zeros = f->width - (long)strlen(prefix) - len;

	return put_padded(to, f, prefix, body, len,
			  f->zeros && !f->left && zeros > 0 ? zeros : 0);
}

NUM_ONCE const char *sign_of(const struct format *f, bool negative)
{
	return negative ? "-" : f->plus ? "+" : f->space ? " " : "";
}

/* -- Integers ----------------------------------------------------------------------- */

static bool is_upper(const struct format *f)
{
	return !(f->conversion & 32);
}

/* 0: the digits are decimal. */
static int bits_of_digit(char conversion)
{
	switch (conversion) {
	case 'o':
		return 3;
	case 'x': case 'X': case 'p':
		return 4;
	}
	return 0;
}

static const char *integer_prefix(const struct format *f, long v)
{
	switch (f->conversion) {
	case 'd': case 'i':
		return sign_of(f, v < 0);
	case 'x':
		return f->alternate && v ? "0x" : "";
	case 'X':
		return f->alternate && v ? "0X" : "";
	}
	return f->conversion == 'p' ? "0x" : "";
}

/* The engine has no product of 128 bits, and a division takes as long as ten products. */
static inline unsigned int tenth(unsigned int v)
{
	return (unsigned int)((unsigned long)v * 0xcccccccdUL >> 35);
}

static inline char *put_digits_of_word(char *end, unsigned int v, int least)
{
	unsigned int rest;

	for (; v || least > 0; v = rest, least--) {
		rest = tenth(v);
		*--end = (char)('0' + (v - rest * 10));
	}
	return end;
}

/* Writes the decimal digits of @v, none for 0, before @end; returns the first. */
NUM_ONCE char *put_digits(char *end, unsigned long v)
{
	unsigned long rest;

	for (; v >= 100000000; v = rest) {
		rest = v / 100000000;
		end = put_digits_of_word(end, (unsigned int)(v - rest * 100000000), 8);
	}
	return put_digits_of_word(end, (unsigned int)v, 0);
}

NUM_ONCE char *put_integer(char *to, const struct format *f, long v)
{
	const char *set = is_upper(f) ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned long u = v;
	int bits = bits_of_digit(f->conversion);
	const char *prefix = integer_prefix(f, v);
	char digits[24], *p = digits + sizeof(digits);
	long len, zeros;

	if (*prefix == '-')
		u = -u;
	if (!bits)
		p = put_digits(p, u);
	else
		for (; u; u >>= bits)
			*--p = set[u & ((1UL << bits) - 1)];
	if (f->alternate && bits == 3)
		*--p = '0';
	len = digits + sizeof(digits) - p;
	if (f->precision >= 0) {
		zeros = f->precision - len;
		return put_padded(to, f, prefix, p, len, zeros < 0 ? 0 : zeros);
	}
	if (!len)
		*--p = '0';
	return put_filled(to, f, prefix, p, digits + sizeof(digits) - p);
}

/* As sprintf(), for one integer, character, pointer or string. */
static void runtime_format(char *to, const char *format, long v)
{
	struct format f;
	char c = (char)v;

	parse_format(&f, format + 1);
	/* Eight digits, or whole bytes if there are more, as LuaJIT. */
	if (f.conversion == 'p') {
		runtime_depends(RUNTIME_ON_ADDRESSES);
		f.precision = (unsigned long)v >> 32 ? (71 - __builtin_clzl(v)) / 8 * 2 : 8;
	}
	if (f.conversion == 'c')
		put_padded(to, &f, "", &c, 1, 0);
	else if (f.conversion == 's')
		put_padded(to, &f, "", (const char *)v, strlen((const char *)v), 0);
	else if (f.conversion == 'p' && !v)
		put_padded(to, &f, "", "NULL", 4, 0);
	else
		put_integer(to, &f, v);
}

/* -- Doubles ------------------------------------------------------------------------ */

/* A number's digits: @n of them, @point before the point. */
struct digits {
	int n, point;
	char d[NUM_DIGITS_MAX];
};

static bool rounds_up(const struct digits *d, int keep)
{
	int i = keep + 1;

	if (d->d[keep] != '5')
		return d->d[keep] > '5';
	while (i < d->n && d->d[i] == '0')
		i++;
	return i < d->n || (keep && d->d[keep - 1] & 1);
}

/* Rounds to @keep digits, half to even. */
static void round_digits(struct digits *d, int keep)
{
	bool up;

	if (keep >= d->n)
		return;
	up = keep >= 0 && rounds_up(d, keep);
	d->n = keep < 0 ? 0 : keep;
	if (!up)
		return;
	while (d->n && d->d[d->n - 1] == '9')
		d->n--;
	if (d->n) {
		d->d[d->n - 1]++;
	} else {
		d->d[d->n++] = '1';
		d->point++;
	}
}

static char digit_at(const struct digits *d, int i)
{
	return i >= 0 && i < d->n ? d->d[i] : '0';
}

/*
 * Writes @n digits from digit @i on; for %g omits trailing zeros, and a point without digits
 * after it.
 */
NUM_ONCE char *put_fraction(char *to, const struct format *f, const struct digits *d, int i,
			  int n, bool strip)
{
	char *point = to;

	if (!n && !f->alternate)
		return to;
	*to++ = '.';
	for (; n > 0; n--, i++)
		*to++ = digit_at(d, i);
	if (!strip)
		return to;
	while (to[-1] == '0')
		to--;
	return to - 1 == point ? point : to;
}

NUM_ONCE char *put_exponent(char *to, char letter, int exponent, int least)
{
	struct format f = { .precision = least, .conversion = 'd', .plus = true };

	*to++ = letter;
	return put_integer(to, &f, exponent);
}

NUM_ONCE char *put_e(char *to, const struct format *f, const struct digits *d, int precision,
		   bool strip)
{
	*to++ = digit_at(d, 0);
	to = put_fraction(to, f, d, 1, precision, strip);
	return put_exponent(to, is_upper(f) ? 'E' : 'e', d->n ? d->point - 1 : 0, 2);
}

NUM_ONCE char *put_f(char *to, const struct format *f, const struct digits *d, int precision,
		   bool strip)
{
	int i;

	if (d->point <= 0)
		*to++ = '0';
	for (i = 0; i < d->point; i++)
		*to++ = digit_at(d, i);
	return put_fraction(to, f, d, d->point, precision, strip);
}

static char *put_g(char *to, const struct format *f, struct digits *d, int precision)
{
	int exponent;

	precision = precision ? precision : 1;
	round_digits(d, precision);
	exponent = d->n ? d->point - 1 : 0;
	if (exponent < -4 || exponent >= precision)
		return put_e(to, f, d, precision - 1, !f->alternate);
	return put_f(to, f, d, precision - 1 - exponent, !f->alternate);
}

/* Digits that a word has room for. */
#define QUICK_MOST	17

/* The first digit of a positive double is at 10^this, or at the next power. */
static int least_exponent(unsigned long bits)
{
	return (EXPONENT(bits) - 1023) * 1233 >> 12;
}

/*
 * Finds the digits of a positive double by a few operations on words, already rounded to what the
 * conversion prints; false: it takes longer ones.
 */
static bool quick_digits(struct digits *d, const struct format *f, int precision, unsigned long bits)
{
	char conversion = f->conversion | 32, digits[20], *p = digits + sizeof(digits);
	int most = conversion == 'e' ? precision + 1 : precision ? precision : 1;
	int scale = conversion == 'f' ? precision : most - 1 - least_exponent(bits);
	unsigned long down, v;

	if (most > QUICK_MOST || !num_scaled(bits, scale, &down, &v))
		return false;
	/* 10^most = 5^most * 2^most */
	if (conversion != 'f' && down >= power_of_5[most] << most &&
	    !num_scaled(bits, --scale, &down, &v))
		return false;
	p = put_digits(p, v);
	d->n = (int)(digits + sizeof(digits) - p);
	d->point = d->n ? d->n - scale : 1;
	memcpy(d->d, p, d->n);
	return true;
}

static char *put_decimal(char *to, const struct format *f, unsigned long bits)
{
	int precision = f->precision < 0 ? 6 : f->precision;
	struct digits d;

	if (!quick_digits(&d, f, precision, bits & ~MINUS))
		d.point = num_digits(bits & ~MINUS, d.d, &d.n);
	switch (f->conversion | 32) {
	case 'e':
		round_digits(&d, precision + 1);
		return put_e(to, f, &d, precision, false);
	case 'f':
		round_digits(&d, d.point + precision);
		return put_f(to, f, &d, precision, false);
	}
	return put_g(to, f, &d, precision);
}

/* As LuaJIT: halves round up, even to "0x2". */
static char *put_hex(char *to, const struct format *f, unsigned long bits)
{
	const char *set = is_upper(f) ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned long m = FRACTION(bits);
	int exponent = EXPONENT(bits) - 1023, precision = f->precision, shift, i;

	if (exponent > -1023) {
		m |= 1UL << 52;
	} else if (m) {
		shift = __builtin_clzl(m) - 11;
		m <<= shift;
		exponent = -1022 - shift;
	} else {
		exponent = 0;
	}
	if (precision < 0)
		precision = m << 12 ? 13 - __builtin_ctzl(m) / 4 : 0;
	else if (precision < 13)
		m += 1UL << (51 - precision * 4);
	*to++ = (char)('0' + (m >> 52));
	if (precision || f->alternate)
		*to++ = '.';
	for (i = 0; i < precision; i++)
		*to++ = i < 13 ? set[m >> (48 - 4 * i) & 15] : '0';
	return put_exponent(to, is_upper(f) ? 'P' : 'p', exponent, 1);
}

static char *put_special(char *to, struct format *f, unsigned long bits)
{
	bool nan = FRACTION(bits);
	const char *text = nan ? is_upper(f) ? "NAN" : "nan" : is_upper(f) ? "INF" : "inf";

	if (nan)
		f->plus = false;
	return put_padded(to, f, sign_of(f, !nan && bits & MINUS), text, 3, 0);
}

NUM_ONCE char *put_double(char *to, struct format *f, unsigned long bits)
{
	char body[ITEM_MAX], prefix[4], *end;

	if (EXPONENT(bits) == 0x7ff)
		return put_special(to, f, bits);
	strcpy(prefix, sign_of(f, bits & MINUS));
	if ((f->conversion | 32) == 'a') {
		strcat(prefix, is_upper(f) ? "0X" : "0x");
		end = put_hex(body, f, bits);
	} else {
		end = put_decimal(body, f, bits);
	}
	return put_filled(to, f, prefix, body, end - body);
}

/* Prints as "%.14g". */
static void num_print(char *to, long n)
{
	struct format f = { .precision = 14, .conversion = 'g' };

	if (n > -100000000000000 && n < 100000000000000) {
		f.precision = -1;
		f.conversion = 'd';
		put_integer(to, &f, n);
	} else {
		put_double(to, &f, num_bits(n));
	}
}
