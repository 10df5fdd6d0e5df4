/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Opening Lua's libraries takes most of the time to start a script. So the contents of the first
 * arena with open libraries are kept, and the next script's arena begins as a copy
 * (lua_shared_image.h); or that of an arena whose script has been loaded (lua_kept.h).
 */
#ifndef LIB_LUA_SNAPSHOT_H
#define LIB_LUA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

struct lua_snapshot;

/* A part of an arena: from offset @from, which begins a page, to @to. */
struct lua_part {
	size_t from, to;
};

#define SNAPSHOT_PARTS	3

/*
 * Copies the @parts of the arena of @size bytes at @arena, whose other pages are untouched. To be
 * freed with lua_snapshot_free(); NULL: out of memory, or more than @npages_max pages are used.
 */
struct lua_snapshot *lua_snapshot_keep(const char *arena, size_t size,
				       const struct lua_part parts[SNAPSHOT_PARTS],
				       size_t npages_max);
void lua_snapshot_free(struct lua_snapshot *snapshot);

/*
 * May it be copied to @arena, of the same size? The first time for another arena this searches
 * for addresses, so callers take turns. False: out of memory.
 */
bool lua_snapshot_moves(struct lua_snapshot *snapshot, const char *arena);

/*
 * Copies to @arena, which is zeroed, after lua_snapshot_moves(): false if out of memory, with
 * @arena unchanged.
 */
bool lua_snapshot_copy(const struct lua_snapshot *snapshot, char *arena);

#endif /* LIB_LUA_SNAPSHOT_H */
