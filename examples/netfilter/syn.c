/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The first packet of a TCP connection is let in when it comes for the second time: who
 * only floods with them does not send one again, clients do so after a second.  Who has
 * done it once is known for a minute.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define SYN	0x02
#define ACK	0x10
#define PATIENCE	500000000	/* ns; clients wait for 1,000,000,000 */

/* Of the packet: as far as a header with options goes, and the flags. */
const __u32 syscript_copies = 80;

SYSCRIPT_TABLE(clients, __u32, __u64, 4096, 60000);

long filter(const struct syscript_packet *packet)
{
	const __u8 *tcp = packet->data + packet->l4;
	__u64 *first;

	if (packet->protocol != 0x800 || packet->transport != 6 ||
	    (tcp[13] & (SYN | ACK)) != SYN)
		return SYSCRIPT_ACCEPT;
	first = table_add(&clients, packet->data + 12);
	if (!*first)
		*first = packet->now;
	return packet->now - *first >= PATIENCE ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
