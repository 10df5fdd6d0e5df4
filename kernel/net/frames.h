/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of whole frames of a network device, through a packet socket that the
 * process has opened: permissions, filter, buffer limits and counters are the kernel's.
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
 * @keep: frames received, and not sent, outlive this run, if it succeeds, but no
 *        other; set by the owner in each run
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

#define FRAMES_TIMEOUT_MAX	1000000000	/* ms */
#define FRAMES_HOLD_MAX		1000000		/* us */

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

/* From the device's stack, those that the socket's filter accepts. */
enum frames_take {
	FRAMES_LEAVE,
	FRAMES_TAKE,
	FRAMES_TAKE_UNFILTERED,	/* what the stack would filter is left to it */
};

/*
 * All of these return -errno on failure, and must be called where a system call
 * could be.
 *
 * The port of the socket @fd, the same for the same number.  -EBADF, -ENOTSOCK;
 * -ESOCKTNOSUPPORT: no AF_PACKET socket of SOCK_RAW; -EDESTADDRREQ: not bound to a
 * device, or not to one with Ethernet frames; -EMFILE: too many; -EOPNOTSUPP: this
 * kernel lacks what is needed; -ENOMEM.
 *
 * @take: frames that the socket's filter accepts are taken before the device's stack sees
 * them, until an open without it, or the program's end.  -EPERM: without
 * CAP_NET_ADMIN over the device's namespace; -EBUSY: the device's frames are taken by
 * another; -EINVAL: they cannot be taken; -EPROTOTYPE: the socket is bound to a protocol;
 * -ENOSYS: in a process.
 */
long frames_open(struct run *run, int fd, enum frames_take take, struct frames **frames);

/*
 * Drops the frames of the last receive, sends the queued ones, and receives, except
 * frames that this host sends.  Returns their number; 0 if none came in time, or the
 * socket does not block; -EINTR, -ESTALE (the descriptor has become another socket
 * in this run), or the socket's error, as -ENETDOWN.
 */
long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait);

/*
 * Sends the queued frames, in order.  Returns how many were sent; frames that the
 * device refuses are lost, as on a wire.  Those for which the socket's buffer has no
 * room stay queued.  If none was sent: -EAGAIN, -EINTR, -EMSGSIZE, -ENETDOWN, ...
 */
long frames_flush(struct run *run, struct frames *frames);

/* A new frame with room for @room bytes, without any; its index in frames->in. */
long frames_build(struct run *run, struct frames *frames, unsigned int room);

/* Makes room for @room bytes in @frame, of @frames->in: 0, -ENOBUFS, -ENOMEM. */
long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room);

/* For how many bytes that makes room without asking for memory, @frame->room at least. */
unsigned int frames_spare(const struct frame *frame);

/**
 * struct frames_slot - a place for a datagram in memory of the process: which frame it is,
 * from 1, and its payload's length, 4 bytes each; and its payload
 * @addr: its address
 * @size: bytes, FRAMES_SLOT_HEAD .. FRAMES_SLOT_MAX
 */
struct frames_slot {
	unsigned long addr;
	unsigned int size;
};

#define FRAMES_SLOT_HEAD	8
#define FRAMES_SLOT_MAX		65536

/*
 * Writes the datagram in frame @i of those received to @slot; with @headers the frame's from
 * its first byte on come before the payload.  1; 0 if it is no datagram, or does not fit; -1
 * for a bad address.
 */
int frames_put_slot(struct run *run, struct frames *frames, unsigned int i,
		    const struct frames_slot *slot, int headers);

/*
 * Queues the payload in @slot as the reply to the frame that it names, which @place is set
 * to, from 0.  1; 0 if that is no datagram that frame_udp() has found, or there is no room;
 * -1 for a bad address.
 */
int frames_take_slot(struct run *run, struct frames *frames, const struct frames_slot *slot,
		     unsigned int *place);

/*
 * For backends, when the frames of the last receive are gone: references to one of them
 * do not become references to the next one in its place.
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
	struct frame *place = &to->out[to->nout++];
	void *spare = place->buffer;

	*place = *frame;
	frame->buffer = spare;
	frame->data = (void *)0;
}

#endif /* SYSCRIPT_FRAMES_H */
