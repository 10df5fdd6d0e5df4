// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript check */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "cli.h"
#include "hints.h"
#include "job.h"

#define FINDINGS_LEN	(64 << 10)

static int check(const struct job *job, const char *source, size_t len)
{
	static char text[FINDINGS_LEN];
	int n;

	if (!len) {
		complain("%s is empty: a script needs a function run", job->path);
		return EXIT_SCRIPT;
	}
	n = syscript_lint(source, len, &job->options, text, sizeof(text));
	if (n < 0) {
		fprintf(stderr, n == -ENOEXEC ? "%s\n" : "syscript: %s\n", text);
		return job_status(n);
	}
	print_error(text);
	return n ? EXIT_SCRIPT : 0;
}

int cmd_check(int argc, char **argv)
{
	struct job job = { 0 };
	char *source;
	size_t len;
	int status;

	status = job_parse(&job, argc, argv);
	if (status)
		return status < 0 ? 0 : status;
	if (optind < argc)
		return complain_usage("check", "unexpected argument '%s'", argv[optind]);
	source = job_source(&job, &len);
	if (!source)
		return EXIT_USAGE;
	status = check(&job, source, len);
	free(source);
	return status;
}
