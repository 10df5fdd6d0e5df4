/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Receives a socket's datagrams by io_uring: one multishot receive into a ring of buffers. The ring
 * also sends the replies; it belongs to the thread that opened it.
 */
#ifndef RECEIVER_H
#define RECEIVER_H

#include <liburing.h>
#include <netinet/in.h>
#include <stdbool.h>

#define RECEIVER_BUFFERS	64	/* numbered from 0; a power of two */

struct receiver {
	struct io_uring uring;
	int sock;
	size_t size;			/* of a buffer */
	char *memory;
	struct io_uring_buf_ring *buffers;
	struct msghdr format;
};

/* A received datagram's place, until its buffer is returned. */
struct received {
	unsigned int buffer, len;
	struct sockaddr_in *name;
	char *payload;
};

/* Receives datagrams of up to @payload bytes. These functions end the program on failure. */
struct receiver *receiver_open(int sock, size_t payload);
void receiver_wait(struct receiver *receiver);

/* Is this a datagram, rather than another request's completion? Then the caller must take it. */
bool receiver_has(const struct io_uring_cqe *cqe);
struct received receiver_take(struct receiver *receiver, const struct io_uring_cqe *cqe);
void receiver_give(struct receiver *receiver, unsigned int buffer);

#endif
