/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allocator of the area for machine code.
 *
 * The area has five parts. An account (limits_account_uid()) gets one slot in each of the first
 * two, exclusively while it has code there:
 *
 *   40 slots of 16 pages, 64 KiB, for images whose code fits,
 *    4 slots of 128 pages, 512 KiB, for longer ones, such as a language's runtime,
 *   512 pages only for the machine's bases (CONTEXT_SHARED): as many as there can be, and
 *      one that is to replace another, of 512 KiB each,
 *   640 pages, a shared pool: an account may have half of what the others leave there,
 *   16 slots of 16 pages, one each, only for code that is not a process's and may stay for
 *      as long as the machine runs (CONTEXT_ATOMIC), which gets no other pages.
 *
 * So 40 accounts at once are guaranteed 64 KiB each, and 4 of them 512 KiB in one piece, whatever
 * other accounts do; only the pool is not guaranteed.
 */
#ifndef CONFINED_EXEC_ALLOC_H
#define CONFINED_EXEC_ALLOC_H

#define EXEC_PAGES	2560

#ifndef __ASSEMBLER__

#include <linux/types.h>

#include "context.h"

struct exec_owner;

/**
 * struct exec_area - consecutive pages of the area for machine code
 * @page, @n: the first page, and the number of pages
 */
struct exec_area {
	unsigned long page, n;

	/* Private to exec_alloc.c. */
	unsigned int part;
	struct exec_owner *owner;
};

/*
 * Takes @n pages for the caller's account, for code that runs in @context.  Returns 0, or
 * -ENOBUFS or -ENOMEM with the reason in @error.  The caller clears the pages before exec_free().
 */
int exec_alloc(struct exec_area *area, unsigned long n, enum context context, char *error,
	      size_t error_len);
void exec_free(struct exec_area *area);

#endif /* __ASSEMBLER__ */
#endif /* CONFINED_EXEC_ALLOC_H */
