/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A compound as cosy-cc puts it into a program: an unrelocated image (see linux/syscript_image.h),
 * and its data.
 *
 * A file is a struct cosy_file followed by the parts that it describes, each at a multiple of 8
 * bytes from its beginning. The loader chooses a place for the data in the arena, and then
 *
 *   - copies data there, and zeroes what follows up to memory_size;
 *   - adds the place's address to the 64 bits at each of data_relocs;
 *   - adds the place's offset in the arena to imm of each of code_relocs;
 *   - fills in arena_shift and the stack in the image's header.
 *
 * None of this is trusted: the engine checks the resulting image.
 */
#ifndef COSY_FILE_H
#define COSY_FILE_H

#include <stdint.h>

#define COSY_FILE_MAGIC		0x59534f43	/* "COSY" */
#define COSY_FILE_VERSION	1

/* A part: its offset in the file, and its number of elements. */
struct cosy_part {
	uint32_t at, n;
};

/**
 * struct cosy_file
 * @image:       bytes
 * @data:        bytes
 * @memory_size: of data and what is zeroed, in bytes
 * @align:       of data, a power of two
 * @stack:       bytes of frames in nested calls, at most; 0: unknown
 * @native:      the same for the machine's stack
 * @code_relocs: uint32_t, instructions
 * @data_relocs: uint32_t, bytes from the beginning of data
 * @lines:       struct cosy_line, by insn
 * @funcs:       uint32_t, where the name of each function is in strings
 * @strings:     bytes
 */
struct cosy_file {
	uint32_t magic, version;
	struct cosy_part image, data;
	uint32_t memory_size, align;
	uint32_t stack, native;
	struct cosy_part code_relocs, data_relocs;
	struct cosy_part lines, funcs, strings;
};

/* The source line of instructions from @insn on; @file: offset of the file's name in strings. */
struct cosy_line {
	uint32_t insn, file, line;
};

/* The error with which a compound aborts if a -fsanitize check fails. */
#define COSY_CHECK_FAILED	(-2)

#endif /* COSY_FILE_H */
