/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Compounds on their way from a file (file.h) to an engine.
 */
#ifndef COSY_LOAD_H
#define COSY_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "file.h"

struct image_header;

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

#endif /* COSY_LOAD_H */
