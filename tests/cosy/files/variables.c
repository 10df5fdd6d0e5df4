// SPDX-License-Identifier: GPL-2.0
/* Variables that segments of another file use; this file has no segment. */
#include <stdio.h>
#include <string.h>

#include "variables.h"

long count = 40;
struct totals totals = { .calls = 2, .name = "begin" };
char text[32] = "a text";
COSY_VARIABLE volatile int stop;
_Atomic long together;

void reset(void)
{
	memset(text + 1, 'x', 3);
	count = 0;
}

long *address_of_count(void)
{
	return &count;
}

void show(const char *when)
{
	printf("%s: %ld, %ld %ld %s, %s, %ld\n", when, count, totals.bytes, totals.calls,
	       totals.name, text, together);
}
