/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A frame that is taken from the stack escapes its filters and routes.  This finds whether the
 * stack has any that would apply to a datagram or to a reply to it: see net.frames(fd, all,
 * "unfiltered").
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
 * struct frames_sender - cached: can the stack reply to an address?
 * @address: IPv6's, or IPv4's after zeros, as in the frame
 * @found:   tick of the lookup, and in the lowest bit whether it could not
 */
struct frames_sender {
	u64 address[2];
	unsigned long found;
};

/**
 * struct frames_rules - cached results
 * @found:   for IPv4 and IPv6: tick of the last check, and in the lowest bit whether there was a
 *           filter
 * @senders: recent senders, per CPU, hashed by address
 */
struct frames_rules {
	unsigned long found[2];
	struct frames_sender __percpu *senders;
};

/* Returns 0 or -ENOMEM. frames_rules_exit(): no frame uses them any more. */
int frames_rules_init(struct frames_rules *rules);
void frames_rules_exit(struct frames_rules *rules);

/*
 * Are there filters on datagrams that arrive by @skb's device for @sk's process, or that the
 * process sends?  Under RCU.
 */
bool frames_rules_look(struct sock *sk, const struct sk_buff *skb);

/*
 * Does the stack lack a route to @skb's sender by @skb's device?  It may have one by another
 * device, or a black hole, prohibited or unreachable route.  @skb begins with its Ethernet
 * header.  In softirq, under RCU.
 */
bool frames_rules_no_way_back(struct frames_rules *rules, const struct sk_buff *skb);

/* Does a filter or the route concern @skb?  Changes take effect at the next tick. */
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

/* Is it a unicast frame to this host from another host, without a VLAN tag? */
static inline bool frames_rules_is_ordinary(const struct sk_buff *skb)
{
	const struct ethhdr *eth = eth_hdr(skb);
	u64 to, from;

	/* Masks both 6-byte addresses in 8-byte words. */
	BUILD_BUG_ON(offsetof(struct ethhdr, h_source) + sizeof(from) > sizeof(*eth));
	memcpy(&to, eth->h_dest, sizeof(to));
	memcpy(&from, eth->h_source, sizeof(from));
	if (from & 1)	/* a multicast address */
		return false;
	to <<= 16;
	from <<= 16;
	return from && from != to && skb->pkt_type == PACKET_HOST && !skb_vlan_tag_present(skb);
}

#endif /* SYSCRIPT_FRAMES_RULES_H */
