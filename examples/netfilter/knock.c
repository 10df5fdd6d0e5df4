/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * TCP port 2200 is open to those who have sent a datagram to UDP ports 7001, 7002 and 7003,
 * in this order; for ten seconds, or as long as they use it.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define DOOR	2200
#define FIRST	7001
#define KNOCKS	3

SYSCRIPT_TABLE(visitors, __u32, __u64, 1024, 10000);

static long knock(const void *address, unsigned int number)
{
	__u64 *heard = number ? table_find(&visitors, address) : table_add(&visitors, address);

	if (heard)
		*heard = *heard == number || !number ? number + 1 : 0;
	return SYSCRIPT_DROP;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *ports = packet->data + packet->l4, *source = packet->data + 12;
	unsigned int port = ports[2] << 8 | ports[3];
	__u64 *heard;

	if (packet->protocol != 0x800)
		return SYSCRIPT_ACCEPT;
	if (packet->transport == 17 && port >= FIRST && port < FIRST + KNOCKS)
		return knock(source, port - FIRST);
	if (packet->transport != 6 || port != DOOR)
		return SYSCRIPT_ACCEPT;
	heard = table_find(&visitors, source);
	return heard && *heard == KNOCKS ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
