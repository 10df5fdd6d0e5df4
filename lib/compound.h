/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The host side of compounds: makes an image for an address in an arena from cosy-cc's file
 * (cosy/file.h), and registers it as a script of the kernel's confined engine. For libcosy and
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

/* Writes the compound's data to @data, which has room for memory_size bytes. */
void file_load_data(const struct cosy_file *file, char *data);

/*
 * Returns a copy of its image for data at @offset in the arena, to be freed by free(); NULL if
 * out of memory.
 */
struct image_header *file_place_image(const struct cosy_file *file, uint32_t offset);

/* -- In the kernel ----------------------------------------------------------------- */

/**
 * struct compound - a script of the kernel; to be zeroed before its first use
 * @registered: @fd is its descriptor
 * @id:         its number in the kernel
 * @failures:   runs that had failed when its counters were last read
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
 * Registers the image in @reg, with the limits and the name there. Returns 0, or -errno, with the
 * kernel's reason, if any, in the error text of @reg.
 */
int compound_register(struct compound *compound, struct syscript_register *reg);

/* Prepares a call with two arguments; @quiet: the result is not used. */
static inline void compound_call_begin(struct syscript_call *call, long a, long b, bool quiet)
{
	device_call_begin(call, 2);
	if (quiet)
		call->flags |= SYSCRIPT_CALL_QUIET;
	call->args[0] = a;
	call->args[1] = b;
}

/*
 * Evaluates a call that returned @err: false if nothing has run, because @compound cannot be
 * called now or in this process; otherwise true, with the text in @error.
 */
bool compound_has_failed(struct compound *compound, int err, char *error, size_t error_len);

/*
 * Reads the counters; -errno, also if the program has closed the descriptor and reused its
 * number.
 */
int compound_info(const struct compound *compound, struct syscript_info *info);

void compound_close(struct compound *compound);

#endif /* LIB_COMPOUND_H */
