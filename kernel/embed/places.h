/* SPDX-License-Identifier: GPL-2.0 */
/* Attach points in netfilter, by the names that users give them: uapi/syscript_netfilter.h. */
#ifndef SYSCRIPT_EMBED_PLACES_H
#define SYSCRIPT_EMBED_PLACES_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct net;
struct place;

/*
 * Attaches @fn at @where in @net: it is called with @private.  @net must stay until place_put().
 * Returns -errno in a pointer, with the reason in @error.
 */
struct place *place_get(const char *where, nf_hookfn *fn, void *private, struct net *net,
			char *error, size_t len);
/* Has the attach point's device gone? */
bool place_gone(const struct place *place);
/* Detaches: no new call begins; calls under way end by the next synchronize_net(). */
void place_put(struct place *place);

int places_init(void);
void places_exit(void);

#endif /* SYSCRIPT_EMBED_PLACES_H */
