/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Makes an image of the confined engine from an object of `clang -target bpf`, or from Lua. */
#ifndef LIB_OBJECT_H
#define LIB_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <linux/syscript.h>

/**
 * struct object - a program for SYSCRIPT_IOC_LOAD
 * @image, @data, @lines: for free()
 * @functions:    names of external functions
 * @copies:       value of its variable syscript_copies, or 64 for packets
 * @sees:         the bytes of its view that it reads, as in struct syscript_load
 * @memory:       bytes of its arena, and of its rings
 * @states:       tables and rings that it shares with other programs
 * @lines:        source lines of its @nlines instructions
 */
struct object {
	char *image, *data;
	size_t image_len, data_len;
	char functions[SYSCRIPT_FUNCTION_NAMES_MAX];
	size_t functions_len;
	uint32_t copies;
	uint64_t sees;
	size_t memory;
	struct syscript_state states[SYSCRIPT_STATES_MAX];
	uint32_t nstates;
	uint16_t *lines;
	uint32_t nlines;
};

/*
 * Makes the program for @subsystem from the @len bytes at @file, which error texts call @name.
 * Returns 0, or -errno with the reason in @error: -ENOEXEC if Lua is refused, -EINVAL if an
 * object is; -ENOMEM has no text.
 */
int object_read(struct object *object, const char *name, const char *file, size_t len,
		const char *subsystem, char *error, size_t error_len);
void object_free(struct object *object);

#endif /* LIB_OBJECT_H */
