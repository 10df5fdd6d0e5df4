/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UDP and TCP to port 4000 of 10.0.0.9 go to one of three servers, by the client's port;
 * their replies come from 10.0.0.9. The choice is the same for each packet, so there is no state. A
 * server's packet whose port is unknown, such as a later fragment, is dropped.
 */
#include <linux/syscript_netfilter.h>

#define PORT	4000
#define SERVERS	3
#define TCP	6
#define UDP	17
#define UNKNOWN	255

static const __u8 service[4] = { 10, 0, 0, 9 };
static const __u8 servers[SERVERS][4] = { { 10, 0, 0, 1 }, { 10, 0, 0, 2 }, { 10, 0, 0, 3 } };

static int same(const __u8 *a, const __u8 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static int is_server(const __u8 *address)
{
	for (unsigned int i = 0; i < SERVERS; i++)
		if (same(address, servers[i]))
			return 1;
	return 0;
}

static long go_on(unsigned long offset, const __u8 *address)
{
	return packet_store(offset, address, 4) ? SYSCRIPT_DROP : SYSCRIPT_ACCEPT;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *ports = packet->data + packet->l4;
	const __u8 *source = packet->data + 12, *to = packet->data + 16;
	unsigned int from = ports[0] << 8 | ports[1], port = ports[2] << 8 | ports[3];

	if (packet->protocol != 0x800)
		return SYSCRIPT_ACCEPT;
	if (packet->transport == UNKNOWN || packet->l4 + 4 > packet->have)
		return same(to, service) || is_server(source) ? SYSCRIPT_DROP : SYSCRIPT_ACCEPT;
	if (packet->transport != TCP && packet->transport != UDP)
		return SYSCRIPT_ACCEPT;
	if (port == PORT && same(to, service))
		return go_on(16, servers[from % SERVERS]);
	if (from == PORT && same(source, servers[port % SERVERS]))
		return go_on(12, service);
	return SYSCRIPT_ACCEPT;
}
