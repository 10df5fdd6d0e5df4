/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Links compiled functions to an image that extends the runtime's, whose functions they call. */
#ifndef LIB_LUA_LINK_H
#define LIB_LUA_LINK_H

#include "emit.h"
#include "bytecode.h"

/**
 * struct compiled - functions of a script
 * @starts: their first instructions in @emit
 * @frames: bytes of their frames
 */
struct compiled {
	struct emit emit;
	u32 *starts, *frames;
	u32 n;
};

/**
 * struct origins - the origins of an image's instructions
 * @at: in the order of the instructions; to be freed
 */
struct origins {
	struct origin *at;
	u32 n;
};

/*
 * Compiles the script's functions that can be compiled; they get the numbers after those of the
 * runtime's @table. @header is the runtime's. Returns an image that extends the runtime's, to be
 * freed, with its length and origins; NULL if nothing could be compiled, or out of memory.
 */
struct image_header *runtime_compile(struct runtime *runtime, const struct image_header *header,
				     const u32 *table, size_t *len, struct origins *origins);

/* Tells the runtime the numbers: from now on it calls the compiled functions. */
void runtime_attach(const struct runtime *runtime);

#endif /* LIB_LUA_LINK_H */
