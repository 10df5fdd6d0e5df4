/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Refuses DNS questions about a name and all names below it: the sender gets an error at once, and
 * does not wait.
 *
 * The last bytes of a name decide, so no name is too long to check, and a check takes at most 127
 * steps. Undecidable packets are refused: questions over TCP, since a packet may have any part of
 * the stream; several questions, or none; a name without an end; a packet of unknown protocol.
 * Encrypted DNS does not use port 53.
 */
#include <linux/syscript_netfilter.h>

#define HEADER		12
#define NAME_MAX	255	/* bytes, with lengths and the 0 at its end */
#define LABEL_MAX	63
#define DNS		53
#define TCP		6
#define UDP		17
#define UNKNOWN		255

/* In the format of packets: a length before each label, and a final 0. */
static const __u8 refused[] = "\007example\003net";

static __u8 lower(__u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Is the name that ends at @end the refused one, or below it? */
static int is_refused(const __u8 *name, unsigned int end)
{
	if (end < sizeof(refused))
		return 0;
	for (unsigned int i = 0; i < sizeof(refused); i++)
		if (lower(name[end - sizeof(refused) + i]) != refused[i])
			return 0;
	return 1;
}

static long judge(const __u8 *name, unsigned int have)
{
	unsigned int at = 0;

	/* Each label's end is the next one's beginning. */
	while (at < have && name[at]) {
		if (name[at] > LABEL_MAX)
			return SYSCRIPT_REJECT;
		at += name[at] + 1;
	}
	if (at >= have)
		return SYSCRIPT_REJECT;
	return is_refused(name, at + 1) ? SYSCRIPT_REJECT : SYSCRIPT_ACCEPT;
}

/* The datagram's DNS header is @at bytes from the packet's beginning. */
static long judge_question(const struct syscript_packet *packet, unsigned int at)
{
	unsigned int from = at + HEADER, len;
	__u8 counts[2], name[NAME_MAX];

	if (packet_load(at + 4, counts, sizeof(counts)) || counts[0] || counts[1] != 1 ||
	    from >= packet->len)
		return SYSCRIPT_REJECT;
	len = packet->len - from;
	if (len > NAME_MAX)
		len = NAME_MAX;
	return packet_load(from, name, len) ? SYSCRIPT_REJECT : judge(name, len);
}

long filter(const struct syscript_packet *packet)
{
	__u8 port[2];

	if (packet->transport == UNKNOWN)
		return SYSCRIPT_REJECT;
	if (packet->transport != UDP && packet->transport != TCP)
		return SYSCRIPT_ACCEPT;
	if (packet_load(packet->l4 + 2, port, sizeof(port)))
		return SYSCRIPT_REJECT;
	if ((port[0] << 8 | port[1]) != DNS)
		return SYSCRIPT_ACCEPT;
	return packet->transport == UDP ? judge_question(packet, packet->l4 + 8) : SYSCRIPT_REJECT;
}
