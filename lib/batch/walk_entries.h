/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Walks without functions of the program: in C, on batches of entries, so that they register no
 * script and make no Lua strings. The results are those of scripts/walk.lua.
 */
#ifndef LIB_WALK_ENTRIES_H
#define LIB_WALK_ENTRIES_H

#include <stddef.h>
#include <sys/types.h>

#include "syscript_files.h"

struct entries_walk;

/* Takes over @top, the descriptor of a directory. NULL: no memory, and the caller keeps @top. */
struct entries_walk *entries_walk_open(int top, unsigned int flags);

/* As syscript_walk_next(); adds to @sums. */
ssize_t entries_walk_next(struct entries_walk *walk, char *paths, size_t size,
			  struct syscript_walk_sums *sums);

void entries_walk_close(struct entries_walk *walk);

#endif /* LIB_WALK_ENTRIES_H */
