/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua's runtime as the base that the images of scripts extend.  In the kernel it is the
 * machine's, where root has registered it (lua_base_share()).  Elsewhere, and in this
 * process, it is checked and compiled once for all scripts of the process whose arenas
 * have one size.  What the last of them leaves stays for the next one, unless that has
 * another size.
 */
#ifndef LIB_LUA_BASE_H
#define LIB_LUA_BASE_H

#include <stdint.h>

#include "compound.h"
#include "lua_opened.h"
#include "engine.h"
#include "user/user.h"

struct lua_base;

/* Where the compound's data lies in arenas, after a page that nothing lies in. */
#define LUA_DATA_OFFSET(file)	((4096U + (file)->align - 1) & -(file)->align)

/*
 * The one for arenas of 2^header->arena_shift bytes with the compound's data at @offset.
 * Of @header that and the stack are used, which are the same whenever the size is.
 * NULL: no memory.
 */
struct lua_base *lua_base_get(const struct cosy_file *file, uint32_t offset,
			      const struct image_header *header);
void lua_base_put(struct lua_base *base);
/* One without scripts is kept for the next; not from here on. */
void lua_base_drop_idle(void);

/* Its image's header, and the table of its functions. */
const struct image_header *lua_base_header(const struct lua_base *base);
const uint32_t *lua_base_table(const struct lua_base *base);

/* In this process: 0 with the program in @vm, or -errno with the reason in @error. */
int lua_base_here(struct lua_base *base, struct engine_vm **vm, char *error);

/*
 * Registers what @reg describes in the kernel, as an extension of the base there, with the
 * text of an error in @reg->error.  Returns 0, or -errno.
 */
int lua_base_register(struct lua_base *base, struct compound *kernel,
		      struct syscript_register *reg);

/*
 * Registers the runtime as the machine's, for all users: root may.  0, also if the machine
 * has it; or -errno with the reason in @error (RUN_ERROR_LEN bytes), if there is more to say.
 */
int lua_base_share(char *error);

/*
 * An image that extends it by a function that is never called, with which scripts are read;
 * to be freed.  NULL: no memory.
 */
struct image_header *lua_base_extend(const struct lua_base *base, size_t *len);

/*
 * Lua's memory lies, and is divided, in the same way in arenas of one size and one memory
 * limit.  So of the first one whose libraries are open @parts are kept, and the others begin
 * as copies: true; or there is none with that limit, or no memory.
 */
void lua_base_keep(struct lua_base *base, size_t memory_limit, const char *arena,
		   const struct lua_part parts[LUA_OPENED_PARTS]);
bool lua_base_open(struct lua_base *base, size_t memory_limit, char *arena);

/* The child's scripts do not share the parent's. */
void lua_base_fork_child(void);

#endif /* LIB_LUA_BASE_H */
