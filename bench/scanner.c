// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A scanner: reads the beginning of each file of a tree and adds up its bytes. For
 * bench/everyone.py: written with plain calls, and by the library's manual.
 *
 * usage: scanner plain|script DIRECTORY
 *
 * Prints how many files there are, and the sum of their bytes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <syscript_files.h>

#include "measure.h"

#define ROOM	4096		/* of a file */
#define FILES	128		/* at once */
#define PATHS	65536

static unsigned long files, sum;

static void scan(const unsigned char *text, int64_t n)
{
	if (n < 0)
		return;
	files++;
	for (int64_t i = 0; i < n; i++)
		sum += text[i];
}

/* -- Plain calls -------------------------------------------------------------------- */

static void read_plain(int dirfd, const char *name)
{
	unsigned char text[ROOM];
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	scan(text, read(fd, text, sizeof(text)));
	close(fd);
}

static void scan_plain(int dirfd)
{
	DIR *dir = fdopendir(dirfd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type == DT_REG)
			read_plain(dirfd, entry->d_name);
		else if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
			 strcmp(entry->d_name, ".."))
			scan_plain(openat(dirfd, entry->d_name,
					  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
	}
	if (dir)
		closedir(dir);
}

/* -- The library -------------------------------------------------------------------- */

static unsigned char texts[FILES][ROOM];

static void read_some(int dirfd, struct syscript_file *some, size_t n)
{
	int err = syscript_read_many(dirfd, some, n, 0);

	if (err)
		measure_die("read_many: %s", strerror(-err));
	for (size_t i = 0; i < n; i++)
		scan(texts[i], some[i].result);
}

static void read_paths(int dirfd, const char *path, const char *end)
{
	struct syscript_file some[FILES];
	size_t n = 0;

	for (; path < end; path += strlen(path) + 1) {
		some[n] = (struct syscript_file){
			.path = (uintptr_t)path, .data = (uintptr_t)texts[n], .size = ROOM,
		};
		if (++n == FILES) {
			read_some(dirfd, some, n);
			n = 0;
		}
	}
	if (n)
		read_some(dirfd, some, n);
}

static void scan_script(int dirfd)
{
	static char paths[PATHS];
	struct syscript_walk *walk;
	char error[512];
	ssize_t n;
	int err = syscript_walk_open(&walk, dirfd, NULL, 0, error, sizeof(error));

	if (err)
		measure_die("walk: %s", error);
	while ((n = syscript_walk_next(walk, paths, sizeof(paths), NULL)) > 0)
		read_paths(dirfd, paths, paths + n);
	if (n < 0)
		measure_die("walk: %s", strerror(-n));
	syscript_walk_close(walk);
}

int main(int argc, char **argv)
{
	int dirfd = argc == 3 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dirfd < 0)
		measure_die("usage: scanner plain|script DIRECTORY");
	if (!strcmp(argv[1], "plain"))
		scan_plain(dirfd);
	else
		scan_script(dirfd);
	printf("%lu %lu\n", files, sum);
	return 0;
}
