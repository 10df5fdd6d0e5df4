// SPDX-License-Identifier: GPL-2.0
/* Every way in which control can leave a segment. */
#include <cosy.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int by_return(int n)
{
	int sum = 0;

	COSY_START;
	for (int i = 0; i < 10; i++) {
		if (i == n)
			return 100 + i;
		sum += i;
	}
	COSY_END;
	return sum;
}

static int by_break(int n)
{
	int turns = 0;

	for (;;) {
		COSY_START;
		turns++;
		if (turns == n)
			break;
		if (turns & 1)
			continue;
		turns += getpid() < 0;
		COSY_END;
		turns += 10;
	}
	return turns;
}

static int by_goto(int n)
{
	int result = 0;

	COSY_START;
	if (n == 1)
		goto one;
	if (n == 2)
		goto two;
	result += 1;
	COSY_END;
	return result;
one:
	result += 10;
two:
	result += 100;
	return result;
}

static int two_segments(int n)
{
	COSY_START;
	n = n * 2;
	COSY_END;
	printf("between: %d\n", n);
	COSY_START;
	n = n + 1;
	COSY_END;
	return n;
}

static void nothing(void)
{
	COSY_START;
	COSY_END;
}

static int only_calls(void)
{
	int fd;

	COSY_START;
	fd = dup(1);
	if (fd >= 0)
		close(fd);
	COSY_END;
	return fd >= 0;
}

static int in_switch(int n)
{
	int result = 7;

	switch (n) {
	case 1:
		COSY_START;
		result = 1;
		COSY_END;
		break;
	case 2:
		COSY_START;
		result = 2;
		COSY_END;
		/* fallthrough */
	case 3:
		result += 30;
	}
	return result;
}

static int error_number(void)
{
	int before, after;

	errno = 77;
	COSY_START;
	before = errno;
	close(-1);
	after = errno;
	COSY_END;
	return before == 77 && after == EBADF && errno == EBADF;
}

static int error_number_stays(void)
{
	errno = 5;
	COSY_START;
	getppid();
	COSY_END;
	return errno == 5;
}

COSY_FUNCTION static int whole(int a, int b)
{
	if (a > b)
		return a - b;
	return b - a + (getpid() < 0);
}

COSY_FUNCTION static void whole_nothing(void)
{
}

int main(void)
{
	for (int i = 0; i < 12; i += 3)
		printf("return %d\n", by_return(i));
	printf("break %d %d\n", by_break(1), by_break(25));
	for (int i = 0; i < 4; i++)
		printf("goto %d\n", by_goto(i));
	printf("two %d\n", two_segments(20));
	nothing();
	printf("calls %d\n", only_calls());
	for (int i = 0; i < 5; i++)
		printf("switch %d\n", in_switch(i));
	printf("errno %d %d\n", error_number(), error_number_stays());
	whole_nothing();
	printf("whole %d %d\n", whole(3, 10), whole(10, 3));
	return 0;
}
