// SPDX-License-Identifier: GPL-2.0
/* Endless recursion. */
#include <cosy.h>
#include <unistd.h>

static int down(int n)
{
	char buffer[500];

	read(0, buffer, n);
	return down(n) + *buffer;
}

int main(void)
{
	int n = 0;

	COSY_START;
	n = down(n);
	COSY_END;
	return n;
}
