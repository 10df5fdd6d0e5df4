/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NAT by the kernel's nf_nat.  Its functions are looked up by name, so that the module does not
 * depend on it.
 */
#ifndef SYSCRIPT_EMBED_NF_NAT_H
#define SYSCRIPT_EMBED_NF_NAT_H

#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/types.h>

struct net;
struct nf_hook_ops;
struct nf_hook_state;
struct sk_buff;

/**
 * struct nat_target - what the hook's end of a connection is translated to
 * @address: of the connection's family, or NULL to keep it
 * @first, @last: range of ports, or 0 and 0 to keep the port where that is possible
 */
struct nat_target {
	const void *address;
	u16 first, last;
};

#if IS_ENABLED(CONFIG_NF_NAT)

/*
 * Adds @ops, of IPv4 or IPv6 and any hook but forward, to the rules of NAT in @net, and lets @net
 * track connections: from then on @ops is called for the first packet of each connection that is
 * not translated yet.  0; -EOPNOTSUPP: nf_nat is not loaded; or another -errno.
 */
int nat_register(struct net *net, const struct nf_hook_ops *ops);
/* Calls under way end by the next synchronize_net(), and @ops is in use until then. */
void nat_unregister(struct net *net, const struct nf_hook_ops *ops);

/*
 * Translates the connection of @skb, by an operation that nat_register() has added: its
 * destination at prerouting and output, its source at postrouting and input.  0; -EINVAL: not to
 * that target; -EEXIST: this connection, or this end of it, can no longer be translated; or
 * -ENOMEM.
 */
int nat_translate(struct sk_buff *skb, const struct nf_hook_state *state,
		  const struct nat_target *target);

#else

static inline int nat_register(struct net *net, const struct nf_hook_ops *ops)
{
	return -EOPNOTSUPP;
}

static inline void nat_unregister(struct net *net, const struct nf_hook_ops *ops) { }

static inline int nat_translate(struct sk_buff *skb, const struct nf_hook_state *state,
				const struct nat_target *target)
{
	return -EINVAL;
}

#endif

#endif /* SYSCRIPT_EMBED_NF_NAT_H */
