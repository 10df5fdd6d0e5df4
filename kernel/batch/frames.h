/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of whole frames of a network device, by way of a packet socket that the
 * process has opened: so what it may, its filter, its buffers' limits and its
 * counters are the kernel's.
 *
 * The module takes frames off the socket's queue and sends the same memory back;
 * lib/user/frames.c does the same with recvmmsg(2) and sendmmsg(2).  Plain C, for
 * engines; frame.h is about a single frame.
 */
#ifndef SYSCRIPT_FRAMES_H
#define SYSCRIPT_FRAMES_H

#include <linux/if_packet.h>

#include "frame.h"

#define FRAMES_MAX	64	/* in a batch */
#define FRAMES_PORTS	8	/* of a program */

/**
 * struct frames - a port: a packet socket's frames in the hands of a program
 * @fd:   the socket's descriptor
 * @all:  frames for other hosts, too, are received; the owner's to set
 * @keep: what was received, and not sent, outlives this run, if that ends well, and no
 *        other; the owner's to set in each run
 * @n:    frames received by the last receive, and built since
 * @nout: frames that wait for the next flush
 * @batch: changes with every receive and at the end of a run
 * @in:   those received; without data once they are in an @out
 * @out:  those to be sent
 *
 * It lives as long as the program; frames, and the hold on the socket, until the
 * end of the run, or of the next one.
 */
struct frames {
	int fd, all, keep;
	unsigned int n, nout;
	unsigned long batch;
	struct frame in[FRAMES_MAX], out[FRAMES_MAX];
};

/**
 * struct frames_wait - what a receive waits for
 * @max:     frames to take, FRAMES_MAX at most
 * @timeout: ms for the first one; -1: any number
 * @enough:  frames that end the wait for more
 * @hold:    us for these, from the first one on
 */
struct frames_wait {
	unsigned int max;
	int timeout;
	unsigned int enough, hold;
};

struct run;

/*
 * All of these return -errno where they fail, and are to be called where a system
 * call could be.
 *
 * The port of the socket @fd, the same for the same number.  -EBADF, -ENOTSOCK;
 * -ESOCKTNOSUPPORT: no AF_PACKET socket of SOCK_RAW; -EDESTADDRREQ: not bound to a
 * device, or not to one with Ethernet frames; -EMFILE: too many; -EOPNOTSUPP: this
 * kernel lacks what is needed; -ENOMEM.
 *
 * @take: what the socket's filter accepts is taken off the device before its stack looks
 * at it, from here to an open without it, or to the program's end.  -EPERM: without
 * CAP_NET_ADMIN over the device's namespace; -EBUSY: the device's frames are taken by
 * another; -EINVAL: they cannot be; -EPROTOTYPE: the socket is bound to a protocol;
 * -ENOSYS: in a process.
 */
long frames_open(struct run *run, int fd, int take, struct frames **frames);

/*
 * Drops the frames of the last receive, sends what waits, and receives; not what
 * this host sends itself.  Returns their number; 0 if none came in time, or the
 * socket does not block; -EINTR, -ESTALE (the descriptor is another socket than
 * before in this run), and what the socket has met, as -ENETDOWN.
 */
long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait);

/*
 * Sends what waits, in order.  Returns how many went out; what the device refuses
 * is lost, as on a wire.  Those for which the socket's buffer has no room wait
 * on.  If none went out: -EAGAIN, -EINTR, -EMSGSIZE, -ENETDOWN, -ENXIO, -ESTALE, ...
 */
long frames_flush(struct run *run, struct frames *frames);

/* A new frame with room for @room bytes, without any; its index in frames->in. */
long frames_build(struct run *run, struct frames *frames, unsigned int room);

/* Makes room for @room bytes in @frame, of @frames->in: 0, -ENOBUFS, -ENOMEM. */
long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room);

/*
 * A backend's, when the frames of the last receive are gone: what pointed to one of
 * them does not point to what comes into its place.
 */
static inline void frames_next_batch(struct frames *frames)
{
	frames->n = 0;
	frames->batch++;
}

/* Is one of this kind (PACKET_HOST, ...) for the script? */
static inline int frames_wants(const struct frames *frames, unsigned int kind)
{
	return kind <= PACKET_MULTICAST || (kind == PACKET_OTHERHOST && frames->all);
}

/* Room for one more to send?  Then frames_queue() moves @frame there. */
static inline int frames_may_queue(const struct frames *to)
{
	return to->nout < FRAMES_MAX;
}

static inline void frames_queue(struct frames *to, struct frame *frame)
{
	struct frame spare = to->out[to->nout];

	to->out[to->nout++] = *frame;
	*frame = spare;
	frame->data = (void *)0;
}

#endif /* SYSCRIPT_FRAMES_H */
