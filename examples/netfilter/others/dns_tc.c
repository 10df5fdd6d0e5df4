// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * dns.c as eBPF for tc's egress, for root: nftables' rules have no loops, so they cannot match all
 * names below another. Packets are dropped without an error to the sender, which tc cannot send.
 *
 *   clang-19 -target bpf -O2 -g -I/usr/include/x86_64-linux-gnu -c dns_tc.c
 *   tc qdisc add dev eth0 clsact
 *   tc filter add dev eth0 egress bpf da obj dns_tc.o sec tc
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#define SEC(name)	__attribute__((section(name), used))
#define HEADER		12
#define LABELS_MAX	32

static long (*const bpf_skb_load_bytes)(const struct __sk_buff *skb, __u32 offset, void *to,
					__u32 len) = (void *)BPF_FUNC_skb_load_bytes;

static const __u8 refused[] = "\007example\003net";

char _license[] SEC("license") = "GPL";

static __u8 lower(__u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Does the refused name begin at @at? */
static int is_refused(const struct __sk_buff *skb, __u32 at)
{
	__u8 name[sizeof(refused)];

	if (bpf_skb_load_bytes(skb, at, name, sizeof(name)))
		return 0;
	for (unsigned int i = 0; i < sizeof(refused); i++)
		if (lower(name[i]) != refused[i])
			return 0;
	return 1;
}

SEC("tc") int filter(struct __sk_buff *skb)
{
	struct iphdr ip;
	struct udphdr udp;
	__u32 at = ETH_HLEN;

	if (skb->protocol != __builtin_bswap16(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.protocol != 17)
		return TC_ACT_OK;
	at += ip.ihl * 4;
	if (bpf_skb_load_bytes(skb, at, &udp, sizeof(udp)) || udp.dest != __builtin_bswap16(53))
		return TC_ACT_OK;
	at += sizeof(udp) + HEADER;
	for (unsigned int i = 0; i < LABELS_MAX; i++) {
		__u8 len;

		if (is_refused(skb, at))
			return TC_ACT_SHOT;
		if (bpf_skb_load_bytes(skb, at, &len, 1) || !len || len > 63)
			return TC_ACT_OK;
		at += len + 1;
	}
	return TC_ACT_OK;
}
