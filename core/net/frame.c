// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements frame.h, for both the module and libsyscript: parses and writes Ethernet, IP and UDP
 * headers of frames whose bytes the sender chose.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "frame.h"

#define ETH_LEN		14
#define IP4_LEN		20
#define IP6_LEN		40
#define UDP_SUM		6	/* offset of the checksum */

#define TYPE_IP4	0x0800
#define TYPE_IP6	0x86dd
#define PROTOCOL_UDP	17
#define HOPS		64

/* Offsets of the addresses in an IPv4 or IPv6 header. */
struct layout {
	unsigned char len, addresses, size;
};

static const struct layout ip4 = { IP4_LEN, ETH_LEN + 12, 4 };
static const struct layout ip6 = { IP6_LEN, ETH_LEN + 8, 16 };

static unsigned int frame_load2(const unsigned char *p)
{
	return p[0] << 8 | p[1];
}

static void frame_store2(unsigned char *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static const struct layout *layout_of(const struct frame *frame)
{
	return frame->udp == ETH_LEN + IP4_LEN ? &ip4 : &ip6;
}

/* -- Checksums ----------------------------------------------------------------- */

static inline unsigned long word_of(const unsigned char *p, unsigned int n)
{
	unsigned long v = 0;

	memcpy(&v, p, n);
	return v;
}

static inline unsigned long add_carry(unsigned long a, unsigned long b)
{
	a += b;
	return a + (a < b);
}

/* The ones' complement sum of @n bytes, in words of the machine. */
static unsigned long sum_bytes(unsigned long sum, const unsigned char *p, unsigned int n)
{
	unsigned long word;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		sum = add_carry(sum, word);
	}
	return n ? add_carry(sum, word_of(p, n)) : sum;
}

/* sum_bytes() of an IPv4 header without options. */
static inline unsigned long sum_header(const unsigned char *ip)
{
	return add_carry(add_carry(word_of(ip, 8), word_of(ip + 8, 8)), word_of(ip + 16, 4));
}

/* Folds a sum to 16 bits, in memory order. */
static inline unsigned int frame_fold(unsigned long sum)
{
	unsigned int half;

	sum += sum << 32 | sum >> 32;
	half = sum >> 32;
	half += half << 16 | half >> 16;
	return half >> 16;
}

static void put_sum(unsigned char *p, unsigned int v)
{
	unsigned short v16 = (unsigned short)v;

	memcpy(p, &v16, 2);
}

/* Functions of a few instructions, which calls would double. */
#define ALWAYS_INLINE	inline __attribute__((always_inline))

/* The sum of the pseudo header: addresses, protocol, and the datagram's length. */
static ALWAYS_INLINE unsigned long pseudo_sum(const struct frame *frame)
{
	const struct layout *ip = layout_of(frame);
	const unsigned char *addresses = frame->data + ip->addresses;
	unsigned char rest[4] = { 0, PROTOCOL_UDP };
	unsigned long sum;

	memcpy(rest + 2, frame->data + frame->udp + 4, 2);
	sum = word_of(rest, 4);
	return ip == &ip4 ? add_carry(sum, word_of(addresses, 2 * 4)) :
			    sum_bytes(sum, addresses, 2 * 16);
}

/* Leaves the sum over the payload to the device, or to frame_complete(). */
static ALWAYS_INLINE void sum_later(struct frame *frame)
{
	put_sum(frame->data + frame->udp + UDP_SUM, frame_fold(pseudo_sum(frame)));
	frame->sum = FRAME_SUM_PARTIAL;
	frame->sum_start = frame->udp;
	frame->sum_at = frame->udp + UDP_SUM;
}

static ALWAYS_INLINE void sum_ip4(struct frame *frame)
{
	unsigned char *ip = frame->data + ETH_LEN;

	put_sum(ip + 10, 0);
	put_sum(ip + 10, ~frame_fold(sum_header(ip)));
}

void frame_complete(struct frame *frame)
{
	unsigned int sum;

	if (frame->sum != FRAME_SUM_PARTIAL)
		return;
	frame->sum = FRAME_SUM_UNKNOWN;
	if (frame->sum_start >= frame->len || frame->sum_at + 2u > frame->len)
		return;
	sum = ~frame_fold(sum_bytes(0, frame->data + frame->sum_start,
				    frame->len - frame->sum_start)) & 0xffff;
	/* A UDP checksum field of 0 means that there is no checksum. */
	put_sum(frame->data + frame->sum_at, sum ? sum : 0xffff);
}

/* Not inlined, so that the usual frames do not save the registers that it uses. */
static __attribute__((__noinline__)) int is_sum_right(const struct frame *frame)
{
	return frame_fold(sum_bytes(pseudo_sum(frame), frame->data + frame->udp,
				    UDP_LEN + frame->payload_len)) == 0xffff;
}

static int is_sum_good(const struct frame *frame)
{
	const unsigned char *udp = frame->data + frame->udp;

	if (frame->sum == FRAME_SUM_GOOD)
		return 1;
	if (frame->sum == FRAME_SUM_PARTIAL && frame->sum_start == frame->udp &&
	    frame->sum_at == frame->udp + UDP_SUM)
		return 1;
	if (!word_of(udp + UDP_SUM, 2))
		return layout_of(frame) == &ip4;
	return is_sum_right(frame);
}

/* -- Datagrams ----------------------------------------------------------------- */

/* Is @address that of a single host other than this one? */
static int is_host4(const unsigned char *address)
{
	return address[0] && address[0] != 127 && address[0] < 224;
}

static int is_host6(const unsigned char *address)
{
	static const unsigned char none[15];

	/* Is it an address other than ::, ::1 and multicast? */
	return address[0] != 0xff && (memcmp(address, none, 15) || address[15] > 1);
}

/*
 * find_udp4(), find_udp6() and find_udp() return the UDP length that the IP header implies, or 0.
 */
static unsigned int find_udp4(const struct frame *frame)
{
	const unsigned char *ip = frame->data + ETH_LEN;
	unsigned int total;

	if (frame->len < ETH_LEN + IP4_LEN + UDP_LEN || ip[0] != 0x45)
		return 0;
	total = frame_load2(ip + 2);
	if (total > frame->len - ETH_LEN || total < IP4_LEN + UDP_LEN)
		return 0;
	/* Not the whole datagram: any fragment, the last included. */
	if (frame_load2(ip + 6) & 0x3fff || ip[9] != PROTOCOL_UDP)
		return 0;
	if (frame_fold(sum_header(ip)) != 0xffff)
		return 0;
	return is_host4(ip + 12) && is_host4(ip + 16) ? total - IP4_LEN : 0;
}

static unsigned int find_udp6(const struct frame *frame)
{
	const unsigned char *ip = frame->data + ETH_LEN;
	unsigned int total;

	if (frame->len < ETH_LEN + IP6_LEN + UDP_LEN || ip[0] >> 4 != 6)
		return 0;
	total = frame_load2(ip + 4);
	if (total > frame->len - ETH_LEN - IP6_LEN || ip[6] != PROTOCOL_UDP)
		return 0;
	return is_host6(ip + 8) && is_host6(ip + 24) ? total : 0;
}

static unsigned int find_udp(struct frame *frame)
{
	/* A multicast source or destination. */
	if (frame->len < ETH_LEN || (frame->data[0] | frame->data[6]) & 1)
		return 0;
	switch (frame_load2(frame->data + 12)) {
	case TYPE_IP4:
		frame->udp = ETH_LEN + IP4_LEN;
		return find_udp4(frame);
	case TYPE_IP6:
		frame->udp = ETH_LEN + IP6_LEN;
		return find_udp6(frame);
	}
	return 0;
}

int frame_udp(struct frame *frame)
{
	unsigned int room = find_udp(frame), len;

	if (room < UDP_LEN)
		goto other;
	/* Padding may follow the IP datagram. */
	len = frame_load2(frame->data + frame->udp + 4);
	if (len < UDP_LEN || len > room)
		goto other;
	frame->payload_len = len - UDP_LEN;
	if (!is_sum_good(frame))
		goto other;
	return (frame->udp + UDP_LEN) | frame->payload_len << 8;
other:
	frame->udp = 0;
	return -1;
}

int frame_headers(struct frame *frame)
{
	const unsigned char *ip = frame->data + ETH_LEN;
	unsigned int type = frame->len < ETH_LEN ? 0 : frame_load2(frame->data + 12);

	frame->udp = 0;
	if (type == TYPE_IP4 && frame->len >= ETH_LEN + IP4_LEN + UDP_LEN && ip[0] == 0x45 &&
	    ip[9] == PROTOCOL_UDP)
		frame->udp = ETH_LEN + IP4_LEN;
	else if (type == TYPE_IP6 && frame->len >= ETH_LEN + IP6_LEN + UDP_LEN &&
		 ip[0] >> 4 == 6 && ip[6] == PROTOCOL_UDP)
		frame->udp = ETH_LEN + IP6_LEN;
	if (!frame->udp)
		return -1;
	frame->payload_len = frame->len - frame->udp - UDP_LEN;
	return frame->udp + UDP_LEN;
}

unsigned int frame_ports(const struct frame *frame)
{
	const unsigned char *udp = frame->data + frame->udp;

	return frame_load2(udp) << 16 | frame_load2(udp + 2);
}

/* -- Replies ------------------------------------------------------------------- */

/* Inline, so that @n is a constant: three copies are then a few loads and stores. */
static ALWAYS_INLINE void exchange_bytes(unsigned char *a, unsigned char *b, unsigned int n)
{
	unsigned char t[16];

	memcpy(t, a, n);
	memcpy(a, b, n);
	memcpy(b, t, n);
}

/*
 * write_ip4() and write_ip6() write all of a header but the addresses, with a host's usual
 * values.
 */
static void write_ip4(unsigned char *ip, unsigned int total)
{
	ip[1] = 0;
	frame_store2(ip + 2, total);
	frame_store2(ip + 4, 0);
	frame_store2(ip + 6, 0x4000);	/* do not fragment */
	ip[8] = HOPS;
}

static void write_ip6(unsigned char *ip, unsigned int payload)
{
	frame_store2(ip, 0x6000);
	frame_store2(ip + 2, 0);
	frame_store2(ip + 4, payload);
	ip[7] = HOPS;
}

int frame_reply(struct frame *frame, unsigned int len)
{
	unsigned int end = frame->udp + UDP_LEN + len;
	unsigned char *data = frame->data, *udp = data + frame->udp;

	if (!frame->udp || len > FRAME_MAX || end > frame->len)
		return 0;
	exchange_bytes(data, data + 6, 6);
	exchange_bytes(udp, udp + 2, 2);
	frame_store2(udp + 4, UDP_LEN + len);
	frame->payload_len = len;
	frame->len = end;
	if (layout_of(frame) == &ip4) {
		exchange_bytes(data + ip4.addresses, data + ip4.addresses + 4, 4);
		write_ip4(data + ETH_LEN, IP4_LEN + UDP_LEN + len);
		sum_ip4(frame);
	} else {
		exchange_bytes(data + ip6.addresses, data + ip6.addresses + 16, 16);
		write_ip6(data + ETH_LEN, UDP_LEN + len);
	}
	sum_later(frame);
	return 1;
}

int frame_readdress(struct frame *frame, int from, const unsigned char *address,
		    unsigned int size, unsigned int port)
{
	const struct layout *ip = layout_of(frame);

	if (!frame->udp || size != ip->size)
		return 0;
	/* Padding after the datagram is not summed. */
	frame->len = frame->udp + UDP_LEN + frame->payload_len;
	memcpy(frame->data + ip->addresses + (from ? 0 : size), address, size);
	frame_store2(frame->data + frame->udp + (from ? 0 : 2), port);
	if (ip == &ip4)
		sum_ip4(frame);
	sum_later(frame);
	return 1;
}
