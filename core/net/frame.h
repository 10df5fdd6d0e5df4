/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An Ethernet frame that a script works on: its bytes, and functions for its headers: finding a
 * datagram, checking it, turning it into a reply, checksums.
 *
 * Plain C: frame.c is compiled for both the module and libsyscript. frames.h receives and sends
 * batches of frames.
 *
 * The sender chose every byte: nothing here trusts a length or an offset of a header
 * that it has not compared with @len.
 */
#ifndef SYSCRIPT_FRAME_H
#define SYSCRIPT_FRAME_H

#include "../arch/mask.h"

#define FRAME_MAX	10240	/* bytes of a frame; longer ones are not received */
#define UDP_LEN		8	/* of a UDP header */

/* The state of a transport checksum (TCP, UDP). */
enum frame_sum {
	FRAME_SUM_UNKNOWN,
	FRAME_SUM_GOOD,
	/*
	 * The field at @sum_at has only the pseudo header's sum; the bytes to add begin at
	 * @sum_start.
	 */
	FRAME_SUM_PARTIAL,
};

/**
 * struct frame - a frame
 * @data:        its first byte, of the destination's address; NULL: there is no frame
 * @len:         bytes
 * @room:        bytes from @data on that may be written, FRAME_MAX at most
 * @vlan: VLAN tag that the device removed, with its protocol in the upper half; or 0
 * @sum:         enum frame_sum
 * @sum_start, @sum_at: offsets, see FRAME_SUM_PARTIAL
 * @udp:         offset of the UDP header that frame_udp() has found, or 0
 * @payload_len: bytes of its payload
 * @buffer: private to the backend
 */
struct frame {
	unsigned char *data;
	unsigned int len, room;
	unsigned int vlan;
	unsigned short sum, sum_start, sum_at;
	unsigned short udp, payload_len;
	void *buffer;
};

/*
 * The address of @n bytes at @off, or NULL if they are not within the first @limit
 * bytes.
 */
static inline unsigned char *frame_at(const struct frame *frame, unsigned long off,
				      unsigned long n, unsigned long limit)
{
	unsigned long mask = mask_above(n, limit) | mask_above(off, limit - n);

	if (!frame->data || mask)
		return (void *)0;
	return (unsigned char *)((unsigned long)(frame->data + off) & ~mask);
}

/*
 * Finds a whole UDP datagram from one host to one host, with headers without options: Ethernet,
 * IPv4 or IPv6, UDP; and checks both checksums.  Returns the offset of its payload, less than
 * 256, plus 256 times the payload's length; or -1 for any other frame.
 */
int frame_udp(struct frame *frame);

/*
 * For a frame that a script has built: takes its first bytes for the headers of a
 * datagram, and the rest for its payload, without checking lengths, checksums
 * and addresses.  Returns the offset of the payload, or -1 without such headers.
 */
int frame_headers(struct frame *frame);

/* The ports of a datagram found by frame_udp() or frame_headers(): source * 65536 + destination. */
unsigned int frame_ports(const struct frame *frame);

/*
 * Turns a datagram into the reply to it, whose payload is the first @len bytes of the present
 * payload.  False, without a change, if there is no datagram, or its payload is shorter than
 * @len: bytes beyond it may be stale memory.
 */
int frame_reply(struct frame *frame, unsigned int len);

/*
 * Replaces a datagram's source (@from) or destination: an address of @size bytes, 4 or 16 as in
 * the datagram, and a port.  False if there is no datagram with such addresses.
 */
int frame_readdress(struct frame *frame, int from, const unsigned char *address,
		    unsigned int size, unsigned int port);

/*
 * Completes a checksum that is FRAME_SUM_PARTIAL. Does nothing if the checksum field lies outside
 * of the frame.
 */
void frame_complete(struct frame *frame);

#endif /* SYSCRIPT_FRAME_H */
