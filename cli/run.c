// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript run, syscript check */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>

#include "cli.h"

#define ERROR_LEN	512

struct job {
	const char *path;
	char name[SYSCRIPT_NAME_LEN];
	struct syscript_options options;
	bool info;
	unsigned int nargs;
	int64_t args[SYSCRIPT_ARGS_MAX];
};

static const struct option options[] = {
	{ "info", no_argument, NULL, 'i' },
	{ "backend", required_argument, NULL, 'b' },
	{ "time-limit", required_argument, NULL, 't' },
	{ "memory-limit", required_argument, NULL, 'm' },
	{ "no-jit", no_argument, NULL, 'n' },
	{ "kill", no_argument, NULL, 'k' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void help(const char *command)
{
	bool run = !strcmp(command, "run");

	printf("Usage: syscript %s [OPTION...] FILE|-%s\n", command,
	       run ? " [INTEGER...]" : "");
	puts(run ? "Runs the function run() of a script and prints its output, then its results.\n" :
	     "Compiles a script; prints where it is wrong.\n");
	if (run)
		puts("  -i, --info              print the script's counters on standard error\n"
		     "      --no-jit            interpret, never compile\n"
		     "      --kill              over a limit, die of SIGKILL");
	puts("      --backend B         auto (default), kernel or user\n"
	     "      --time-limit MS     run time in script code, in ms (default 100)\n"
	     "      --memory-limit KIB  memory, in KiB (default 1024)\n"
	     "      --help              print this");
}

static bool parse_integer(const char *text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 0);
	return end != text && !*end && !errno;
}

/* A positive number of @unit, or false. */
static bool parse_limit(const char *text, uint64_t unit, uint64_t *limit)
{
	int64_t value;

	if (!parse_integer(text, &value) || value <= 0 || value > (int64_t)(INT64_MAX / unit))
		return false;
	*limit = value * unit;
	return true;
}

static bool parse_backend(const char *text, enum syscript_backend *backend)
{
	if (!strcmp(text, "auto"))
		*backend = SYSCRIPT_BACKEND_AUTO;
	else if (!strcmp(text, "kernel"))
		*backend = SYSCRIPT_BACKEND_KERNEL;
	else if (!strcmp(text, "user"))
		*backend = SYSCRIPT_BACKEND_USER;
	else
		return false;
	return true;
}

/* Returns 0, EXIT_USAGE after a complaint, or -1 after --help. */
static int parse_option(int option, const char *command, struct job *job)
{
	switch (option) {
	case 'i':
		job->info = true;
		return 0;
	case 'n':
		job->options.flags |= SYSCRIPT_NOJIT;
		return 0;
	case 'k':
		job->options.flags |= SYSCRIPT_KILL;
		return 0;
	case 'b':
		if (parse_backend(optarg, &job->options.backend))
			return 0;
		return complain_usage(command, "backend '%s' is not auto, kernel or user", optarg);
	case 't':
		if (parse_limit(optarg, 1000000, &job->options.time_limit_ns))
			return 0;
		return complain_usage(command, "time limit '%s' is no positive integer", optarg);
	case 'm':
		if (parse_limit(optarg, 1024, &job->options.memory_limit))
			return 0;
		return complain_usage(command, "memory limit '%s' is no positive integer", optarg);
	case 'h':
		help(command);
		return -1;
	}
	/* getopt has said what is wrong. */
	return complain_usage(command, "unknown or incomplete option");
}

static int parse_args(int argc, char **argv, struct job *job)
{
	if (argc > SYSCRIPT_ARGS_MAX)
		return complain_usage("run", "%d arguments, but a script takes at most %d",
				      argc, SYSCRIPT_ARGS_MAX);
	for (int i = 0; i < argc; i++) {
		if (!parse_integer(argv[i], &job->args[i]))
			return complain_usage("run", "argument '%s' is no integer", argv[i]);
	}
	job->nargs = argc;
	return 0;
}

static int parse(int argc, char **argv, struct job *job)
{
	const char *command = argv[0];
	bool run = !strcmp(command, "run");
	int option, status;

	job->options.size = sizeof(job->options);
	/* "+": what follows FILE are arguments, negative ones among them. */
	while ((option = getopt_long(argc, argv, "+i", options, NULL)) != -1) {
		status = parse_option(option, command, job);
		if (status)
			return status;
	}
	if (optind == argc)
		return complain_usage(command, "no FILE");
	job->path = argv[optind++];
	if (!run && optind < argc)
		return complain_usage(command, "'%s' is one too many", argv[optind]);
	script_name(job->path, job->name, sizeof(job->name));
	job->options.name = job->name;
	return run ? parse_args(argc - optind, argv + optind, job) : 0;
}

/* Is it the script that is at fault, or the request and the surroundings? */
static int status_of(int err)
{
	switch (-err) {
	case ENOEXEC:
	case EPROTO:
	case ERANGE:
	case ETIME:
	case ENOBUFS:
	case ECANCELED:
	case E2BIG:
	case EINTR:
		return EXIT_SCRIPT;
	}
	return EXIT_USAGE;
}

/* Returns the fd, or -errno after saying why. */
static int load(const struct job *job)
{
	char error[ERROR_LEN];
	size_t len;
	char *source;
	int fd;

	source = read_file(job->path, &len);
	if (!source)
		return -ENOENT;
	if (!len) {
		free(source);
		complain("%s is empty: a script needs a function run", job->path);
		return -ENOEXEC;
	}
	fd = syscript_register(source, len, &job->options, error, sizeof(error));
	free(source);
	/* The engine's texts begin with file:line, as compilers' do. */
	if (fd == -ENOEXEC || fd == -ETIME || fd == -ENOBUFS)
		fprintf(stderr, "%s\n", error);
	else if (fd < 0)
		complain("%s", error);
	return fd;
}

static void print_output(int fd)
{
	char buf[4096];
	int len;

	while ((len = syscript_output(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, len, stdout);
}

static void print_error(int fd, int err)
{
	char error[ERROR_LEN];

	fflush(stdout);
	if (syscript_error(fd, error, sizeof(error)) > 0)
		fprintf(stderr, "%s\n", error);
	else
		complain("%s", syscript_strerror(err));
}

static void print_info(int fd)
{
	struct syscript_info info;

	if (syscript_info(fd, &info) < 0)
		return;
	fflush(stdout);
	fprintf(stderr,
		"backend %s, %llu system calls, %llu ns in script code, %llu bytes of memory, %llu at most, %llu of machine code, %llu traces\n",
		syscript_backend(fd) == SYSCRIPT_BACKEND_USER ? "user" : "kernel",
		(unsigned long long)info.syscalls, (unsigned long long)info.run_time,
		(unsigned long long)info.memory, (unsigned long long)info.memory_peak,
		(unsigned long long)info.mcode, (unsigned long long)info.traces);
}

int cmd_run(int argc, char **argv)
{
	int64_t results[SYSCRIPT_RESULTS_MAX];
	struct job job = { 0 };
	int fd, n, status;

	status = parse(argc, argv, &job);
	if (status)
		return status < 0 ? 0 : status;
	fd = load(&job);
	if (fd < 0)
		return status_of(fd);

	n = syscript_call(fd, job.nargs, job.args, SYSCRIPT_RESULTS_MAX, results);
	print_output(fd);
	for (int i = 0; i < n; i++)
		printf("%s%" PRId64 "%s", i ? "\t" : "", results[i], i == n - 1 ? "\n" : "");
	if (n < 0)
		print_error(fd, n);
	if (job.info)
		print_info(fd);
	syscript_close(fd);
	return n < 0 ? status_of(n) : 0;
}

int cmd_check(int argc, char **argv)
{
	struct job job = { 0 };
	int ret, status;

	status = parse(argc, argv, &job);
	if (status)
		return status < 0 ? 0 : status;
	job.options.flags = SYSCRIPT_CHECK;
	ret = load(&job);
	return ret < 0 ? status_of(ret) : 0;
}
