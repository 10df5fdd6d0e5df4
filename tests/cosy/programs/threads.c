// SPDX-License-Identifier: GPL-2.0
/* Threads and children run segments, each with its own data. */
#include <cosy.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	4
#define TURNS	2000

static long common;

static void *work(void *arg)
{
	long mine = 0, turns = (long)arg;

	COSY_START;
	for (long i = 0; i < turns; i++) {
		mine += i;
		__atomic_fetch_add(&common, 1, __ATOMIC_RELAXED);
		close(-1);
		mine += errno == EBADF;
	}
	COSY_END;
	return (void *)mine;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	long sum = 0;
	void *value;

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(TURNS + i)))
			exit(1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &value);
		sum += (long)value;
	}
	printf("%ld\n", sum);
}

/* A child has its own memory, and its own script. */
static int child(void)
{
	long before = common;

	work((void *)10);
	return common == before + 10 ? 7 : 1;
}

int main(void)
{
	int status;
	pid_t pid;

	run_threads();
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child());
	waitpid(pid, &status, 0);
	printf("child %d, common %ld\n", WEXITSTATUS(status), common);
	/* A program that closes all descriptors which it did not open. */
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	work((void *)5);
	printf("common %ld\n", common);
	return 0;
}
