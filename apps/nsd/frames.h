/* SPDX-License-Identifier: BSD-3-Clause OR MIT */
/*
 * frames.h -- queries over UDP as Ethernet frames of a device.
 *
 * A script (syscript(7)) takes them off the device before the network stack sees them,
 * and sends the replies in the same memory.  What it does not take comes by the UDP
 * sockets, as does everything while no script runs: fragments, options, extension headers,
 * sources that are no host's, other devices, and all that anything in the stack filters.
 *
 * One process takes the frames of a device.  Another that tries is refused for as long as
 * the first one runs, and serves its UDP sockets.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <sys/socket.h>

struct mmsghdr;
struct nsd_socket;

/*
 * A packet socket for what the UDP sockets are bound to, except those for any address.  It
 * receives nothing until frames_begin(), and needs CAP_NET_RAW.  -1 after a line in the log.
 */
int frames_open(const char *device, const struct nsd_socket *sockets, size_t n);

/*
 * Begins to take frames, for which it needs CAP_NET_ADMIN, too.  0: not now.  May be
 * called for each datagram that comes by a UDP socket: it tries less and less often.
 */
int frames_begin(int sock);

/*
 * After that: a descriptor that has something to read when addresses of this machine
 * change.  Then frames_look() takes what is for those that are there.
 */
int frames_watch(void);
void frames_look(int sock);

/* Leaves them to the stack: for a process that ends, and serves its TCP connections first. */
void frames_end(void);

/*
 * Sends the replies and takes the next queries, at most @max.  Returns how many there
 * are; -1: no frames are taken any more.
 */
int frames_exchange(int sock, unsigned int max);

/*
 * As recvmmsg(2): of the queries that have been taken those that are for @to.  Which one
 * it was is kept in msg_flags.
 */
int frames_recvmmsg(const struct nsd_socket *to, struct mmsghdr *msgs, unsigned int n);

/*
 * As sendmmsg(2): replies to these wait for the next frames_exchange().  Those that may
 * not fit into a frame go by the UDP socket.
 */
int frames_sendmmsg(const struct nsd_socket *from, struct mmsghdr *msgs, unsigned int n);

#endif /* FRAMES_H */
