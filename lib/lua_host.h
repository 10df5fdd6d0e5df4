/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua on the confined engine: an engine of the user backend whose programs are
 * compounds, of Lua as cosy-cc has compiled it (lib/lua-runtime), in the kernel where
 * that may be, else in this process.
 */
#ifndef LIB_LUA_HOST_H
#define LIB_LUA_HOST_H

#include <stdbool.h>

#include "engine.h"
#include "syscript.h"

/*
 * Its formats are enum syscript_backend, where it is to run, and one more: at first in
 * the kernel, and not if it cannot be there, or needs what only LuaJIT's engine has.
 * Then -EOPNOTSUPP says that nothing of it has run, with the reason if that is worth
 * telling.
 */
#define LUA_HOST_OR_ANOTHER	(SYSCRIPT_BACKEND_USER + 1)
extern const struct engine_ops lua_engine;

/* The state that a script's top level has left; false: none. */
struct runtime;
bool lua_host_runtime(struct engine_vm *vm, struct runtime *runtime);

/*
 * syscript_call() of a script in the kernel, without a look at @fd, which the kernel has:
 * -ESTALE if that is another file now, or for any other reason nothing has run.
 */
int lua_call_quick(int fd, unsigned int nargs, const int64_t *args, unsigned int nresults_max,
		   int64_t *results);

/*
 * The script at @fd, if it is in the kernel, with a reference for user_fd_put(); or NULL.
 * If no other code knows @fd it can be called without a check of that: -ESTALE if nothing
 * has run.  @holds: for the call, a reference of its own is held.
 */
struct script;
struct script *lua_keep(int fd);
int lua_call_kept(struct script *script, bool holds, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results);

/*
 * The script at @fd, if it is of this engine, with a reference for user_fd_put(), or NULL.
 * Its memory stays until it is closed, even if it dies before.
 */
struct script *lua_host_pin(int fd);

#endif /* LIB_LUA_HOST_H */
