// SPDX-License-Identifier: GPL-2.0
/* A segment that does not end by itself, in its own code or in system calls. */
#include <cosy.h>
#include <string.h>
#include <unistd.h>

static volatile long count;

__attribute__((noinline)) static void compute(void)
{
	for (;;)
		count++;	/* HERE: compute */
}

__attribute__((noinline)) static void call(void)
{
	for (;;)
		lseek(-1, 0, SEEK_SET);	/* HERE: call */
}

int main(int argc, char **argv)
{
	int computes = argc > 1 && !strcmp(argv[1], "compute");

	COSY_START;
	if (computes)
		compute();
	else
		call();
	COSY_END;
	return 0;
}
