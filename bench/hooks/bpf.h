/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The parts of libbpf's headers that these eBPF programs use. */
#ifndef HOOKS_BPF_H
#define HOOKS_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#define SEC(name)		__attribute__((section(name), used))
#define PORT			4000
#define A_SECOND		1000000000
#define SOURCES			1024

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 __u64 flags) = (void *)BPF_FUNC_map_update_elem;
static __u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)BPF_FUNC_ktime_get_coarse_ns;

struct source {
	__u64 since, count;
};

char _license[] SEC("license") = "GPL";

/* The source address of a datagram to PORT, or NULL. */
static inline const __u32 *source_of(const void *data, const void *end)
{
	const struct ethhdr *eth = data;
	const struct iphdr *ip = (const void *)(eth + 1);
	const struct udphdr *udp;

	if ((const void *)(ip + 1) > end || eth->h_proto != __builtin_bswap16(ETH_P_IP) ||
	    ip->protocol != 17)
		return 0;
	udp = (const void *)ip + ip->ihl * 4;
	if ((const void *)(udp + 1) > end || udp->dest != __builtin_bswap16(PORT))
		return 0;
	return &ip->saddr;
}

static inline int is_over(struct source *source)
{
	__u64 now = bpf_ktime_get_coarse_ns();

	if (now - source->since >= 1000000000) {
		source->since = now;
		source->count = 0;
	}
	return __sync_fetch_and_add(&source->count, 1) >= A_SECOND;
}

#endif
