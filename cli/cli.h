/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* syscript(1): what its commands share. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define EXIT_SCRIPT	1	/* the script is at fault, or doctor found something */
#define EXIT_USAGE	2	/* the command line or the environment is at fault */

/* Each gets its own name in argv[0]; returns the exit status. */
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_repl(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_net(int argc, char **argv);
int cmd_disasm(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_allow(int argc, char **argv);
int cmd_suites(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_unload(int argc, char **argv);
int cmd_call(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_programs(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_runtime(int argc, char **argv);

/* Prints "syscript: ..." to stderr; returns EXIT_USAGE. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with a hint to "syscript COMMAND --help". */
int complain_usage(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Parses the command line of a command that takes --json and --help.  Returns 0, EXIT_USAGE after
 * a complaint, or -1 after --help.
 */
int parse_json(int argc, char **argv, const char *help, bool *json);

/* Reads all of @path ("-": stdin), and adds a NUL.  NULL after an error message. */
char *read_file(const char *path, size_t *len);

/* The last component of @path as a script's name: truncated, and printable. */
void script_name(const char *path, char *name, size_t size);

/* Prints a JSON string, with quotes and escapes. */
void json_string(FILE *out, const char *text);

#endif /* CLI_H */
