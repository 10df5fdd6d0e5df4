// SPDX-License-Identifier: GPL-2.0 OR MIT
/* table.c as eBPF, for tc's ingress. */
#include "bpf.h"

struct {
	int (*type)[BPF_MAP_TYPE_LRU_HASH];
	int (*max_entries)[SOURCES];
	__u32 *key;
	struct source *value;
} sources SEC(".maps");

SEC("tc") int at_tc(struct __sk_buff *skb)
{
	const __u32 *address = source_of((void *)(long)skb->data, (void *)(long)skb->data_end);
	struct source *source, fresh = { 0 };
	__u32 key;

	if (!address)
		return TC_ACT_OK;
	key = *address;
	source = bpf_map_lookup_elem(&sources, &key);
	if (!source) {
		bpf_map_update_elem(&sources, &key, &fresh, BPF_NOEXIST);
		source = bpf_map_lookup_elem(&sources, &key);
	}
	return source && is_over(source) ? TC_ACT_SHOT : TC_ACT_OK;
}
