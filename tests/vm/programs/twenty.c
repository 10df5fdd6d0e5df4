/* SPDX-License-Identifier: GPL-2.0 */
/* Accepts twenty datagrams to port 4000 from each address. */
#include <linux/syscript_netfilter.h>
#include <linux/syscript_table.h>

SYSCRIPT_TABLE(sources, __u32, __u64, 64, 1000);

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	__u64 *count;

	if (packet->transport != 17 || (udp[2] << 8 | udp[3]) != 4000)
		return SYSCRIPT_ACCEPT;
	count = table_add(&sources, packet->data + 12);
	if (!count || table_find(&sources, packet->data + 12) != count)
		return -1;
	return __sync_fetch_and_add(count, 1) < 20 ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP;
}
