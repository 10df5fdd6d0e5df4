/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The scripts that are part of the library: the texts of scripts/, registered
 * when they are first called and kept for the life of the process.
 */
#ifndef LIB_BUILTIN_H
#define LIB_BUILTIN_H

#include <stdint.h>

enum builtin {
#define BUILTIN(name)	BUILTIN_##name,
#include "builtin.def"
#undef BUILTIN
	BUILTINS
};

/* syscript_call() of one that is free; any thread, also in a child of fork(). */
int builtin_call(enum builtin which, unsigned int nargs, const int64_t *args,
		 unsigned int nresults, int64_t *results);

/* Its text. */
const char *builtin_source(enum builtin which);

#endif /* LIB_BUILTIN_H */
