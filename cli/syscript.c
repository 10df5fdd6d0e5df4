// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript(1): system call scripts from the command line. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>
#include <unistd.h>

#include "cli.h"
#include "hints.h"

static int cmd_help(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", cmd_run, "run a script and print its output and results" },
	{ "check", cmd_check, "look for mistakes in a script without running it" },
	{ "repl", cmd_repl, "run Lua line by line" },
	{ "list", cmd_list, "list the live scripts and their counters" },
	{ "top", cmd_top, "show what the live scripts do" },
	{ "net", cmd_net, "make a network namespace with a device for a script's frames" },
	{ "disasm", cmd_disasm, "print what cosy-cc has compiled, next to its machine code" },
	{ "load", cmd_load, "have a subsystem of the kernel call a program" },
	{ "unload", cmd_unload, "unload a program" },
	{ "call", cmd_call, "call a program loaded for processes, by its name" },
	{ "events", cmd_events, "print the records that programs write to a ring" },
	{ "programs", cmd_programs, "list loaded programs and their counters" },
	{ "runtime", cmd_runtime, "register Lua's runtime with the module, for all users" },
	{ "measure", cmd_measure, "count what a command saves by its scripts in the kernel" },
	{ "suites", cmd_suites, "list the library's scripts by kind of machine, and which are off" },
	{ "allow", cmd_allow, "say who may have scripts in the kernel, confined" },
	{ "doctor", cmd_doctor, "say what this machine supports and what is missing" },
	{ "help", cmd_help, "print this, or the options of a command" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(void)
{
	printf("Usage: syscript COMMAND [OPTION...] [ARGUMENT...]\n"
	       "Runs Lua scripts that make many system calls in one mode switch.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].help);
	printf("\n  --help     print this; after a command: its options\n"
	       "  --version  print the version\n\n"
	       "Exit status: 0, 1 for a script error, 2 for usage.\n");
}

/* Runs the command that argv[0] names. */
static int run_command(int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc, argv);
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (slips(argv[0], strlen(argv[0]), commands[i].name) < 2)
			return complain("unknown command '%s': did you mean '%s'?", argv[0],
					commands[i].name);
	}
	if (!access(argv[0], R_OK))
		return complain("unknown command '%s': did you mean 'syscript run %s'?",
				argv[0], argv[0]);
	return complain("unknown command '%s': see 'syscript --help'", argv[0]);
}

static int cmd_help(int argc, char **argv)
{
	char *options[] = { argv[1], "--help", NULL };

	if (argc > 1 && argv[1][0] != '-')
		return run_command(2, options);
	help();
	return 0;
}

/*
 * Opens missing standard descriptors, so that files that this command opens do not get their
 * numbers. Reading and writing them still fails, as it would if they were closed.
 */
static void open_standard(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	int status;

	open_standard();
	if (argc < 2) {
		help();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help();
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("syscript %s\n", syscript_version());
		return 0;
	}
	status = run_command(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		return complain("cannot write to standard output");
	return status;
}
