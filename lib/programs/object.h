/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* From an object of `clang -target bpf`, or Lua, to an image of the confined engine. */
#ifndef LIB_OBJECT_H
#define LIB_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <linux/syscript.h>

/**
 * struct object - a program for SYSCRIPT_IOC_LOAD
 * @image, @data, @lines: for free()
 * @functions:    names of those that are defined nowhere
 * @copies:       what its variable syscript_copies says, or 64 of a packet
 * @sees:         what it reads of its view, as in struct syscript_load
 * @memory:       bytes of its arena
 * @lines:        of its source, of @nlines instructions
 */
struct object {
	char *image, *data;
	size_t image_len, data_len;
	char functions[SYSCRIPT_FUNCTION_NAMES_MAX];
	size_t functions_len;
	uint32_t copies;
	uint64_t sees;
	size_t memory;
	uint16_t *lines;
	uint32_t nlines;
};

/*
 * The program for @subsystem in @file, @len bytes, which texts call @name.  Returns 0, or
 * -errno with the reason in @error: -ENOEXEC where Lua is refused, -EINVAL for an object;
 * -ENOMEM without one.
 */
int object_read(struct object *object, const char *name, const char *file, size_t len,
		const char *subsystem, char *error, size_t error_len);
void object_free(struct object *object);

#endif /* LIB_OBJECT_H */
