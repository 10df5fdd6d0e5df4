/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* From an object of `clang -target bpf`, or Lua, to an image of the confined engine. */
#ifndef OBJECT_H
#define OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <syscript.h>

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

/* For @subsystem: 0, EXIT_USAGE or, where Lua is refused, EXIT_SCRIPT, after a complaint. */
int object_read(struct object *object, const char *path, const char *subsystem);
void object_free(struct object *object);

#endif /* OBJECT_H */
