// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript run */
#include <getopt.h>
#include <stdlib.h>

#include "cli.h"
#include "job.h"
#include "values.h"

/* Returns 0 or EXIT_USAGE after a complaint. */
static int parse_arguments(int argc, char **argv, int64_t *args)
{
	if (argc > SYSCRIPT_ARGS_MAX)
		return complain_usage("run", "%d arguments, but a script takes at most %d",
				      argc, SYSCRIPT_ARGS_MAX);
	for (int i = 0; i < argc; i++) {
		if (!parse_argument(argv[i], &args[i]))
			return EXIT_USAGE;
	}
	return 0;
}

int cmd_run(int argc, char **argv)
{
	int64_t args[SYSCRIPT_ARGS_MAX];
	struct job job = { 0 };
	size_t len;
	char *source;
	int fd, status;

	status = job_parse(&job, argc, argv) ?:
		parse_arguments(argc - optind, argv + optind, args);
	if (status)
		return status < 0 ? 0 : status;
	source = job_source(&job, &len);
	if (!source)
		return EXIT_USAGE;
	fd = job_register(&job, source, len);
	free(source);
	if (fd < 0)
		return job_status(fd);
	status = job_call(&job, fd, argc - optind, args);
	syscript_close(fd);
	return status;
}
