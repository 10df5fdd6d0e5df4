/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A script and the options of its run, which run, check and repl share. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <syscript.h>

/**
 * struct job - a script on the command line
 * @code:    the body of run(), of -e, or NULL
 * @path: the file as given, or its name in messages
 * @is_stdin: it is standard input
 * @options: for syscript_register(), whose name is @name
 * @program: of --program, or NULL
 * @info: print counters
 */
struct job {
	const char *code, *path, *program;
	bool is_stdin;
	char name[SYSCRIPT_NAME_LEN];
	struct syscript_options options;
	bool info;
};

/*
 * Reads the options of command argv[0], and FILE if it takes one; optind is then
 * what follows.  Returns 0, EXIT_USAGE after a complaint, or -1 after --help.
 */
int job_parse(struct job *job, int argc, char **argv);

/* Takes the script from @path; "-": standard input. */
void job_take_file(struct job *job, const char *path);

/* The source text, for free(); NULL after an error message. */
char *job_source(const struct job *job, size_t *len);

/* Registers a script.  Returns its descriptor, or -errno after an error message. */
int job_register(const struct job *job, const char *source, size_t len);

/* Calls run(); prints output, results and errors.  Returns the exit status. */
int job_call(const struct job *job, int fd, unsigned int nargs, const int64_t *args);

/* Prints the counters, for --info; prints results in a line. */
void job_print_info(int fd);
void print_results(int n, const int64_t *results);

/* Prints the script's output; the text of its last error, or of @err. */
void job_print_output(int fd);
void job_print_error(const struct job *job, int fd, int err);

/* The exit status for -errno: EXIT_SCRIPT if the script is at fault. */
int job_status(int err);

#endif /* OPTIONS_H */
