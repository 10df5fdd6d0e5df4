/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Scripts for the confined engine: by Lua, which is a compound there. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "job.h"

/* Runs @job with @argc arguments.  Returns the exit status. */
int guest_run(const struct job *job, int argc, char **argv);

/*
 * Its steps, one guest a process: makes one of @source; the first call loads that, each
 * other one calls run(), with the arguments in guest_frame(), and the results come there.
 * Return the exit status.
 */
int guest_open(const struct job *job, const char *source, size_t len, int argc, char **argv);
int guest_call(const struct job *job);
struct guest_call *guest_frame(void);

#endif /* CLI_GUEST_H */
