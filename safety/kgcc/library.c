// SPDX-License-Identifier: GPL-2.0
/*
 * How far a string function goes is known only once it has read its strings. So each replacement
 * first finds what the function will read and write, within the objects of its pointers. For
 * printf()'s kind this is known only afterwards; then the object is looked up beforehand.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "library.h"
#include "object.h"
#include "oob_pointer.h"
#include "text.h"
#include "violation.h"

void kgcc_find_room(const void *p, struct kgcc_room *room)
{
	unsigned long address = (unsigned long)p;
	struct kgcc_object *object = &room->object;
	const char *where;

	if (kgcc_peer_none(address) || !kgcc_peer_find(address, object, &where))
		kgcc_find(address, object);
	if (object->kind == KGCC_UNKNOWN)
		room->bytes = SIZE_MAX;
	else if (kgcc_is_known(object) && address >= object->start && address <= object->end)
		room->bytes = object->end - address;
	else
		room->bytes = 0;
}

void kgcc_check_room(const char *where, unsigned int flags, const void *p, size_t length,
		     const struct kgcc_room *room, unsigned long ip)
{
	if (length > room->bytes)
		kgcc_violation_call(where, flags, (unsigned long)p, length, &room->object, ip);
}

/* Reads up to the zero, or MAX bytes. */
size_t kgcc_library_string(const char *where, const char *s, size_t max, unsigned long ip)
{
	struct kgcc_room room;
	size_t length;

	if (!max)
		return 0;
	kgcc_find_room(s, &room);
	length = strnlen(s, min(max, room.bytes));
	if (length < min(max, room.bytes))
		return length;
	if (room.bytes < max) {
		kgcc_check_room(where, KGCC_READ, s, room.bytes + 1, &room, ip);
		return strnlen(s, max);
	}
	return length;
}

void kgcc_library_read(const char *where, const void *from, size_t length, unsigned long ip)
{
	struct kgcc_room room;

	if (!length)
		return;
	kgcc_find_room(from, &room);
	kgcc_check_room(where, KGCC_READ, from, length, &room, ip);
}

static void write_bytes(const char *where, const void *to, size_t length, unsigned long ip)
{
	struct kgcc_room room;

	if (!length)
		return;
	kgcc_find_room(to, &room);
	kgcc_check_room(where, KGCC_WRITE, to, length, &room, ip);
}

/* Reads both, up to the first difference. */
static void read_both(const char *where, const char *a, const char *b, size_t max,
		      bool any_case, unsigned long ip)
{
	struct kgcc_room room_a, room_b;
	size_t n;

	if (!max)
		return;
	kgcc_find_room(a, &room_a);
	kgcc_find_room(b, &room_b);
	n = min3(max, room_a.bytes, room_b.bytes);
	for (size_t i = 0; i < n; i++)
		if (!a[i] || (any_case ? tolower(a[i]) != tolower(b[i]) : a[i] != b[i]))
			return;
	if (n == max)
		return;
	kgcc_check_room(where, KGCC_READ, a, n + 1, &room_a, ip);
	kgcc_check_room(where, KGCC_READ, b, n + 1, &room_b, ip);
}

/* -- readers ---------------------------------------------------------------------- */

size_t kgcc_strlen(const char *where, const char *s)
{
	return kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_strlen);

size_t kgcc_strnlen(const char *where, const char *s, size_t max)
{
	return kgcc_library_string(where, s, max, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_strnlen);

int kgcc_strcmp(const char *where, const char *a, const char *b)
{
	read_both(where, a, b, SIZE_MAX, false, _RET_IP_);
	return strcmp(a, b);
}
EXPORT_SYMBOL_GPL(kgcc_strcmp);

int kgcc_strncmp(const char *where, const char *a, const char *b, size_t max)
{
	read_both(where, a, b, max, false, _RET_IP_);
	return strncmp(a, b, max);
}
EXPORT_SYMBOL_GPL(kgcc_strncmp);

int kgcc_strcasecmp(const char *where, const char *a, const char *b)
{
	read_both(where, a, b, SIZE_MAX, true, _RET_IP_);
	return strcasecmp(a, b);
}
EXPORT_SYMBOL_GPL(kgcc_strcasecmp);

int kgcc_strncasecmp(const char *where, const char *a, const char *b, size_t max)
{
	read_both(where, a, b, max, true, _RET_IP_);
	return strncasecmp(a, b, max);
}
EXPORT_SYMBOL_GPL(kgcc_strncasecmp);

/* Reads up to the character, if present. */
char *kgcc_strchr(const char *where, const char *s, int c)
{
	struct kgcc_room room;

	kgcc_find_room(s, &room);
	for (size_t i = 0; i < room.bytes; i++) {
		if (s[i] == (char)c)
			return (char *)s + i;
		if (!s[i])
			return NULL;
	}
	kgcc_check_room(where, KGCC_READ, s, room.bytes + 1, &room, _RET_IP_);
	return strchr(s, c);
}
EXPORT_SYMBOL_GPL(kgcc_strchr);

char *kgcc_strrchr(const char *where, const char *s, int c)
{
	kgcc_library_string(where, s, SIZE_MAX, _RET_IP_);
	return strrchr(s, c);
}
EXPORT_SYMBOL_GPL(kgcc_strrchr);

char *kgcc_strstr(const char *where, const char *a, const char *b)
{
	kgcc_library_string(where, a, SIZE_MAX, _RET_IP_);
	kgcc_library_string(where, b, SIZE_MAX, _RET_IP_);
	return strstr(a, b);
}
EXPORT_SYMBOL_GPL(kgcc_strstr);

/* Reads up to one of the characters, if present. */
char *kgcc_strsep(const char *where, char **s, const char *letters)
{
	struct kgcc_room room;
	size_t i = 0;

	if (*s) {
		kgcc_find_room(*s, &room);
		while (i < room.bytes && (*s)[i] && !strchr(letters, (*s)[i]))
			i++;
		kgcc_check_room(where, KGCC_READ, *s, i + 1, &room, _RET_IP_);
	}
	return strsep(s, letters);
}
EXPORT_SYMBOL_GPL(kgcc_strsep);

/* Reports the place before the kernel panics without one. */
void kgcc_fortified(const char *where)
{
	kgcc_violation_fortified(where, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_fortified);

/* -- writers ---------------------------------------------------------------------- */

char *kgcc_strcpy(const char *where, char *to, const char *from)
{
	size_t length = kgcc_library_string(where, from, SIZE_MAX, _RET_IP_);

	write_bytes(where, to, length + 1, _RET_IP_);
	return memcpy(to, from, length + 1);
}
EXPORT_SYMBOL_GPL(kgcc_strcpy);

char *kgcc_strncpy(const char *where, char *to, const char *from, size_t size)
{
	size_t length = kgcc_library_string(where, from, size, _RET_IP_);

	write_bytes(where, to, size, _RET_IP_);
	memcpy(to, from, length);
	memset(to + length, 0, size - length);
	return to;
}
EXPORT_SYMBOL_GPL(kgcc_strncpy);

/* Copies as much as fits; returns the length, or an error if it was cut. */
static size_t copy_string(const char *where, char *to, const char *from, size_t length,
			  size_t size, unsigned long ip)
{
	size_t fits = size ? min(length, size - 1) : 0;

	if (!size)
		return 0;
	write_bytes(where, to, fits + 1, ip);
	memcpy(to, from, fits);
	to[fits] = 0;
	return fits;
}

size_t kgcc_strlcpy(const char *where, char *to, const char *from, size_t size)
{
	size_t length = kgcc_library_string(where, from, SIZE_MAX, _RET_IP_);

	copy_string(where, to, from, length, size, _RET_IP_);
	return length;
}
EXPORT_SYMBOL_GPL(kgcc_strlcpy);

ssize_t kgcc_strscpy(const char *where, char *to, const char *from, size_t size)
{
	size_t length;

	if (!size || size > INT_MAX)
		return -E2BIG;
	length = kgcc_library_string(where, from, size, _RET_IP_);
	copy_string(where, to, from, length, size, _RET_IP_);
	return length < size ? length : -E2BIG;
}
EXPORT_SYMBOL_GPL(kgcc_strscpy);

static char *append(const char *where, char *to, const char *from, size_t max,
		    unsigned long ip)
{
	size_t old = kgcc_library_string(where, to, SIZE_MAX, ip);
	size_t length = kgcc_library_string(where, from, max, ip);

	write_bytes(where, to, old + length + 1, ip);
	memcpy(to + old, from, length);
	to[old + length] = 0;
	return to;
}

char *kgcc_strcat(const char *where, char *to, const char *from)
{
	return append(where, to, from, SIZE_MAX, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_strcat);

char *kgcc_strncat(const char *where, char *to, const char *from, size_t max)
{
	return append(where, to, from, max, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_strncat);

/* The function that strcat() becomes under FORTIFY_SOURCE since 6.2, with any size. */
size_t kgcc_strlcat(const char *where, char *to, const char *from, size_t size)
{
	size_t old = kgcc_library_string(where, to, size, _RET_IP_);
	size_t length = kgcc_library_string(where, from, SIZE_MAX, _RET_IP_);
	size_t fits = old < size ? min(length, size - old - 1) : 0;

	if (old < size) {
		write_bytes(where, to, old + fits + 1, _RET_IP_);
		memcpy(to + old, from, fits);
		to[old + fits] = 0;
	}
	return old + length;
}
EXPORT_SYMBOL_GPL(kgcc_strlcat);

/* -- formats ---------------------------------------------------------------------- */

static int print(const char *where, char *to, size_t size, const char *format, va_list args,
		 unsigned long ip)
{
	struct kgcc_room room;
	int length;

	kgcc_check_texts(where, format, args, ip);
	if (!size || size > INT_MAX)
		return vsnprintf(to, size, format, args);
	kgcc_find_room(to, &room);
	length = vsnprintf(to, size, format, args);
	kgcc_check_room(where, KGCC_WRITE, to, min((size_t)length + 1, size), &room, ip);
	return length;
}

int kgcc_vsnprintf(const char *where, char *to, size_t size, const char *format, va_list args)
{
	return print(where, to, size, format, args, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_vsnprintf);

/* scnprintf()'s result: the length that fitted. */
static int fitting(int length, size_t size)
{
	return (size_t)length < size ? length : size ? size - 1 : 0;
}

int kgcc_vscnprintf(const char *where, char *to, size_t size, const char *format, va_list args)
{
	return fitting(print(where, to, size, format, args, _RET_IP_), size);
}
EXPORT_SYMBOL_GPL(kgcc_vscnprintf);

int kgcc_sprintf(const char *where, char *to, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = print(where, to, INT_MAX, format, args, _RET_IP_);
	va_end(args);
	return length;
}
EXPORT_SYMBOL_GPL(kgcc_sprintf);

int kgcc_vsprintf(const char *where, char *to, const char *format, va_list args)
{
	return print(where, to, INT_MAX, format, args, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_vsprintf);

int kgcc_snprintf(const char *where, char *to, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = print(where, to, size, format, args, _RET_IP_);
	va_end(args);
	return length;
}
EXPORT_SYMBOL_GPL(kgcc_snprintf);

int kgcc_scnprintf(const char *where, char *to, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = print(where, to, size, format, args, _RET_IP_);
	va_end(args);
	return fitting(length, size);
}
EXPORT_SYMBOL_GPL(kgcc_scnprintf);

/* -- scanf() ---------------------------------------------------------------------- */

/* A conversion: its character, and the bytes that it writes; 0: a string. */
struct conversion {
	char letter;
	bool skipped;
	size_t bytes;
};

static size_t bytes_of(char letter, const char *qualifier, int width)
{
	if (letter == 'c')
		return max(width, 1);
	if (letter == 's' || letter == '[')
		return 0;
	switch (*qualifier) {
	case 'h':
		return qualifier[1] == 'h' ? 1 : 2;
	case 'l':
	case 'L':
	case 'q':
	case 'z':
	case 't':
	case 'j':
		return 8;
	default:
		return 4;
	}
}

/* The end of "[a-z]"; its first character may be a bracket. */
static const char *end_of_set(const char *format)
{
	format += *format == '^';
	format += *format == ']';
	return strchrnul(format, ']');
}

/* Finds the next conversion, and returns the format after it; NULL: there is none. */
static const char *next_conversion(const char *format, struct conversion *conversion)
{
	const char *qualifier;
	int width = 0;

	while ((format = strchr(format, '%')) && format[1] == '%')
		format += 2;
	if (!format)
		return NULL;
	format++;
	conversion->skipped = *format == '*';
	format += conversion->skipped;
	while (isdigit(*format))
		width = min(width * 10 + *format++ - '0', SHRT_MAX);
	qualifier = format;
	while (*format && strchr("hlLqztj", *format))
		format++;
	if (!*format)
		return NULL;
	conversion->letter = *format++;
	conversion->bytes = bytes_of(conversion->letter, qualifier, width);
	if (conversion->letter == '[')
		format = end_of_set(format);
	return format;
}

/* Only now is it known what was written. */
static void check_conversions(const char *where, const char *format, int n, va_list args,
			      unsigned long ip)
{
	struct conversion conversion;

	while ((format = next_conversion(format, &conversion))) {
		void *to = conversion.skipped ? NULL : va_arg(args, void *);

		if (!to)
			continue;
		/* The result does not count %n, which is not an input. */
		if (conversion.letter != 'n' && --n < 0)
			return;
		write_bytes(where, to, conversion.bytes ?: strlen(to) + 1, ip);
	}
}

static int scan(const char *where, const char *from, const char *format, va_list args,
		unsigned long ip)
{
	va_list again;
	int n;

	kgcc_check_scanned(where, from, format, ip);
	va_copy(again, args);
	n = vsscanf(from, format, args);
	check_conversions(where, format, n, again, ip);
	va_end(again);
	return n;
}

int kgcc_vsscanf(const char *where, const char *from, const char *format, va_list args)
{
	return scan(where, from, format, args, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kgcc_vsscanf);

int kgcc_sscanf(const char *where, const char *from, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = scan(where, from, format, args, _RET_IP_);
	va_end(args);
	return n;
}
EXPORT_SYMBOL_GPL(kgcc_sscanf);

/* -- strings of user space ---------------------------------------------------------- */

long kgcc_strncpy_from_user(const char *where, char *to, const char __user *from, long max)
{
	struct kgcc_room room;
	long length;

	kgcc_find_room(to, &room);
	length = strncpy_from_user(to, from, max);
	if (length >= 0 && max > 0)
		kgcc_check_room(where, KGCC_WRITE, to, min(length + 1, max), &room, _RET_IP_);
	return length;
}
EXPORT_SYMBOL_GPL(kgcc_strncpy_from_user);
