// SPDX-License-Identifier: GPL-2.0
/* Looks up records by number; some hold a word: usage: lookup FILE. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef RECORDS
#define RECORDS	200
#endif

struct record {
	unsigned long key;
	char text[120];
};

static int lookup(int fd, const char *wanted)
{
	char word[120];
	struct record r;
	int found = 0;

	strcpy(word, wanted);
	for (int i = 0; i < RECORDS; i++) {
		if (lseek(fd, i * 7 % RECORDS * sizeof(r), SEEK_SET) < 0)
			return -1;
		if (read(fd, &r, sizeof(r)) != sizeof(r))
			break;
		if (r.key % 5 == 0 && !strcmp(r.text, word))
			found++;
	}
	return found;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);

	printf("%d\n", lookup(fd, "word"));
	return argc != 2;
}
