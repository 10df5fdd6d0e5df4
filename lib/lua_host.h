/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua on the confined engine: an engine of the user backend whose programs are
 * compounds, of Lua as cosy-cc has compiled it (engine/lua-guest), in the kernel where
 * that may be, else in this process.
 */
#ifndef LIB_LUA_HOST_H
#define LIB_LUA_HOST_H

#include "engine.h"
#include "syscript.h"

/* Its formats are enum syscript_backend: where it is to run. */
extern const struct engine_ops lua_engine;
#endif /* LIB_LUA_HOST_H */
