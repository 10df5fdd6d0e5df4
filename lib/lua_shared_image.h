/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua's runtime as the base that the images of scripts extend.  In the kernel it is the machine's
 * base if root has registered one (shared_image_share()). Otherwise, and in this process, it is
 * checked and compiled once for all scripts of the process whose arenas have the same size. When
 * the last of them is closed, the base is kept for a next script with an arena of that size.
 */
#ifndef LIB_LUA_SHARED_IMAGE_H
#define LIB_LUA_SHARED_IMAGE_H

#include <stdint.h>

#include "compound.h"
#include "lua_snapshot.h"
#include "engine.h"
#include "user/user.h"

struct shared_image;

/* Offset of the compound's data in arenas, after an unused page. */
#define LUA_DATA_OFFSET(file)	((4096U + (file)->align - 1) & -(file)->align)

/*
 * Returns the base for arenas of 2^header->arena_shift bytes with the compound's data at @offset.
 * Uses only the size and the stack in @header; the stack depends only on the size. NULL: out of
 * memory.
 */
struct shared_image *shared_image_get(const struct cosy_file *file, uint32_t offset,
			      const struct image_header *header);
void shared_image_put(struct shared_image *base);
/* Frees a base without scripts, which would be kept for the next script. */
void shared_image_drop_idle(void);

/* The header of its image, and the table of its functions. */
const struct image_header *shared_image_header(const struct shared_image *base);
const uint32_t *shared_image_table(const struct shared_image *base);

/*
 * Makes an extension in this process: 0 with the program in @vm, or -errno with the reason in
 * @error.
 */
int shared_image_here(struct shared_image *base, struct engine_vm **vm, char *error);

/*
 * Registers the image in @reg in the kernel, as an extension of the base there. Returns 0, or
 * -errno with the text in @reg->error.
 */
int shared_image_register(struct shared_image *base, struct compound *kernel,
		      struct syscript_register *reg);

/*
 * Registers the runtime as a base of the machine, for all users; needs root. Returns 0, also if
 * the machine already has it; or -errno, with the reason, if any, in @error (RUN_ERROR_LEN
 * bytes).
 */
int shared_image_share(char *error);

/*
 * Returns an image that extends the base by a function that is never called, with which scripts
 * are loaded; to be freed. NULL: out of memory.
 */
struct image_header *shared_image_extend(const struct shared_image *base, size_t *len);

/*
 * Arenas of the same size and memory limit have the same layout. So shared_image_keep() keeps a
 * copy of the used @parts of the first arena whose libraries are open, and later arenas begin as
 * copies. shared_image_open() returns false if there is no copy with that limit, or out of memory.
 */
void shared_image_keep(struct shared_image *base, size_t memory_limit, const char *arena,
		   const struct lua_part parts[SNAPSHOT_PARTS]);
bool shared_image_open(struct shared_image *base, size_t memory_limit, char *arena);

/* For a child of fork(2), whose scripts do not share the parent's bases. */
void shared_image_fork_child(void);

#endif /* LIB_LUA_SHARED_IMAGE_H */
