// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Packets changed by programs: whatever a program writes, checksums are afterwards as if computed
 * anew, and protected fields are unchanged.
 */
#include "../../kernel/embed/rewrite.c"
#include "lib_test.h"

#define MAX	300

static u32 seed = 1;

static u32 any(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* A packet, and its properties. */
struct packet {
	u8 bytes[MAX];
	u32 len, l4;
	int version;
	u8 protocol;
	bool later;		/* a fragment other than the first */
	bool no_sum;		/* UDP's 0 */
	bool partial;
};

static u32 sum_of(const u8 *bytes, u32 len)
{
	u32 sum = 0;

	for (u32 i = 0; i < len; i++)
		sum += bytes[i] << (i & 1 ? 0 : 8);
	return sum;
}

static u32 pseudo_of(const struct packet *p)
{
	u32 len = p->len - p->l4;

	if (p->protocol == ICMP)
		return 0;
	return sum_of(p->bytes + (p->version == 4 ? 12 : 8), p->version == 4 ? 8 : 32) +
	       p->protocol + (len & 0xffff);
}

static u32 sum_at(const struct packet *p)
{
	return p->l4 + (p->protocol == TCP ? 16 : p->protocol == UDP ? 6 : 2);
}

static void set_sums(struct packet *p)
{
	u8 *field = p->bytes + sum_at(p);

	if (p->version == 4) {
		rewrite_put16(p->bytes + 10, 0);
		rewrite_put16(p->bytes + 10, ~rewrite_fold(sum_of(p->bytes, p->l4)));
	}
	if (p->later)
		return;
	rewrite_put16(field, 0);
	if (p->no_sum)
		return;
	if (p->partial)
		rewrite_put16(field, rewrite_fold(pseudo_of(p)));
	else
		rewrite_put16(field, ~rewrite_fold(rewrite_fold(pseudo_of(p)) + rewrite_fold(sum_of(p->bytes + p->l4,
								  p->len - p->l4))));
	if (p->protocol == UDP && !p->partial && !rewrite_get16(field))
		rewrite_put16(field, 0xffff);
}

static void make_ipv4(struct packet *p)
{
	p->l4 = 20 + 4 * any(11);
	p->bytes[0] = 0x40 | p->l4 / 4;
	rewrite_put16(p->bytes + 2, p->len);
	rewrite_put16(p->bytes + 6, p->later ? 1 + any(0x1fff) : any(2) << 13);
	p->bytes[9] = p->protocol;
}

static void make_ipv6(struct packet *p)
{
	bool fragment = p->later || any(2);

	p->l4 = fragment ? 48 : 40;
	p->bytes[0] = 0x60 | (p->bytes[0] & 15);
	rewrite_put16(p->bytes + 4, p->len - 40);
	p->bytes[6] = fragment ? FRAGMENT : p->protocol;
	if (!fragment)
		return;
	p->bytes[40] = p->protocol;
	rewrite_put16(p->bytes + 42, p->later ? 8 * (1 + any(1000)) : any(2));
}

static void make_packet(struct packet *p)
{
	static const u8 protocols[] = { TCP, UDP, ICMP };

	memset(p, 0, sizeof(*p));
	for (u32 i = 0; i < MAX; i++)
		p->bytes[i] = any(4) ? any(256) : 255 * any(2);
	p->len = 130 + any(MAX - 130);
	p->version = any(2) ? 4 : 6;
	p->protocol = protocols[any(3)];
	if (p->protocol == ICMP && p->version == 6)
		p->protocol = ICMPV6;
	p->later = !any(6);
	p->partial = !p->later && !any(3);
	p->no_sum = p->protocol == UDP && !p->partial && !any(4);
	p->version == 4 ? make_ipv4(p) : make_ipv6(p);
	set_sums(p);
}

static int change(struct packet *p, u32 offset, const u8 *to, u32 len, u32 *changed)
{
	struct rewrite rewrite = {
		.bytes = p->bytes, .have = p->len, .version = p->version,
		.partial = p->partial ? (int)p->l4 : REWRITE_WHOLE,
		.offset = offset, .to = to, .len = len,
	};
	int err = rewrite_packet(&rewrite);

	if (changed)
		*changed = rewrite.changed;
	return err;
}

/* Only checksums may differ from @p, and they must be right: 0 and 0xffff are equal. */
static void compare(const struct packet *p, const struct packet *expected)
{
	struct packet right = *expected;

	set_sums(&right);
	for (u32 i = 0; i < MAX; i++) {
		bool in_sum = (p->version == 4 && i / 2 == 5) ||
			      (!p->later && i / 2 == sum_at(p) / 2);

		if (!in_sum) {
			CHECK_EQ(p->bytes[i], right.bytes[i]);
			continue;
		}
		if (i & 1 || (!rewrite_get16(right.bytes + i) && p->protocol == UDP && i > 20))
			continue;
		CHECK_EQ(rewrite_get16(p->bytes + i) % 0xffff, rewrite_get16(right.bytes + i) % 0xffff);
	}
	if (!p->later && p->protocol == UDP && !p->partial)
		CHECK_EQ(!rewrite_get16(p->bytes + sum_at(p)), p->no_sum);
}

/* Random bytes in the payload, the addresses, and writable fields of headers. */
static void keeps_sums_right(void)
{
	struct packet p, expected;
	u32 changed, offset, len;
	u8 to[256];

	make_packet(&p);
	for (int n = 0; n < 3; n++) {
		bool addresses = p.later || any(2);
		u32 size = p.protocol == TCP ? 20 : 8;

		offset = !addresses ? p.l4 + size + any(30) : p.version == 4 ? 12 : 8;
		len = addresses ? (p.version == 4 ? 8 : 32) : 1 + any(p.len - offset - 1);
		for (u32 i = 0; i < len; i++)
			to[i] = any(3) ? any(256) : 255 * any(2);
		expected = p;
		memcpy(expected.bytes + offset, to, len);
		CHECK_EQ(change(&p, offset, to, len, &changed), 0);
		compare(&p, &expected);
		if (addresses)
			CHECK(!(changed & ~(REWRITE_SOURCE | REWRITE_DEST)));
		else
			CHECK(!(changed & ~(REWRITE_OTHERS | REWRITE_PORTS)));
	}
}

static bool may_change(const struct packet *p, u32 at)
{
	if (p->version == 4 ? at < 20 : at < 40) {
		bool address = p->version == 4 ? at >= 12 : at >= 8;

		return address || (p->version == 4 ? at == 1 || at == 4 || at == 5 || at == 8 :
				   (at >= 1 && at <= 3) || at == 7);
	}
	if (at < p->l4 || p->later)
		return false;
	return !(p->protocol == UDP && (at - p->l4) / 2 == 2);
}

/* Each bit of the packet: changed together with the checksums, or not at all. */
static void keeps_the_rest(void)
{
	struct packet p, before, expected;

	make_packet(&p);
	before = p;
	for (u32 at = 0; at < p.len; at++) {
		u8 bit = 1U << any(8), to = p.bytes[at] ^ bit;
		bool sum = (p.version == 4 && at / 2 == 5) ||
			   (!p.later && at / 2 == sum_at(&p) / 2);
		bool may = may_change(&p, at);
		int err = change(&p, at, &to, 1, NULL);

		if (at == 0 && p.version == 6)
			may = bit < 16;
		if (p.protocol == TCP && !p.later && at == p.l4 + 12)
			may = bit < 16;
		CHECK_EQ(err, sum || may ? 0 : -EPERM);
		expected = before;
		if (!sum && may)
			expected.bytes[at] ^= bit;
		if (sum || !may)
			CHECK(!memcmp(p.bytes, before.bytes, MAX));
		compare(&p, &expected);
		p = before;
	}
}

/* A program may write back whole headers: their checksum fields are ignored. */
static void writes_whole_headers(void)
{
	struct packet p, expected;
	u8 to[256];

	make_packet(&p);
	memcpy(to, p.bytes, 256);
	to[p.version == 4 ? 15 : 23] ^= 0x5a;
	expected = p;
	expected.bytes[p.version == 4 ? 15 : 23] ^= 0x5a;
	rewrite_put16(to + (p.version == 4 ? 10 : 2), p.version == 4 ? 0x1234 : rewrite_get16(to + 2));
	if (!p.later)
		rewrite_put16(to + sum_at(&p), 0x4321);
	CHECK_EQ(change(&p, 0, to, p.later ? p.l4 : 100, NULL), 0);
	compare(&p, &expected);
}

static void refuses_what_it_does_not_know(void)
{
	static const u8 others[] = { 0, 33, 43, 47, 50, 60, 132, 136 };
	struct packet p;
	u8 to[300] = { 0 };

	for (u32 i = 0; i < sizeof(others); i++) {
		do
			make_packet(&p);
		while (p.version == 6 && p.l4 == 48);
		p.bytes[p.version == 4 ? 9 : 6] = others[i];
		to[0] = ~p.bytes[p.version == 4 ? 12 : 8];
		CHECK_EQ(change(&p, p.version == 4 ? 12 : 8, to, 1, NULL), -EPERM);
		to[0] = ~p.bytes[p.l4];
		CHECK_EQ(change(&p, p.l4, to, 1, NULL), -EPERM);
		to[0] = 1;
		CHECK_EQ(change(&p, p.version == 4 ? 8 : 7, to, 1, NULL), 0);
		CHECK_EQ(change(&p, p.len - 4, to, 5, NULL), -EPERM);
		CHECK_EQ(change(&p, ~0U, to, 5, NULL), -EPERM);
		CHECK_EQ(change(&p, p.len + 1, to, 0, NULL), -EPERM);
	}
	/* A partial checksum that does not start at the transport header. */
	do
		make_packet(&p);
	while (!p.partial);
	p.l4 += 4;
	to[0] = ~p.bytes[p.version == 4 ? 12 : 8];
	CHECK_EQ(change(&p, p.version == 4 ? 12 : 8, to, 1, NULL), -EPERM);
}

/* A UDP checksum that comes out as 0 is stored as 0xffff, because 0 means none. */
static void tells_zero_from_none(void)
{
	struct packet p;
	u8 to[2], *field;
	u32 at;

	do
		make_packet(&p);
	while (p.protocol != UDP || p.later || p.partial || p.no_sum);
	field = p.bytes + sum_at(&p);
	at = p.l4 + 20;
	rewrite_put16(to, rewrite_fold(rewrite_get16(p.bytes + at) + rewrite_get16(field)));
	CHECK_EQ(change(&p, at, to, 2, NULL), 0);
	CHECK_EQ(rewrite_get16(field), 0xffff);
}

/* Headers that claim to be longer than the packet. */
static void refuses_what_is_cut(void)
{
	struct packet p;

	make_packet(&p);
	for (u32 have = 0; have < 100; have++) {
		u8 *copy = malloc(have ?: 1), to[1] = { 0x77 };
		struct rewrite rewrite = {
			.bytes = copy, .have = have, .version = p.version,
			.partial = REWRITE_WHOLE, .offset = any(100), .to = to, .len = 1,
		};

		memcpy(copy, p.bytes, have);
		if (any(2))
			copy[0] = (copy[0] & 0xf0) | any(16);
		rewrite_packet(&rewrite);
		CHECK_EQ(p.version == 4 && have < 20 ? rewrite.changed : 0, 0);
		free(copy);
	}
}

/* A program's view stays within the packet, whatever its header claims. */
static void begins_in_the_packet(void)
{
	CHECK_EQ(packet_start(0, 0), 0);
	CHECK_EQ(packet_start(14, 60), 14);
	CHECK_EQ(packet_start(60, 60), 60);
	CHECK_EQ(packet_start(61, 60), 0);
	CHECK_EQ(packet_start(-1, 60), 0);
	CHECK_EQ(packet_start(-(1 << 16), 60), 0);
}

int main(void)
{
	begins_in_the_packet();
	for (int i = 0; i < 3000; i++) {
		keeps_sums_right();
		writes_whole_headers();
		refuses_what_is_cut();
		if (i % 10)
			continue;
		keeps_the_rest();
		refuses_what_it_does_not_know();
		tells_zero_from_none();
	}
	return 0;
}
