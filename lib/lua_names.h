/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Finds names of system calls and constants in a script that do not exist where it runs. */
#ifndef LIB_LUA_NAMES_H
#define LIB_LUA_NAMES_H

#include <stddef.h>

/*
 * Writes a line "@chunk:LINE: what is wrong" for each use of syscall.NAME, const.NAME and
 * errno.NAME in the @len bytes at @source that would be an error, as far as @text, of @size bytes,
 * has room. Returns their number.
 */
int lua_names_check(const char *source, size_t len, const char *chunk, char *text, size_t size);

#endif /* LIB_LUA_NAMES_H */
