// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Measures inner loops of applications (compound_apps.c), plain and as compounds.
 *
 * usage: compound ROUNDS
 *        compound APP plain|compound COUNT
 *
 * Writes JSON: in each round every loop once in each way, in ns per step; or takes
 * COUNT steps in one way, between marks for `make profile-icount`.
 */
#include <cosy.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "compound_apps.h"
#include "measure.h"
#include "order.h"

#define SAMPLE_NS	4000000ULL	/* at least */
#define WARM_UP		10
#define CPU		1
#define TEXT_SIZE	(256 << 10)
#define COPY_SIZE	(128 << 10)
#define SEED		42

enum way { PLAIN, COMPOUND, WAYS };

static const char *const way_names[WAYS] = { "plain", "compound" };

static const char *const names[] = {
#define APP(name)	#name,
#include "compound_apps.def"
};

#define APPS	(sizeof(names) / sizeof(names[0]))

static struct app *app;
static uint64_t counts[APPS];

static app_loop *loop_of(size_t which, enum way way)
{
	return way == PLAIN ? app_plain[which] : app_compound[which];
}

/* -- Files and buffers of the loops ---------------------------------------------- */

static int make_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		measure_die("%s: %m", name);
	return fd;
}

static void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		measure_die("write: %m");
}

/* One record in 16 contains the value searched for. */
static void make_database(void)
{
	app->database = make_file("database");
	for (uint64_t key = 0; key < DB_RECORDS; key++) {
		char record[DB_RECORD] = "";

		memcpy(record, &key, sizeof(key));
		strcpy(record + 16, key % 16 ? "something else" : app->pattern);
		put(app->database, record, sizeof(record));
	}
}

static void make_text(void)
{
	static const char line[] = "a line of words, in some of which there is a match\n";
	int fd = make_file(app->text);

	for (size_t at = 0; at < TEXT_SIZE; at += sizeof(line) - 1)
		put(fd, line, sizeof(line) - 1);
	close(fd);
}

static void make_tree(const char *name, int depth)
{
	char path[64];

	mkdir(name, 0700);
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/file%d", name, i);
		close(make_file(path));
	}
	for (int i = 0; i < 2 && depth; i++) {
		snprintf(path, sizeof(path), "%s/d%d", name, i);
		make_tree(path, depth - 1);
	}
}

static void make_all(void)
{
	char *data = calloc(1, COPY_SIZE);

	app = cosy_calloc(1, sizeof(*app));
	if (!app || !data)
		measure_die("no memory");
	strcpy(app->file, "file");
	strcpy(app->tree, "tree");
	strcpy(app->text, "text");
	strcpy(app->pattern, "match");
	strcpy(app->journal, "database-journal");
	strcpy(app->wal, "database-wal");
	put(make_file(app->file), data, 1024);
	app->from = make_file("from");
	put(app->from, data, COPY_SIZE);
	app->to = make_file("to");
	make_database();
	make_text();
	make_tree(app->tree, 2);
	free(data);
}

/* -- Measuring --------------------------------------------------------------------- */

static uint64_t timed(size_t which, enum way way, uint64_t count, long *result)
{
	uint64_t start;

	app->seed = SEED;
	start = measure_now();
	mark_begin();
	*result = loop_of(which, way)(app, count);
	mark_end();
	if (*result < 0)
		measure_die("%s, %s: %s", names[which], way_names[way], strerror(-*result));
	return measure_now() - start;
}

static uint64_t sample_plain(void *of, uint64_t count)
{
	long result;

	return timed((size_t)of, PLAIN, count, &result);
}

/* Both variants must give the same results. */
static void check(size_t which)
{
	long results[WAYS];

	for (int way = 0; way < WAYS; way++)
		timed(which, way, WARM_UP, &results[way]);
	if (results[PLAIN] != results[COMPOUND])
		measure_die("%s: %ld plainly, %ld as a compound", names[which],
			    results[PLAIN], results[COMPOUND]);
}

static void measure_round(unsigned int round)
{
	double ns[APPS][WAYS];
	long result;

	for (size_t i = 0; i < APPS * WAYS; i++) {
		size_t at = order_at(i, APPS * WAYS, round), which = at / WAYS;

		ns[which][at % WAYS] =
			(double)timed(which, at % WAYS, counts[which], &result) / counts[which];
	}
	printf("%s\n    {", round ? "," : "");
	for (size_t i = 0; i < APPS; i++) {
		printf("%s\"%s\": {", i ? ", " : "", names[i]);
		for (int way = 0; way < WAYS; way++)
			printf("%s\"%s\": %.6g", way ? ", " : "", way_names[way], ns[i][way]);
		printf("}");
	}
	printf("}");
}

static void measure(unsigned int rounds)
{
	for (size_t i = 0; i < APPS; i++) {
		check(i);
		counts[i] = measure_calibrate(sample_plain, (void *)i, SAMPLE_NS);
	}
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"rounds\": [",
	       measure_kernel(), measure_accel());
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
}

static void profile(const char *name, const char *way_name, uint64_t count)
{
	size_t i = 0;
	int way = 0;
	long result;

	while (i < APPS && strcmp(names[i], name))
		i++;
	while (way < WAYS && strcmp(way_names[way], way_name))
		way++;
	if (i == APPS || way == WAYS || !count)
		measure_die("no loop %s, no way %s (plain, compound), or no count", name,
			    way_name);
	check(i);
	timed(i, way, count, &result);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (!rounds && argc != 4)
		measure_die("usage: compound ROUNDS | compound APP WAY COUNT");
	if (chdir(measure_directory()))
		measure_die("directory: %m");
	measure_pin(CPU);
	make_all();
	if (rounds)
		measure(rounds);
	else
		profile(argv[1], argv[2], strtoull(argv[3], NULL, 10));
	return 0;
}
