/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive handler (netdev_rx_handler_register()) that takes frames off a device for a packet
 * socket, before the device's stack sees them: those that the socket's filter accepts go to the
 * socket's queue, all others to the stack.  Bridges and macvlan use the same mechanism; a device
 * has at most one handler.
 */
#ifndef SYSCRIPT_FRAMES_RX_H
#define SYSCRIPT_FRAMES_RX_H

#include <linux/init.h>
#include <linux/types.h>

struct frames_rx;
struct socket;

int __init frames_rx_init(void);
void frames_rx_exit(void);

/* Does @rx, which may be NULL, take frames for @sock off the device that @sock is bound to? */
bool frames_rx_serves(const struct frames_rx *rx, struct socket *sock, bool heeds);

/*
 * Begins to take frames for @sock; with @heeds, except those for which frames_rules_filter() is
 * true. -EPERM: the caller lacks CAP_NET_ADMIN over the device's namespace; -EPROTOTYPE: @sock is
 * bound to a protocol, and would get each frame twice; -EBUSY: the device has a handler; -EINVAL:
 * it can have none; -EDESTADDRREQ, -ENOMEM; -EINTR.
 */
int frames_rx_attach(struct frames_rx **rx, struct socket *sock, bool heeds);

/* Returns the device's frames to its stack, frees @rx, and releases the socket. */
void frames_rx_detach(struct frames_rx *rx);

/* Has the device gone, so that no more frames will come? */
bool frames_rx_ended(const struct frames_rx *rx);

/* Are all descriptors of the socket closed?  Then no frames are taken. */
bool frames_rx_orphaned(const struct frames_rx *rx);

#endif /* SYSCRIPT_FRAMES_RX_H */
