// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Like rate.c, with a table that adds new sources and expires old ones. */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define PORT		4000
#define A_SECOND	1000000000

struct source {
	__u64 since, count;
};

SYSCRIPT_TABLE(sources, __u32, struct source, 1024, 60000);

const __u32 syscript_copies = 28;

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	struct source *source;

	if (packet->transport != 17 || *(__u16 *)(udp + 2) != __builtin_bswap16(PORT))
		return SYSCRIPT_ACCEPT;
	source = table_add(&sources, packet->data + 12);
	if (packet->now - source->since >= 1000000000) {
		source->since = packet->now;
		source->count = 0;
	}
	return __sync_fetch_and_add(&source->count, 1) < A_SECOND ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
