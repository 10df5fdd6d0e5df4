// SPDX-License-Identifier: GPL-2.0
/*
 * Lengths, header lengths, protocols, fragments, options and extension headers cannot be changed:
 * the stack has checked them before, and segmentation and drivers rely on them.  Checksums are
 * updated by the difference (RFC 1624), so a wrong checksum remains wrong, and a first fragment
 * needs no special case.
 */
#include "rewrite.h"

enum { ICMP = 1, TCP = 6, UDP = 17, FRAGMENT = 44, ICMPV6 = 58 };

/* Whether the transport header is in these bytes, in another fragment, or of an unknown kind. */
enum kind { HERE, ELSEWHERE, UNKNOWN };

struct headers {
	enum kind kind;
	u32 addresses, address_len;	/* offset and size of two consecutive addresses */
	u32 l4, sum;
	u8 protocol;
};

static u32 rewrite_get16(const u8 *bytes)
{
	return bytes[0] << 8 | bytes[1];
}

static void rewrite_put16(u8 *bytes, u32 value)
{
	bytes[0] = value >> 8;
	bytes[1] = value;
}

/* -- Headers ----------------------------------------------------------------------- */

static void find_sum(const struct rewrite *rewrite, struct headers *h)
{
	u32 size;

	switch (h->protocol) {
	case TCP:
		h->sum = h->l4 + 16;
		size = 20;
		break;
	case UDP:
		h->sum = h->l4 + 6;
		size = 8;
		break;
	case ICMP:
	case ICMPV6:
		h->sum = h->l4 + 2;
		size = 4;
		if ((h->protocol == ICMP) == (rewrite->version == 4))
			break;
		h->kind = UNKNOWN;
		return;
	default:
		h->kind = UNKNOWN;
		return;
	}
	if (h->kind == HERE && h->l4 + size > rewrite->have)
		h->kind = UNKNOWN;
}

static int read_ipv4(const struct rewrite *rewrite, struct headers *h)
{
	const u8 *bytes = rewrite->bytes;

	h->addresses = 12;
	h->address_len = 4;
	h->l4 = (bytes[0] & 15) * 4;
	if (h->l4 < 20 || h->l4 > rewrite->have)
		return -EPERM;
	h->kind = rewrite_get16(bytes + 6) & 0x1fff ? ELSEWHERE : HERE;
	h->protocol = bytes[9];
	return 0;
}

static int read_ipv6(const struct rewrite *rewrite, struct headers *h)
{
	const u8 *bytes = rewrite->bytes;

	if (rewrite->have < 40)
		return -EPERM;
	h->addresses = 8;
	h->address_len = 16;
	h->l4 = 40;
	h->kind = HERE;
	h->protocol = bytes[6];
	if (h->protocol != FRAGMENT)
		return 0;
	if (rewrite->have < 48)
		return -EPERM;
	h->l4 = 48;
	h->kind = rewrite_get16(bytes + 42) & 0xfff8 ? ELSEWHERE : HERE;
	h->protocol = bytes[40];
	return 0;
}

static int read_headers(const struct rewrite *rewrite, struct headers *h)
{
	int err;

	if (rewrite->have < 20 || rewrite->bytes[0] >> 4 != rewrite->version)
		return -EPERM;
	err = rewrite->version == 4 ? read_ipv4(rewrite, h) : read_ipv6(rewrite, h);
	if (err)
		return err;
	find_sum(rewrite, h);
	/* The pending checksum is a tunnel's inner packet's, or its position is wrong. */
	if (rewrite->partial != REWRITE_WHOLE && rewrite->partial != (int)h->l4)
		h->kind = UNKNOWN;
	return 0;
}

static bool is_address(const struct headers *h, u32 at)
{
	return at >= h->addresses && at < h->addresses + 2 * h->address_len;
}

static bool rewrite_is_sum(const struct rewrite *rewrite, const struct headers *h, u32 at)
{
	if (rewrite->version == 4 && (at == 10 || at == 11))
		return true;
	return h->kind == HERE && (at == h->sum || at == h->sum + 1);
}

/* The bits of the byte at @at that may change. */
static u8 mask_of(const struct rewrite *rewrite, const struct headers *h, u32 at)
{
	static const u8 ipv4[12] = { [1] = 0xff, [4] = 0xff, [5] = 0xff, [8] = 0xff };
	static const u8 ipv6[8] = { 0x0f, 0xff, 0xff, 0xff, [7] = 0xff };

	if (at < h->addresses)
		return rewrite->version == 4 ? ipv4[at] : ipv6[at];
	if (is_address(h, at))
		return h->kind == UNKNOWN ? 0 : 0xff;
	if (at < h->l4 || h->kind != HERE)
		return 0;
	if (h->protocol == TCP && at == h->l4 + 12)
		return 0x0f;		/* header length and flags cannot change */
	if (h->protocol == UDP && (at == h->l4 + 4 || at == h->l4 + 5))
		return 0;		/* nor can the datagram's length */
	return 0xff;
}

/* -- Sums -------------------------------------------------------------------------- */

/* Amounts to add to the checksums, in ones' complement and unfolded: 256 bytes cannot overflow. */
struct sums {
	u32 network, pseudo, transport;
};

static u32 rewrite_fold(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* All headers before it are multiples of 4 bytes, so odd offsets within it are odd here. */
static void rewrite_add(struct sums *sums, const struct headers *h, u32 at, u8 from, u8 to)
{
	u32 shift = at & 1 ? 0 : 8;
	u32 difference = (to << shift) + (0xffff - (from << shift));

	if (at >= h->l4)
		sums->transport += difference;
	else
		sums->network += difference;
	if (is_address(h, at))
		sums->pseudo += difference;
}

static void add_to(u8 *field, u32 difference)
{
	rewrite_put16(field, ~rewrite_fold((~rewrite_get16(field) & 0xffff) + difference));
}

static void rewrite_set_transport(const struct rewrite *rewrite, const struct headers *h,
				  const struct sums *sums)
{
	u8 *field = rewrite->bytes + h->sum;
	u32 pseudo = h->protocol == ICMP ? 0 : sums->pseudo;

	if (rewrite->partial != REWRITE_WHOLE) {
		rewrite_put16(field, rewrite_fold(rewrite_get16(field) + pseudo));
		return;
	}
	if (h->protocol == UDP && !rewrite_get16(field))
		return;			/* no checksum */
	add_to(field, pseudo + sums->transport);
	if (h->protocol == UDP && !rewrite_get16(field))
		rewrite_put16(field, 0xffff);
}

/* -- Changes ----------------------------------------------------------------------- */

static int rewrite_check(const struct rewrite *rewrite, const struct headers *h)
{
	u32 i, at;

	for (i = 0; i < rewrite->len; i++) {
		at = rewrite->offset + i;
		if ((rewrite->bytes[at] ^ rewrite->to[i]) & ~mask_of(rewrite, h, at) &&
		    !rewrite_is_sum(rewrite, h, at))
			return -EPERM;
	}
	return 0;
}

static u32 kind_of_change(const struct headers *h, u32 at)
{
	if (is_address(h, at))
		return at < h->addresses + h->address_len ? REWRITE_SOURCE : REWRITE_DEST;
	if (at >= h->l4 && at < h->l4 + 4 && (h->protocol == TCP || h->protocol == UDP))
		return REWRITE_PORTS;
	return REWRITE_OTHERS;
}

static void write_bytes(struct rewrite *rewrite, const struct headers *h, struct sums *sums)
{
	u32 i, at;
	u8 *byte;

	for (i = 0; i < rewrite->len; i++) {
		at = rewrite->offset + i;
		byte = rewrite->bytes + at;
		if (*byte == rewrite->to[i] || rewrite_is_sum(rewrite, h, at))
			continue;
		rewrite_add(sums, h, at, *byte, rewrite->to[i]);
		*byte = rewrite->to[i];
		rewrite->changed |= kind_of_change(h, at);
	}
}

int rewrite_packet(struct rewrite *rewrite)
{
	struct sums sums = { 0 };
	struct headers h = { 0 };
	int err;

	rewrite->changed = 0;
	if (rewrite->offset > rewrite->have || rewrite->len > rewrite->have - rewrite->offset)
		return -EPERM;
	err = read_headers(rewrite, &h) ?: rewrite_check(rewrite, &h);
	if (err)
		return err;
	write_bytes(rewrite, &h, &sums);
	if (rewrite->version == 4 && sums.network)
		add_to(rewrite->bytes + 10, sums.network);
	if (h.kind == HERE && (sums.pseudo || sums.transport))
		rewrite_set_transport(rewrite, &h, &sums);
	return 0;
}
