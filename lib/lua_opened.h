/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What is in an arena once Lua's libraries are open, before it has seen a script: the
 * next script's arena begins as a copy of that.
 */
#ifndef LIB_LUA_OPENED_H
#define LIB_LUA_OPENED_H

#include <stdbool.h>
#include <stddef.h>

struct lua_opened;

/* A part of an arena: from its byte @from, a page's beginning, to @to. */
struct lua_part {
	size_t from, to;
};

#define LUA_OPENED_PARTS	3

/*
 * Of the arena of @size bytes at @arena; the rest of it has not been touched.  To be freed
 * with lua_opened_free(); NULL: no memory.
 */
struct lua_opened *lua_opened_keep(const char *arena, size_t size,
				   const struct lua_part parts[LUA_OPENED_PARTS]);
void lua_opened_free(struct lua_opened *opened);

/* To @arena, which is as large and is all 0: false, and it still is, without memory for it. */
bool lua_opened_copy(const struct lua_opened *opened, char *arena);

#endif /* LIB_LUA_OPENED_H */
