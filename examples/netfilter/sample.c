/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Marks one packet in a hundred, for tools that log marked packets, such as nftables' rule "meta
 * mark 0x5a log group 5" with `tcpdump -i nflog:5`.
 */
#include <linux/syscript_netfilter.h>

#define ONE_IN	100
#define MARK	0x5a

static __u64 packets;

long filter(const struct syscript_packet *packet)
{
	if (!(__sync_fetch_and_add(&packets, 1) % ONE_IN))
		packet_mark(MARK);
	return SYSCRIPT_ACCEPT;
}
