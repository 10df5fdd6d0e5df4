/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The first packet of a TCP connection is let in when it comes for the second time: who
 * only floods with them does not send one again, clients do so after a second.  Who has
 * done it once is known for a minute, by an IPv4 address or an IPv6 network of 64 bits.
 * A packet whose protocol or flags cannot be told is dropped.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define SYN	0x02
#define ACK	0x10
#define TCP	6
#define UNKNOWN	255
#define PATIENCE	500000000	/* ns; clients wait for 1,000,000,000 */

/* Of the packet: as far as a header with options goes, and the flags. */
const __u32 syscript_copies = 80;

SYSCRIPT_TABLE(clients, __u64, __u64, 4096, 60000);

/* Half of the bits are 0 in an IPv4 address, and in no network of IPv6 that is in use. */
static __u64 sender_of(const struct syscript_packet *packet)
{
	const __u32 *v4 = (const __u32 *)(packet->data + 12);
	const __u64 *v6 = (const __u64 *)(packet->data + 8);

	return packet->protocol == 0x800 ? (__u64)*v4 << 32 : *v6;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *tcp = packet->data + packet->l4;
	__u64 *first, sender;

	if (packet->transport == UNKNOWN)
		return SYSCRIPT_DROP;
	if (packet->transport != TCP)
		return SYSCRIPT_ACCEPT;
	if (packet->l4 + 14 > packet->have)
		return SYSCRIPT_DROP;
	if ((tcp[13] & (SYN | ACK)) != SYN)
		return SYSCRIPT_ACCEPT;
	sender = sender_of(packet);
	first = table_add(&clients, &sender);
	if (!*first)
		*first = packet->now;
	return packet->now - *first >= PATIENCE ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
