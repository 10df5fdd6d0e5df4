/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the stack would ask about a datagram, or about a reply to it, and a frame that is
 * taken from it escapes: see net.frames(fd, all, "unfiltered").
 */
#ifndef SYSCRIPT_FRAMES_RULES_H
#define SYSCRIPT_FRAMES_RULES_H

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_vlan.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>

struct sock;

#define FRAMES_SENDERS	32	/* a power of 2 */

/**
 * struct frames_sender - whether the stack could reply to an address
 * @address: IPv6's, or IPv4's after zeros, as in the frame
 * @found:   as below: in the lowest bit that it could not
 */
struct frames_sender {
	u64 address[2];
	unsigned long found;
};

/**
 * struct frames_rules - what was found last
 * @found:   in the lowest bit whether there is a filter, above it the tick of then; of
 *           IPv4, of IPv6
 * @senders: some of the last ones, each CPU's own, by a hash of their addresses
 */
struct frames_rules {
	unsigned long found[2];
	struct frames_sender __percpu *senders;
};

/* 0 or -ENOMEM; they are in no use any more. */
int frames_rules_init(struct frames_rules *rules);
void frames_rules_exit(struct frames_rules *rules);

/*
 * Does anything filter what comes by @skb's device for @sk's process, or what that sends?
 * Under RCU.
 */
bool frames_rules_look(struct sock *sk, const struct sk_buff *skb);

/*
 * Is the stack's route to @skb's sender another one than by its device, or none: a black
 * hole, prohibited, unreachable?  @skb begins with its Ethernet header.  In softirq, under
 * RCU.
 */
bool frames_rules_no_way_back(struct frames_rules *rules, const struct sk_buff *skb);

/* Either of them: a filter or a route holds from the next tick on. */
static inline bool frames_rules_filter(struct frames_rules *rules, struct sock *sk,
				       const struct sk_buff *skb)
{
	unsigned long *found = &rules->found[skb->protocol == htons(ETH_P_IPV6)];
	unsigned long tick = jiffies << 1, last = READ_ONCE(*found);

	if (unlikely((last & ~1UL) != tick)) {
		last = tick | frames_rules_look(sk, skb);
		WRITE_ONCE(*found, last);
	}
	return last & 1 || frames_rules_no_way_back(rules, skb);
}

/* Whether it is a unicast frame to this host, without a VLAN tag, from another host. */
static inline bool frames_rules_is_ordinary(const struct sk_buff *skb)
{
	const struct ethhdr *eth = eth_hdr(skb);
	u64 to, from;

	/* Both addresses in six bytes of eight, and those alone. */
	BUILD_BUG_ON(offsetof(struct ethhdr, h_source) + sizeof(from) > sizeof(*eth));
	memcpy(&to, eth->h_dest, sizeof(to));
	memcpy(&from, eth->h_source, sizeof(from));
	if (from & 1)	/* a group's */
		return false;
	to <<= 16;
	from <<= 16;
	return from && from != to && skb->pkt_type == PACKET_HOST && !skb_vlan_tag_present(skb);
}

#endif /* SYSCRIPT_FRAMES_RULES_H */
