/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What is between the guest, which is Lua as a compound, and who calls it.
 */
#ifndef LUA_GUEST_H
#define LUA_GUEST_H

#include <stdint.h>

#include "../../include/uapi/syscript.h"

#define GUEST_ERROR_LEN		2048

/**
 * struct guest_call - a script, and calls of its function run(); in the arena
 * @state:   Lua's; NULL: this call loads the script
 * @source:  its text
 * @name:    for messages, as Lua has it: "@file.lua"
 * @heap:    memory for Lua
 * @arena:   the arena's address
 * @args:    for run()
 * @results: of it
 * @failed:  the script did: @error says why
 */
struct guest_call {
	struct lua_State *state;
	const char *source, *name;
	char *heap;
	uint64_t source_len, heap_size;
	uint64_t arena, arena_size;
	uint64_t nargs, nresults;
	int64_t args[SYSCRIPT_ARGS_MAX], results[SYSCRIPT_RESULTS_MAX];
	uint64_t failed;
	char error[GUEST_ERROR_LEN];
};

#endif /* LUA_GUEST_H */
