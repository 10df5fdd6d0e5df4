/* SPDX-License-Identifier: GPL-2.0 */
/* Places of netfilter, by the names that users give them: uapi/syscript_netfilter.h. */
#ifndef SYSCRIPT_EMBED_PLACES_H
#define SYSCRIPT_EMBED_PLACES_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct net;
struct place;

/*
 * From here on @fn is called with @private at @where in @net, which stays until
 * place_put().  Returns -errno in a pointer, with the reason in @error.
 */
struct place *place_get(const char *where, nf_hookfn *fn, void *private, struct net *net,
			char *error, size_t len);
/* It was at a device that is no longer there. */
bool place_gone(const struct place *place);
/* No call begins any more; those under way end by the next synchronize_net(). */
void place_put(struct place *place);

int places_init(void);
void places_exit(void);

#endif /* SYSCRIPT_EMBED_PLACES_H */
