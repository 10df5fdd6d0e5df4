/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The library's own scripts: the texts of scripts/, registered when first called and kept for the
 * life of the process, so that functions of the library can call them.
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

/* syscript_call() of a free instance, from any thread, also in a child of fork(). */
int builtin_call(enum builtin which, unsigned int nargs, const int64_t *args,
		 unsigned int nresults, int64_t *results);

/*
 * Registers a script for the caller alone, which may keep state between calls. Returns the
 * descriptor or -errno.
 */
int builtin_register(enum builtin which);

#define BUILTIN_ARGS(...)	((const int64_t []){ __VA_ARGS__ })
#define BUILTIN_NARGS(...)	(sizeof(BUILTIN_ARGS(__VA_ARGS__)) / sizeof(int64_t))

/* The first result, if the call succeeded; otherwise -errno. */
#define builtin_run(which, results, ...)					\
	builtin_first(builtin_call(which, BUILTIN_NARGS(__VA_ARGS__),		\
				   BUILTIN_ARGS(__VA_ARGS__),			\
				   sizeof(results) / sizeof(int64_t), results), results)

static inline int64_t builtin_first(int ret, const int64_t *results)
{
	return ret < 0 ? ret : results[0];
}

/* For a child of fork(2). */
void builtin_fork_child(void);

/* The text of the script. */
const char *builtin_source(enum builtin which);

#endif /* LIB_BUILTIN_H */
