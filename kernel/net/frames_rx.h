/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive handler (netdev_rx_handler_register()) that takes frames off a device for a
 * packet socket, before the device's stack has a look: those that the socket's filter
 * accepts go to the socket's queue, all others go on.  It is what bridges and macvlan
 * have; a device has one at most.
 */
#ifndef SYSCRIPT_FRAMES_RX_H
#define SYSCRIPT_FRAMES_RX_H

#include <linux/init.h>
#include <linux/types.h>

struct frames_rx;
struct socket;

int __init frames_rx_init(void);
void frames_rx_exit(void);

/* Does @rx, or NULL, take frames for @sock in this way, off the device that is bound to? */
bool frames_rx_serves(const struct frames_rx *rx, struct socket *sock, bool heeds);

/*
 * Begins to take frames for @sock; @heeds: except where frames_rules_filter().
 * -EPERM: without CAP_NET_ADMIN over its namespace;
 * -EPROTOTYPE: bound to a protocol, by which it would get each frame again; -EBUSY: the
 * device has a handler; -EINVAL: it can have none; -EDESTADDRREQ, -ENOMEM; -EINTR.
 */
int frames_rx_attach(struct frames_rx **rx, struct socket *sock, bool heeds);

/* Returns them to the device's stack, frees @rx, and releases the socket. */
void frames_rx_detach(struct frames_rx *rx);

/* There will be no more: the device is gone. */
bool frames_rx_ended(const struct frames_rx *rx);

/* All descriptors of the socket are closed: frames are not taken. */
bool frames_rx_orphaned(const struct frames_rx *rx);

#endif /* SYSCRIPT_FRAMES_RX_H */
