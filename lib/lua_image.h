/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Where Lua for the confined engine is: lua.image, installed with the library. */
#ifndef LIB_LUA_IMAGE_H
#define LIB_LUA_IMAGE_H

#include <stddef.h>

struct cosy_file;

/* Mapped at the first call, for good; NULL with the reason in @error. */
const struct cosy_file *lua_image(char *error, size_t error_len);

#endif /* LIB_LUA_IMAGE_H */
