/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Scripts for the confined engine: by Lua, which is a compound there. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "job.h"

/* Runs @job with @argc arguments.  Returns the exit status. */
int guest_run(const struct job *job, int argc, char **argv);

#endif /* CLI_GUEST_H */
