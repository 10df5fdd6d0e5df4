/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Rarely used data of Lua's runtime for the confined engine. They stay in the process, because in
 * each script's arena they would take 150 KiB.
 */
#ifndef LIB_LUA_COLD_H
#define LIB_LUA_COLD_H

#include <stddef.h>

#include "lua-runtime/runtime.h"

struct run;

/*
 * Bytes of the arena for the tables of names of a script that has no right to copy from the
 * process's memory; 0 for other scripts.
 */
size_t lua_cold_size(const struct run *run);
/*
 * Sets the fields of @call for these data; @copy: allocated memory of the arena for them, or
 * NULL.
 */
void lua_cold_place(struct runtime_call *call, char *copy);

#endif /* LIB_LUA_COLD_H */
