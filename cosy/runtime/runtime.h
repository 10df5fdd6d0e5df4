/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The part of the C library that compounds have. */
#ifndef COSY_RUNTIME_H
#define COSY_RUNTIME_H

/* The plugin turns it into a call of the engine; @number must be a constant. */
long __cosy_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The same with any number, and @args[6]. */
long __cosy_syscall_number(long number, const long *args);

/*
 * Each thread has a piece of the shared buffer for its compounds' frames, of
 * COSY_PIECE bytes and at a multiple of that.  This structure is at its beginning.
 */
#define COSY_PIECE	65536UL

struct cosy_piece {
	int errno_value;
};

#ifdef __COSY_RUNTIME__

static inline struct cosy_piece *piece(void)
{
	unsigned long frame;

	asm("%0 = r10" : "=r"(frame));
	return (struct cosy_piece *)((frame - 1) & -COSY_PIECE);
}

#endif

#endif /* COSY_RUNTIME_H */
