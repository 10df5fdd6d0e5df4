/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room for machine code: who has which pages of it.
 *
 * It has five parts.  Of the first two, an account (limits_account_uid()) gets one slot
 * each, exclusively while it has code there:
 *
 *   40 slots of 16 pages, 64 KiB, for images whose code fits,
 *    4 slots of 128 pages, 512 KiB, for longer ones, such as a language's runtime,
 *   512 pages for the machine's bases (CONTEXT_SHARED), which nothing else gets: as
 *      many as there can be, and one that is to replace another, of 512 KiB each,
 *   640 pages, a pot: an account may have half of what the others leave there.
 *   16 slots of 16 pages, one each, for code that is not a process's and may stay for
 *      as long as the machine runs (CONTEXT_ATOMIC): it gets nothing else, and no
 *      other code gets these.
 *
 * So 40 accounts at once have 64 KiB each, and 4 of them 512 KiB in one piece,
 * whatever all others do; only the pot is not guaranteed.
 */
#ifndef CONFINED_ROOM_H
#define CONFINED_ROOM_H

#define ROOM_PAGES	2560

#ifndef __ASSEMBLER__

#include <linux/types.h>

#include "context.h"

struct room_owner;

/**
 * struct room_area - consecutive pages of the area for machine code
 * @page, @n: from the @page-th on
 */
struct room_area {
	unsigned long page, n;

	/* Private to room.c. */
	unsigned int part;
	struct room_owner *owner;
};

/*
 * Takes @n pages for the caller's account, for code that runs in @context.  Returns 0, or
 * -ENOBUFS or -ENOMEM with the reason in @error.  The caller clears the pages before room_put().
 */
int room_take(struct room_area *area, unsigned long n, enum context context, char *error,
	      size_t error_len);
void room_put(struct room_area *area);

#endif /* __ASSEMBLER__ */
#endif /* CONFINED_ROOM_H */
