/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Script sources, and scripts registered from them. */
#ifndef SOURCE_H
#define SOURCE_H

#include <syscript.h>

struct source {
	const char *name;
	char *text;
	size_t len;
};

/* Reads a file; ends the program if that fails. */
struct source source_read(const char *path);

/* The kernel backend, unless SYSCRIPT_BACKEND=user is in the environment. */
enum syscript_backend source_backend(void);

/* Registers it, and ends the program with the reason if that fails. */
int source_register(const struct source *source, enum syscript_backend backend,
		    uint32_t flags, uint64_t memory_limit, uint64_t time_limit_ns);

#endif
