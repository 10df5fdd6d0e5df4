/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Refuses DNS questions about a name and all names below it: the sender is told at once
 * that nobody answers, and does not wait.
 */
#include <linux/syscript_netfilter.h>

#define HEADER		12
#define NAME_MAX	128

/* As packets have it: lengths in front of labels, and 0. */
static const __u8 refused[] = "\007example\003net";

/* More of the packet than the 64 bytes that programs see by default. */
const __u32 syscript_copies = 256;

static __u8 lower(__u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Is what begins at @name the name that is refused? */
static int is_refused(const __u8 *name)
{
	for (unsigned int i = 0; i < sizeof(refused); i++)
		if (lower(name[i]) != refused[i])
			return 0;
	return 1;
}

long filter(const struct syscript_packet *packet)
{
	const __u8 *udp = packet->data + packet->l4, *end = packet->data + packet->have;
	const __u8 *name = udp + 8 + HEADER;

	if (packet->transport != 17 || (udp[2] << 8 | udp[3]) != 53)
		return SYSCRIPT_ACCEPT;
	/* Each label's end is the next one's beginning. */
	while (name + sizeof(refused) <= end && *name && *name < 64) {
		if (is_refused(name))
			return SYSCRIPT_REJECT;
		name += *name + 1;
	}
	return SYSCRIPT_ACCEPT;
}
