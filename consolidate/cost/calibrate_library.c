// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The functions of calibrate_library.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <syscript.h>
#include <syscript_files.h>

#include "measure.h"
#include "calibrate_library.h"

#define SIZE		1024
#define ROOM		4096
#define NAMES		32768		/* bytes, libc's buffer size */
#define LISTING		(64 << 10)
#define NEW_FILE	(O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC)

/* Two sets: the first read of a file after a write updates its atime. */
static char *paths[LIBRARY_MANY], *written[LIBRARY_MANY];
static char *directories[LIBRARY_MANY + 1];	/* by number of entries */
static char rooms[LIBRARY_MANY][ROOM];
static char listing[LISTING] __attribute__((aligned(8)));
static struct stat stats[LIBRARY_MANY];
static struct syscript_stat attributes[LIBRARY_MANY];
static struct syscript_file files[LIBRARY_MANY];

static long plain(long ret, const char *what)
{
	if (ret == -1)
		measure_die("%s: %m", what);
	return ret;
}

static long script(long ret, const char *what)
{
	if (ret < 0)
		measure_die("%s: %s", what, syscript_strerror(ret));
	return ret;
}

static void expect(long ret, long expected, const char *what)
{
	if (ret != expected)
		measure_die("%s: %ld, not %ld", what, ret, expected);
}

/* -- Files ----------------------------------------------------------------- */

static void batch(char *const *of, int n, void *data, size_t step, size_t size)
{
	for (int i = 0; i < n; i++)
		files[i] = (struct syscript_file){
			(uintptr_t)of[i], (uintptr_t)data + i * step, size, 0,
		};
}

void library_read_plain(int n)
{
	for (int i = 0; i < n; i++) {
		int fd = plain(open(paths[i], O_RDONLY | O_CLOEXEC), paths[i]);

		expect(read(fd, rooms[i], ROOM), SIZE, paths[i]);
		close(fd);
	}
}

void library_read_many(int n)
{
	batch(paths, n, rooms, ROOM, ROOM);
	script(syscript_read_many(AT_FDCWD, files, n, 0), "syscript_read_many");
	for (int i = 0; i < n; i++)
		expect(files[i].result, SIZE, paths[i]);
}

void library_open_read_close(int n)
{
	for (int i = 0; i < n; i++)
		expect(syscript_open_read_close(AT_FDCWD, paths[i], rooms[i], ROOM, NULL),
		       SIZE, paths[i]);
}

static void write_plain(char *const *to, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = plain(open(to[i], NEW_FILE, 0644), to[i]);

		expect(write(fd, rooms[i], SIZE), SIZE, to[i]);
		close(fd);
	}
}

void library_write_plain(int n)
{
	write_plain(written, n);
}

void library_write_many(int n)
{
	batch(written, n, rooms, ROOM, SIZE);
	script(syscript_write_many(AT_FDCWD, files, n, O_CREAT | O_TRUNC, 0644),
		"syscript_write_many");
	for (int i = 0; i < n; i++)
		expect(files[i].result, SIZE, written[i]);
}

/* The descriptors are the program's, whichever variant opened them. */
static void close_files(int n)
{
	for (int i = 0; i < n; i++)
		close(files[i].result);
}

void library_open_plain(int n)
{
	for (int i = 0; i < n; i++) {
		files[i].result = plain(open(paths[i], O_RDONLY | O_CLOEXEC), paths[i]);
		/* Not fstat(), which may use another system call. */
		plain(syscall(SYS_fstat, files[i].result, &stats[i]), paths[i]);
	}
	close_files(n);
}

void library_open_many(int n)
{
	batch(paths, n, attributes, sizeof(*attributes), 0);
	script(syscript_open_many(AT_FDCWD, files, n, O_RDONLY | O_CLOEXEC, 0,
				   STATX_BASIC_STATS), "syscript_open_many");
	for (int i = 0; i < n; i++)
		script(files[i].result, paths[i]);
	close_files(n);
}

void library_stat_plain(int n)
{
	for (int i = 0; i < n; i++)
		plain(fstatat(AT_FDCWD, paths[i], &stats[i], 0), paths[i]);
}

void library_stat_many(int n)
{
	batch(paths, n, attributes, sizeof(*attributes), 0);
	script(syscript_stat_many(AT_FDCWD, files, n, STATX_BASIC_STATS, 0),
		"syscript_stat_many");
	for (int i = 0; i < n; i++)
		script(files[i].result, paths[i]);
}

/* -- Directories ----------------------------------------------------------- */

/* The entries of one getdents64(2) other than dots. */
static int list_part(int fd, long len)
{
	int seen = 0;

	for (char *at = listing; at < listing + len;) {
		const struct dirent64 *entry = (void *)at;

		at += entry->d_reclen;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		plain(fstatat(fd, entry->d_name, &stats[seen++ % LIBRARY_MANY],
				AT_SYMLINK_NOFOLLOW), entry->d_name);
	}
	return seen;
}

void library_list_plain(int n)
{
	const char *name = directories[n];
	int fd = plain(open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), name);
	int seen = 0;
	long len;

	while ((len = plain(syscall(SYS_getdents64, fd, listing, NAMES), name)))
		seen += list_part(fd, len);
	close(fd);
	expect(seen, n, name);
}

void library_readdirplus(int n)
{
	const char *name = directories[n];
	int seen = 0, fd;
	ssize_t len = syscript_opendirplus(AT_FDCWD, name, listing, sizeof(listing),
					   STATX_BASIC_STATS, 0, &fd);

	script(len, name);
	expect(fd == -1, 1, name);
	for (char *at = listing; at < listing + len; seen++) {
		const struct syscript_dirent *entry = (void *)at;

		at += entry->reclen;
		script(entry->error, entry->name);
	}
	expect(seen, n, name);
}

/* -- Files of the measured calls ------------------------------------------- */

static char *in(const char *directory, const char *name, int number)
{
	char *path;

	if (asprintf(&path, "%s/%s%d", directory, name, number) < 0)
		measure_die("no memory for a path");
	return path;
}

static void make_directory(const char *directory, int entries)
{
	char *path = in(directory, "entries", entries);

	plain(mkdir(path, 0700), path);
	for (int i = 0; i < entries; i++) {
		char *entry = in(path, "entry", i);

		close(plain(open(entry, NEW_FILE, 0600), entry));
		free(entry);
	}
	directories[entries] = path;
}

int library_setup(const char *directory)
{
	int fd;

	for (int i = 0; i < LIBRARY_MANY; i++) {
		paths[i] = in(directory, "file", i);
		written[i] = in(directory, "written", i);
	}
	write_plain(paths, LIBRARY_MANY);
	make_directory(directory, 1);
	make_directory(directory, LIBRARY_FEW);
	make_directory(directory, LIBRARY_MANY);
	fd = plain(open(paths[0], O_RDONLY | O_CLOEXEC), paths[0]);
	expect(read(fd, rooms[0], ROOM), SIZE, paths[0]);
	return fd;
}
