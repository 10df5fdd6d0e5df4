/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Disassembles instructions of images, for messages and tools in processes. */
#ifndef CONFINED_PRINT_H
#define CONFINED_PRINT_H

#include "../include/uapi/syscript_image.h"
#include "port.h"

/* Room for any instruction's text. */
#define PRINT_LEN	96

/* Writes the instruction at @insn, number @pc, as text.  Returns 2 for LD_IMM64, otherwise 1. */
unsigned int print_insn(const struct image_insn *insn, u32 pc, char *text);

/* Writes "read(2)" for read's number. */
void print_syscall(u32 nr, char *text);

/* The number of arguments of system call @nr; 0 if it is not known. */
u8 print_syscall_args(u32 nr);

#endif /* CONFINED_PRINT_H */
