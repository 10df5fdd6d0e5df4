// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements compound.h: loads cosy-cc's files, and registers and calls their images. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compound.h"
#include "user/sys.h"

/* -- Files ------------------------------------------------------------------------ */

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

/* By words: emulators execute one instruction for the whole copy byte by byte. */
static void copy_data(char *to, const char *from, size_t n)
{
	enum { PIECE = 1024 };

	for (; n > PIECE; n -= PIECE, to += PIECE, from += PIECE)
		memcpy(to, from, PIECE);
	memcpy(to, from, n);
}

void file_load_data(const struct cosy_file *file, char *data)
{
	const uint32_t *reloc = file_part(file, file->data_relocs);
	uint32_t i;

	copy_data(data, file_part(file, file->data), file->data.n);
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

/* -- In the kernel ----------------------------------------------------------------- */

bool compound_engine_is_there(void)
{
	return device_opens(DEVICE_PATH) || device_opens(DEVICE_PATH_LUAJIT);
}

int compound_register(struct compound *compound, struct syscript_register *reg)
{
	struct syscript_info info = { 0 };
	int fd;

	reg->engine = SYSCRIPT_ENGINE_CONFINED;
	reg->format = SYSCRIPT_CONFINED_BPF;
	*(char *)(unsigned long)reg->error = '\0';
	fd = device_register(reg);
	if (fd < 0)
		return fd;
	*compound = (struct compound){ .registered = true, .fd = fd };
	if (!device_info(fd, &info))
		compound->id = info.id;
	return 0;
}

int compound_info(const struct compound *compound, struct syscript_info *info)
{
	int err;

	memset(info, 0, sizeof(*info));
	err = device_info(compound->fd, info);
	return err ?: info->id == compound->id ? 0 : -EBADF;
}

/* Did a run fail with @err, or was none made? If the thread becomes watched, both are possible. */
static bool has_run(struct compound *compound, int err)
{
	struct syscript_info info;
	uint64_t failures, before;

	if (err == -ESHUTDOWN || compound_info(compound, &info))
		return false;
	failures = info.errors + info.kills;
	before = __atomic_exchange_n(&compound->failures, failures, __ATOMIC_RELAXED);
	return err == -EOPNOTSUPP ? failures != before : failures != 0;
}

/* The errors are explained in the uapi header. */
bool compound_has_failed(struct compound *compound, int err, char *error, size_t error_len)
{
	struct syscript_text text = {
		.which = SYSCRIPT_TEXT_ERROR, .len = error_len, .buffer = (unsigned long)error,
	};

	if (has_run(compound, err)) {
		if (device_text(compound->fd, &text) < 0)
			snprintf(error, error_len, "%s", strerrordesc_np(-err));
		return true;
	}
	/* The descriptor is not a script of this process any more: the program has closed it. */
	if (err != -EOPNOTSUPP && err != -ESHUTDOWN)
		compound->registered = false;
	return false;
}

void compound_close(struct compound *compound)
{
	struct syscript_info info;
	int err = compound->registered ? compound_info(compound, &info) : -EBADF;

	/* The program may have closed the descriptor, and reused its number. */
	if (!err || err == -EXDEV)
		sys_call(close, compound->fd);
	compound->registered = false;
}
