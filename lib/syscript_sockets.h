/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: sockets, many with one mode switch.  Link with -lsyscript.
 *
 * As syscript_files.h: the functions run scripts that are part of the library,
 * and return 0, a positive value, or -errno, which is that of the plain calls.
 * At most 4 threads can wait in one of them; others wait for their turn.
 *
 * struct mmsghdr is there if _GNU_SOURCE is defined.
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
 * Accepts the connections that wait at @sock, at most @max, into @fds; the rest of
 * @fds becomes -1.  @flags: SOCK_NONBLOCK, SOCK_CLOEXEC.  Waits up to @wait_ms for
 * the first one, for ever with -1; never for the others, whether @sock blocks or
 * not.
 *
 * Returns how many, 0 if there was none, or what poll(2) or accept4(2) returned
 * for the first one.
 */
int syscript_accept_batch(int sock, int *fds, unsigned int max, int flags, int wait_ms);

/*
 * The same of many listening sockets, which should not block, from each in turn:
 * those of @epoll, whose data.fd have to be the descriptors.  @listeners[i], if
 * that is not NULL, becomes the one that @fds[i] came from.
 */
int syscript_wait_accept(int epoll, int *fds, int *listeners, unsigned int max, int flags,
			 int wait_ms);

/*
 * Waits up to @wait_ms for descriptors of @epoll, and receives from each that is
 * readable, once: @lens[i] bytes into @bufs + i * @size from @events[i].data.fd,
 * which has to be the descriptor.  @lens[i] is 0 at the end of a connection, or
 * -errno: -EAGAIN where there was nothing.  At most 256 in a call.
 *
 * Returns how many there are, 0 after @wait_ms, or what epoll_wait(2) returned.
 */
int syscript_wait_recv(int epoll, struct epoll_event *events, unsigned int max,
		       void *bufs, size_t size, int *lens, int wait_ms);

/*
 * Receives the messages that wait at @sock, at most @n, as recvmmsg(2) with
 * MSG_DONTWAIT does; but waits up to @wait_ms for the first one, for ever with -1.
 *
 * Returns how many, or -errno: -EAGAIN if there was none.
 */
int syscript_recv_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags, int wait_ms);

/*
 * Sends @n messages, as sendmmsg(2) does.  Ends before a message with more than
 * 256 bytes of control data, unless it is the first.
 *
 * Returns how many were sent, or -errno.
 */
int syscript_send_batch(int sock, struct mmsghdr *msgs, unsigned int n, int flags);

/*
 * A server's round: sends a batch of messages, and receives the next one.
 *
 * syscript_exchange_open() prepares for it, at @sock, with the array @in of @max
 * messages, at most 64.  They have at most 8 buffers each and no control data; they
 * and the buffers stay where they are, and msg_iov, msg_name and the room for the
 * latter are as they were now, whatever is written there later.  Returns 0 or
 * -errno: -EINVAL for messages of another kind.  A child of fork() opens its own.
 */
struct syscript_exchange;

int syscript_exchange_open(struct syscript_exchange **exchange, int sock, struct mmsghdr *in,
			   unsigned int max);

/*
 * Sends the @n messages at @out, at most 64, as sendmmsg(2) with MSG_DONTWAIT, and
 * receives into the array of exchange_open() as syscript_recv_batch(); one thread
 * at a time.  *@sent (which may be NULL) becomes how many were sent, or -errno of
 * the first.
 *
 * Returns how many were received, 0 if there was none in time or a signal came, or
 * -errno.
 */
int syscript_exchange(struct syscript_exchange *exchange, struct mmsghdr *out, unsigned int n,
		      int wait_ms, int *sent);

/* Gives it back; the socket stays open. */
void syscript_exchange_close(struct syscript_exchange *exchange);

/*
 * A whole server: answers each datagram that comes to @sock with itself, until @max
 * have come (at most 4096), @ms milliseconds are over (-1: any number; 0: there are
 * no more), or a signal comes.  What cannot be sent at once is dropped.
 *
 * Returns how many were answered, or what the first receive met.
 */
int syscript_echo(int sock, unsigned int max, int ms);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_SOCKETS_H */
