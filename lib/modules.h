/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* require() for scripts: modules of a folder, compiled in when the script is registered. */
#ifndef LIB_MODULES_H
#define LIB_MODULES_H

#include <stddef.h>

/*
 * Copies the Lua text of @len bytes at @source, with require() and all modules of @folder that it
 * and they name, to memory for free(). Lines keep their numbers.
 *
 * Stores it in @text and its length in @text_len, and returns 0; or -errno, with the reason in
 * @error: -E2BIG if it is longer than SYSCRIPT_IMAGE_MAX, -ENOMEM, or the error of a file.
 */
int modules_compile_in(char **text, size_t *text_len, const char *source, size_t len,
		       const char *folder, char *error, size_t error_len);

#endif /* LIB_MODULES_H */
