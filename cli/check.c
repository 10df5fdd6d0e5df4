// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript check */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "cli.h"
#include "hints.h"
#include "options.h"

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
		if (n == -ENOEXEC)
			print_error(text, job->name, job->path);
		else
			complain("%s", text);
		return job_status(n);
	}
	print_error(text, job->name, job->path);
	if (!n)
		printf("%s: no mistakes found\n", job->path);
	return n ? EXIT_SCRIPT : 0;
}

static int check_file(const struct job *job)
{
	size_t len;
	char *source = job_source(job, &len);
	int status = source ? check(job, source, len) : EXIT_USAGE;

	free(source);
	return status;
}

/* Checks all files; the exit status is the highest of theirs. */
int cmd_check(int argc, char **argv)
{
	struct job job = { 0 };
	int status, one;

	status = job_parse(&job, argc, argv);
	if (status)
		return status < 0 ? 0 : status;
	if (job.code && optind < argc)
		return complain_usage("check", "unexpected argument '%s'", argv[optind]);
	status = check_file(&job);
	while (optind < argc) {
		job_take_file(&job, argv[optind++]);
		one = check_file(&job);
		status = one > status ? one : status;
	}
	return status;
}
