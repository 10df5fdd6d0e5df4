/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A script and how it is to run: what run, check and repl share. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <syscript.h>

/**
 * struct job - what a command line says of a script
 * @code:    the body of run(), of -e, or NULL
 * @path:    the file as it was typed, or how it is called in messages
 * @is_stdin: it is standard input
 * @options: for syscript_register(), whose name is @name
 * @program: of --program, or NULL
 * @info:    counters are to be printed
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

/* The script is the one at @path; "-": standard input. */
void job_take_file(struct job *job, const char *path);

/* The source text, for free(); NULL after a complaint. */
char *job_source(const struct job *job, size_t *len);

/* Registers a script.  Returns its fd, or -errno after saying why. */
int job_register(const struct job *job, const char *source, size_t len);

/* Calls run(); prints output, results and errors.  Returns the exit status. */
int job_call(const struct job *job, int fd, unsigned int nargs, const int64_t *args);

/* The counters, for --info; results, in a line. */
void job_print_info(int fd);
void print_results(int n, const int64_t *results);

/* What the script printed, and the text of its last error, or of @err. */
void job_print_output(int fd);
void job_print_error(const struct job *job, int fd, int err);

/* The exit status for -errno: is it the script that is at fault? */
int job_status(int err);

#endif /* JOB_H */
