// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Limits datagrams per second to one port for each source, with an array of counters. */
#include <linux/syscript_netfilter.h>

#define PORT		4000
#define A_SECOND	1000000000
#define SOURCES		1024

static struct {
	__u64 since, count;
} sources[SOURCES];

const __u32 syscript_copies = 28;

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	unsigned int source;

	if (packet->transport != 17 || *(__u16 *)(udp + 2) != __builtin_bswap16(PORT))
		return SYSCRIPT_ACCEPT;
	source = *(__u32 *)(packet->data + 12) % SOURCES;
	if (packet->now - sources[source].since >= 1000000000) {
		sources[source].since = packet->now;
		sources[source].count = 0;
	}
	return __sync_fetch_and_add(&sources[source].count, 1) < A_SECOND ?
	       SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
