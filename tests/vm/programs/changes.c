/* SPDX-License-Identifier: GPL-2.0 */
/* Some of each kind of change that a program may make to a packet. */
#include <linux/syscript_netfilter.h>

static const __u8 letter[] = "!", address[] = { 2 }, port[] = { 4006 >> 8, 4006 & 0xff };

/* Changes the sixth byte of a datagram to port 4001; later fragments stay unchanged. */
static int change_fragment(const struct syscript_packet *packet, unsigned int to)
{
	if (packet->transport != 17)
		return packet_store(packet->l4 + 5, letter, 1) != -1;
	return to == 4001 && packet_store(packet->l4 + 8 + 5, letter, 1);
}

/* Datagrams to port 4005: outgoing ones get another address, incoming ones another port. */
long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4;
	unsigned int to = udp[2] << 8 | udp[3];
	int failed = 0;

	if (packet->hook == 0 && packet->data[9] == 17 && packet->len >= 1000)
		failed = change_fragment(packet, to);
	else if (packet->hook == 3 && packet->transport == 17 && to == 4005)
		failed = packet_store(39, address, 1);
	else if (packet->hook == 1 && packet->transport == 17 && to == 4005)
		failed = packet_store(packet->l4 + 2, port, 2);
	return failed ? 99 : SYSCRIPT_ACCEPT;
}
