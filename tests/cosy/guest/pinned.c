// SPDX-License-Identifier: GPL-2.0
/* Prints the amount of pinned memory: before a segment, after it, and with a larger arena. */
#include <cosy.h>
#include <stdio.h>
#include <unistd.h>

static long pinned(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[100];
	long size = -1;

	while (fgets(line, sizeof(line), status) && sscanf(line, "VmPin: %ld kB", &size) < 1)
		;
	fclose(status);
	return size;
}

static void segment(void)
{
	COSY_START;
	getppid();
	COSY_END;
}

int main(void)
{
	long before = pinned(), after, more;

	segment();
	after = pinned();
	if (!cosy_malloc(200000))
		return 1;
	segment();
	more = pinned();
	printf("%ld %ld %ld\n", before, after, more);
	return 0;
}
