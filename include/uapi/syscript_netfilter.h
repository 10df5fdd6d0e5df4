/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that netfilter calls: what one sees and returns.  For programs and loaders.
 *
 * The first function of a program is called for each packet, with the address of a
 * struct syscript_packet, in the program's memory, which is its own until it returns.
 * It returns a verdict.
 *
 * It is attached at "FAMILY HOOK [PRIORITY]": inet (IPv4 and IPv6), ip or ip6, with
 * prerouting, input, forward, output or postrouting; arp, with input or output; bridge,
 * with those of inet; netdev, with ingress or egress and then a device ("netdev ingress
 * eth0 -5"), where only drop and accept are known; inet, with ingress and then a device:
 * what netdev ingress has of IPv4 and IPv6.  Lower priorities come first; 0 if there is
 * none.  If the device goes, so does the place, and the program is no longer called until
 * it is loaded again.
 */
#ifndef _UAPI_SYSCRIPT_NETFILTER_H
#define _UAPI_SYSCRIPT_NETFILTER_H

#include <linux/types.h>

/* Verdicts.  Any other number is an error. */
#define SYSCRIPT_DROP		0
#define SYSCRIPT_ACCEPT		1
/* Dropped, with an error to IP's sender if its route is known: not in prerouting. */
#define SYSCRIPT_REJECT		2
/* To the process that reads queue 0, or packet_queue()'s; dropped if there is none. */
#define SYSCRIPT_QUEUE		3

/* Bytes at the packet's beginning that a program may ask to see at once. */
#define SYSCRIPT_PACKET_MAX	256

/**
 * struct syscript_packet - a packet
 * @len:       bytes of it, from the network header on
 * @have:      how many of these are at @data: as many as the program asked for, or fewer
 *             in a shorter packet
 * @mark:      as the packet has it
 * @in, @out:  the devices' numbers, or 0
 * @protocol:  of Ethernet: 0x800, 0x86dd, 0x806
 * @family:    2 IPv4, 10 IPv6, 3 ARP, 5 a device's, 7 a bridge's
 * @hook:      0 prerouting, 1 input, 2 forward, 3 output, 4 postrouting; of ARP 0 input,
 *             1 output; of a device 0 ingress, 1 egress
 * @transport: the protocol after IPv4's header, or after IPv6's and its extension headers:
 *             hop-by-hop and destination options, routing, authentication, fragment.  255:
 *             it cannot be told, as the packet is a later fragment, ends before, has more
 *             than eight extension headers, or is neither IPv4 nor IPv6.  A filter that
 *             looks for a protocol drops these, or they are a way around it
 * @l4:        where that begins, in bytes from the network header; may be beyond @have
 * @now:       ns, since some time; as precise as the kernel's tick
 * @data:      the packet, from the network header on
 *
 * Functions that it may call, beside those of all subsystems (syscript_program.h):
 *
 *   packet_load(offset, to, len)  @len bytes, up to SYSCRIPT_PACKET_MAX, from @offset on;
 *                                 0, or -1 if the packet is too short
 *   packet_mark(mark)             sets the mark; 0
 *   packet_queue(number)          for SYSCRIPT_QUEUE; 0, or -1 if it is above 65,535
 *   packet_store(offset, from, len)  @len bytes, up to SYSCRIPT_PACKET_MAX, become those at
 *                                 @from; 0, or -1 and nothing is changed.  @data does not
 *                                 change
 *
 * packet_store() is for IPv4 and IPv6, not for arp, bridge and netdev, and updates checksums
 * itself: bytes stored in their fields are ignored.  It can change the type of service
 * (traffic class, flow label), the identification of IPv4, the time to live; and, in TCP,
 * UDP, ICMP and ICMPv6 without extension headers except a fragment's, addresses, and the
 * transport header and payload except lengths.  The payload of later fragments cannot be
 * changed.  A packet continues by its new addresses, but from input on it stays here, and
 * from forward on it keeps the old route.
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
	__u32 zero2;
	__u64 now;
	__u8  data[];
};

#ifdef __bpf__
long packet_load(unsigned long offset, void *to, unsigned long len);
long packet_store(unsigned long offset, const void *from, unsigned long len);
long packet_mark(__u32 mark);
long packet_queue(unsigned long number);
#endif

#endif /* _UAPI_SYSCRIPT_NETFILTER_H */
