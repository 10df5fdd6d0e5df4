/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Accepts the first packet of a TCP connection only when it comes again: a flooder does not repeat
 * it, clients do after a second. A client that has done so is known for a minute, by its IPv4
 * address or IPv6 /64 network. A packet whose protocol or flags are unknown is dropped.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define SYN	0x02
#define ACK	0x10
#define TCP	6
#define UNKNOWN	255
#define PATIENCE	500000000	/* ns; clients wait for 1,000,000,000 */

/* Bytes of the packet: up to a TCP header with options, and its flags. */
const __u32 syscript_copies = 80;

SYSCRIPT_TABLE(clients, __u64, __u64, 4096, 60000);

/* Half of the bits of an IPv4 sender are 0, which no IPv6 network in use has. */
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
