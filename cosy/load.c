// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * See load.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../engine/confined/image.h"
#include "load.h"

static bool fits(struct cosy_part part, size_t size, size_t left)
{
	return part.at % 4 == 0 && part.at <= left && part.n <= (left - part.at) / size;
}

bool file_is_compound(const struct cosy_file *file, size_t left)
{
	return left >= sizeof(*file) && file->magic == COSY_FILE_MAGIC &&
	       file->version == COSY_FILE_VERSION && fits(file->image, 1, left) &&
	       file->image.n >= sizeof(struct image_header) && fits(file->data, 1, left) &&
	       file->memory_size >= file->data.n &&
	       fits(file->code_relocs, sizeof(uint32_t), left) &&
	       fits(file->data_relocs, sizeof(uint32_t), left) &&
	       fits(file->lines, sizeof(struct cosy_line), left) &&
	       fits(file->funcs, sizeof(uint32_t), left) && fits(file->strings, 1, left) &&
	       file->strings.n &&
	       !((const char *)file_part(file, file->strings))[file->strings.n - 1];
}

void file_load_data(const struct cosy_file *file, char *data)
{
	const uint32_t *reloc = file_part(file, file->data_relocs);
	uint32_t i;

	memcpy(data, file_part(file, file->data), file->data.n);
	memset(data + file->data.n, 0, file->memory_size - file->data.n);
	for (i = 0; i < file->data_relocs.n; i++) {
		uint64_t v;

		memcpy(&v, data + reloc[i], sizeof(v));
		v += (unsigned long)data;
		memcpy(data + reloc[i], &v, sizeof(v));
	}
}

struct image_header *file_place_image(const struct cosy_file *file, uint32_t offset)
{
	const uint32_t *reloc = file_part(file, file->code_relocs);
	struct image_header *image = malloc(file->image.n);
	struct image_insn *insns;
	uint32_t i;

	if (!image)
		return NULL;
	memcpy(image, file_part(file, file->image), file->image.n);
	insns = (struct image_insn *)((char *)image + file->image.n) - image->ninsns;
	for (i = 0; i < file->code_relocs.n; i++)
		if (reloc[i] < image->ninsns)
			insns[reloc[i]].imm += offset;
	return image;
}
