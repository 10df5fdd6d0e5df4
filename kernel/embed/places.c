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
#include "places.h"

/**
 * struct place - an attach point in netfilter
 * @ops:      as registered with netfilter
 * @stand_in: registered in place of @ops while that is removed
 * @fn:       called with @private
 * @node:     in at_devices, while its device exists
 */
struct place {
	struct nf_hook_ops ops, stand_in;
	nf_hookfn *fn;
	void *private;
	struct net *net;
	struct list_head node;
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
} families[] = {
	{ "inet", NFPROTO_INET, inet_hooks },
	{ "ip", NFPROTO_IPV4, ip_hooks },
	{ "ip6", NFPROTO_IPV6, ip_hooks },
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
static int place_parse(const char *where, struct nf_hook_ops *ops, char *device, char *error,
		       size_t len)
{
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
	const struct place *place = private;

	if (skb->protocol != htons(ETH_P_IP) && skb->protocol != htons(ETH_P_IPV6))
		return NF_ACCEPT;
	return place->fn(place->private, skb, state);
}

static int get_at_device(struct place *place, const char *device, char *error, size_t len)
{
	int err = compat_rtnl_lock_killable();

	if (err)
		return err;
	place->ops.dev = __dev_get_by_name(place->net, device);
	err = place->ops.dev ? nf_register_net_hook(place->net, &place->ops) : -ENODEV;
	if (err == -ENODEV)
		scnprintf(error, len, "no device '%s'", device);
	if (!err)
		list_add(&place->node, &at_devices);
	rtnl_unlock();
	return err;
}

struct place *place_get(const char *where, nf_hookfn *fn, void *private, struct net *net,
			char *error, size_t len)
{
	struct place *place = kzalloc(sizeof(*place), GFP_KERNEL_ACCOUNT);
	char device[IFNAMSIZ];
	int err;

	if (!place)
		return ERR_PTR(-ENOMEM);
	place->net = net;
	place->fn = fn;
	place->private = private;
	place->ops.hook = fn;
	place->ops.priv = private;
	INIT_LIST_HEAD(&place->node);
	err = place_parse(where, &place->ops, device, error, len);
	if (place->ops.pf == NFPROTO_INET && at_device(&place->ops)) {
		place->ops.hook = ip_only;
		place->ops.priv = place;
	}
	if (!err)
		err = at_device(&place->ops) ?
			get_at_device(place, device, error, len) :
			nf_register_net_hook(net, &place->ops);
	if (!err)
		return place;
	kfree_rcu(place, rcu);		/* RCU: the first of two families may already be visible */
	return ERR_PTR(err);
}

/* The caller holds rtnl, which guards the list of devices' attach points. */
static void place_leave_device(struct place *place)
{
	if (list_empty(&place->node))
		return;
	list_del_init(&place->node);
	nf_unregister_net_hook(place->net, &place->ops);
}

/* Without rtnl: the result may be stale at any time anyway. */
bool place_gone(const struct place *place)
{
	return at_device(&place->ops) && list_empty_careful(&place->node);
}

static unsigned int place_pass(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

/*
 * When a hook goes, nf_reinject() drops packets that are queued there, and warns if fewer hooks
 * remain than the index of the packet's hook.  So the number of hooks must not shrink first.
 */
static void leave_family(struct place *place)
{
	bool stands_in;

	place->stand_in = place->ops;
	place->stand_in.hook = place_pass;
	place->stand_in.priority = INT_MAX;
	stands_in = !nf_register_net_hook(place->net, &place->stand_in);
	nf_unregister_net_hook(place->net, &place->ops);
	if (stands_in)
		nf_unregister_net_hook(place->net, &place->stand_in);
}

void place_put(struct place *place)
{
	if (at_device(&place->ops)) {
		rtnl_lock();
		place_leave_device(place);
		rtnl_unlock();
	} else {
		leave_family(place);
	}
	kfree_rcu(place, rcu);
}

/* -- Devices ----------------------------------------------------------------------- */

static int place_on_event(struct notifier_block *unused, unsigned long event, void *info)
{
	const struct net_device *device = netdev_notifier_info_to_dev(info);
	struct place *place, *next;

	if (event == NETDEV_UNREGISTER)
		list_for_each_entry_safe(place, next, &at_devices, node)
			if (place->ops.dev == device)
				place_leave_device(place);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = place_on_event };

int places_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void places_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
