/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua on the confined engine: an engine of the user backend. Its programs are compounds, of Lua
 * as compiled by cosy-cc (lib/lua-runtime), which run in the kernel if possible, otherwise in
 * this process.
 */
#ifndef LIB_LUA_HOST_H
#define LIB_LUA_HOST_H

#include <stdbool.h>

#include "engine.h"
#include "syscript.h"

/*
 * Its formats are the values of enum syscript_backend, for where to run, and one more: try the
 * kernel, but refuse scripts that cannot run there, or that need features of LuaJIT's engine.
 * Then -EOPNOTSUPP says that nothing of the script has run, with the reason if that is of
 * interest.
 */
#define LUA_HOST_OR_ANOTHER	(SYSCRIPT_BACKEND_USER + 1)
extern const struct engine_ops lua_engine;

/* Fills in @runtime with the state that a script's top level has left; false: none. */
struct runtime;
bool lua_host_runtime(struct engine_vm *vm, struct runtime *runtime);

/*
 * syscript_call() of a script in the kernel, which checks @fd: -ESTALE if @fd is another file
 * now, or nothing has run for another reason.
 */
int lua_call_quick(int fd, unsigned int nargs, const int64_t *args, unsigned int nresults_max,
		   int64_t *results);

/*
 * The script at @fd, if it is in the kernel, with a reference for user_fd_put(); or NULL. If no
 * other code knows @fd, the script can be called without a check of @fd: -ESTALE if nothing has
 * run. @holds: the call holds its own reference.
 */
struct script;
struct script *lua_keep(int fd);
int lua_call_kept(struct script *script, bool holds, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results);

/*
 * The script at @fd, if it is of this engine, with a reference for user_fd_put(); or NULL. Keeps
 * the script's memory until it is closed, even if it dies before.
 */
struct script *lua_host_pin(int fd);

#endif /* LIB_LUA_HOST_H */
