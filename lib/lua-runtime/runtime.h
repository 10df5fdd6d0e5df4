/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between the runtime (Lua as a compound, in an image) and the library that calls
 * it.
 */
#ifndef LUA_RUNTIME_H
#define LUA_RUNTIME_H

#include <stdint.h>

#include "../../include/uapi/syscript.h"
#include "../../core/output.h"
/* RUNTIME_VERSION: a digest of this interface. Library and image get it when they are built. */
#include "runtime_version.h"

#define RUNTIME_ERROR_LEN		2048

/* runtime_io.failed: the script has failed, and runtime_call.error says why */
#define RUNTIME_FAILED	1
#define RUNTIME_MEMORY	2	/* over its memory limit */
#define RUNTIME_RANGE	3	/* a result of run() is no integer */
#define RUNTIME_LEFT	4	/* LuaJIT's engine has to run it: nothing was run */
#define RUNTIME_STOPPED	5	/* ended on request; the script may be called again */
#define RUNTIME_BROKEN	6	/* an earlier call was ended in the middle of something */
#define RUNTIME_VERSIONS	7	/* the library's version is another: there is no text */

/* runtime_call.depends */
#define RUNTIME_ON_ADDRESSES	1	/* it knows addresses in the arena, or has tables that are ordered by them */
#define RUNTIME_ON_PROCESS	2	/* it has called the engine, or printed */

/*
 * The library's tables of names, sorted by them: constants of `const` and `errno`, system calls
 * with the kinds of their arguments, and calls that scripts cannot make, with the reasons for error
 * messages. They are not in arenas, because scripts use few of the names.
 */
enum {
	RUNTIME_CONSTANTS, RUNTIME_ERRNOS, RUNTIME_SYSCALLS, RUNTIME_EXCLUDED,
	RUNTIME_TABLES,
};

struct runtime_table {
	uint64_t elements, n;
};

struct runtime_constant {
	char name[64];
	int64_t value;
};

struct runtime_syscall {
	char name[32], kinds[8];
	uint64_t nr;
};

struct runtime_excluded {
	char name[64];
	char reason[128];
};

/*
 * Changes if a function of the runtime, a helper in layout.h or a field does something else than
 * before. All other changes of the interface change its digest by themselves.
 */
#define RUNTIME_MEANING	16

/**
 * struct runtime_io - one call of run(); in the arena
 * @call:    the script
 * @args:    arguments of run()
 * @results: results of run()
 * @failed:  0, as before the call, or RUNTIME_*
 */
struct runtime_io {
	struct runtime_call *call;
	uint64_t nargs, nresults;
	int64_t args[SYSCRIPT_ARGS_MAX], results[SYSCRIPT_RESULTS_MAX];
	uint64_t failed;
};

/**
 * struct runtime_call - parameters of a script and of calls of its function run(); in the arena
 * @version: RUNTIME_VERSION
 * @size:    of this structure; the runtime accepts no other version and size
 * @opened: Lua's state with its libraries; NULL: this call only makes it.  The arena is then
 *	copied for other scripts, see lua_snapshot.c
 * @state: Lua's state with the script; NULL: this call loads the script.  The arena may then be
 *	copied for other scripts of the same text, see lua_kept.h
 * @source: the script's text
 * @name: the script's name for messages, in Lua's form: "@file.lua"
 * @heap:    memory for Lua, @heap_size bytes: blocks, followed by their map with a byte for each
 *           RUNTIME_BLOCK. Blocks below the offset @heap_low, and the map below the address
 *           @heap_map, have not been used so far
 * @large:   for large buffers, outside the arena; or 0
 * @tables:  of the library, and the texts of parts of util that are Lua: outside the arena, which
 *           the library util may copy from; without it all but the texts are inside
 * @engine: counts the engines that have run the script: state that an earlier engine kept for it
 *	is gone
 * @arena:   the arena's address
 * @io: the call under way
 * @only:    the script may use nothing but @libraries and @calls, as in struct
 *           syscript_register: for its messages; the engine enforces it
 * @check: only compile the script
 * @another: do not run a script that LuaJIT's engine would run differently: the library then uses
 *	that engine
 * @floor:   stack address below which no compiled function is called
 * @exports: for compiled functions, see layout.h
 * @replaced: for compiled functions: has a function of a library been replaced?
 * @found: for compiled functions: captures of a compiled pattern
 * @characters: for compiled functions: offsets in the arena of the strings of one character, or 0,
 *	in 32 bits
 * @seen: for compiled functions: the frame that a method was last called on
 * @depends: RUNTIME_ON_*: what the script's state depends on besides its text, name, limits and rights
 * @memory:  two numbers: the bytes that the script holds, and the most that it has held
 * @stop: cleared by each call; not 0: the run has to end, see struct image_header
 * @ended: where a run that had to end was when it left Lua's stack: a function's prototype and its
 *	saved pc; the library clears it
 * @error: of the last call that has failed: RUNTIME_ERROR_LEN bytes
 * @output: output of print()
 */
struct runtime_call {
	uint32_t version, size;
	struct lua_State *opened, *state;
	const char *source, *name;
	char *heap;
	uint64_t source_len, heap_size;
	uint64_t heap_low, heap_map;
	uint64_t large, large_size;
	struct runtime_table tables[RUNTIME_TABLES];
	uint64_t struct_text, struct_len, types_text, types_len;
	uint64_t engine;
	uint64_t arena, arena_size;
	struct runtime_io *io;
	uint64_t only, libraries, calls[SYSCRIPT_CALLS_WORDS];
	uint64_t check, another;
	uint64_t floor;
	const struct runtime_exports *exports;
	const void *replaced, *found, *characters, *seen;
	uint64_t depends;
	const uint64_t *memory;
	uint64_t stop;
	uint64_t ended[2];
	char *error;
	struct output output;
};

/* Bytes of the heap for each byte of its map. */
#define RUNTIME_BLOCK	32
/* Number of blocks in @size bytes of heap and map: whole pages, so that they share no page. */
#define RUNTIME_PAGE_BLOCKS	(4096 / RUNTIME_BLOCK)
#define RUNTIME_BLOCKS(size) \
	((size) / (RUNTIME_BLOCK + 1) / RUNTIME_PAGE_BLOCKS * RUNTIME_PAGE_BLOCKS)

#endif /* LUA_RUNTIME_H */
