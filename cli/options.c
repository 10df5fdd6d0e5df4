// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "hints.h"
#include "options.h"
#include "values.h"

#define ERROR_LEN	2048
#define ERRNO_MAX	4095

enum { RUN = 1, CHECK = 2, REPL = 4 };

/* Each option, the commands that have it, and its line of help. */
static const struct job_option {
	struct option option;
	int commands;
	const char *help;
} table[] = {
	{ { "execute", required_argument, NULL, 'e' }, RUN | CHECK,
	  "  -e, --execute CODE        the body of run(), in place of FILE" },
	{ { "info", no_argument, NULL, 'i' }, RUN,
	  "  -i, --info                print the script's counters on standard error" },
	{ { "backend", required_argument, NULL, 'b' }, RUN | REPL,
	  "      --backend B           auto (default), kernel or user" },
	{ { "engine", required_argument, NULL, 'E' }, RUN,
	  "      --engine E            auto (default), luajit or confined" },
	{ { "time-limit", required_argument, NULL, 't' }, RUN | REPL,
	  "      --time-limit TIME     in script code: 100ms (default), 2s, 500us; a number: ms" },
	{ { "wall-limit", required_argument, NULL, 'w' }, RUN | REPL,
	  "      --wall-limit TIME     elapsed, without waits: 10s (default); 0: the highest" },
	{ { "grace", required_argument, NULL, 'g' }, RUN | REPL,
	  "      --grace TIME          how long a run may ignore a signal: 100ms (default)" },
	{ { "memory-limit", required_argument, NULL, 'm' }, RUN | REPL,
	  "      --memory-limit SIZE   1M (default), 512K; a number: KiB" },
	{ { "only", required_argument, NULL, 'o' }, RUN | REPL,
	  "      --only NAMES          allow only these system calls, util, fs, net" },
	{ { "modules", required_argument, NULL, 'M' }, RUN | CHECK,
	  "      --modules FOLDER      what the script may require(); a/b.lua is \"a.b\"" },
	{ { "no-jit", no_argument, NULL, 'n' }, RUN | REPL,
	  "      --no-jit              interpret, never compile" },
	{ { "kill", no_argument, NULL, 'k' }, RUN,
	  "      --kill                if a limit is exceeded, die of SIGKILL" },
	{ { "program", required_argument, NULL, 'p' }, REPL,
	  "      --program NAME        call a program of 'syscript load --for process'; with\n"
	  "                            a FILE: Lua for its state" },
	{ { "help", no_argument, NULL, 'h' }, RUN | CHECK | REPL,
	  "      --help                print this" },
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))

static const char run_help[] =
	"Usage: syscript run [OPTION...] FILE|-|-e CODE [ARGUMENT...]\n"
	"Calls the function run() of a script; prints its output, then its results.\n\n"
	"Each argument is an integer for run():\n"
	"  42, -1, 0x1f  itself\n"
	"  buf:SIZE      the address of SIZE zero bytes (SIZE: 4096, 4K, 1M)\n"
	"  out:SIZE      the same; prints as many of its bytes as the first result says,\n"
	"                in place of the results\n"
	"  str:TEXT      the address of TEXT, with a NUL after it\n"
	"  TEXT          the same, if it does not begin like a number or the above\n\n";

static const char check_help[] =
	"Usage: syscript check [OPTION...] FILE...|-|-e CODE\n"
	"Looks for mistakes in scripts without running them: syntax errors, unknown names,\n"
	"missing arguments, accidental globals, lost descriptors.\n\n";

static const char repl_help[] =
	"Usage: syscript repl [OPTION...] [FILE]\n"
	"Reads Lua from standard input, line by line, and prints what it returns.\n\n";

static int command_of(const char *name)
{
	return !strcmp(name, "run") ? RUN : !strcmp(name, "check") ? CHECK : REPL;
}

static void help(int command)
{
	fputs(command == RUN ? run_help : command == CHECK ? check_help : repl_help, stdout);
	for (size_t i = 0; i < OPTIONS; i++) {
		if (table[i].commands & command)
			puts(table[i].help);
	}
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

static bool parse_engine(const char *text, uint32_t *engine)
{
	if (!strcmp(text, "auto"))
		*engine = 0;
	else if (!strcmp(text, "luajit"))
		*engine = SYSCRIPT_LUA_ON_LUAJIT;
	else if (!strcmp(text, "confined"))
		*engine = SYSCRIPT_LUA_ON_CONFINED;
	else
		return false;
	return true;
}

static int unknown_option(const char *command, const char *typed)
{
	int of = command_of(command);

	for (size_t i = 0; !strncmp(typed, "--", 2) && i < OPTIONS; i++) {
		const char *name = table[i].option.name;

		if (table[i].commands & of && slips(typed + 2, strcspn(typed + 2, "="), name) < 2)
			return complain_usage(command, "unknown option '%s': did you mean --%s?",
					      typed, name);
	}
	return complain_usage(command, "unknown option '%s'", typed);
}

static int parse_option(int option, const char *command, const char *typed, struct job *job)
{
	switch (option) {
	case 'e':
		job->code = optarg;
		return 0;
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
	case 'E':
		if (parse_engine(optarg, &job->options.engine))
			return 0;
		return complain_usage(command, "engine '%s' is not auto, luajit or confined", optarg);
	case 't':
		if (parse_time(optarg, &job->options.time_limit_ns))
			return 0;
		return complain_usage(command, "invalid time limit '%s': use s, ms or us, as in 100ms, 2s", optarg);
	case 'w':
		if (!strcmp(optarg, "0"))
			job->options.wall_limit_ns = SYSCRIPT_NO_LIMIT;
		else if (!parse_time(optarg, &job->options.wall_limit_ns))
			return complain_usage(command, "invalid wall-clock limit '%s': use s or ms, as in 10s, 500ms; 0 for none",
					      optarg);
		return 0;
	case 'g':
		if (parse_time(optarg, &job->options.grace_ns))
			return 0;
		return complain_usage(command, "invalid grace time '%s': use ms or us, as in 100ms, 500us", optarg);
	case 'm':
		if (parse_size(optarg, 1024, &job->options.memory_limit))
			return 0;
		return complain_usage(command, "invalid memory limit '%s': use K or M, as in 512K, 1M", optarg);
	case 'o':
		job->options.only = optarg;
		return 0;
	case 'M':
		job->options.modules = optarg;
		return 0;
	case 'p':
		job->program = optarg;
		return 0;
	case 'h':
		help(command_of(command));
		return -1;
	}
	return option == ':' ? complain_usage(command, "%s needs a value", typed) :
			       unknown_option(command, typed);
}

/* The options that a command has, for getopt_long(). */
static void options_of(int command, struct option *options)
{
	for (size_t i = 0; i < OPTIONS; i++) {
		if (table[i].commands & command)
			*options++ = table[i].option;
	}
	memset(options, 0, sizeof(*options));
}

void job_take_file(struct job *job, const char *path)
{
	job->path = strcmp(path, "-") ? path : "stdin";
	job->is_stdin = job->path != path;
	script_name(job->path, job->name, sizeof(job->name));
}

static int parse_file(struct job *job, int argc, char **argv)
{
	if (!job->code && optind == argc)
		return complain_usage(argv[0], "no FILE");
	job_take_file(job, job->code ? "-e" : argv[optind++]);
	return 0;
}

int job_parse(struct job *job, int argc, char **argv)
{
	struct option options[OPTIONS + 1];
	int command = command_of(argv[0]);
	/* "+": words after FILE are arguments, including negative numbers. */
	const char *letters = command == RUN ? "+:ie:" : command == CHECK ? "+:e:" : "+:";
	int option, status;

	options_of(command, options);
	job->options.size = sizeof(job->options);
	job->options.name = job->name;
	job->options.flags = SYSCRIPT_TRACEBACK;
	while ((option = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		status = parse_option(option, argv[0], argv[optind - 1], job);
		if (status)
			return status;
	}
	return command == REPL ? 0 : parse_file(job, argc, argv);
}

char *job_source(const struct job *job, size_t *len)
{
	char *source;
	int ret;

	if (!job->code)
		return read_file(job->is_stdin ? "-" : job->path, len);
	/* On one line, so that the lines of errors are those of the code. */
	ret = asprintf(&source, "function run(...) %s\nend", job->code);
	if (ret < 0) {
		complain("no memory for the script");
		return NULL;
	}
	*len = ret;
	return source;
}

int job_status(int err)
{
	switch (-err) {
	case ENOEXEC:
	case EPROTO:
	case ERANGE:
	case ETIME:
	case ETIMEDOUT:
	case ENOBUFS:
	case ECANCELED:
	case E2BIG:
	case EINTR:
		return EXIT_SCRIPT;
	}
	return EXIT_USAGE;
}

int job_register(const struct job *job, const char *source, size_t len)
{
	char error[ERROR_LEN];
	int fd;

	if (!len) {
		complain("%s is empty: a script needs a function run", job->path);
		return -ENOEXEC;
	}
	fd = syscript_register(source, len, &job->options, error, sizeof(error));
	/* The engine's texts begin with file:line, as compilers' do. */
	if (fd == -ENOEXEC || fd == -ETIME || fd == -ENOBUFS)
		print_error(error, job->name, job->path);
	else if (fd < 0)
		complain("%s", error);
	/* Lua on the confined engine may say why it does not run in the kernel. */
	else if (syscript_error(fd, error, sizeof(error)) > 0)
		complain("runs in this process: %s", error);
	return fd;
}

void job_print_output(int fd)
{
	char buf[4096];
	int len;

	while ((len = syscript_output(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, len, stdout);
}

void job_print_error(const struct job *job, int fd, int err)
{
	char error[ERROR_LEN];

	fflush(stdout);
	if (syscript_error(fd, error, sizeof(error)) > 0)
		print_error(error, job->name, job->path);
	else
		complain("%s", syscript_strerror(err));
}

void job_print_info(int fd)
{
	struct syscript_info info;

	if (syscript_info(fd, &info) < 0)
		return;
	fflush(stdout);
	fprintf(stderr,
		"backend %s, %llu system calls, %llu ns in script code, %llu bytes of memory, %llu at most",
		syscript_backend(fd) == SYSCRIPT_BACKEND_USER ? "user" : "kernel",
		(unsigned long long)info.syscalls, (unsigned long long)info.run_time,
		(unsigned long long)info.memory, (unsigned long long)info.memory_peak);
	for (int i = 0; i < SYSCRIPT_COUNTERS_MAX && info.counters[i].name[0]; i++)
		fprintf(stderr, ", %llu %s", (unsigned long long)info.counters[i].value,
			info.counters[i].name);
	fputc('\n', stderr);
}

/* Prints the error name of a negative errno, for people: standard output has numbers. */
static void name_errno(int64_t result)
{
	const char *name = result < 0 && result >= -ERRNO_MAX ? strerrorname_np(-result) : NULL;

	if (!name)
		return;
	fflush(stdout);
	complain("%" PRId64 " is -%s: %s", result, name, strerrordesc_np(-result));
}

void print_results(int n, const int64_t *results)
{
	for (int i = 0; i < n; i++)
		printf("%s%" PRId64 "%s", i ? "\t" : "", results[i], i == n - 1 ? "\n" : "");
	for (int i = 0; i < n; i++)
		name_errno(results[i]);
}

int job_call(const struct job *job, int fd, unsigned int nargs, const int64_t *args)
{
	int64_t results[SYSCRIPT_RESULTS_MAX];
	int n = syscript_call(fd, nargs, args, SYSCRIPT_RESULTS_MAX, results);

	job_print_output(fd);
	if (n > 0 && !print_out_buffer(results[0]))
		print_results(n, results);
	if (n < 0)
		job_print_error(job, fd, n);
	if (job->info)
		job_print_info(fd);
	return n < 0 ? job_status(n) : 0;
}
