// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Gets files' attributes: by plain calls, with threads, by io_uring, by scripts.
 * This is the part of the work that patches (apps/) speed up, measured alone, with its rivals.
 *
 *   stat_files plain|threads|uring|script tree|paths <LINES
 *
 * tree:   each line is a directory: reads it and the attributes of each entry
 * paths:  each line is a file
 *
 * Prints JSON with the time in ns: elapsed, and CPU time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"
#include "syscript.h"
#include "syscript_files.h"

#define THREADS	2
#define BATCH	256

static char **lines;
static size_t count;

/* Totals over all files, which must be the same in all variants. */
static atomic_long looked, bytes;

struct batch {
	unsigned int n;
	const char *names[BATCH];
	char room[BATCH][NAME_MAX + 1];
	struct statx found[BATCH];
	struct syscript_file files[BATCH];
	struct syscript_stat stats[BATCH];
};

static void add(bool there, unsigned long size)
{
	looked++;
	if (there)
		bytes += size;
}

/* -- A batch of names below a directory, by each way ------------------------ */

static void look_plain(int dir, struct batch *batch)
{
	for (unsigned int i = 0; i < batch->n; i++) {
		struct stat st;
		bool there = !fstatat(dir, batch->names[i], &st, AT_SYMLINK_NOFOLLOW);

		add(there, st.st_size);
	}
}

static struct io_uring ring;

static void look_uring(int dir, struct batch *batch)
{
	struct io_uring_cqe *cqe;

	for (unsigned int i = 0; i < batch->n; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		io_uring_prep_statx(sqe, dir, batch->names[i], AT_SYMLINK_NOFOLLOW,
				    STATX_BASIC_STATS, &batch->found[i]);
		sqe->user_data = i;
	}
	if (io_uring_submit_and_wait(&ring, batch->n) < 0)
		measure_die("io_uring_enter: %s", strerror(errno));
	for (unsigned int i = 0; i < batch->n; i++) {
		if (io_uring_wait_cqe(&ring, &cqe))
			measure_die("io_uring: no answer");
		add(!cqe->res, batch->found[cqe->user_data].stx_size);
		io_uring_cqe_seen(&ring, cqe);
	}
}

static void look_script(int dir, struct batch *batch)
{
	for (unsigned int i = 0; i < batch->n; i++)
		batch->files[i] = (struct syscript_file){
			.path = (uintptr_t)batch->names[i],
			.data = (uintptr_t)&batch->stats[i],
		};
	if (syscript_stat_many(dir, batch->files, batch->n, STATX_BASIC_STATS,
			       AT_SYMLINK_NOFOLLOW))
		measure_die("syscript_stat_many");
	for (unsigned int i = 0; i < batch->n; i++)
		add(!batch->files[i].result, batch->stats[i].size);
}

struct way {
	const char *name;
	void (*look)(int dir, struct batch *batch);
	unsigned int threads;
};

static const struct way *way, ways[] = {
	{ "plain", look_plain, 1 },
	{ "threads", look_plain, THREADS },
	{ "uring", look_uring, 1 },
	{ "script", look_script, 1 },
};

/* -- All of them ------------------------------------------------------------ */

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		measure_die("%s: %s", path, strerror(errno));
	return fd;
}

static void read_directory(const char *path, struct batch *batch)
{
	DIR *dir = fdopendir(open_directory(path));
	struct dirent *entry;

	batch->n = 0;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		batch->names[batch->n] = strcpy(batch->room[batch->n], entry->d_name);
		if (++batch->n == BATCH) {
			way->look(dirfd(dir), batch);
			batch->n = 0;
		}
	}
	way->look(dirfd(dir), batch);
	closedir(dir);
}

/* One call of the script does both. */
static void read_directory_plus(const char *path)
{
	static char room[1 << 16] __attribute__((aligned(8)));
	int dir = open_directory(path);
	ssize_t n;

	while ((n = syscript_readdirplus(dir, room, sizeof(room), STATX_BASIC_STATS, 0,
					 NULL)) > 0) {
		struct syscript_dirent *entry = (void *)room;

		for (; (char *)entry < room + n; entry = syscript_next_dirent(entry))
			add(!entry->error, entry->stat.size);
	}
	if (n < 0)
		measure_die("syscript_readdirplus");
	close(dir);
}

static atomic_size_t next_line;

static void *read_trees(void *arg)
{
	struct batch *batch = malloc(sizeof(*batch));
	size_t line;

	(void)arg;
	while ((line = next_line++) < count) {
		if (way->look == look_script)
			read_directory_plus(lines[line]);
		else
			read_directory(lines[line], batch);
	}
	free(batch);
	return NULL;
}

static void *look_at_paths(void *arg)
{
	struct batch *batch = malloc(sizeof(*batch));
	size_t first;

	(void)arg;
	while ((first = atomic_fetch_add(&next_line, BATCH)) < count) {
		batch->n = count - first < BATCH ? count - first : BATCH;
		for (unsigned int i = 0; i < batch->n; i++)
			batch->names[i] = lines[first + i];
		way->look(AT_FDCWD, batch);
	}
	free(batch);
	return NULL;
}

static void run(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	for (unsigned int i = 1; i < way->threads; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	work(NULL);
	for (unsigned int i = 1; i < way->threads; i++)
		pthread_join(threads[i], NULL);
}

static void read_lines(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		lines = reallocarray(lines, count + 1, sizeof(*lines));
		lines[count++] = strdup(line);
	}
	free(line);
}

static uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static const struct kind {
	const char *name;
	void *(*work)(void *arg);
} *kind, kinds[] = {
	{ "tree", read_trees },
	{ "paths", look_at_paths },
};

int main(int argc, char **argv)
{
	uint64_t began, cpu_began;

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[2], kinds[i].name))
			kind = &kinds[i];
	for (size_t i = 0; argc == 3 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			way = &ways[i];
	if (!way || !kind)
		measure_die("usage: stat_files plain|threads|uring|script tree|paths <LINES");
	read_lines();
	began = measure_now();
	cpu_began = cpu_now();
	if (way->look == look_uring && io_uring_queue_init(BATCH, &ring, 0))
		measure_die("no io_uring here");
	run(kind->work);
	printf("{\"elapsed\": %lu, \"cpu\": %lu, \"files\": %ld, \"bytes\": %ld}\n",
	       measure_now() - began, cpu_now() - cpu_began, looked, bytes);
	return 0;
}
