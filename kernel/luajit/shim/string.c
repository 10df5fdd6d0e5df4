/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The string functions that LuaJIT uses and that not every kernel exports.
 */
#include <stddef.h>

char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t n);
char *strstr(const char *s, const char *what);
unsigned long strtoul(const char *s, char **end, int base);

char *strcpy(char *to, const char *from)
{
	char *p = to;

	while ((*p++ = *from++))
		;
	return to;
}

char *strncpy(char *to, const char *from, size_t n)
{
	size_t i;

	for (i = 0; i < n && from[i]; i++)
		to[i] = from[i];
	for (; i < n; i++)
		to[i] = '\0';
	return to;
}

char *strstr(const char *s, const char *what)
{
	size_t i;

	for (;; s++) {
		for (i = 0; what[i] && s[i] == what[i]; i++)
			;
		if (!what[i])
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

/* For tonumber(s, base): base 2 .. 36, no sign, no blanks before. */
unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long n = 0;
	int over = 0;

	if (base == 16 && s[0] == '0' && (s[1] | 32) == 'x' && digit(s[2]) < 16)
		s += 2;
	for (; digit(*s) < (unsigned int)base; s++)
		over |= __builtin_mul_overflow(n, (unsigned long)base, &n) |
			__builtin_add_overflow(n, digit(*s), &n);
	*end = (char *)s;
	return over ? ~0UL : n;
}
