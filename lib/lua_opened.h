/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What is in an arena once Lua's libraries are open, before it has seen a script: the
 * next script's arena begins as a copy of that.
 */
#ifndef LIB_LUA_OPENED_H
#define LIB_LUA_OPENED_H

#include <stddef.h>

struct lua_opened;

/*
 * From @from, a page's beginning, to @to of the arena of @size bytes at @arena.  To be
 * freed with lua_opened_free(); NULL: no memory.
 */
struct lua_opened *lua_opened_keep(const char *arena, size_t size, size_t from, size_t to);
void lua_opened_free(struct lua_opened *opened);

/* To @arena, which is as large and is all 0. */
void lua_opened_copy(const struct lua_opened *opened, char *arena);

#endif /* LIB_LUA_OPENED_H */
