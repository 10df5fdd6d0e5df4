/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The host side of compounds: from cosy-cc's file (cosy/file.h), through an image at
 * its place in an arena, to a script of the kernel's confined engine.  For libcosy and
 * for Lua (lua_host.c).
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

/* Is there a compound at @file, where @left bytes can be read? */
bool file_is_compound(const struct cosy_file *file, size_t left);

/* Writes its data to @data, which has room for memory_size bytes. */
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
 * @failures:   runs that had failed when it was last looked at
 */
struct compound {
	bool registered;
	int fd;
	uint64_t id;
	uint64_t failures;
};

/* May this process use the engine? */
bool compound_engine_is_there(void);

/*
 * Registers the image in @reg, with the limits and the name there.  Returns 0, or
 * -errno, with the reason in its error text if the kernel gives one.
 */
int compound_register(struct compound *compound, struct syscript_register *reg);

/* Before a call of it with two arguments: @quiet, if the result is not used. */
static inline void compound_call_begin(struct syscript_call *call, long a, long b, bool quiet)
{
	device_call_begin(call, 2);
	if (quiet)
		call->flags |= SYSCRIPT_CALL_QUIET;
	call->args[0] = a;
	call->args[1] = b;
}

/*
 * After a call that returned @err: false if @compound cannot be called now or in this
 * process, and nothing has run; or true, with the text in @error.
 */
bool compound_has_failed(struct compound *compound, int err, char *error, size_t error_len);

/* Counters; -errno, also if the program has closed it and has another file there. */
int compound_info(const struct compound *compound, struct syscript_info *info);

void compound_close(struct compound *compound);

#endif /* LIB_COMPOUND_H */
