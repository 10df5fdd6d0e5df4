// SPDX-License-Identifier: GPL-2.0
/*
 * An attach point at a device ends with the device, or when that leaves the namespace; its
 * program stays loaded, and nothing calls it any more.  Devices come and go under rtnl, and so do
 * attach points.
 */
#include <linux/err.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_arp.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_netdev.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "nf_attach.h"
#include "nf_nat.h"

/**
 * struct nf_attach - an attach point in netfilter
 * @ops:      as registered with netfilter
 * @stand_in: registered in place of @ops while those are removed
 * @fn:       called with @private
 * @node:     in at_devices, while its device exists
 * @nat:      called by nf_nat, for the first packets of connections
 */
struct nf_attach {
	struct nf_hook_ops ops, stand_in;
	nf_hookfn *fn;
	void *private;
	struct net *net;
	struct list_head node;
	bool nat;
	struct rcu_head rcu;
};

static LIST_HEAD(at_devices);	/* guarded by rtnl */

static_assert(NF_INET_POST_ROUTING == (int)NF_BR_POST_ROUTING);

/* -- Names ------------------------------------------------------------------------- */

#define HOOKS_MAX	6
#define IP_HOOKS	\
	[NF_INET_PRE_ROUTING] = "prerouting", [NF_INET_LOCAL_IN] = "input",	\
	[NF_INET_FORWARD] = "forward", [NF_INET_LOCAL_OUT] = "output",	\
	[NF_INET_POST_ROUTING] = "postrouting"

static const char *const ip_hooks[HOOKS_MAX] = { IP_HOOKS };
static const char *const inet_hooks[HOOKS_MAX] = {
	IP_HOOKS,
#ifdef CONFIG_NETFILTER_INGRESS
	[NF_INET_INGRESS] = "ingress",
#endif
};
#if IS_ENABLED(CONFIG_NF_NAT)
static const char *const nat_hooks[HOOKS_MAX] = {
	[NF_INET_PRE_ROUTING] = "prerouting", [NF_INET_LOCAL_IN] = "input",
	[NF_INET_LOCAL_OUT] = "output", [NF_INET_POST_ROUTING] = "postrouting",
};
#endif
static const char *const arp_hooks[HOOKS_MAX] = {
	[NF_ARP_IN] = "input", [NF_ARP_OUT] = "output",
};
static const char *const netdev_hooks[HOOKS_MAX] = {
	[NF_NETDEV_INGRESS] = "ingress", [NF_NETDEV_EGRESS] = "egress",
};

static const struct family {
	const char *name;
	u8 pf;
	const char *const *hooks;
	bool nat;
} families[] = {
	{ "inet", NFPROTO_INET, inet_hooks },
	{ "ip", NFPROTO_IPV4, ip_hooks },
	{ "ip6", NFPROTO_IPV6, ip_hooks },
#if IS_ENABLED(CONFIG_NF_NAT)
	{ "nat", NFPROTO_IPV4, nat_hooks, true },
	{ "nat6", NFPROTO_IPV6, nat_hooks, true },
#endif
#ifdef CONFIG_NETFILTER_FAMILY_ARP
	{ "arp", NFPROTO_ARP, arp_hooks },
#endif
#ifdef CONFIG_NETFILTER_FAMILY_BRIDGE
	{ "bridge", NFPROTO_BRIDGE, ip_hooks },
#endif
#ifdef CONFIG_NETFILTER_INGRESS
	{ "netdev", NFPROTO_NETDEV, netdev_hooks },
#endif
};

static const struct family *find_family(const char *name)
{
	const struct family *family = families;

	while (family < families + ARRAY_SIZE(families) && strcmp(family->name, name))
		family++;
	return family < families + ARRAY_SIZE(families) ? family : NULL;
}

static int find_hook(const struct family *family, const char *name)
{
	int n = HOOKS_MAX;

	while (n-- && (!family->hooks[n] || strcmp(family->hooks[n], name)))
		;
	return n;
}

static bool at_device(const struct nf_hook_ops *ops)
{
	return ops->pf == NFPROTO_NETDEV ||
	       (ops->pf == NFPROTO_INET && ops->hooknum == NF_INET_INGRESS);
}

/* Parses "FAMILY HOOK [PRIORITY]", with a device after HOOK for hooks of devices. */
static int nf_attach_parse(const char *where, struct nf_attach *attach, char *device, char *error,
			   size_t len)
{
	struct nf_hook_ops *ops = &attach->ops;
	const struct family *family;
	char name[16], hook[16];
	int at = 0, end, number;

	if (sscanf(where, "%15s %15s%n", name, hook, &at) < 2)
		goto none;
	family = find_family(name);
	number = family ? find_hook(family, hook) : -1;
	if (number < 0)
		goto none;
	ops->pf = family->pf;
	ops->hooknum = number;
	attach->nat = family->nat;
	end = 0;
	if (at_device(ops) && sscanf(where + at, " %15s%n", device, &end) < 1)
		goto none;
	at += end;
	end = 0;
	sscanf(where + at, " %d%n", &ops->priority, &end);
	if (!where[at + end])
		return 0;
none:
	scnprintf(error, len, "netfilter has no place '%s': one is inet input -10", where);
	return -EINVAL;
}

/* -- Places ------------------------------------------------------------------------ */

/* inet's hook at a device sees all packets of the device: calls the program for IP only. */
static unsigned int ip_only(void *private, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	const struct nf_attach *attach = private;

	if (skb->protocol != htons(ETH_P_IP) && skb->protocol != htons(ETH_P_IPV6))
		return NF_ACCEPT;
	return attach->fn(attach->private, skb, state);
}

static int get_at_device(struct nf_attach *attach, const char *device, char *error, size_t len)
{
	int err = compat_rtnl_lock_killable();

	if (err)
		return err;
	attach->ops.dev = __dev_get_by_name(attach->net, device);
	err = attach->ops.dev ? nf_register_net_hook(attach->net, &attach->ops) : -ENODEV;
	if (err == -ENODEV)
		scnprintf(error, len, "no device '%s'", device);
	if (!err)
		list_add(&attach->node, &at_devices);
	rtnl_unlock();
	return err;
}

static int get_in_nat(struct nf_attach *attach, char *error, size_t len)
{
	int err = nat_register(attach->net, &attach->ops);

	if (err == -EOPNOTSUPP)
		scnprintf(error, len, "NAT is not loaded: modprobe nf_nat, as root");
	return err;
}

struct nf_attach *nf_attach_get(const char *where, nf_hookfn *fn, nf_hookfn *nat_fn, void *private,
				struct net *net, char *error, size_t len)
{
	struct nf_attach *attach = kzalloc(sizeof(*attach), GFP_KERNEL_ACCOUNT);
	char device[IFNAMSIZ];
	int err;

	if (!attach)
		return ERR_PTR(-ENOMEM);
	attach->net = net;
	attach->fn = fn;
	attach->private = private;
	attach->ops.hook = fn;
	attach->ops.priv = private;
	INIT_LIST_HEAD(&attach->node);
	err = nf_attach_parse(where, attach, device, error, len);
	if (attach->nat)
		attach->ops.hook = nat_fn;
	if (attach->ops.pf == NFPROTO_INET && at_device(&attach->ops)) {
		attach->ops.hook = ip_only;
		attach->ops.priv = attach;
	}
	if (!err)
		err = attach->nat ? get_in_nat(attach, error, len) :
		      at_device(&attach->ops) ? get_at_device(attach, device, error, len) :
		      nf_register_net_hook(net, &attach->ops);
	if (!err)
		return attach;
	kfree_rcu(attach, rcu);		/* RCU: the first of two families may already be visible */
	return ERR_PTR(err);
}

/* The caller holds rtnl, which guards the list of devices' attach points. */
static void nf_attach_leave_device(struct nf_attach *attach)
{
	if (list_empty(&attach->node))
		return;
	list_del_init(&attach->node);
	nf_unregister_net_hook(attach->net, &attach->ops);
}

/* Without rtnl: the result may be stale at any time anyway. */
bool nf_attach_gone(const struct nf_attach *attach)
{
	return at_device(&attach->ops) && list_empty_careful(&attach->node);
}

static unsigned int place_pass(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

/*
 * When a hook goes, nf_reinject() drops packets that are queued there, and warns if fewer hooks
 * remain than the index of the packet's hook.  So the number of hooks must not shrink first.
 */
static void leave_family(struct nf_attach *attach)
{
	bool stands_in;

	attach->stand_in = attach->ops;
	attach->stand_in.hook = place_pass;
	attach->stand_in.priority = INT_MAX;
	stands_in = !nf_register_net_hook(attach->net, &attach->stand_in);
	nf_unregister_net_hook(attach->net, &attach->ops);
	if (stands_in)
		nf_unregister_net_hook(attach->net, &attach->stand_in);
}

/*
 * The last program of NAT removes three operations at each of IP's five hooks: NAT's own,
 * tracking's and defragmentation's.  Shared, because netfilter does not write to operations.
 */
#define STAND_IN(family, number) \
	{ .hook = place_pass, .pf = (family), .hooknum = (number), .priority = INT_MAX }
#define STAND_INS(family) {						\
	STAND_IN(family, 0), STAND_IN(family, 0), STAND_IN(family, 0),	\
	STAND_IN(family, 1), STAND_IN(family, 1), STAND_IN(family, 1),	\
	STAND_IN(family, 2), STAND_IN(family, 2), STAND_IN(family, 2),	\
	STAND_IN(family, 3), STAND_IN(family, 3), STAND_IN(family, 3),	\
	STAND_IN(family, 4), STAND_IN(family, 4), STAND_IN(family, 4),	\
}
#define STAND_INS_COUNT	(3 * NF_INET_NUMHOOKS)

static void leave_nat(struct nf_attach *attach)
{
	static const struct nf_hook_ops stand_ins[][STAND_INS_COUNT] = {
		STAND_INS(NFPROTO_IPV4), STAND_INS(NFPROTO_IPV6),
	};
	const struct nf_hook_ops *ops = stand_ins[attach->ops.pf == NFPROTO_IPV6];
	bool stands_in = !nf_register_net_hooks(attach->net, ops, STAND_INS_COUNT);

	nat_unregister(attach->net, &attach->ops);
	if (stands_in)
		nf_unregister_net_hooks(attach->net, ops, STAND_INS_COUNT);
}

void nf_attach_put(struct nf_attach *attach)
{
	if (at_device(&attach->ops)) {
		rtnl_lock();
		nf_attach_leave_device(attach);
		rtnl_unlock();
	} else if (attach->nat) {
		leave_nat(attach);
	} else {
		leave_family(attach);
	}
	kfree_rcu(attach, rcu);
}

/* -- Devices ----------------------------------------------------------------------- */

static int place_on_event(struct notifier_block *unused, unsigned long event, void *info)
{
	const struct net_device *device = netdev_notifier_info_to_dev(info);
	struct nf_attach *attach, *next;

	if (event == NETDEV_UNREGISTER)
		list_for_each_entry_safe(attach, next, &at_devices, node)
			if (attach->ops.dev == device)
				nf_attach_leave_device(attach);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = place_on_event };

int nf_attach_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void nf_attach_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
