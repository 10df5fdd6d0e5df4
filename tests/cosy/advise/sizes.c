// SPDX-License-Identifier: GPL-2.0
/* Beginnings of files, each opened anew: usage: sizes FILE... The loop cannot be marked. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static long beginning(const char *path, int *sum)
{
	unsigned char text[4096];
	struct stat st;
	long n;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		return -1;
	n = read(fd, text, sizeof(text));
	close(fd);
	for (long i = 0; i < n; i++)
		*sum += text[i];
	return st.st_size - n;
}

int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		printf("%ld\n", beginning(argv[1 + i % (argc - 1)], &sum));
	printf("%d\n", sum);
	return argc < 2;
}
