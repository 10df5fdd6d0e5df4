/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Where Lua for the confined engine is: lua.image, installed with the library. */
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
 * struct lua_digests - how the module knows the runtime (SYSCRIPT_SHARED): what lua.image
 *			ends with, written by lib/lua-runtime/digests.py
 * @digests: of the image in arenas of 2^LUA_SHIFT_MIN bytes and so on
 * @offset:  where the compound's data lies in these
 */
struct lua_digests {
	uint8_t digests[LUA_SHIFTS][SYSCRIPT_DIGEST_LEN];
	uint32_t offset, magic;
};

/*
 * Sets @file to it, mapped for good.  0, or with the reason in @error: -EMFILE and other
 * errors that pass, or -ENOSYS if it is missing or may not be trusted.
 */
int lua_image(const struct cosy_file **file, char *error, size_t error_len);

/*
 * After that: the digest of its image for data at @offset in an arena of 2^@shift bytes, or
 * NULL where it has none.
 */
const uint8_t *lua_image_digest(uint32_t offset, uint32_t shift);

#endif /* LIB_LUA_IMAGE_H */
