// SPDX-License-Identifier: GPL-2.0
/*
 * Implements frames_rules.h. Only finds whether there are rules: if so, the frame is left to the
 * stack, which evaluates them.  Routes always exist, so the route to the sender is looked up,
 * once a tick for each of the last senders.  Rules for choosing a routing table count as rules.
 */
#include <linux/bpf-cgroup.h>
#include <linux/hash.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/xfrm.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "frames_rules.h"

#ifdef CONFIG_NETFILTER
/*
 * Does a hook belong to nftables, iptables, a BPF program or one of our programs?  These have
 * private data, unlike the hooks that LSMs have on some kernels for every packet.
 */
static bool has_rules(const struct nf_hook_entries *entries)
{
	for (unsigned int i = 0; entries && i < entries->num_hook_entries; i++)
		if (entries->hooks[i].priv)
			return true;
	return false;
}

static bool has_hooks(struct nf_hook_entries __rcu *const *hooks)
{
	return rcu_access_pointer(hooks[NF_INET_PRE_ROUTING]) ||
	       rcu_access_pointer(hooks[NF_INET_LOCAL_IN]) ||
	       has_rules(rcu_dereference(hooks[NF_INET_LOCAL_OUT])) ||
	       has_rules(rcu_dereference(hooks[NF_INET_POST_ROUTING]));
}

static bool netfilter_looks(const struct net *net, __be16 protocol)
{
	return has_hooks(protocol == htons(ETH_P_IPV6) ? net->nf.hooks_ipv6 : net->nf.hooks_ipv4);
}
#else
static bool netfilter_looks(const struct net *net, __be16 protocol)
{
	return false;
}
#endif

/* IPsec policies, which may require encryption of the datagram or of its reply. */
static bool ipsec_looks(const struct net *net)
{
#ifdef CONFIG_XFRM
	return net->xfrm.policy_count[XFRM_POLICY_IN] || net->xfrm.policy_count[XFRM_POLICY_OUT] ||
	       net->xfrm.policy_default[XFRM_POLICY_IN] == XFRM_USERPOLICY_BLOCK ||
	       net->xfrm.policy_default[XFRM_POLICY_OUT] == XFRM_USERPOLICY_BLOCK;
#else
	return false;
#endif
}

/* BPF programs of the process's cgroup, such as systemd's for IPAddressDeny=. */
static bool cgroup_looks(struct sock *sk)
{
#ifdef CONFIG_CGROUP_BPF
	return (cgroup_bpf_enabled(CGROUP_INET_INGRESS) &&
		cgroup_bpf_sock_enabled(sk, CGROUP_INET_INGRESS)) ||
	       (cgroup_bpf_enabled(CGROUP_INET_EGRESS) &&
		cgroup_bpf_sock_enabled(sk, CGROUP_INET_EGRESS));
#else
	return false;
#endif
}

/* A BPF sk_lookup program, which may choose another socket. */
static bool lookup_looks(const struct net *net)
{
#ifdef CONFIG_BPF_SYSCALL
	return rcu_access_pointer(net->bpf.run_array[NETNS_BPF_SK_LOOKUP]);
#else
	return false;
#endif
}

/* Policy routing rules that use more than the address. */
static bool policy_looks(const struct net *net, __be16 protocol)
{
#ifdef CONFIG_IPV6_MULTIPLE_TABLES
	if (protocol == htons(ETH_P_IPV6))
		return net->ipv6.fib6_has_custom_rules;
#endif
#ifdef CONFIG_IP_MULTIPLE_TABLES
	if (protocol == htons(ETH_P_IP))
		return net->ipv4.fib_has_custom_rules;
#endif
	return false;
}

bool frames_rules_look(struct sock *sk, const struct sk_buff *skb)
{
	const struct net *net = dev_net(skb->dev);

	return netfilter_looks(net, skb->protocol) || ipsec_looks(net) || cgroup_looks(sk) ||
	       lookup_looks(net) || policy_looks(net, skb->protocol);
}

/* -- Senders ----------------------------------------------------------------------- */

static bool leads_back4(const struct net_device *dev, __be32 sender)
{
	struct flowi4 flow = { .flowi4_iif = LOOPBACK_IFINDEX, .daddr = sender };
	struct fib_result result;

	return !fib_lookup(dev_net(dev), &flow, &result, 0) && result.type == RTN_UNICAST &&
	       fib_info_nh_uses_dev(result.fi, dev);
}

static bool leads_back6(const struct net_device *dev, const struct in6_addr *sender)
{
	int index = ipv6_addr_type(sender) & IPV6_ADDR_LINKLOCAL ? dev->ifindex : 0;
	struct rt6_info *route;
	bool leads;

	if (!ipv6_mod_enabled())
		return false;
	route = rt6_lookup(dev_net(dev), sender, NULL, index, NULL, 0);
	if (!route)
		return false;
	leads = route->dst.dev == dev && !(route->rt6i_flags & (RTF_REJECT | RTF_LOCAL));
	ip6_rt_put(route);
	return leads;
}

static bool leads_back(const struct sk_buff *skb, const struct frames_sender *sender)
{
	if (skb->protocol == htons(ETH_P_IP))
		return leads_back4(skb->dev, (__force __be32)sender->address[1]);
	return leads_back6(skb->dev, (const struct in6_addr *)sender->address);
}

/* Returns false if the frame has no IP source address. */
static bool read_sender(const struct sk_buff *skb, struct frames_sender *sender)
{
	u32 at = ETH_HLEN + offsetof(struct iphdr, saddr), len = sizeof(struct in_addr);
	void *to = &sender->address[1];
	const void *from;

	sender->address[0] = sender->address[1] = 0;
	if (skb->protocol == htons(ETH_P_IPV6)) {
		at = ETH_HLEN + offsetof(struct ipv6hdr, saddr);
		len = sizeof(struct in6_addr);
		to = sender->address;
	} else if (skb->protocol != htons(ETH_P_IP)) {
		return false;
	}
	from = skb_header_pointer(skb, at, len, to);
	if (!from)
		return false;
	if (from != to)
		memcpy(to, from, len);
	return true;
}

bool frames_rules_no_way_back(struct frames_rules *rules, const struct sk_buff *skb)
{
	unsigned long tick = jiffies << 1;
	struct frames_sender sender, *known;

	if (!read_sender(skb, &sender))
		return false;
	known = this_cpu_ptr(rules->senders) +
		hash_64(sender.address[0] ^ sender.address[1], ilog2(FRAMES_SENDERS));
	if ((known->found & ~1UL) != tick || known->address[0] != sender.address[0] ||
	    known->address[1] != sender.address[1]) {
		sender.found = tick + (leads_back(skb, &sender) ? 0 : 1);
		*known = sender;
	}
	return known->found & 1;
}

/* -- Creation and destruction ------------------------------------------------------- */

int frames_rules_init(struct frames_rules *rules)
{
	/* Initialised to a past tick; no sender has the address 0 of either family. */
	rules->found[0] = rules->found[1] = (jiffies - 1) << 1;
	rules->senders = __alloc_percpu_gfp(FRAMES_SENDERS * sizeof(*rules->senders),
					    __alignof__(*rules->senders),
					    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return rules->senders ? 0 : -ENOMEM;
}

void frames_rules_exit(struct frames_rules *rules)
{
	free_percpu(rules->senders);
}
