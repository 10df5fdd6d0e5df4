/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets: where they begin; changes of them, with their checksums: what may be changed,
 * and how.  Knows only the bytes, not the structure that holds them.
 */
#ifndef SYSCRIPT_EMBED_REWRITE_H
#define SYSCRIPT_EMBED_REWRITE_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/types.h>
#else
#include "../../engine/confined/port.h"
#endif

/*
 * Where the network header begins in @len bytes, if that is at @offset, as the packet tells.
 * Who sends frames by himself may have told of one before or beyond them.
 */
static inline int packet_start(int offset, u32 len)
{
	return (u32)offset <= len ? offset : 0;
}

/* Of a packet, so many have to be at rewrite.bytes, if it has them: all headers. */
#define REWRITE_HEADERS	80

/* What was changed. */
#define REWRITE_SOURCE	(1U << 0)
#define REWRITE_DEST	(1U << 1)
#define REWRITE_PORTS	(1U << 2)
#define REWRITE_OTHERS	(1U << 3)

/* rewrite.partial: its checksum is there as a whole. */
#define REWRITE_WHOLE	(-1)

/**
 * struct rewrite - a change of @len bytes at @offset
 * @bytes:   of the packet, from the network header on
 * @have:    how many of these may be written
 * @version: 4 or 6
 * @partial: REWRITE_WHOLE; or the beginning of the bytes that are still to be summed up: the
 *           field has only the pseudo-header's sum
 * @to:      the new bytes
 * @changed: REWRITE_*, set by rewrite_packet()
 */
struct rewrite {
	u8 *bytes;
	u32 have;
	int version, partial;
	u32 offset, len;
	const u8 *to;
	u32 changed;
};

/*
 * 0; or -EPERM and nothing is changed: a byte that others take for granted is another one
 * in @to (checksums are no such bytes: what is in @to for them is not looked at), or there
 * is a checksum that cannot be kept right.
 */
int rewrite_packet(struct rewrite *rewrite);

#endif /* SYSCRIPT_EMBED_REWRITE_H */
