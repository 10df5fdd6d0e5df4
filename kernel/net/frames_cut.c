// SPDX-License-Identifier: GPL-2.0
/*
 * Implements frames_cut.h: segments TCP and UDP over IP, as the sender's or receiver's stack
 * would have, from bytes that an attacker may have chosen.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "net/frame.h"
#include "frames_cut.h"

/* Bounds the work for a frame. Only an attacker's frame exceeds it. */
#define PIECES_MAX	128

/* The GSO types that are cut up, and the flags that may accompany them. */
#define KINDS		(SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_UDP_L4)
#define REMARKS		(SKB_GSO_DODGY | SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID)

/* -- Headers --------------------------------------------------------------------- */

static bool is_ip4(const struct frames_cut *cut)
{
	return ((const struct ethhdr *)cut->bytes)->h_proto == htons(ETH_P_IP);
}

static void *ip_of(struct frames_cut *cut)
{
	return cut->bytes + ETH_HLEN;
}

/*
 * find_ip4() and find_ip6(): the protocol of the whole packet whose first @len bytes these are,
 * or 0.
 */
static unsigned int find_ip4(struct frames_cut *cut, unsigned int len)
{
	const struct iphdr *ip = ip_of(cut);

	if (len < ETH_HLEN + sizeof(*ip) || ip->version != 4 || ip->ihl < 5 ||
	    ip_is_fragment(ip))
		return 0;
	cut->transport = ETH_HLEN + 4 * ip->ihl;
	cut->payload = ETH_HLEN + ntohs(ip->tot_len);
	return ip->protocol;
}

static unsigned int find_ip6(struct frames_cut *cut, unsigned int len)
{
	const struct ipv6hdr *ip = ip_of(cut);

	if (len < ETH_HLEN + sizeof(*ip) || ip->version != 6)
		return 0;
	cut->transport = ETH_HLEN + sizeof(*ip);
	cut->payload = cut->transport + ntohs(ip->payload_len);
	return ip->nexthdr;
}

/* The GSO type according to the headers, or 0. Sets all fields but @present. */
static unsigned int find_headers(struct frames_cut *cut, unsigned int len)
{
	unsigned int protocol = 0, header = 0, kind = 0;

	if (len < ETH_HLEN)
		return 0;
	if (is_ip4(cut))
		protocol = find_ip4(cut, len);
	else if (((const struct ethhdr *)cut->bytes)->h_proto == htons(ETH_P_IPV6))
		protocol = find_ip6(cut, len);
	if (protocol == IPPROTO_UDP && len >= cut->transport + sizeof(struct udphdr)) {
		header = sizeof(struct udphdr);
		kind = SKB_GSO_UDP_L4;
	} else if (protocol == IPPROTO_TCP && len >= cut->transport + sizeof(struct tcphdr)) {
		header = 4 * ((const struct tcphdr *)(cut->bytes + cut->transport))->doff;
		kind = is_ip4(cut) ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
		if (header < sizeof(struct tcphdr))
			return 0;
	}
	cut->tcp = protocol == IPPROTO_TCP;
	cut->headers = cut->transport + header;
	if (cut->headers > len || cut->payload <= cut->headers)
		return 0;
	cut->payload -= cut->headers;
	return kind;
}

/* Is the checksum good, or left to a device that would store it at the right offset? */
static bool is_sum_left(const struct frames_cut *cut)
{
	unsigned int at = cut->tcp ? offsetof(struct tcphdr, check) :
				     offsetof(struct udphdr, check);

	return cut->skb->ip_summed == CHECKSUM_PARTIAL && cut->skb->csum_offset == at &&
		skb_checksum_start_offset(cut->skb) == (int)cut->transport;
}

bool frames_cut_begin(struct frames_cut *cut, const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int len = min_t(unsigned int, skb->len, sizeof(cut->bytes)), kind;

	if (!skb_is_gso(skb) || skb->encapsulation || info->gso_type & ~(KINDS | REMARKS) ||
	    skb_copy_bits(skb, 0, cut->bytes, len))
		return false;
	cut->skb = skb;
	cut->transport = 0;
	cut->size = info->gso_size;
	cut->at = 0;
	kind = find_headers(cut, len);
	if (!kind || kind != (info->gso_type & KINDS) || !is_sum_left(cut))
		return false;
	cut->present = min(skb->len - cut->headers, cut->payload);
	return cut->headers + cut->size <= FRAME_MAX && frames_cut_left(cut) <= PIECES_MAX;
}

unsigned int frames_cut_left(const struct frames_cut *cut)
{
	return DIV_ROUND_UP(cut->payload - cut->at, cut->size);
}

/* -- Pieces ---------------------------------------------------------------------- */

/* @len: length of the datagram or segment.  The device completes the checksum, as for the whole. */
static void set_transport(const struct frames_cut *cut, void *transport, unsigned int len,
			  __sum16 sum)
{
	struct tcphdr *tcp = transport;
	struct udphdr *udp = transport;

	if (!cut->tcp) {
		udp->len = htons(len);
		udp->check = sum;
		return;
	}
	tcp->seq = htonl(ntohl(tcp->seq) + cut->at);
	tcp->check = sum;
	if (cut->at)
		tcp->cwr = 0;
	if (cut->payload - cut->at > cut->size)
		tcp->fin = tcp->psh = 0;
}

static void set_ip4(const struct frames_cut *cut, struct iphdr *ip, unsigned int len)
{
	ip->tot_len = htons(4 * ip->ihl + len);
	if (!(skb_shinfo(cut->skb)->gso_type & SKB_GSO_TCP_FIXEDID))
		ip->id = htons(ntohs(ip->id) + cut->at / cut->size);
	ip_send_check(ip);
}

/* @n: bytes of payload.  @piece has a copy of the whole frame's headers. */
static void set_headers(const struct frames_cut *cut, u8 *piece, unsigned int n)
{
	unsigned int len = cut->headers - cut->transport + n;
	void *ip = piece + ETH_HLEN, *transport = piece + cut->transport;
	const struct ipv6hdr *ip6 = ip;
	const struct iphdr *ip4 = ip;
	__sum16 sum;

	if (is_ip4(cut)) {
		set_ip4(cut, ip, len);
		sum = ~csum_tcpudp_magic(ip4->saddr, ip4->daddr, len, ip4->protocol, 0);
	} else {
		((struct ipv6hdr *)ip)->payload_len = htons(len);
		sum = ~csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len, ip6->nexthdr, 0);
	}
	set_transport(cut, transport, len, sum);
}

/* All other state is copied from the whole frame, except the sender's length, see frames_rx.c. */
static void describe(const struct frames_cut *cut, struct sk_buff *piece)
{
	const struct sk_buff *skb = cut->skb;

	skb_reset_mac_header(piece);
	skb_set_network_header(piece, ETH_HLEN);
	skb_set_transport_header(piece, cut->transport);
	piece->mac_len = ETH_HLEN;
	piece->protocol = skb->protocol;
	piece->pkt_type = skb->pkt_type;
	piece->ip_summed = CHECKSUM_PARTIAL;
	piece->csum_start = skb_headroom(piece) + cut->transport;
	piece->csum_offset = skb->csum_offset;
	__vlan_hwaccel_copy_tag(piece, skb);
	memcpy(piece->cb, skb->cb, sizeof(piece->cb));
	*(unsigned int *)piece->cb = piece->len;
}

struct sk_buff *frames_cut_next(struct frames_cut *cut)
{
	unsigned int n = min(cut->size, cut->payload - cut->at);
	struct sk_buff *piece;
	u8 *bytes;

	if (!n || cut->at + n > cut->present)
		return NULL;
	piece = alloc_skb(LL_MAX_HEADER + cut->headers + n, GFP_KERNEL);
	if (!piece)
		return NULL;
	skb_reserve(piece, LL_MAX_HEADER);
	bytes = skb_put(piece, cut->headers + n);
	memcpy(bytes, cut->bytes, cut->headers);
	if (skb_copy_bits(cut->skb, cut->headers + cut->at, bytes + cut->headers, n)) {
		kfree_skb(piece);
		return NULL;
	}
	set_headers(cut, bytes, n);
	describe(cut, piece);
	cut->at += n;
	return piece;
}
