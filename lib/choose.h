/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Which engine a script gets, and where. */
#ifndef LIB_CHOOSE_H
#define LIB_CHOOSE_H

#include <stdbool.h>

#include "syscript.h"

/**
 * struct choice - the choices that a caller leaves open
 * @backend: AUTO: the kernel where it can be used, else the process
 * @engine:  the engine, too: LuaJIT's of the kernel, else the confined one there, else
 *           LuaJIT's in the process
 */
struct choice {
	enum syscript_backend backend;
	bool engine;
};

/*
 * Copies a structure that begins with its own size, of a caller that is older or newer: @size
 * bytes here, @size_1 in the first version.  Without @given all is 0.  Returns 0, -EINVAL
 * or -E2BIG.
 */
int sized_copy(void *to, size_t size, size_t size_1, const void *given);
int options_copy(struct syscript_options *options, const struct syscript_options *given);

/*
 * Sets @choice and @reg->engine from the numbers of struct syscript_options, or, where
 * these leave it open, from the environment.  Returns 0, or -EINVAL with a text.
 */
int choose(struct choice *choice, struct syscript_register *reg,
	   enum syscript_backend backend, unsigned int engine, char *error, size_t error_len);

/* Returns the script's fd (with SYSCRIPT_CHECK: 0) or -errno. */
int choose_register(const struct choice *choice, struct syscript_register *reg);

/* May batches be made on the kernel's confined engine, as far as the environment says? */
bool choose_batches(void);

/* Can scripts be registered with @backend now?  0 or -errno. */
int choose_probe(enum syscript_backend backend);

/* A watcher has ended a run in the kernel: it would end the next ones as well. */
void choose_is_watched(void);

#endif /* LIB_CHOOSE_H */
