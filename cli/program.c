// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript load, unload, programs */
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syscript_programs.h>

#include "cli.h"
#include "program.h"
#include "values.h"

#define ERROR_LEN	2048

const char *program_why(int err)
{
	switch (err) {
	case ENODEV:
		return "the module is not loaded, see syscript doctor";
	case EACCES:
		return "no permission to open the module's device, see syscript doctor";
	case ESHUTDOWN:
		return "programs are switched off (module parameter enabled)";
	}
	return strerror(err);
}

static const char load_help[] =
	"Usage: syscript load [OPTION...] NAME FILE\n"
	"Loads a program, which a subsystem of the kernel then calls; it replaces a program\n"
	"of the same NAME.  FILE is an object of clang -target bpf, or Lua.\n\n"
	"      --for SUBSYSTEM     netfilter (default); process: syscript call\n"
	"      --at POINT          for netfilter family, hook, priority: \"inet input -10\"\n"
	"      --default NUMBER    the result if it fails: for netfilter 0 drop, 1 accept\n"
	"      --errors NUMBER     after this many in a second it is no longer called: 100\n"
	"      --engine confined   the only engine that has programs\n"
	"      --new               replace nothing\n"
	"      --help              print this\n";

static bool parse_number(const char *text, long long *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 0);
	return *text && !*end && !errno;
}

static int check_engine(const char *engine)
{
	if (!strcmp(engine, "confined"))
		return 0;
	if (!strcmp(engine, "luajit"))
		return complain("engine luajit has no programs: it can end a call only after a millisecond; without --engine, Lua is compiled for the confined one");
	return complain_usage("load", "engine '%s' is not confined", engine);
}

static int take_text(const char **to, size_t size, const char *what)
{
	if (strlen(optarg) >= size)
		return complain_usage("load", "the %s is too long", what);
	*to = optarg;
	return 0;
}

/* Rejects an option given twice: neither value is guessed to be the right one. */
static int check_once(int option, const char *name)
{
	static bool given[UCHAR_MAX + 1];

	if (given[option] && option != 'n')
		return complain_usage("load", option == 'a' ?
				      "--%s twice: load the program once for each attach point, under another name" :
				      "--%s twice", name);
	given[option] = true;
	return 0;
}

static int load_option(int option, struct syscript_load_options *load)
{
	long long number;

	switch (option) {
	case 'f':
		return take_text(&load->subsystem, SYSCRIPT_NAME_LEN, "subsystem's name");
	case 'a':
		return take_text(&load->where, SYSCRIPT_WHERE_LEN, "attach point");
	case 'n':
		load->flags |= SYSCRIPT_LOAD_NEW;
		return 0;
	case 'd':
		if (!parse_number(optarg, &number))
			return complain_usage("load", "invalid default '%s'", optarg);
		load->flags |= SYSCRIPT_LOAD_FALLBACK;
		load->fallback = number;
		return 0;
	case 'e':
		if (!parse_number(optarg, &number) || number < 1 || number > UINT32_MAX)
			return complain_usage("load", "invalid number of errors '%s'", optarg);
		load->errors_max = number;
		return 0;
	case 'E':
		return check_engine(optarg);
	case 'h':
		fputs(load_help, stdout);
		return -1;
	}
	return complain_usage("load", "unknown or incomplete option");
}

static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), of_end = strlen(end);

	return len > of_end && !strcmp(path + len - of_end, end);
}

/* An object file begins with bytes that no text begins with. */
static bool is_text(const char *file, size_t len)
{
	return len && file[0] != ELFMAG0;
}

static int load_file(const char *name, const char *path, struct syscript_load_options *load)
{
	char error[ERROR_LEN], source[SYSCRIPT_NAME_LEN];
	size_t len;
	char *file = read_file(path, &len);
	int err;

	if (!file)
		return EXIT_USAGE;
	if (is_text(file, len) && ends_with(path, ".c")) {
		free(file);
		return complain("%s has to be compiled: cosy-cc --program %s -o OBJECT", path,
				path);
	}
	script_name(path, source, sizeof(source));
	load->source = is_text(file, len) ? source : path;
	err = syscript_load(name, file, len, load, error, sizeof(error));
	free(file);
	if (!err)
		return 0;
	if (error[0])
		complain("%s", error);
	else
		complain("cannot load %s: %s", name, program_why(-err));
	return err == -ENOEXEC ? EXIT_SCRIPT : EXIT_USAGE;
}

int cmd_load(int argc, char **argv)
{
	static const struct option options[] = {
		{ "for", required_argument, NULL, 'f' },
		{ "at", required_argument, NULL, 'a' },
		{ "default", required_argument, NULL, 'd' },
		{ "errors", required_argument, NULL, 'e' },
		{ "engine", required_argument, NULL, 'E' },
		{ "new", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ },
	};
	struct syscript_load_options load = { .size = sizeof(load) };
	int option, at, status = 0;

	while ((option = getopt_long(argc, argv, "", options, &at)) != -1) {
		if (option != '?')
			status = check_once(option, options[at].name);
		if (!status)
			status = load_option(option, &load);
		if (status)
			return status < 0 ? 0 : status;
	}
	if (argc - optind != 2)
		return complain_usage("load", "NAME and FILE expected");
	if (strlen(argv[optind]) >= SYSCRIPT_NAME_LEN)
		return complain_usage("load", "the name is too long");
	return load_file(argv[optind], argv[optind + 1], &load);
}

int cmd_unload(int argc, char **argv)
{
	int err;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("Usage: syscript unload NAME\n"
		     "Unloads a program that a subsystem of the kernel calls.\n\n"
		     "      --help              print this");
		return 0;
	}
	if (argc != 2 || argv[1][0] == '-')
		return complain_usage("unload", "NAME expected");
	err = syscript_unload(argv[1]);
	if (err)
		return complain("cannot unload %s: %s", argv[1],
				err == -ENOENT ? "no such program" : program_why(-err));
	return 0;
}

static const char *state_of(const struct syscript_program *program)
{
	switch (program->state) {
	case SYSCRIPT_PROGRAM_OFF:
		return "off";
	case SYSCRIPT_PROGRAM_GONE:
		return "gone";
	}
	return "called";
}

static void print_json(const struct syscript_program *program, bool first)
{
	printf("%s\n  {\"name\": ", first ? "" : ",");
	json_string(stdout, program->name);
	printf(", \"id\": %llu, \"uid\": %u, \"for\": ", (unsigned long long)program->id,
	       program->uid);
	json_string(stdout, program->subsystem);
	printf(", \"at\": ");
	json_string(stdout, program->where);
	printf(", \"state\": \"%s\", \"machine\": %s, \"default\": %lld, \"errors_max\": %u",
	       state_of(program),
	       program->machine ? "true" : "false", (long long)program->fallback,
	       program->errors_max);
	printf(", \"loads\": %llu, \"calls\": %llu, \"errors\": %llu, \"defaults\": %llu, \"run_time\": %llu, \"memory\": %llu, \"mcode\": %llu, \"error\": ",
	       (unsigned long long)program->loads, (unsigned long long)program->calls,
	       (unsigned long long)program->errors, (unsigned long long)program->defaults,
	       (unsigned long long)program->run_time, (unsigned long long)program->memory,
	       (unsigned long long)program->mcode);
	json_string(stdout, program->error);
	printf("}");
}

static void print_row(const struct syscript_program *program, bool first)
{
	if (first)
		printf("%-16s %-10s %-20s %-6s %10s %8s %8s %12s %10s  %s\n", "NAME", "FOR",
		       "AT", "STATE", "CALLS", "ERRORS", "DEFAULTS", "TIME(ns)", "MEMORY",
		       "LAST ERROR");
	printf("%-16s %-10s %-20s %-6s %10llu %8llu %8llu %12llu %10llu  %s\n", program->name,
	       program->subsystem, program->where,
	       state_of(program),
	       (unsigned long long)program->calls, (unsigned long long)program->errors,
	       (unsigned long long)program->defaults, (unsigned long long)program->run_time,
	       (unsigned long long)program->memory, program->error);
}

/* Prints all programs.  Returns 0 or errno. */
static int print_programs(bool json)
{
	struct syscript_program program = { 0 };
	bool first = true;
	int err;

	while (!(err = syscript_next_program(&program))) {
		if (first && json)
			printf("[");
		json ? print_json(&program, first) : print_row(&program, first);
		first = false;
	}
	if (err != -ENOENT)
		return -err;
	if (json)
		puts(first ? "[]" : "\n]");
	return 0;
}

int cmd_programs(int argc, char **argv)
{
	bool json = false;
	int err, status;

	status = parse_json(argc, argv,
			    "Usage: syscript programs [--json]\n"
			    "Lists the programs that subsystems of the kernel call, in this network\n"
			    "namespace and for the machine, if you may unload them.\n\n"
			    "      --json              print JSON\n"
			    "      --help              print this\n", &json);
	if (status)
		return status < 0 ? 0 : status;
	err = print_programs(json);
	return err ? complain("cannot list programs: %s", program_why(err)) : 0;
}
