// SPDX-License-Identifier: GPL-2.0
/* Memory allocated after segments have run, and while another thread's segment runs. */
#include <cosy.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE	200000

static char *volatile memory;
static int begun[2], ready[2];

static int first(void)
{
	int n = 41;

	COSY_START;
	n += getppid() > 0;
	COSY_END;
	return n;
}

static void *allocate(void *waits)
{
	char c;

	if (waits)
		read(begun[0], &c, 1);
	memory = cosy_malloc(SIZE);
	write(ready[1], "x", 1);
	return NULL;
}

static long fill(int with)
{
	long sum = 0;
	char c, *p;

	COSY_START;
	write(begun[1], "x", 1);
	read(ready[0], &c, 1);
	p = COSY_SHARED(memory);
	for (int i = 0; i < SIZE; i++)
		p[i] = with;
	for (int i = 0; i < SIZE; i++)
		sum += p[i];
	COSY_END;
	return sum;
}

static void print(long sum)
{
	long out = 0;

	for (int i = 0; i < SIZE; i++)
		out += memory[i];
	printf("filled %ld, %ld\n", sum, out);
	fflush(stdout);
}

static int child(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, allocate, begun))
		return 1;
	print(fill(2));
	return 0;
}

int main(void)
{
	int status;
	pid_t pid;

	if (pipe(begun) || pipe(ready))
		return 1;
	printf("first %d\n", first());
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child());
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
	allocate(NULL);
	print(fill(3));
	return 0;
}
