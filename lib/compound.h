/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The host side of compounds: from a file of cosy-cc's (cosy/file.h), by way of an
 * image at its place in an arena, to a script of the kernel's confined engine.  For
 * libcosy and for Lua (lua_host.c).
 */
#ifndef LIB_COMPOUND_H
#define LIB_COMPOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../cosy/file.h"
#include "device.h"

struct image_header;

/* -- Files ------------------------------------------------------------------------ */

static inline const void *file_part(const struct cosy_file *file, struct cosy_part part)
{
	return (const char *)file + part.at;
}

/* Is there a compound at @file, of which @left bytes can be read? */
bool file_is_compound(const struct cosy_file *file, size_t left);

/* Makes its data at @data, which has room for memory_size bytes. */
void file_load_data(const struct cosy_file *file, char *data);

/*
 * A copy of its image for data at @offset in the arena, for the caller to free();
 * NULL if there is no memory.
 */
struct image_header *file_place_image(const struct cosy_file *file, uint32_t offset);

/* -- In the kernel ----------------------------------------------------------------- */

/**
 * struct compound - a script of the kernel, zeroed before
 * @registered: @fd is its descriptor
 * @id:         its number in the kernel
 */
struct compound {
	bool registered;
	int fd;
	uint64_t id;
};

/* May this process use the engine? */
bool compound_engine_is_there(void);

/*
 * Registers the image that @reg is for, with the limits and the name there.  Returns
 * 0, or -errno with the reason in its error text, as far as the kernel says one.
 */
int compound_register(struct compound *compound, struct syscript_register *reg);

/* Calls it with two arguments.  Returns 0 with the result in @value, or -errno. */
static inline int compound_call(const struct compound *compound, long a, long b, long *value)
{
	struct syscript_call call;	/* what is not passed is not read */
	int err;

	device_call_begin(&call, 2);
	call.args[0] = a;
	call.args[1] = b;
	err = device_call(compound->fd, &call);
	if (__builtin_expect(!err, 1))
		*value = call.results[0];
	return err;
}

/*
 * That call has returned @err.  Returns false if @compound cannot be called now or in
 * this process, and nothing has run; or true, with the text in @error.
 */
bool compound_has_failed(struct compound *compound, int err, char *error, size_t error_len);

/* Counters; -errno, too, where the program has closed it and has other files there. */
int compound_info(const struct compound *compound, struct syscript_info *info);

void compound_close(struct compound *compound);

#endif /* LIB_COMPOUND_H */
