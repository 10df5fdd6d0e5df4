/* SPDX-License-Identifier: BSD-3-Clause OR MIT */
/*
 * frames.h -- queries over UDP as Ethernet frames of a device.
 *
 * A script (syscript(7)) takes them from the device before the network stack sees them, and sends
 * the replies in the same memory. Everything else arrives at the UDP sockets: fragments, options,
 * extension headers, sources that are not hosts, other devices, everything that the stack filters;
 * and all packets while no script runs.
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
 * A packet socket for the UDP sockets' device and addresses, except sockets bound to any address.
 * It receives nothing until frames_begin(), and needs CAP_NET_RAW. -1 after a line in the log.
 */
int frames_open(const char *device, const struct nsd_socket *sockets, size_t n);

/*
 * Begins to take frames, which needs CAP_NET_ADMIN, too. 0: not now. Call it for each datagram that
 * arrives at a UDP socket: it retries at increasing intervals.
 */
int frames_begin(int sock);

/*
 * Afterwards: a descriptor that becomes readable when this machine's addresses change. Then
 * frames_look() adapts the filter to the current addresses.
 */
int frames_watch(void);
void frames_look(int sock);

/*
 * Leaves frames to the stack: for a process that is about to end, but first serves its TCP
 * connections.
 */
void frames_end(void);

/*
 * Sends the replies and takes the next queries, at most @max. Returns their number; -1: no more
 * frames are taken.
 */
int frames_exchange(int sock, unsigned int max);

/*
 * Like recvmmsg(2), among the queries taken, for those to @to. msg_flags records which query it
 * was.
 */
int frames_recvmmsg(const struct nsd_socket *to, struct mmsghdr *msgs, unsigned int n);

/*
 * Like sendmmsg(2): replies wait for the next frames_exchange(). Those that may not fit into a
 * frame go through the UDP socket.
 */
int frames_sendmmsg(const struct nsd_socket *from, struct mmsghdr *msgs, unsigned int n);

#endif /* FRAMES_H */
