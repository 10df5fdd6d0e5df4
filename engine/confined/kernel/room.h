/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room for machine code: who has which pages of it.
 *
 * It has three parts.  Of the first two an account (limits_payer()) gets one slot
 * each, which is its alone while it has code there:
 *
 *   40 slots of 16 pages, 64 KiB, for images whose code fits,
 *    8 slots of 96 pages, 384 KiB, for longer ones: a Lua is one,
 *   640 pages, a pot: an account may have half of what the others leave there.
 *
 * So 40 accounts at once have 64 KiB each, and 8 of them 384 KiB in one piece,
 * whatever all others do; what comes from the pot is not certain.
 */
#ifndef CONFINED_ROOM_H
#define CONFINED_ROOM_H

#define ROOM_PAGES	2048

#ifndef __ASSEMBLER__

#include <linux/types.h>

struct room_owner;

/**
 * struct room_area - pages of the room
 * @page, @n: from the @page-th on
 */
struct room_area {
	unsigned long page, n;

	/* For room.c. */
	unsigned int part;
	struct room_owner *owner;
};

/*
 * Takes @n pages for the caller's account.  Returns 0, or -ENOBUFS or -ENOMEM with
 * the reason in @error.  What was there before is cleared by whoever puts it.
 */
int room_take(struct room_area *area, unsigned long n, char *error, size_t error_len);
void room_put(struct room_area *area);

#endif /* __ASSEMBLER__ */
#endif /* CONFINED_ROOM_H */
