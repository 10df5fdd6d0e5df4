/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Where Lua for the confined engine is: lua.image, installed with the library. */
#ifndef LIB_LUA_IMAGE_H
#define LIB_LUA_IMAGE_H

#include <stddef.h>

struct cosy_file;

/*
 * Sets @file to it, mapped for good.  0, or with the reason in @error: -EMFILE and other
 * errors that pass, or -ENOSYS if it is missing or may not be trusted.
 */
int lua_image(const struct cosy_file **file, char *error, size_t error_len);

#endif /* LIB_LUA_IMAGE_H */
