// SPDX-License-Identifier: GPL-2.0 OR MIT
/* rate.c as eBPF, for tc's ingress and for XDP. */
#include "bpf.h"

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[SOURCES];
	__u32 *key;
	struct source *value;
} sources SEC(".maps");

static inline int is_refused(const void *data, const void *end)
{
	const __u32 *address = source_of(data, end);
	struct source *source;
	__u32 n;

	if (!address)
		return 0;
	n = *address % SOURCES;
	source = bpf_map_lookup_elem(&sources, &n);
	return source && is_over(source);
}

SEC("tc") int at_tc(struct __sk_buff *skb)
{
	return is_refused((void *)(long)skb->data, (void *)(long)skb->data_end) ? TC_ACT_SHOT :
										  TC_ACT_OK;
}

SEC("xdp") int at_xdp(struct xdp_md *xdp)
{
	return is_refused((void *)(long)xdp->data, (void *)(long)xdp->data_end) ? XDP_DROP :
										  XDP_PASS;
}
