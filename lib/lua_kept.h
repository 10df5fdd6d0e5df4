/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Most of a registration is spent on the script's top level and on compiling what it has defined.
 * So scripts are kept as they are then, by their text: the compiled image, and the contents of
 * the arena. The next script of the same text begins there, and its top level does not run.
 *
 * That is the same only if the top level depends on nothing but the text. The runtime says so
 * (struct runtime_call: depends): a script that has made a system call, printed, or had anything
 * from the process is not kept; one that knows addresses in its arena is kept for arenas at the
 * same address.
 *
 * The process keeps the last KEPT_MAX texts, of some 100 KiB each.
 */
#ifndef LIB_LUA_KEPT_H
#define LIB_LUA_KEPT_H

#include "engine.h"
#include "lua/link.h"

struct lua_kept;
struct lua_part;
struct run;

/*
 * The state after the top level depends on these alone: the layout of the arena follows from
 * them.
 */
struct lua_kept_key {
	const struct run *run;			/* its name, memory limit and rights */
	const struct engine_image *source;	/* the text, and where it may run */
};

/* The script with this key for an arena at @arena, with a reference; or NULL. */
struct lua_kept *lua_kept_get(const struct lua_kept_key *key, const char *arena);
void lua_kept_put(struct lua_kept *kept);

/*
 * Keeps the @parts of the arena of @size bytes, and takes over @image and the memory of
 * @origins. Returns the script with a reference; NULL: it is not to be kept, or out of memory,
 * and nothing is taken.
 */
struct lua_kept *lua_kept_add(const struct lua_kept_key *key, const char *arena, size_t size,
			      const struct lua_part *parts, uint64_t depends,
			      struct image_header *image, size_t len, struct origins origins);

/* Its image and origins, while there is a reference. They are not to be changed. */
struct image_header *lua_kept_image(const struct lua_kept *kept, size_t *len,
				    struct origins *origins);

/* Copies to @arena, which is zeroed: false if out of memory, with @arena unchanged. */
bool lua_kept_copy(const struct lua_kept *kept, char *arena);

#endif /* LIB_LUA_KEPT_H */
