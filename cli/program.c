// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript load, unload, programs */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "object.h"
#include "program.h"
#include "values.h"

#define ERROR_LEN	2048
#define MEMORY_BESIDES	(512 << 10)	/* of the arena: code, image, seats */

/* Programs of both devices are the same; the descriptor, or -1 with errno set. */
static int open_device(void)
{
	int fd = open("/dev/syscript", O_RDWR | O_CLOEXEC);

	fd = fd < 0 ? open("/dev/syscript-luajit", O_RDWR | O_CLOEXEC) : fd;
	/* Which a request that fails with it explains. */
	if (fd < 0 && errno == ENOENT)
		errno = ENODEV;
	return fd;
}

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

int program_request(unsigned long number, void *argument)
{
	int fd = open_device();
	int err = fd < 0 || ioctl(fd, number, argument) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static const char load_help[] =
	"Usage: syscript load [OPTION...] NAME FILE\n"
	"Loads a program, which a subsystem of the kernel then calls; it replaces a program\n"
	"of the same NAME.  FILE is an object of clang -target bpf, or Lua.\n\n"
	"      --for SUBSYSTEM     netfilter (default); process: syscript call\n"
	"      --at PLACE          for netfilter family, hook, priority: \"inet input -10\"\n"
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

static int copy_text(char *to, size_t size, const char *what)
{
	if (strlen(optarg) >= size)
		return complain_usage("load", "the %s is too long", what);
	strcpy(to, optarg);
	return 0;
}

/* A program has one place, one default and so on: of two, neither is guessed to be meant. */
static int check_once(int option, const char *name)
{
	static bool given[UCHAR_MAX + 1];

	if (given[option] && option != 'n')
		return complain_usage("load", option == 'a' ?
				      "--%s twice: load the program once for each place, under another name" :
				      "--%s twice", name);
	given[option] = true;
	return 0;
}

static int load_option(int option, struct syscript_load *load)
{
	long long number;

	switch (option) {
	case 'f':
		return copy_text(load->subsystem, sizeof(load->subsystem), "subsystem's name");
	case 'a':
		return copy_text(load->where, sizeof(load->where), "place");
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

static int load_object(struct syscript_load *load, const struct object *object)
{
	char error[ERROR_LEN] = "";
	int err;

	load->engine = SYSCRIPT_ENGINE_CONFINED;
	load->image = (uintptr_t)object->image;
	load->image_len = object->image_len;
	load->data = (uintptr_t)object->data;
	load->data_len = object->data_len;
	load->functions = (uintptr_t)object->functions;
	load->functions_len = object->functions_len;
	load->copies = object->copies;
	load->sees = object->sees;
	load->flags |= SYSCRIPT_LOAD_SEES;
	load->lines = (uintptr_t)object->lines;
	load->lines_len = object->nlines * sizeof(*object->lines);
	load->memory_limit = object->memory + load->lines_len + MEMORY_BESIDES;
	load->error = (uintptr_t)error;
	load->error_len = sizeof(error);
	err = program_request(SYSCRIPT_IOC_LOAD, load);
	if (!err)
		return 0;
	complain("cannot load %s: %s", load->name, error[0] ? error : program_why(err));
	return err == ENOEXEC ? EXIT_SCRIPT : EXIT_USAGE;
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
	struct syscript_load load = { .subsystem = "netfilter" };
	struct object object;
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
	if (strlen(argv[optind]) >= sizeof(load.name))
		return complain_usage("load", "the name is too long");
	snprintf(load.name, sizeof(load.name), "%s", argv[optind]);
	status = object_read(&object, argv[optind + 1], load.subsystem);
	if (status)
		return status;
	status = load_object(&load, &object);
	object_free(&object);
	return status;
}

int cmd_unload(int argc, char **argv)
{
	struct syscript_unload unload = { 0 };
	int err;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		puts("Usage: syscript unload NAME\n"
		     "Unloads a program that a subsystem of the kernel calls.\n\n"
		     "      --help              print this");
		return 0;
	}
	if (argc != 2 || argv[1][0] == '-')
		return complain_usage("unload", "NAME expected");
	snprintf(unload.name, sizeof(unload.name), "%s", argv[1]);
	err = program_request(SYSCRIPT_IOC_UNLOAD, &unload);
	if (err)
		return complain("cannot unload %s: %s", argv[1],
				err == ENOENT ? "no such program" : program_why(err));
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

/* Prints them all.  0 or errno. */
static int print_programs(int fd, bool json)
{
	struct syscript_program program = { 0 };
	bool first = true;
	uint64_t last;

	while (!ioctl(fd, SYSCRIPT_IOC_PROGRAM, &program)) {
		if (first && json)
			printf("[");
		json ? print_json(&program, first) : print_row(&program, first);
		first = false;
		last = program.id;
		memset(&program, 0, sizeof(program));
		program.id = last;
	}
	if (errno != ENOENT)
		return errno;
	if (json)
		puts(first ? "[]" : "\n]");
	return 0;
}

int cmd_programs(int argc, char **argv)
{
	bool json = false;
	int fd, err, status;

	status = parse_json(argc, argv,
			    "Usage: syscript programs [--json]\n"
			    "Lists the programs that subsystems of the kernel call, in this network\n"
			    "namespace and for the machine, if you may unload them.\n\n"
			    "      --json              print JSON\n"
			    "      --help              print this\n", &json);
	if (status)
		return status < 0 ? 0 : status;
	fd = open_device();
	err = fd < 0 ? errno : print_programs(fd, json);
	if (fd >= 0)
		close(fd);
	return err ? complain("cannot list programs: %s", program_why(err)) : 0;
}
