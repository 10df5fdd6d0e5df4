/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Limits datagrams per second to UDP port 4000 from each sender, an IPv4 address or an IPv6 /64
 * network, all of whose addresses one host may have; the rest is dropped, and so is a packet whose
 * protocol or port is unknown. Keeps up to 4,096 senders, each until it has been silent for a
 * minute.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define PORT		4000
#define A_SECOND	10
#define UNKNOWN		255

/* A source's seconds begin with its first datagram. */
struct source {
	__u64 since, count;
};

SYSCRIPT_TABLE(sources, __u64, struct source, 4096, 60000);

/* Half of the bits of an IPv4 sender are 0, which no IPv6 network in use has. */
static __u64 sender_of(const struct syscript_packet *packet)
{
	const __u32 *v4 = (const __u32 *)(packet->data + 12);
	const __u64 *v6 = (const __u64 *)(packet->data + 8);

	return packet->protocol == 0x800 ? (__u64)*v4 << 32 : *v6;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	struct source *source;
	__u64 sender;

	if (packet->transport == UNKNOWN)
		return SYSCRIPT_DROP;
	if (packet->transport != 17)
		return SYSCRIPT_ACCEPT;
	if (packet->l4 + 4 > packet->have)
		return SYSCRIPT_DROP;
	if ((udp[2] << 8 | udp[3]) != PORT)
		return SYSCRIPT_ACCEPT;
	sender = sender_of(packet);
	source = table_add(&sources, &sender);
	if (packet->now - source->since >= 1000000000) {
		source->since = packet->now;
		source->count = 0;
	}
	return __sync_fetch_and_add(&source->count, 1) < A_SECOND ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
