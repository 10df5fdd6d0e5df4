/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Instructions of images for people, in processes. */
#ifndef CONFINED_PRINT_H
#define CONFINED_PRINT_H

#include "../include/uapi/syscript_image.h"
#include "port.h"

/* Room for any instruction's text. */
#define PRINT_LEN	96

/* The instruction at @insn, which is number @pc, as text.  Returns 2 for LD_IMM64, else 1. */
unsigned int print_insn(const struct image_insn *insn, u32 pc, char *text);

/* "read(2)". */
void print_syscall(u32 nr, char *text);

/* How many arguments system call @nr takes; 0 if it is not known. */
u8 print_syscall_args(u32 nr);

#endif /* CONFINED_PRINT_H */
