/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Opening Lua's libraries takes most of the time to start a script. So the contents of the first
 * arena with open libraries are kept, and the next script's arena begins as a copy.
 */
#ifndef LIB_LUA_OPENED_H
#define LIB_LUA_OPENED_H

#include <stdbool.h>
#include <stddef.h>

struct lua_opened;

/* A part of an arena: from offset @from, which begins a page, to @to. */
struct lua_part {
	size_t from, to;
};

#define LUA_OPENED_PARTS	3

/*
 * Copies the @parts of the arena of @size bytes at @arena, whose other pages are untouched. To be
 * freed with lua_opened_free(); NULL: out of memory.
 */
struct lua_opened *lua_opened_keep(const char *arena, size_t size,
				   const struct lua_part parts[LUA_OPENED_PARTS]);
void lua_opened_free(struct lua_opened *opened);

/* Copies to @arena, of the same size and zeroed: false if out of memory, with @arena unchanged. */
bool lua_opened_copy(const struct lua_opened *opened, char *arena);

#endif /* LIB_LUA_OPENED_H */
