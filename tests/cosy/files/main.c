// SPDX-License-Identifier: GPL-2.0
/* Segments with variables that another file defines, or may use. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "variables.h"

int own = 3;

static void add(int fd)
{
	long n = read(fd, text, own);

	totals.bytes += n;
	totals.calls++;
	totals.last = text;
}

__attribute__((constructor)) static void before(void)
{
	own++;
}

static int values(void)
{
	int zero = open("/dev/zero", O_RDONLY);

	COSY_START;
	for (count++; count < 45; count++)
		add(zero);
	strcpy(totals.name, own == 4 ? "four" : "no");
	COSY_END;
	close(zero);
	return totals.last == text && !memcmp(text, "\0\0\0\0xt", 6);
}

/* One variable, reached by several names. */
static int aliases(void)
{
	long *other = address_of_count(), *either = getpid() ? &count : &totals.bytes, seen;
	int wrong = other != &count;

	*other = 7;
	COSY_START;
	seen = *either;
	count = 8;
	other = &count;
	*other += 1;
	COSY_END;
	wrong += seen != 7 || *address_of_count() != 9 || other != address_of_count();
	reset();
	COSY_START;
	seen = count + text[1];
	COSY_END;
	return wrong + (seen != 'x');
}

static void handler(int number)
{
	stop = number;
	count += 10;
}

/* A signal handler's change of a variable persists, though the segment changed it before. */
static int signals(void)
{
	signal(SIGUSR1, handler);
	count = 1;
	COSY_START;
	count++;
	kill(getpid(), SIGUSR1);
	COSY_END;
	return stop != SIGUSR1 || count != 12;
}

static void *thread(void *unused)
{
	for (int i = 0; i < 200; i++) {
		COSY_START;
		for (int k = 0; k < 10; k++)
			together++;
		COSY_END;
		together++;
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	show("first");
	printf("values %d\n", values());
	show("then");
	printf("wrong: aliases %d", aliases());
	printf(", signals %d\n", signals());
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	show("last");
	return 0;
}
