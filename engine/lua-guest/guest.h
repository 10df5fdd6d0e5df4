/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What is between the guest, which is Lua as a compound, and who calls it.
 */
#ifndef LUA_GUEST_H
#define LUA_GUEST_H

#include <stdint.h>

#include "../../include/uapi/syscript.h"
#include "../../kernel/output.h"

#define GUEST_ERROR_LEN		2048

/* guest_call.failed: the script did, and guest_call.error says why */
#define GUEST_FAILED	1
#define GUEST_MEMORY	2	/* over its limit */
#define GUEST_RANGE	3	/* a result is no integer */

/**
 * struct guest_call - a script, and calls of its function run(); in the arena
 * @size:    of this structure: the guest takes no other
 * @state:   Lua's; NULL: this call loads the script
 * @source:  its text
 * @name:    for messages, as Lua has it: "@file.lua"
 * @heap:    memory for Lua
 * @arena:   the arena's address
 * @args:    for run()
 * @results: of it
 * @check:   the script is to be compiled only
 * @memory:  bytes that the script holds, and has held at most
 * @failed:  0 or GUEST_*
 * @output:  of print()
 */
struct guest_call {
	uint64_t size;
	struct lua_State *state;
	const char *source, *name;
	char *heap;
	uint64_t source_len, heap_size;
	uint64_t arena, arena_size;
	uint64_t nargs, nresults;
	int64_t args[SYSCRIPT_ARGS_MAX], results[SYSCRIPT_RESULTS_MAX];
	uint64_t check;
	uint64_t memory, memory_peak;
	uint64_t failed;
	char error[GUEST_ERROR_LEN];
	struct output output;
};

#endif /* LUA_GUEST_H */
