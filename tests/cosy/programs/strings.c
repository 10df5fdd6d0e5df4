// SPDX-License-Identifier: GPL-2.0
/* The runtime's string functions compared with the C library's. */
#define _GNU_SOURCE
#include <ctype.h>
#include <cosy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static unsigned long mix(unsigned long h, long v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15UL;
}

static int compare(const void *a, const void *b)
{
	return *(const short *)a - *(const short *)b;
}

static char one[600], two[600], three[600];
static short numbers[100];

static long at(const char *base, const void *p)
{
	return p ? (const char *)p - base : -1;
}

static unsigned long copies(unsigned long h, unsigned i, unsigned j, unsigned n)
{
	memcpy(three + i, one + j, n);
	memmove(three + j, three + i, n);
	memmove(three + i + 3, three + i, n);
	memset(three + n, i, j);
	h = mix(h, memcmp(one + i, two + j, n) > 0);
	h = mix(h, memcmp(three, one, n) < 0);
	h = mix(h, at(one, memchr(one + i, 'q' + j % 9, n)));
	h = mix(h, at(one, memrchr(one + i, 'q' + j % 9, n)));
	for (unsigned k = 0; k < sizeof(three); k++)
		h = mix(h, three[k]);
	return h;
}

static unsigned long texts(unsigned long h, unsigned i, unsigned j, unsigned n)
{
	char *s = one + i, *t = two + j, save = s[n];

	s[n] = '\0';
	h = mix(h, strlen(s));
	h = mix(h, strnlen(s, j));
	h = mix(h, strcmp(s, t) > 0);
	h = mix(h, strncmp(s, one + j, n) < 0);
	h = mix(h, strcasecmp(s, t) > 0);
	h = mix(h, at(s, strchr(s, 'e')));
	h = mix(h, at(s, strchr(s, 0)));
	h = mix(h, at(s, strrchr(s, 'e')));
	h = mix(h, at(s, strpbrk(s, "xyz")));
	h = mix(h, strspn(s, "abcdefghijklm"));
	h = mix(h, strcspn(s, "nopq"));
	t[3] = '\0';
	h = mix(h, at(s, strstr(s, t)));
	strcpy(three, s);
	strcat(three, t);
	strncpy(three + 300, s, n / 2 + 1);
	strncat(three, t, 2);
	h = mix(h, at(three, stpcpy(three + 500, t)));
	h = mix(h, strlen(three));
	s[n] = save;
	return h;
}

static unsigned long digits(unsigned long h, const char *s, int base)
{
	char *end;

	errno = 0;
	h = mix(h, strtol(s, &end, base));
	h = mix(h, end - s + errno);
	h = mix(h, strtoul(s, &end, base));
	h = mix(h, end - s + errno);
	h = mix(h, atoi(s) + atol(s));
	return h;
}

static unsigned long classes(unsigned long h, int c)
{
	h = mix(h, !!isalnum(c) + 2 * !!isalpha(c) + 4 * !!isdigit(c) + 8 * !!isspace(c));
	h = mix(h, !!isupper(c) + 2 * !!islower(c) + 4 * !!ispunct(c) + 8 * !!isprint(c));
	h = mix(h, !!isxdigit(c) + 2 * !!iscntrl(c) + 4 * !!isgraph(c) + 8 * !!isblank(c));
	return mix(h, toupper(c) * 1000 + tolower(c));
}

static const char *const literals[] = {
	"", "0", "-1", "+77", "  42x", "0x1f", "0x", "017", "99999999999999999999",
	"-9223372036854775808", "-9223372036854775809", "zz", "7fffffff", "\t\n-5-",
};

int main(void)
{
	unsigned long h = 1, random = 12345;
	short key;

	for (unsigned i = 0; i < sizeof(one); i++) {
		random = random * 6364136223846793005UL + 1442695040888963407UL;
		one[i] = 'a' + (random >> 60) % 26;
		two[i] = random >> 59 & 3 ? one[i] : 'A' + (random >> 50) % 26;
	}
	for (unsigned i = 0; i < 100; i++)
		numbers[i] = one[i] * one[i + 1] * 7;
	for (unsigned round = 0; round < 200; round++) {
		unsigned i = round % 17, j = round * 7 % 23, n = round * 13 % 250;

		COSY_START;
		h = copies(h, i, j, n);
		h = texts(h, i, j, n);
		h = classes(h, (int)round - 1);
		h = digits(h, literals[round % 14], round % 3 ? round % 37 == 1 ? 0 : round % 37 : 10);
		COSY_END;
		printf("%u %lx\n", round, h);
	}
	COSY_START;
	qsort(numbers, 100, sizeof(numbers[0]), compare);
	key = numbers[31];
	h = at((char *)numbers, bsearch(&key, numbers, 100, sizeof(numbers[0]), compare)) >= 0;
	COSY_END;
	for (unsigned i = 1; i < 100; i++)
		h += numbers[i - 1] <= numbers[i];
	printf("sorted %lu\n", h);
	return 0;
}
