/* SPDX-License-Identifier: GPL-2.0 */
/* Attach points in netfilter, by the names that users give them: uapi/syscript_netfilter.h. */
#ifndef SYSCRIPT_EMBED_NF_ATTACH_H
#define SYSCRIPT_EMBED_NF_ATTACH_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct net;
struct nf_attach;

/*
 * Attaches @fn, or @nat_fn as a rule of NAT (nf_nat.h), at @where in @net: it is called with
 * @private.  @net must stay until nf_attach_put(). Returns -errno in a pointer, with the reason in
 * @error.
 */
struct nf_attach *nf_attach_get(const char *where, nf_hookfn *fn, nf_hookfn *nat_fn, void *private,
				struct net *net, char *error, size_t len);
/* Has the attach point's device gone? */
bool nf_attach_gone(const struct nf_attach *attach);
/* Detaches: no new call begins; calls under way end by the next synchronize_net(). */
void nf_attach_put(struct nf_attach *attach);

int nf_attach_init(void);
void nf_attach_exit(void);

#endif /* SYSCRIPT_EMBED_NF_ATTACH_H */
