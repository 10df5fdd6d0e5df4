/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What Lua's runtime for the confined engine reads here, in the process: in the arena of each
 * script it would take 100 KiB.
 */
#ifndef LIB_LUA_COLD_H
#define LIB_LUA_COLD_H

#include <stddef.h>

#include "lua-runtime/runtime.h"

struct run;

/*
 * A script with no right to copy from the process's memory has the constants in its arena:
 * so many bytes, or 0.
 */
size_t lua_cold_size(const struct run *run);
/* Sets the fields of @call for it; @copy: that place, which has memory, or NULL. */
void lua_cold_place(struct runtime_call *call, void *copy);

#endif /* LIB_LUA_COLD_H */
