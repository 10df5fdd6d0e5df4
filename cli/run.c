// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript run */
#include <getopt.h>
#include <stdlib.h>

#include "cli.h"
#include "hints.h"
#include "options.h"
#include "values.h"

static int check_count(int argc)
{
	if (argc <= SYSCRIPT_ARGS_MAX)
		return 0;
	return complain_usage("run", "%d arguments, but a script takes at most %d", argc,
			      SYSCRIPT_ARGS_MAX);
}

/* Returns 0, or EXIT_USAGE after an error message. */
static int parse_arguments(int argc, char **argv, int64_t *args)
{
	for (int i = 0; i < argc; i++) {
		if (!parse_argument(argv[i], &args[i]))
			return EXIT_USAGE;
	}
	return 0;
}

static int call(const struct job *job, int fd, const char *source, int nargs,
		const int64_t *args)
{
	int status = job_call(job, fd, nargs, args);

	if (status == EXIT_SCRIPT)
		hint_at_arguments(source, nargs);
	syscript_close(fd);
	return status;
}

int cmd_run(int argc, char **argv)
{
	int64_t args[SYSCRIPT_ARGS_MAX];
	struct job job = { 0 };
	size_t len;
	char *source;
	int fd, status;

	status = job_parse(&job, argc, argv) ?: check_count(argc - optind) ?:
		 parse_arguments(argc - optind, argv + optind, args);
	if (status)
		return status < 0 ? 0 : status;
	source = job_source(&job, &len);
	if (!source)
		return EXIT_USAGE;
	fd = job_register(&job, source, len);
	status = fd < 0 ? job_status(fd) : call(&job, fd, source, argc - optind, args);
	free(source);
	return status;
}
