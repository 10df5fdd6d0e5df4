/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Reads a script's functions, which the runtime's parser has left in the arena. Scripts can write
 * there, so nothing is trusted: everything is copied first, and checked against bounds.
 */
#ifndef LIB_LUA_BYTECODE_H
#define LIB_LUA_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../lua-runtime/layout.h"

#define REGISTERS	256
#define CLOSURES_MAX	4096
#define LIBRARIES_MOST	8
#define PATTERNS_MOST	64

/* A value of Lua's. */
struct value {
	uint32_t tag;
	uint64_t bits;
};

/**
 * struct proto - a function
 * @address:  its address in the arena
 * @number:   number of its compiled form in the image's table; 0: it has none
 * @closure:  one of its closures, or 0
 * @closures: number of closures
 * @assigned: bit i: it, or a function in it, assigns to upvalue i
 * @fixed:    upvalues of its only closure that nothing can assign to any more
 * @captured: registers that closures share
 * @views:    registers on which methods are called that only frames have
 * @reached:  run() may call it
 * @inner:    addresses of the functions in it, and their numbers of upvalues
 */
struct proto {
	uint64_t address;
	uint32_t number;
	uint64_t closure;
	uint32_t closures;
	uint64_t assigned, fixed;
	uint32_t ncode, nk, ninner;
	uint32_t *code;
	bool *begins;		/* for each position: it is an instruction, not an operand */
	struct value *k;
	uint64_t *inner;
	uint8_t *inner_nups;
	uint8_t nups, nparams, is_vararg, nregs;
	uint32_t line;
	bool is_over;		/* the script itself, which has run */
	bool captured[REGISTERS], views[REGISTERS];
	bool has_closures, has_calls;
	bool reached;
};

/* A closure and its function; NULL: the function is not well-formed. */
struct closure {
	uint64_t address;
	const struct proto *proto;
};

/* A constant that is compiled as a pattern, whose function has @number: see pattern.h. */
struct pattern_use {
	uint64_t string;
	uint32_t kind, number;
};

/**
 * struct runtime - a script's Lua state in its arena, as the compiler reads it
 * @arena: the arena's address, the same for the process and for the script
 * @state: the address of the lua_State
 * @ntable:   the runtime's functions have numbers from 1 to below @ntable
 * @intrinsics: for each number: 1 plus the INTRINSIC_* that it is, or 0
 * @replaced: address of the flag that is set once a script replaces a library's function
 * @found:    address for the captures of a compiled pattern
 * @characters: address of the addresses of the strings of one character, each 0 until there is one
 * @seen:     address of frames_seen (lib/lua-runtime/frames.c)
 * @closures: all closures of Lua functions
 * @libraries: tables that are watched; @globals and @methods, of strings, if they are; or 0
 * @views:    the methods of frames, which scripts cannot reach; or 0
 * @patterns: that functions use, to be compiled after them
 */
struct runtime {
	char *arena;
	uint64_t size;
	uint64_t state;
	struct runtime_exports exports;
	uint32_t ntable;
	uint8_t *intrinsics;
	uint64_t replaced, found, characters, seen;
	struct proto *protos;
	uint32_t nprotos;
	struct closure *closures;
	uint32_t nclosures;
	uint64_t libraries[LIBRARIES_MOST], globals, methods, views;
	uint32_t nlibraries;
	struct pattern_use *patterns;
	bool all;	/* compile all functions or none */
};

/* Copies @len bytes from @address. False if they are not all in the arena. */
bool runtime_read(const struct runtime *runtime, uint64_t address, void *to, size_t len);
/* Reads a number of @len bytes; 0 if it is not in the arena. */
static inline uint64_t runtime_word(const struct runtime *runtime, uint64_t address, size_t len)
{
	uint64_t at = address - (uintptr_t)runtime->arena, v = 0;

	if (at < runtime->size && len <= runtime->size - at)
		memcpy(&v, runtime->arena + at, len);
	return v;
}

struct value runtime_value(const struct runtime *runtime, uint64_t address);

/* Finds all well-formed functions; false if out of memory. */
bool runtime_read_protos(struct runtime *runtime);
void runtime_free(struct runtime *runtime);

/* upvalues.c: fills in proto.fixed. */
void runtime_find_fixed(const struct runtime *runtime);

/*
 * callgraph.c: fills in proto.reached; finds @few functions if there would be too many. False: out
 * of memory.
 */
bool runtime_find_reached(struct runtime *runtime, bool few);

/* library.c: finds the tables of libraries that can be watched. */
void runtime_find_libraries(struct runtime *runtime);
/* Is the field @name of @table a library's function, or table, @found? */
bool runtime_library(const struct runtime *runtime, uint64_t table, struct value name,
		     struct value *found);
bool runtime_library_name(const struct runtime *runtime, struct value name);
/* The closure that is the method @name of frames, or 0. */
uint64_t runtime_view_method(const struct runtime *runtime, struct value name);

/* The number of instructions after @pc that are its operands. */
uint32_t proto_operands(const struct proto *p, uint32_t pc);

/* Does the register get a new value in the instruction, on every path from it? */
bool op_writes(uint32_t i, uint32_t reg);

/* The function at @address, or NULL. */
const struct proto *runtime_proto(const struct runtime *runtime, uint64_t address);

/* The field @name of the table at @table; nil if it has none. */
struct value runtime_field(const struct runtime *runtime, uint64_t table, const char *name);

/*
 * The number of the table's node whose key is the string at @name, if offsets can reach it;
 * otherwise -1.
 */
int32_t runtime_node(const struct runtime *runtime, uint64_t table, uint64_t name);

/* The text of a string, truncated to fit @to. */
void runtime_text(const struct runtime *runtime, struct value string, char *to, size_t size);

#endif /* LIB_LUA_BYTECODE_H */
