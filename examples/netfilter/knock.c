/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * TCP port 2200 is open to hosts that have sent datagrams to UDP ports 7001, 7002 and 7003, in this
 * order; for ten seconds, or as long as they use it. A packet whose protocol or port is unknown is
 * dropped.
 */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

#define DOOR	2200
#define FIRST	7001
#define KNOCKS	3
#define TCP	6
#define UDP	17
#define UNKNOWN	255

/* An IPv6 address, or an IPv4 address with zeros before it. */
struct address {
	__u32 part[4];
};

SYSCRIPT_TABLE(visitors, struct address, __u64, 1024, 10000);

static struct address sender_of(const struct syscript_packet *packet)
{
	const __u32 *v4 = (const __u32 *)(packet->data + 12);
	const __u32 *v6 = (const __u32 *)(packet->data + 8);

	if (packet->protocol == 0x800)
		return (struct address){ { 0, 0, 0, *v4 } };
	return (struct address){ { v6[0], v6[1], v6[2], v6[3] } };
}

static long knock(const struct address *sender, unsigned int number)
{
	__u64 *heard = number ? table_find(&visitors, sender) : table_add(&visitors, sender);

	if (heard)
		*heard = *heard == number || !number ? number + 1 : 0;
	return SYSCRIPT_DROP;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *ports = packet->data + packet->l4;
	struct address sender;
	unsigned int port;
	__u64 *heard;

	if (packet->transport == UNKNOWN)
		return SYSCRIPT_DROP;
	if (packet->transport != UDP && packet->transport != TCP)
		return SYSCRIPT_ACCEPT;
	if (packet->l4 + 4 > packet->have)
		return SYSCRIPT_DROP;
	port = ports[2] << 8 | ports[3];
	sender = sender_of(packet);
	if (packet->transport == UDP && port >= FIRST && port < FIRST + KNOCKS)
		return knock(&sender, port - FIRST);
	if (packet->transport != TCP || port != DOOR)
		return SYSCRIPT_ACCEPT;
	heard = table_find(&visitors, &sender);
	return heard && *heard == KNOCKS ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
