/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Chooses the engine and the backend of a script. */
#ifndef LIB_BACKEND_SELECT_H
#define LIB_BACKEND_SELECT_H

#include <stdbool.h>

#include "syscript.h"

/**
 * struct choice - the choices that a caller leaves open
 * @backend: AUTO: the kernel if it can be used, otherwise the process
 * @engine:  whether the engine is open, too: LuaJIT in the kernel, otherwise the confined engine
 *           there, otherwise LuaJIT in the process
 */
struct choice {
	enum syscript_backend backend;
	bool engine;
};

/*
 * Copies a structure that begins with its own size, from a caller that may be older or newer than
 * the library: @size bytes in this version, @size_1 in the first. If @given is NULL, zeroes the
 * copy. Returns 0, -EINVAL or -E2BIG.
 */
int sized_copy(void *to, size_t size, size_t size_1, const void *given);
int options_copy(struct syscript_options *options, const struct syscript_options *given);

/* Does this library have LuaJIT, which is for x86-64? Else Lua runs on the confined engine. */
bool choose_has_luajit(void);

/*
 * Sets @choice and @reg->engine from the values in struct syscript_options or, if those are 0,
 * from the environment.  Returns 0, or -EINVAL or -EOPNOTSUPP with a text.
 */
int choose(struct choice *choice, struct syscript_register *reg,
	   enum syscript_backend backend, unsigned int engine, char *error, size_t error_len);

/* Registers a script. Returns its fd (with SYSCRIPT_CHECK: 0) or -errno. */
int choose_register(const struct choice *choice, struct syscript_register *reg);

/* Does the environment allow batches on the kernel's confined engine? */
bool choose_batches(void);

/* Can scripts be registered with @backend now?  0 or -errno. */
int choose_probe(enum syscript_backend backend);

/*
 * To be called after an observer has ended a run in the kernel: it would end the next runs as well.
 */
void choose_is_watched(void);

#endif /* LIB_BACKEND_SELECT_H */
