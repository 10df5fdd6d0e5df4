/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that netfilter calls: their arguments and verdicts. For programs and loaders.
 *
 * The first function of a program is called for each packet, with the address of a struct
 * syscript_packet in the program's memory, which only this call uses until it returns. It returns
 * a verdict.
 *
 * It is attached at "FAMILY HOOK [PRIORITY]": inet (IPv4 and IPv6), ip or ip6, with prerouting,
 * input, forward, output or postrouting; arp, with input or output; bridge, with those of inet;
 * netdev, with ingress or egress and then a device ("netdev ingress eth0 -5"), where only drop
 * and accept are known; inet, with ingress and then a device: the IPv4 and IPv6 packets of netdev
 * ingress. Lower priorities come first; the default is 0. If the device goes, so does the attach
 * point, and the program is not called until it is loaded again.
 *
 * At "nat HOOK [PRIORITY]" (IPv4) and "nat6 HOOK [PRIORITY]", with the hooks of inet except forward,
 * a program is a rule of the kernel's NAT, between those of nftables, by priority.  It is called
 * for the first packet of a connection whose end at that hook is not translated yet, and may call
 * packet_translate(); the kernel translates later packets and replies by itself.  The namespace's
 * connections are tracked as long as it is loaded; with the last program or rule of NAT there all
 * translations end.  The kernel's module nf_nat must be loaded.
 * SYSCRIPT_QUEUE drops there, and packet_store() fails.
 */
#ifndef _UAPI_SYSCRIPT_NETFILTER_H
#define _UAPI_SYSCRIPT_NETFILTER_H

#include <linux/types.h>

/* Verdicts.  Any other number is an error. */
#define SYSCRIPT_DROP		0
#define SYSCRIPT_ACCEPT		1
/* Drops the packet, with an error to an IP sender if its route is known: not in prerouting. */
#define SYSCRIPT_REJECT		2
/*
 * Queues the packet to the process that reads queue 0, or packet_queue()'s; without one, drops
 * it.
 */
#define SYSCRIPT_QUEUE		3

/* syscript_packet.state */
#define SYSCRIPT_UNTRACKED	0
#define SYSCRIPT_NEW		1
#define SYSCRIPT_ESTABLISHED	2
#define SYSCRIPT_RELATED	3

/* The most bytes of the packet's beginning that a program may have copied. */
#define SYSCRIPT_PACKET_MAX	256

/**
 * struct syscript_packet - a packet
 * @len:       its length in bytes, from the network header on.  What is cut later, or was merged
 *             before, is one packet: a send of many datagrams (UDP_SEGMENT), segments of TCP
 * @have:      number of its bytes at @data: as many as the program asked for, or fewer in a
 *             shorter packet
 * @mark:      the packet's mark
 * @in, @out:  the devices' numbers, or 0
 * @protocol:  of Ethernet: 0x800, 0x86dd, 0x806
 * @family:    2 IPv4, 10 IPv6, 3 ARP, 5 a device's, 7 a bridge's
 * @hook:      0 prerouting, 1 input, 2 forward, 3 output, 4 postrouting; of ARP 0 input,
 *             1 output; of a device 0 ingress, 1 egress
 * @transport: the protocol after IPv4's header, or after IPv6's and its extension headers:
 *             hop-by-hop and destination options, routing, authentication, fragment.  255:
 *             unknown, because the packet is a later fragment, is too short, has more than eight
 *             extension headers, or is neither IPv4 nor IPv6. A filter for a protocol must drop
 *             packets with 255, which could evade it otherwise
 * @l4:        offset of the transport header from the network header; may be beyond @have
 * @state:     what connection tracking says of the packet: SYSCRIPT_NEW, SYSCRIPT_ESTABLISHED,
 *             SYSCRIPT_RELATED; or SYSCRIPT_UNTRACKED, also where it belongs to no valid flow, is
 *             not tracked yet (tracking has priority -200) or the namespace tracks nothing, which
 *             needs a rule of nftables that asks for it
 * @now:       ns since an unspecified time; as precise as the kernel's tick
 * @data:      the packet, from the network header on
 *
 * Functions that it may call, beside those of all subsystems (syscript_program.h):
 *
 *   packet_load(offset, to, len)  copies @len bytes, up to SYSCRIPT_PACKET_MAX, at @offset
 *                                 to @to; 0, or -1 if the packet is too short
 *   packet_mark(mark)             sets the mark; 0
 *   packet_queue(number)          for SYSCRIPT_QUEUE; 0, or -1 if it is above 65,535
 *   packet_store(offset, from, len)  replaces @len bytes, up to SYSCRIPT_PACKET_MAX, at
 *                                 @offset by those at @from; 0, or -1 without a change.
 *                                 @data does not change
 *
 *   packet_translate(address, len, first, last)
 *                                 translates the packet's connection: its destination in
 *                                 prerouting and output, its source in postrouting and input, to
 *                                 the @len bytes at @address (4, or 16 for nat6; 0 keeps the
 *                                 address) and a port from @first to @last (0 and 0 keep the port,
 *                                 or for a source choose another if it is in use). 0; or -1
 *                                 without a change: not at nat or nat6, a connection that has a
 *                                 translation of that end, an address that is no host's, a
 *                                 protocol without ports, a bad range. As in nftables, a
 *                                 connection for which the program then fails keeps it
 *
 * packet_store() is for IPv4 and IPv6, not for arp, bridge and netdev, and updates checksums
 * itself: bytes stored to checksum fields are ignored.  It can change the type of service
 * (traffic class, flow label), the identification of IPv4, the time to live; and, in TCP, UDP,
 * ICMP and ICMPv6 without extension headers except a fragment's, addresses, and the transport
 * header and payload except lengths.  The payload of later fragments cannot be changed.  A packet
 * is routed by its new addresses; but from input on it stays on this host, and from forward on it
 * keeps the old route.
 */
struct syscript_packet {
	__u32 len;
	__u32 have;
	__u32 mark;
	__u32 in, out;
	__u16 protocol;
	__u8  family;
	__u8  hook;
	__u8  transport;
	__u8  zero;
	__u16 l4;
	__u32 state;
	__u64 now;
	__u8  data[];
};

#ifdef __bpf__
long packet_load(unsigned long offset, void *to, unsigned long len);
long packet_store(unsigned long offset, const void *from, unsigned long len);
long packet_mark(__u32 mark);
long packet_queue(unsigned long number);
long packet_translate(const void *address, unsigned long len, unsigned long first,
		      unsigned long last);
#endif

#endif /* _UAPI_SYSCRIPT_NETFILTER_H */
