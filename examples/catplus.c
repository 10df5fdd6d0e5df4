// SPDX-License-Identifier: MIT
/*
 * Prints many small files, read with one call: syscript_read_many(). A file that does not fit is
 * read again by itself: syscript_open_read_close().
 *
 * usage: catplus FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>
#include <syscript_files.h>

#define ROOM	8192

/* Doubles the size until the file fits. */
static int print_large(const char *path)
{
	ssize_t n = 0;

	for (size_t size = 8 * ROOM;; size *= 2) {
		char *buf = malloc(size);

		n = buf ? syscript_open_read_close(AT_FDCWD, path, buf, size, NULL) : -ENOMEM;
		if (n >= 0 && (size_t)n < size)
			fwrite(buf, 1, n, stdout);
		free(buf);
		if (n < 0 || (size_t)n < size)
			break;
	}
	if (n < 0)
		fprintf(stderr, "catplus: %s: %s\n", path, strerror(-n));
	return n < 0;
}

int main(int argc, char **argv)
{
	int n = argc - 1, err, status = 0;
	struct syscript_file *files = calloc(n, sizeof(*files));
	char *room = calloc(n, ROOM);

	if (!n || !files || !room) {
		fprintf(stderr, "usage: catplus FILE...\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		files[i].path = (uintptr_t)argv[i + 1];
		files[i].data = (uintptr_t)(room + (size_t)i * ROOM);
		files[i].size = ROOM;
	}
	err = syscript_read_many(AT_FDCWD, files, n, 0);
	if (err) {
		fprintf(stderr, "catplus: %s\n", syscript_strerror(err));
		return 1;
	}
	for (int i = 0; i < n; i++) {
		if (files[i].result == ROOM) {
			status |= print_large(argv[i + 1]);
		} else if (files[i].result < 0) {
			fprintf(stderr, "catplus: %s: %s\n", argv[i + 1],
				strerror(-files[i].result));
			status = 1;
		} else {
			fwrite(room + (size_t)i * ROOM, 1, files[i].result, stdout);
		}
	}
	free(files);
	free(room);
	return status;
}
