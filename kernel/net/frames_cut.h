/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cuts a frame that stands for several segments (GSO, GRO) into pieces: each is the
 * frame that would have arrived by itself.
 *
 * Not with the kernel's functions for this: they are made for devices, and assume what
 * does not hold in a socket's queue (that there is a device, that all headers are
 * there, that the frame's head is not shared).  Here the frame is only read, and
 * nothing but its bytes is relied on.
 */
#ifndef SYSCRIPT_FRAMES_CUT_H
#define SYSCRIPT_FRAMES_CUT_H

#include <linux/types.h>

struct sk_buff;

/* Ethernet; IP with options; TCP with options. */
#define FRAMES_CUT_HEADERS	(14 + 60 + 60)

/**
 * struct frames_cut - a frame that is being cut up
 * @tcp:       TCP; else UDP
 * @transport: offset of its header
 * @headers:   bytes of all headers
 * @payload:   bytes behind them, as the headers say
 * @present:   those of them that are there: a filter may have cut off the others
 * @size:      bytes of payload in a piece
 * @at:        bytes of payload in the pieces so far
 * @bytes:     the headers
 */
struct frames_cut {
	const struct sk_buff *skb;
	bool tcp;
	unsigned int transport, headers;
	unsigned int payload, present, size, at;
	u8 bytes[FRAMES_CUT_HEADERS];
};

/*
 * True if @skb, an Ethernet frame, is to be cut up: if it stands for segments of TCP or
 * UDP over IP, and is nothing else.
 */
bool frames_cut_begin(struct frames_cut *cut, const struct sk_buff *skb);

/* How many pieces there are still to come, if all is there. */
unsigned int frames_cut_left(const struct frames_cut *cut);

/* The next one; NULL: it is not there as a whole, or there is no memory for it. */
struct sk_buff *frames_cut_next(struct frames_cut *cut);

#endif /* SYSCRIPT_FRAMES_CUT_H */
