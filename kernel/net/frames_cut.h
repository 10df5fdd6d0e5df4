/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cuts a frame that stands for several segments (GSO, GRO) into pieces: each is the frame that
 * would have arrived by itself.
 *
 * The kernel's own functions are for devices. They assume a device, that all headers are present,
 * and that the frame's head is not shared, none of which holds in a socket's queue. Here the
 * frame is only read, and only its bytes are trusted.
 */
#ifndef SYSCRIPT_FRAMES_CUT_H
#define SYSCRIPT_FRAMES_CUT_H

#include <linux/types.h>

struct sk_buff;

/* Most bytes of headers: Ethernet; IP with options; TCP with options. */
#define FRAMES_CUT_HEADERS	(14 + 60 + 60)

/**
 * struct frames_cut - a frame that is being cut up
 * @tcp:       TCP; else UDP
 * @transport: offset of the transport header
 * @headers:   bytes of all headers
 * @payload:   bytes after the headers, according to the headers
 * @present:   bytes of payload that are present: a filter may have truncated the frame
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
 * Must @skb, an Ethernet frame, be cut up? True if it stands for several segments of TCP or UDP
 * over IP, and has no other GSO type.
 */
bool frames_cut_begin(struct frames_cut *cut, const struct sk_buff *skb);

/* The number of remaining pieces, if the whole payload is present. */
unsigned int frames_cut_left(const struct frames_cut *cut);

/* The next piece; NULL if its bytes are not all present, or there is no memory. */
struct sk_buff *frames_cut_next(struct frames_cut *cut);

#endif /* SYSCRIPT_FRAMES_CUT_H */
