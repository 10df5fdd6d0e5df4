// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Accepts datagrams to one port. */
#include <linux/syscript_netfilter.h>

#define PORT	4000

const __u32 syscript_copies = 28;

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;

	return packet->transport == 17 && *(__u16 *)(udp + 2) == __builtin_bswap16(PORT) ?
	       SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
