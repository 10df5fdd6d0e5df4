/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The string functions that LuaJIT uses and that not every kernel exports.
 */
#include <stddef.h>

char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t n);
char *strstr(const char *s, const char *what);

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
