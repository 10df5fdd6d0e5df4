// SPDX-License-Identifier: GPL-2.0
/* A list of files, each read while the next one is being fetched: see cosy(7). */
#define _GNU_SOURCE
#include <cosy.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES	8
#define ROOM	4096

struct list {
	char names[FILES][32];
	char room[ROOM];
};

static int make_file(struct list *list, int n)
{
	int fd;

	strcpy(list->names[n], "/tmp/ahead.XXXXXX");
	fd = mkstemp(list->names[n]);
	if (fd < 0)
		return 1;
	for (int i = 0; i <= n * 700; i++)
		if (write(fd, "abcdefghi" + i % 9, 1) != 1)
			return 1;
	return close(fd);
}

static long sum_of(struct list *given)
{
	long sum = 0, refused = 0;
	int fd, next;

	COSY_START;
	struct list *list = COSY_SHARED(given);

	next = open(list->names[0], O_RDONLY);
	for (int i = 0; i < FILES; i++) {
		ssize_t got;

		fd = next;
		if (i + 1 < FILES) {
			next = open(list->names[i + 1], O_RDONLY);
			refused += readahead(next, 0, ROOM) != 0;
		}
		while ((got = read(fd, list->room, ROOM)) > 0)
			for (ssize_t k = 0; k < got; k++)
				sum += list->room[k];
		close(fd);
	}
	COSY_END;
	return refused ? -refused : sum;
}

static void refusals(void)
{
	int err, given, ret;

	COSY_START;
	ret = readahead(-1, 0, ROOM);
	err = errno;
	given = posix_fadvise(-1, 0, ROOM, POSIX_FADV_WILLNEED);
	COSY_END;
	printf("refused %d %s, %s\n", ret, strerror(err), strerror(given));
}

int main(void)
{
	struct list *list = cosy_calloc(1, sizeof(*list));

	for (int i = 0; i < FILES; i++)
		if (make_file(list, i))
			return 1;
	printf("sum %ld\n", sum_of(list));
	refusals();
	for (int i = 0; i < FILES; i++)
		unlink(list->names[i]);
	return 0;
}
