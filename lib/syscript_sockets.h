/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: sockets, many with one mode switch.  Link with -lsyscript.
 *
 * As syscript_files.h: the functions run the scripts of these names, which are
 * part of the library, and return 0, a positive value, or -errno.  At most 4
 * threads can wait in one of them; others wait for their turn.
 */
#ifndef _SYSCRIPT_SOCKETS_H
#define _SYSCRIPT_SOCKETS_H

#include <stddef.h>
#include <sys/epoll.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Accepts the connections that wait at @sock, at most @max, into @fds; the rest of
 * @fds becomes -1.  @flags: SOCK_NONBLOCK, SOCK_CLOEXEC.  Waits up to @wait_ms for the first one, for ever
 * with -1; never for the others, whether @sock blocks or not.
 *
 * Returns how many, 0 if there was none, or what poll(2) or accept4(2) answered
 * for the first one.
 */
int syscript_accept_batch(int sock, int *fds, unsigned int max, int flags, int wait_ms);

/*
 * Waits up to @wait_ms for descriptors of @epoll, and receives from each that is
 * readable, once: @lens[i] bytes into @bufs + i * @size from @events[i].data.fd,
 * which has to be the descriptor.  @lens[i] is 0 at the end of a connection, or
 * -errno: -EAGAIN where there was nothing.  At most 256 in a call.
 *
 * Returns how many there are, 0 after @wait_ms, or what epoll_wait(2) answered.
 */
int syscript_wait_recv(int epoll, struct epoll_event *events, unsigned int max,
		       void *bufs, size_t size, int *lens, int wait_ms);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_SOCKETS_H */
