// SPDX-License-Identifier: GPL-2.0
/*
 * Implements nf_nat.h.  nf_nat calls an operation where its own hook finds a connection without a
 * translation, and itself changes this packet, all later ones and the replies.  Between
 * nat_register() and nat_unregister() a reference to one function of nf_nat keeps that module, and
 * nf_conntrack, which it needs.
 *
 * nf_nat_setup_info() is not exported to __symbol_get(), which since 6.6 finds GPL symbols only.
 * parse_nat_setup() calls it, with a range in netlink's form.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/netfilter/nf_nat.h>
#include <net/netlink.h>

#include "nf_nat.h"

/* -- Operations -------------------------------------------------------------------- */

static int nat_add(struct net *net, const struct nf_hook_ops *ops)
{
	int (*track)(struct net *net, u8 family) = symbol_get(nf_ct_netns_get);
	void (*untrack)(struct net *net, u8 family) = symbol_get(nf_ct_netns_put);
	int (*add)(struct net *net, const struct nf_hook_ops *ops) =
		ops->pf == NFPROTO_IPV4 ? symbol_get(nf_nat_ipv4_register_fn) :
					  symbol_get(nf_nat_ipv6_register_fn);
	int err = -EOPNOTSUPP;

	if (track && untrack && add) {
		err = track(net, ops->pf);
		if (!err) {
			err = add(net, ops);
			if (err)
				untrack(net, ops->pf);
		}
	}
	if (add && ops->pf == NFPROTO_IPV4)
		symbol_put(nf_nat_ipv4_register_fn);
	else if (add)
		symbol_put(nf_nat_ipv6_register_fn);
	if (untrack)
		symbol_put(nf_ct_netns_put);
	if (track)
		symbol_put(nf_ct_netns_get);
	return err;
}

int nat_register(struct net *net, const struct nf_hook_ops *ops)
{
	int err;

	if (!symbol_get(nf_nat_packet))
		return -EOPNOTSUPP;
	err = nat_add(net, ops);
	if (err)
		symbol_put(nf_nat_packet);
	return err;
}

void nat_unregister(struct net *net, const struct nf_hook_ops *ops)
{
	void (*untrack)(struct net *net, u8 family) = symbol_get(nf_ct_netns_put);
	void (*remove)(struct net *net, const struct nf_hook_ops *ops) =
		ops->pf == NFPROTO_IPV4 ? symbol_get(nf_nat_ipv4_unregister_fn) :
					  symbol_get(nf_nat_ipv6_unregister_fn);

	/* Both modules are kept, so both functions are found. */
	remove(net, ops);
	untrack(net, ops->pf);
	if (ops->pf == NFPROTO_IPV4)
		symbol_put(nf_nat_ipv4_unregister_fn);
	else
		symbol_put(nf_nat_ipv6_unregister_fn);
	symbol_put(nf_ct_netns_put);
	symbol_put(nf_nat_packet);
}

/* -- Translations ------------------------------------------------------------------ */

/* An address, and a nest of two ports. */
#define RANGE_SIZE	(3 * NLA_HDRLEN + sizeof(struct in6_addr) + 2 * (NLA_HDRLEN + 4))

/* Appends an attribute to @nest, which has room. */
static struct nlattr *put_attr(struct nlattr *nest, u16 type, const void *data, u16 len)
{
	struct nlattr *attr = (void *)nest + nest->nla_len;

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy(nla_data(attr), data, len);
	nest->nla_len += NLA_ALIGN(attr->nla_len);
	return attr;
}

static void put_ports(struct nlattr *nest, u16 first, u16 last)
{
	struct nlattr *ports = put_attr(nest, CTA_NAT_PROTO, NULL, 0);
	__be16 bound = htons(first);

	put_attr(ports, CTA_PROTONAT_PORT_MIN, &bound, sizeof(bound));
	bound = htons(last);
	put_attr(ports, CTA_PROTONAT_PORT_MAX, &bound, sizeof(bound));
	nest->nla_len += ports->nla_len - NLA_HDRLEN;
}

static bool has_ports(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE ||
	       protocol == IPPROTO_SCTP || protocol == IPPROTO_DCCP;
}

/* One host's address. */
static bool is_unicast(const void *address, u8 family)
{
	if (family == NFPROTO_IPV6)
		return !ipv6_addr_any(address) && !ipv6_addr_is_multicast(address);
	return !ipv4_is_zeronet(*(__be32 *)address) && !ipv4_is_multicast(*(__be32 *)address) &&
	       !ipv4_is_lbcast(*(__be32 *)address);
}

static bool target_is_valid(const struct nat_target *target, const struct nf_conn *ct)
{
	if (!target->address && !target->last)
		return false;
	if (target->address && !is_unicast(target->address, nf_ct_l3num(ct)))
		return false;
	return !target->last || (target->first && target->first <= target->last &&
				 has_ports(nf_ct_protonum(ct)));
}

int nat_translate(struct sk_buff *skb, const struct nf_hook_state *state,
		  const struct nat_target *target)
{
	u32 range[DIV_ROUND_UP(RANGE_SIZE, sizeof(u32))] = {};
	struct nlattr *nest = (struct nlattr *)range;
	enum nf_nat_manip_type end = HOOK2MANIP(state->hook);
	const struct nf_nat_hook *nat;
	enum ip_conntrack_info info;
	struct nf_conn *ct = nf_ct_get(skb, &info);
	bool six = state->pf == NFPROTO_IPV6;

	if (!ct || nf_ct_is_template(ct) || nf_ct_l3num(ct) != state->pf ||
	    (info != IP_CT_NEW && info != IP_CT_RELATED))
		return -EINVAL;
	if (nf_ct_is_confirmed(ct) || nf_nat_initialized(ct, end))
		return -EEXIST;
	if (!target_is_valid(target, ct))
		return -EINVAL;
	nest->nla_len = NLA_HDRLEN;
	if (target->address)
		put_attr(nest, six ? CTA_NAT_V6_MINIP : CTA_NAT_V4_MINIP, target->address,
			 six ? sizeof(struct in6_addr) : sizeof(struct in_addr));
	if (target->last)
		put_ports(nest, target->first, target->last);
	/* Netfilter's hooks hold RCU. */
	nat = rcu_dereference(nf_nat_hook);
	return nat ? nat->parse_nat_setup(ct, end, nest) : -EINVAL;
}
