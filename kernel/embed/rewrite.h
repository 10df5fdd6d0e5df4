/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of packets, with their checksums: where a packet begins, which bytes may change, and
 * how.  Knows only the bytes, not the structure that holds them.
 */
#ifndef SYSCRIPT_EMBED_REWRITE_H
#define SYSCRIPT_EMBED_REWRITE_H

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include "../../core/types.h"

/*
 * The network header's address, if the @len bytes have one at @offset, which comes from the
 * packet: a sender of raw frames may have set an offset outside of the frame.
 */
static inline int packet_start(int offset, u32 len)
{
	return (u32)offset <= len ? offset : 0;
}

/* Bytes that must be at rewrite.bytes if the packet has them: all headers fit. */
#define REWRITE_HEADERS	80

/* Bits of rewrite.changed: what was changed. */
#define REWRITE_SOURCE	(1U << 0)
#define REWRITE_DEST	(1U << 1)
#define REWRITE_PORTS	(1U << 2)
#define REWRITE_OTHERS	(1U << 3)

/* rewrite.partial: the packet's checksum is complete. */
#define REWRITE_WHOLE	(-1)

/**
 * struct rewrite - a change of @len bytes at @offset
 * @bytes:   the packet, from the network header on
 * @have:    number of @bytes that may be written
 * @version: 4 or 6
 * @partial: REWRITE_WHOLE; or, if the checksum field has only the pseudo-header's sum, the offset
 *           of the bytes that are still to be added
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
 * 0; or -EPERM and nothing is changed: @to would change a byte that must not change, or a
 * checksum cannot be kept right.  Bytes of checksums in @to are ignored.
 */
int rewrite_packet(struct rewrite *rewrite);

#endif /* SYSCRIPT_EMBED_REWRITE_H */
