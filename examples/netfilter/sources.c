/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * So many datagrams a second to UDP port 4000 from each IPv4 address; the rest is
 * dropped.  Of up to 4,096 addresses, and those that are silent for a minute are forgotten.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define PORT		4000
#define A_SECOND	10

/* Whose seconds begin with their first datagram. */
struct source {
	__u64 since, count;
};

SYSCRIPT_TABLE(sources, __u32, struct source, 4096, 60000);

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	struct source *source;

	if (packet->protocol != 0x800 || packet->transport != 17 ||
	    (udp[2] << 8 | udp[3]) != PORT)
		return SYSCRIPT_ACCEPT;
	source = table_add(&sources, packet->data + 12);
	if (packet->now - source->since >= 1000000000) {
		source->since = packet->now;
		source->count = 0;
	}
	return __sync_fetch_and_add(&source->count, 1) < A_SECOND ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
