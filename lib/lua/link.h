/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Compiled functions as an image that extends the runtime's, whose functions they call. */
#ifndef LIB_LUA_LINK_H
#define LIB_LUA_LINK_H

#include "emit.h"
#include "read.h"

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
 * struct origins - where the instructions of an image come from
 * @at: in the order of the instructions; to be freed
 */
struct origins {
	struct origin *at;
	u32 n;
};

/*
 * Compiles what can be compiled of @script, whose functions get the numbers after those
 * of @table, of the runtime's image with @header.  Returns an image that extends it, to be
 * freed, its length, and its origins; NULL if there is nothing, or no memory.
 */
struct image_header *runtime_compile(struct runtime *runtime, const struct image_header *header,
				     const u32 *table, size_t *len, struct origins *origins);

/* Gives the runtime the numbers: from now on it calls the compiled functions. */
void runtime_attach(const struct runtime *runtime);

#endif /* LIB_LUA_LINK_H */
