/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: many socket operations with one mode switch.  Link with -lsyscript.
 *
 * As in syscript_files.h, the functions run scripts that are part of the library, and return 0, a
 * positive value, or the plain calls' -errno. At most 4 threads can wait in a function; others
 * wait for their turn.
 *
 * struct mmsghdr needs _GNU_SOURCE.
 */
#ifndef _SYSCRIPT_SOCKETS_H
#define _SYSCRIPT_SOCKETS_H

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mmsghdr;

/*
 * Accepts the connections waiting at @sock, at most @max, into @fds; the rest of @fds becomes -1.
 * @flags: SOCK_NONBLOCK, SOCK_CLOEXEC.  Waits up to @wait_ms, or with -1 without limit, for the
 * first connection; never for the others, whether @sock blocks or not.
 *
 * Returns the number of connections, 0 if there was none, or the error of poll(2) or accept4(2)
 * for the first.
 */
int syscript_accept_batch(int sock, int *fds, unsigned int max, int flags, int wait_ms);

/*
 * As syscript_accept_batch() for many listening sockets in turn: those in @epoll, whose data.fd
 * must be their descriptors, and which should be non-blocking. @listeners[i], unless @listeners
 * is NULL, becomes the socket that accepted @fds[i].
 */
int syscript_wait_accept(int epoll, int *fds, int *listeners, unsigned int max, int flags,
			 int wait_ms);

/*
 * Waits up to @wait_ms for descriptors in @epoll, and receives once from each that is readable:
 * @lens[i] bytes into @bufs + i * @size from @events[i].data.fd, which must be the descriptor.
 * @lens[i] is 0 at the end of a connection, or -errno: -EAGAIN if there were no data. At most 256
 * descriptors in a call.
 *
 * Returns the number of descriptors, 0 after @wait_ms, or the error of epoll_wait(2).
 */
int syscript_wait_recv(int epoll, struct epoll_event *events, unsigned int max,
		       void *bufs, size_t size, int *lens, int wait_ms);

/*
 * Receives the messages waiting at @sock, at most @n, as recvmmsg(2) with MSG_DONTWAIT does; but
 * waits up to @wait_ms, or with -1 without limit, for the first message.
 *
 * Returns the number of messages, or -errno: -EAGAIN if there was none.
 */
int syscript_recv_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags, int wait_ms);

/*
 * Sends @n messages, as sendmmsg(2) does.  Ends before a message with more than
 * 256 bytes of control data, unless it is the first.
 *
 * Returns the number of messages sent, or -errno.
 */
int syscript_send_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags);

/*
 * A server's round: sends a batch of messages, and receives the next one.
 *
 * syscript_exchange_open() prepares rounds on @sock with the array @in of @max messages, at most
 * 64, which have at most 8 buffers each and no control data. Messages and buffers must stay at
 * their addresses; msg_iov, msg_name and msg_namelen are read now, and later changes have no
 * effect. Returns 0 or -errno: -EINVAL for invalid messages. A child of fork() must open its own.
 */
struct syscript_exchange;

int syscript_exchange_open(struct syscript_exchange **exchange, int sock, struct mmsghdr *in,
			   unsigned int max);

/*
 * Sends the @n messages at @out, at most 64, as sendmmsg(2) with MSG_DONTWAIT, and receives into
 * the array of exchange_open() as syscript_recv_batch(); one thread at a time.  *@sent (@sent may
 * be NULL) becomes the number of messages sent, or -errno of the first.
 *
 * Returns the number of messages received, 0 if none came in time or a signal came, or -errno.
 */
int syscript_exchange(struct syscript_exchange *exchange, struct mmsghdr *out, unsigned int n,
		      int wait_ms, int *sent);

/* Frees the exchange; the socket stays open. */
void syscript_exchange_close(struct syscript_exchange *exchange);

/*
 * A whole server: returns each datagram that arrives at @sock to its sender, until @max have
 * arrived (at most 4096), @ms milliseconds have passed (-1: no limit; 0: when no more are
 * waiting), or a signal comes.  Datagrams that cannot be sent at once are dropped.
 *
 * Returns the number of replies, or the error of the first receive.
 */
int syscript_echo(int sock, unsigned int max, int ms);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_SOCKETS_H */
