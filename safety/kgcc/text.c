// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel functions that stop reading at something they find: a character of a set, the first
 * non-digit, the terminating zero. A string without an end in its object is not an error by itself,
 * since it may contain that character. So each replacement scans the string as its function does,
 * within the object, and reports if the function would read beyond it. printf() and scanf() formats
 * refer to strings, too: those of %s, and the scanned text.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "library.h"
#include "text.h"
#include "violation.h"

/* A string read from its beginning: the position, and whether it may be read. */
struct reader {
	const char *where;
	const char *text;
	struct kgcc_room room;
	size_t at;
	unsigned long ip;
	bool is_over;		/* read beyond its object: reported, and reading stops */
};

static void begin(struct reader *r, const char *where, const char *text, unsigned long ip)
{
	*r = (struct reader){ .where = where, .text = text, .ip = ip };
	kgcc_find_room(text, &r->room);
}

/* The next character; 0 beyond the object. */
static char look(struct reader *r)
{
	if (r->is_over)
		return 0;
	if (r->at < r->room.bytes)
		return r->text[r->at];
	r->is_over = true;
	kgcc_check_room(r->where, KGCC_READ, r->text, r->at + 1, &r->room, r->ip);
	return 0;
}

static void skip_while_space(struct reader *r)
{
	while (isspace(look(r)))
		r->at++;
}

/* -- sets of letters --------------------------------------------------------------- */

static void span(const char *where, const char *s, const char *letters, bool inside,
		 unsigned long ip)
{
	struct reader r;
	char c;

	kgcc_library_string(where, letters, SIZE_MAX, ip);
	begin(&r, where, s, ip);
	while ((c = look(&r)) && !strchr(letters, c) == !inside)
		r.at++;
}

size_t kgcc_strspn(const char *where, const char *s, const char *letters)
{
	span(where, s, letters, true, _RET_IP_);
	return strspn(s, letters);
}
EXPORT_SYMBOL_GPL(kgcc_strspn);

size_t kgcc_strcspn(const char *where, const char *s, const char *letters)
{
	span(where, s, letters, false, _RET_IP_);
	return strcspn(s, letters);
}
EXPORT_SYMBOL_GPL(kgcc_strcspn);

char *kgcc_strpbrk(const char *where, const char *s, const char *letters)
{
	span(where, s, letters, false, _RET_IP_);
	return strpbrk(s, letters);
}
EXPORT_SYMBOL_GPL(kgcc_strpbrk);

static void find_letter(const char *where, const char *s, size_t max, int c, unsigned long ip)
{
	struct reader r;
	char found;

	begin(&r, where, s, ip);
	while (r.at < max && (found = look(&r)) && found != (char)c)
		r.at++;
}

char *kgcc_strchrnul(const char *where, const char *s, int c)
{
	find_letter(where, s, SIZE_MAX, c, _RET_IP_);
	return strchrnul(s, c);
}
EXPORT_SYMBOL_GPL(kgcc_strchrnul);

char *kgcc_strnchr(const char *where, const char *s, size_t max, int c)
{
	find_letter(where, s, max, c, _RET_IP_);
	return strnchr(s, max, c);
}
EXPORT_SYMBOL_GPL(kgcc_strnchr);

char *kgcc_skip_spaces(const char *where, const char *s)
{
	struct reader r;

	begin(&r, where, s, _RET_IP_);
	skip_while_space(&r);
	return skip_spaces(s);
}
EXPORT_SYMBOL_GPL(kgcc_skip_spaces);

/* -- whole texts ------------------------------------------------------------------- */

char *kgcc_strim(const char *where, char *s)
{
	kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
	return strim(s);
}
EXPORT_SYMBOL_GPL(kgcc_strim);

char *kgcc_strreplace(const char *where, char *s, char old, char new)
{
	kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
	return strreplace(s, old, new);
}
EXPORT_SYMBOL_GPL(kgcc_strreplace);

char **kgcc_argv_split(const char *where, gfp_t flags, const char *s, int *count)
{
	kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
	return argv_split(flags, s, count);
}
EXPORT_SYMBOL_GPL(kgcc_argv_split);

/* The kernel's function returns either a copy or the constant string itself. */
const char *kgcc_kstrdup_const(const char *where, const char *s, gfp_t flags)
{
	if (s)
		kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
	return kstrdup_const(s, flags);
}
EXPORT_SYMBOL_GPL(kgcc_kstrdup_const);

const char *kgcc_kvasprintf_const(const char *where, gfp_t flags, const char *format,
				  va_list args)
{
	kgcc_check_texts(where, format, args, _RET_IP_);
	return kvasprintf_const(flags, format, args);
}
EXPORT_SYMBOL_GPL(kgcc_kvasprintf_const);

/* It first searches a zero within the 17 characters of an address. */
bool kgcc_mac_pton(const char *where, const char *s, u8 *mac)
{
	kgcc_library_string(where, s, 3 * 6 - 1, _RET_IP_);
	return mac_pton(s, mac);
}
EXPORT_SYMBOL_GPL(kgcc_mac_pton);

/* -- comparisons ------------------------------------------------------------------- */

/* strnstr() compares the whole second string at each position, beyond any zero in the first. */
char *kgcc_strnstr(const char *where, const char *s, const char *part, size_t max)
{
	size_t length = kgcc_library_string(where, part, SIZE_MAX, _RET_IP_), at = 0;
	struct kgcc_room room;

	if (!length || length > max)
		return strnstr(s, part, max);
	kgcc_find_room(s, &room);
	while (at + length <= min(max, room.bytes) && memcmp(s + at, part, length))
		at++;
	if (at + length > room.bytes && at + length <= max)
		kgcc_check_room(where, KGCC_READ, s, at + length, &room, _RET_IP_);
	return strnstr(s, part, max);
}
EXPORT_SYMBOL_GPL(kgcc_strnstr);

/* Reads up to the first difference, ignoring a trailing newline in one of them. */
static void compare(const char *where, const char *a, const char *b, bool by_line,
		    unsigned long ip)
{
	struct reader one, other;
	char x, y;

	begin(&one, where, a, ip);
	begin(&other, where, b, ip);
	while ((x = look(&one)) == (y = look(&other)) && x) {
		one.at++;
		other.at++;
	}
	if (!by_line)
		return;
	if (!x && y == '\n')
		other.at++, look(&other);
	else if (!y && x == '\n')
		one.at++, look(&one);
}

bool kgcc_sysfs_streq(const char *where, const char *a, const char *b)
{
	compare(where, a, b, true, _RET_IP_);
	return sysfs_streq(a, b);
}
EXPORT_SYMBOL_GPL(kgcc_sysfs_streq);

static void compare_all(const char *where, const char *const *array, size_t n, const char *s,
			bool by_line, unsigned long ip)
{
	for (size_t i = 0; i < n && array[i]; i++)
		compare(where, array[i], s, by_line, ip);
}

int kgcc_match_string(const char *where, const char *const *array, size_t n, const char *s)
{
	compare_all(where, array, n, s, false, _RET_IP_);
	return match_string(array, n, s);
}
EXPORT_SYMBOL_GPL(kgcc_match_string);

int kgcc_sysfs_match_string(const char *where, const char *const *array, size_t n, const char *s)
{
	compare_all(where, array, n, s, true, _RET_IP_);
	return __sysfs_match_string(array, n, s);
}
EXPORT_SYMBOL_GPL(kgcc_sysfs_match_string);

/* -- numbers ----------------------------------------------------------------------- */

static bool is_digit_of(char c, unsigned int base)
{
	unsigned int value = isdigit(c) ? c - '0' : isalpha(c) ? tolower(c) - 'a' + 10 : 99;

	return value < base;
}

/* Mirrors _parse_integer_fixup_radix(). */
static unsigned int read_base(struct reader *r, unsigned int base)
{
	if (base && base != 16)
		return base;
	if (look(r) != '0')
		return base ?: 10;
	r->at++;
	if (tolower(look(r)) != 'x') {
		r->at--;
		return base ?: 8;
	}
	r->at++;
	if (isxdigit(look(r)))
		return 16;
	r->at -= 2;
	return base ?: 8;
}

/* Reads up to the first non-digit, or a given number of digits. */
static void read_number(struct reader *r, unsigned int base, size_t max)
{
	size_t first = r->at;

	base = read_base(r, base);
	while (r->at - first < max && is_digit_of(look(r), base))
		r->at++;
}

/* A sign, a number, and a newline, as kstrtol() and its kind read. */
static void read_line_of_number(const char *where, const char *s, unsigned int base,
				bool has_minus, unsigned long ip)
{
	struct reader r;
	char c;

	begin(&r, where, s, ip);
	c = look(&r);
	r.at += c == '+' || (has_minus && c == '-');
	read_number(&r, base, SIZE_MAX);
	if (look(&r) == '\n')
		r.at++, look(&r);
}

#define KSTRTO(name, type, has_minus)							\
	int kgcc_##name(const char *where, const char *s, unsigned int base, type *result)	\
	{											\
		read_line_of_number(where, s, base, has_minus, _RET_IP_);			\
		return name(s, base, result);							\
	}											\
	EXPORT_SYMBOL_GPL(kgcc_##name)

KSTRTO(kstrtoull, unsigned long long, false);
KSTRTO(kstrtoll, long long, true);
KSTRTO(_kstrtoul, unsigned long, false);
KSTRTO(_kstrtol, long, true);
KSTRTO(kstrtouint, unsigned int, false);
KSTRTO(kstrtoint, int, true);
KSTRTO(kstrtou16, u16, false);
KSTRTO(kstrtos16, s16, true);
KSTRTO(kstrtou8, u8, false);
KSTRTO(kstrtos8, s8, true);

/* For "on" and "off" it reads the second character. */
int kgcc_kstrtobool(const char *where, const char *s, bool *result)
{
	struct reader r;

	if (s) {
		begin(&r, where, s, _RET_IP_);
		if (tolower(look(&r)) == 'o')
			r.at++, look(&r);
	}
	return kstrtobool(s, result);
}
EXPORT_SYMBOL_GPL(kgcc_kstrtobool);

static void read_simple(const char *where, const char *s, unsigned int base, bool has_minus,
			unsigned long ip)
{
	struct reader r;

	begin(&r, where, s, ip);
	r.at += has_minus && look(&r) == '-';
	read_number(&r, base, SIZE_MAX);
}

#define SIMPLE_STRTO(name, type, has_minus)						\
	type kgcc_##name(const char *where, const char *s, char **end, unsigned int base)	\
	{											\
		read_simple(where, s, base, has_minus, _RET_IP_);				\
		return name(s, end, base);							\
	}											\
	EXPORT_SYMBOL_GPL(kgcc_##name)

SIMPLE_STRTO(simple_strtoull, unsigned long long, false);
SIMPLE_STRTO(simple_strtoul, unsigned long, false);
SIMPLE_STRTO(simple_strtol, long, true);
SIMPLE_STRTO(simple_strtoll, long long, true);

/* The character after the number may be a unit. */
unsigned long long kgcc_memparse(const char *where, const char *s, char **end)
{
	read_simple(where, s, 0, false, _RET_IP_);
	return memparse(s, end);
}
EXPORT_SYMBOL_GPL(kgcc_memparse);

/* Numbers between commas, and ranges: it reads the character after each. */
static void read_option(struct reader *r)
{
	char c = look(r);

	if (!c)
		return;
	r->at += c == '-';
	read_number(r, 0, SIZE_MAX);
	c = look(r);
	if (c == ',' || c == '-')
		r->at++;
}

int kgcc_get_option(const char *where, char **s, int *result)
{
	struct reader r;

	if (*s) {
		begin(&r, where, *s, _RET_IP_);
		read_option(&r);
	}
	return get_option(s, result);
}
EXPORT_SYMBOL_GPL(kgcc_get_option);

char *kgcc_get_options(const char *where, const char *s, int count, int *results)
{
	struct reader r;
	size_t before;

	begin(&r, where, s, _RET_IP_);
	do {
		before = r.at;
		read_option(&r);
	} while (r.at != before && !r.is_over && strchr(",-", r.text[r.at - 1]));
	return get_options(s, count, results);
}
EXPORT_SYMBOL_GPL(kgcc_get_options);

/* -- formats ----------------------------------------------------------------------- */

/* The part of a conversion between its % and its character. */
struct spec {
	int precision;		/* negative: none */
	char qualifier;		/* 'L': of long long, 'l': of long and of sizes, or 0 */
};

static const char *read_spec(const char *format, struct spec *spec, va_list *args)
{
	*spec = (struct spec){ .precision = -1 };
	format += strspn(format, "-+ #0");
	if (*format == '*')
		va_arg(*args, int), format++;
	format += strspn(format, "0123456789");
	if (*format == '.') {
		format++;
		spec->precision = 0;
		if (*format == '*')
			spec->precision = va_arg(*args, int), format++;
		while (isdigit(*format))
			spec->precision = min(spec->precision * 10 + *format++ - '0', INT_MAX / 16);
	}
	for (; *format && strchr("hlLzZt", *format); format++)
		if (*format != 'h')
			spec->qualifier = *format == 'L' || spec->qualifier == 'l' ? 'L' : 'l';
	return format;
}

/* Whether vsnprintf() follows the pointer; for others it prints (null) or (efault). */
static bool is_followed(const char *s)
{
	return (unsigned long)s >= PAGE_SIZE && !IS_ERR(s);
}

void kgcc_check_texts(const char *where, const char *format, va_list given, unsigned long ip)
{
	struct spec spec;
	const char *s;
	va_list args;

	va_copy(args, given);
	while ((format = strchr(format, '%'))) {
		format = read_spec(format + 1, &spec, &args);
		switch (*format++) {
		case '%':
			continue;
		case 's':
			s = va_arg(args, const char *);
			if (is_followed(s))
				kgcc_library_string(where, s, spec.precision < 0 ? SIZE_MAX :
						    spec.precision, ip);
			continue;
		case 'p':
			va_arg(args, void *);
			continue;
		case 'c':
			va_arg(args, int);
			continue;
		case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
			if (spec.qualifier == 'L')
				va_arg(args, long long);
			else if (spec.qualifier)
				va_arg(args, long);
			else
				va_arg(args, int);
			continue;
		}
		break;		/* vsnprintf() stops here, too */
	}
	va_end(args);
}

/* A field of at most this many characters, which may end at a space. */
static void read_field(struct reader *r, size_t max, bool ends_at_space)
{
	size_t first = r->at;
	char c;

	while (r->at - first < max && (c = look(r)) && !(ends_at_space && isspace(c)))
		r->at++;
}

static unsigned int scanned_base(char letter)
{
	return letter == 'i' ? 0 : letter == 'o' ? 8 : letter == 'x' || letter == 'X' ? 16 : 10;
}

/* Reads a conversion's part of the text; false if the text does not match. */
static bool read_conversion(struct reader *r, char letter, size_t width)
{
	size_t first;

	switch (letter) {
	case 'c':
		read_field(r, width ?: 1, false);
		return true;
	case 's':
		skip_while_space(r);
		read_field(r, width ?: SIZE_MAX, true);
		return true;
	case '[':
		/* The set's members are not examined: assume the shortest match. */
		look(r);
		return false;
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		skip_while_space(r);
		first = r->at;
		r->at += look(r) == '-' && (letter == 'd' || letter == 'i');
		read_number(r, scanned_base(letter), width ? width - (r->at - first) : SIZE_MAX);
		return r->at != first;
	default:
		return letter == 'n';
	}
}

void kgcc_check_scanned(const char *where, const char *text, const char *format,
			unsigned long ip)
{
	struct reader r;
	size_t width;
	char letter;

	begin(&r, where, text, ip);
	while (*format && !r.is_over) {
		if (isspace(*format)) {
			format = skip_spaces(format);
			skip_while_space(&r);
			continue;
		}
		if (*format != '%' || format[1] == '%') {
			format += *format == '%';
			if (look(&r) != *format++)
				return;
			r.at++;
			continue;
		}
		format += 1 + (format[1] == '*');
		for (width = 0; isdigit(*format); format++)
			width = min_t(size_t, width * 10 + *format - '0', SHRT_MAX);
		format += strspn(format, "hlLqztj");
		letter = *format;
		if (!letter || !read_conversion(&r, letter, width))
			return;
		format++;
	}
}
