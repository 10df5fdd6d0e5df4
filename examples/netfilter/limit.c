/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Limits datagrams per second to UDP port 4000, from all senders together; the rest is dropped, and
 * so is a packet whose protocol or port is unknown.
 *
 *   syscript load limit limit.o --for netfilter --at "inet input"
 *
 * docs/firewall.md says how it is compiled.
 */
#include <linux/syscript_netfilter.h>

#define PORT		4000
#define A_SECOND	10
#define UNKNOWN		255

static __u64 second, count;

static int is_over(__u64 now)
{
	now /= 1000000000;
	if (second != now) {
		second = now;
		count = 0;
	}
	return __sync_fetch_and_add(&count, 1) >= A_SECOND;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;

	if (packet->transport == UNKNOWN)
		return SYSCRIPT_DROP;
	if (packet->transport != 17)
		return SYSCRIPT_ACCEPT;
	if (packet->l4 + 4 > packet->have)
		return SYSCRIPT_DROP;
	if ((udp[2] << 8 | udp[3]) != PORT)
		return SYSCRIPT_ACCEPT;
	return is_over(packet->now) ? SYSCRIPT_DROP : SYSCRIPT_ACCEPT;
}
