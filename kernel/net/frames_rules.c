// SPDX-License-Identifier: GPL-2.0
/*
 * See frames_rules.h.  Only whether there are rules, not what they say: to ask them is the
 * stack's work, which gets the frame then.
 */
#include <linux/bpf-cgroup.h>
#include <linux/if_ether.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/xfrm.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "frames_rules.h"

#define STRICT	1	/* rp_filter(7) */

#ifdef CONFIG_NETFILTER
/*
 * Of nftables, iptables, a BPF program, one of ours: these have something of their own,
 * unlike security modules, which are asked about each packet of some kernels.
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

/* Policies of IPsec, which may want what comes, or goes, to be encrypted. */
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

/* Programs of the process's control group, as systemd's IPAddressDeny= are. */
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

/* A program that gives datagrams to other sockets. */
static bool lookup_looks(const struct net *net)
{
#ifdef CONFIG_BPF_SYSCALL
	return rcu_access_pointer(net->bpf.run_array[NETNS_BPF_SK_LOOKUP]);
#else
	return false;
#endif
}

/*
 * Sources whose way back is another device.  The loose kind asks only whether there is a
 * way, without which there is no reply in the stack.
 */
static bool reverse_path_looks(const struct net_device *dev, __be16 protocol)
{
	struct in_device *in_dev = __in_dev_get_rcu(dev);

	return protocol == htons(ETH_P_IP) && in_dev && IN_DEV_RPFILTER(in_dev) == STRICT;
}

bool frames_rules_look(struct sock *sk, const struct sk_buff *skb)
{
	const struct net *net = dev_net(skb->dev);

	return netfilter_looks(net, skb->protocol) || ipsec_looks(net) || cgroup_looks(sk) ||
	       lookup_looks(net) || reverse_path_looks(skb->dev, skb->protocol);
}
