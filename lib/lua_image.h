/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Finds Lua for the confined engine: lua.image, installed with the library. */
#ifndef LIB_LUA_IMAGE_H
#define LIB_LUA_IMAGE_H

#include <linux/syscript.h>
#include <stddef.h>
#include <stdint.h>

struct cosy_file;

#define LUA_SHIFT_MIN		20
#define LUA_SHIFTS		6
#define LUA_DIGESTS_MAGIC	0x3144554c	/* "LUD1" */

/**
 * struct lua_digests - the end of lua.image: digests by which the module knows the runtime
 * (SYSCRIPT_SHARED), written by lib/lua-runtime/digests.py
 * @digests: digests of the image for arenas of 2^LUA_SHIFT_MIN bytes and so on
 * @offset:  offset of the compound's data in these arenas
 */
struct lua_digests {
	uint8_t digests[LUA_SHIFTS][SYSCRIPT_DIGEST_LEN];
	uint32_t offset, magic;
};

/*
 * Maps the image for good, and sets @file to it. Returns 0; or, with the reason in @error,
 * -EMFILE and other temporary errors, or -ENOSYS if it is missing or not trusted.
 */
int lua_image(const struct cosy_file **file, char *error, size_t error_len);

/*
 * The digest of the mapped image for data at @offset in an arena of 2^@shift bytes, or NULL if
 * the file has none.
 */
const uint8_t *lua_image_digest(uint32_t offset, uint32_t shift);

#endif /* LIB_LUA_IMAGE_H */
