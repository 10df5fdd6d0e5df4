/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between the runtime, which is Lua as a compound, and its caller.
 */
#ifndef LUA_RUNTIME_H
#define LUA_RUNTIME_H

#include <stdint.h>

#include "../../include/uapi/syscript.h"
#include "../../kernel/output.h"

#define RUNTIME_ERROR_LEN		2048

/* runtime_call.failed: the script has failed, and runtime_call.error says why */
#define RUNTIME_FAILED	1
#define RUNTIME_MEMORY	2	/* over its memory limit */
#define RUNTIME_RANGE	3	/* a result is no integer */
#define RUNTIME_LEFT	4	/* left to another engine: nothing of it has run */
#define RUNTIME_STOPPED	5	/* told to end, it has ended; it may be called again */

/* What compiled functions and the runtime expect of one another, layout.h: changes with it. */
#define RUNTIME_VERSION	8

/**
 * struct runtime_call - a script, and calls of its function run(); in the arena
 * @version: RUNTIME_VERSION
 * @size:    of this structure; the runtime accepts no other version and size
 * @opened:  Lua's state with its libraries; NULL: this call makes it, and no more.  What is
 *           in the arena then serves for other scripts, see lua_opened.c
 * @state:   the same; NULL: this call loads the script
 * @source:  its text
 * @name:    for messages, as Lua has it: "@file.lua"
 * @heap:    memory for Lua
 * @large:   for large buffers, outside the arena; or 0
 * @engine:  the script's engines in a row are numbered: whatever an earlier one has
 *           kept for it is gone
 * @arena:   the arena's address
 * @args:    for run()
 * @results: run()'s
 * @only:    the script may use nothing but @libraries and @calls, as in struct
 *           syscript_register: for its messages; the engine enforces it
 * @check:   the script is only to be compiled
 * @another: a script that LuaJIT's engine would run differently is left to that one
 * @floor:   stack address below which no compiled function is called
 * @exports: for compiled functions, see layout.h
 * @replaced: the same: whether a function of a library has been replaced
 * @found:   and what a compiled pattern has found
 * @memory:  two numbers: the bytes that the script holds, and the most that it has held
 * @stop:    0 before each call; the run has to end, see struct image_header
 * @failed:  0, as before each call, or RUNTIME_*
 * @output:  of print()
 */
struct runtime_call {
	uint32_t version, size;
	struct lua_State *opened, *state;
	const char *source, *name;
	char *heap;
	uint64_t source_len, heap_size;
	uint64_t large, large_size;
	uint64_t engine;
	uint64_t arena, arena_size;
	uint64_t nargs, nresults;
	int64_t args[SYSCRIPT_ARGS_MAX], results[SYSCRIPT_RESULTS_MAX];
	uint64_t only, libraries, calls[SYSCRIPT_CALLS_WORDS];
	uint64_t check, another;
	uint64_t floor;
	const struct runtime_exports *exports;
	const void *replaced, *found;
	const uint64_t *memory;
	uint64_t stop;
	uint64_t failed;
	char error[RUNTIME_ERROR_LEN];
	struct output output;
};

#endif /* LUA_RUNTIME_H */
