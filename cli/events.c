// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript events: prints the records of a ring as they come, and how many were dropped between
 * them, which their numbers tell.
 */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <syscript_programs.h>

#include "cli.h"
#include "program.h"

#define AT_ONCE	(64 << 10)	/* bytes */

struct ring {
	char *names[SYSCRIPT_RING_VALUES_MAX];
	unsigned int values;
	uint64_t next;		/* number of the next record, if there was one before */
	bool begun, json;
};

/* @fields has the names, with blanks between them; values without one have their number. */
static void name_values(struct ring *ring, char *fields)
{
	static char numbers[SYSCRIPT_RING_VALUES_MAX][2];
	char *at = strtok(fields, " ");

	for (unsigned int n = 0; n < ring->values; n++) {
		numbers[n][0] = '1' + n;
		ring->names[n] = at ? at : numbers[n];
		at = at ? strtok(NULL, " ") : NULL;
	}
}

static void print_record(const struct ring *ring, const struct syscript_record *record)
{
	printf(ring->json ? "{\"number\": %llu, \"ms\": %llu" : "%llu %llu",
	       (unsigned long long)record->number,
	       (unsigned long long)record->time / 1000000);
	for (unsigned int n = 0; n < ring->values; n++) {
		if (ring->json) {
			printf(", ");
			json_string(stdout, ring->names[n]);
			printf(": %lld", (long long)record->values[n]);
		} else {
			printf(" %s=%lld", ring->names[n], (long long)record->values[n]);
		}
	}
	puts(ring->json ? "}" : "");
}

static void print_records(struct ring *ring, const char *bytes, size_t len)
{
	size_t size = sizeof(struct syscript_record) + 8 * ring->values;

	for (; len >= size; bytes += size, len -= size) {
		const struct syscript_record *record = (const void *)bytes;

		if (ring->begun && record->number > ring->next)
			fprintf(stderr, "syscript: %llu records before %llu were dropped, or read by others\n",
				(unsigned long long)(record->number - ring->next),
				(unsigned long long)record->number);
		ring->begun = true;
		ring->next = record->number + 1;
		print_record(ring, record);
	}
}

static int print_events(int fd, struct ring *ring)
{
	static uint64_t buffer[AT_ONCE / sizeof(uint64_t)];
	ssize_t len;

	while ((len = read(fd, buffer, sizeof(buffer))) > 0) {
		print_records(ring, (const char *)buffer, len);
		if (fflush(stdout))
			return complain("cannot write: %s", strerror(errno));
	}
	return len ? complain("cannot read events: %s", strerror(errno)) : 0;
}

int cmd_events(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ },
	};
	struct syscript_events events;
	struct ring ring = { 0 };
	int option, fd, status;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			puts("Usage: syscript events [--json] NAME\n"
			     "Prints the records that programs write to the ring NAME, one a line, until its\n"
			     "last program is unloaded: number, milliseconds, values.\n\n"
			     "      --json              print each as JSON\n"
			     "      --help              print this");
			return 0;
		}
		if (option != 'j')
			return complain_usage("events", "unknown or incomplete option");
		ring.json = true;
	}
	if (argc - optind != 1)
		return complain_usage("events", "NAME expected");
	fd = syscript_open_events(argv[optind], &events);
	if (fd < 0)
		return complain("cannot read events of %s: %s", argv[optind],
				fd == -ENOENT ? "no program has such a ring" : program_why(-fd));
	ring.values = events.value_size / 8;
	name_values(&ring, events.fields);
	status = print_events(fd, &ring);
	close(fd);
	return status;
}
