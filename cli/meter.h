/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Measures a command's instructions, processor time and mode switches. */
#ifndef METER_H
#define METER_H

#include <stdbool.h>
#include <sys/types.h>

#define UNKNOWN	-1.0

/**
 * struct command - a command line, and how it is run
 * @argv:    ends with NULL; the program is looked up in PATH
 * @backend: backend of its scripts, "kernel" or "user"; NULL: chosen by the environment
 * @output:  a file that gets its standard output
 * @uid:     with @gid, the ids to run it as, if this process is root and they are not 0
 */
struct command {
	char *const *argv;
	const char *backend;
	int output;
	uid_t uid;
	gid_t gid;
};

/**
 * struct cost - of a command with all its child processes; UNKNOWN if not available
 * @instructions: in user and kernel mode
 * @cpu:          ns of processor time
 * @switches:     system calls made from user mode; not those that scripts make
 * @calls:        calls of scripts in the kernel
 */
struct cost {
	double instructions, cpu, switches, calls;
};

/*
 * Starts @command, stopped before its exec until command_go(@gate).  Returns its pid, or
 * -errno.
 */
pid_t command_start(const struct command *command, int *gate);
void command_go(int gate);

/*
 * Runs @command and fills in instructions and processor time.  @icount: this machine's clock
 * counts instructions.  Returns the command's exit status, 128 + signal, or -errno.
 */
int meter(const struct command *command, bool icount, struct cost *cost);

/*
 * Runs @command and fills in switches and calls by the kernel's trace events, which root may
 * read.  Returns as meter(); both are UNKNOWN if that is negative: -EACCES without tracefs,
 * -ENOBUFS if events were lost.
 */
int count_switches(const struct command *command, struct cost *cost);

#endif /* METER_H */
