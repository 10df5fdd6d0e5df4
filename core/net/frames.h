/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of whole frames of a network device, through a packet socket that the
 * process has opened: permissions, filter, buffer limits and counters are the kernel's.
 *
 * The module takes frames off the socket's queue and sends the same memory back;
 * core/user/frames.c does the same with recvmmsg(2) and sendmmsg(2).  Plain C, for
 * engines; frame.h is about a single frame.
 */
#ifndef SYSCRIPT_FRAMES_H
#define SYSCRIPT_FRAMES_H

#include <linux/if_packet.h>

#include "frame.h"

#define FRAMES_MAX	64	/* frames in a batch */
#define FRAMES_PORTS	8	/* ports of a program */

/**
 * struct frames - a port: a packet socket, and the frames that a program holds
 * @fd:   the socket's descriptor
 * @all: also receive frames for other hosts; set by the engine
 * @keep: if this run succeeds, keep received frames that were not sent until the end of the next
 *        run; set by the engine in each run
 * @n: number of frames received by the last receive and built since
 * @nout: number of frames queued for the next flush
 * @batch: changes with every receive and at the end of a run
 * @in: received frames; @data is NULL once they are in a port's @out
 * @out: frames to send
 *
 * A port lives as long as the program.  Its frames, and its reference to the socket, are released
 * at the end of the run, or of the next run.
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
 * @timeout: ms to wait for the first frame; -1: no limit
 * @enough:  number of frames that ends the wait for more
 * @hold:    us to wait for @enough frames, from the first one on
 */
struct frames_wait {
	unsigned int max;
	int timeout;
	unsigned int enough, hold;
};

struct run;

/* Whether frames that the socket's filter accepts are withheld from the device's stack. */
enum frames_take {
	FRAMES_LEAVE,
	FRAMES_TAKE,
	FRAMES_TAKE_UNFILTERED,	/* except frames that the stack's firewall rules might filter */
};

/*
 * The functions below return -errno on failure, and may be called wherever a system call may be
 * made.
 *
 * frames_open(): the port of the socket @fd; calls with the same number return the same port.
 * -EBADF, -ENOTSOCK; -ESOCKTNOSUPPORT: no AF_PACKET socket of SOCK_RAW; -EDESTADDRREQ: not bound
 * to a device, or not to one with Ethernet frames; -EMFILE: too many; -EOPNOTSUPP: this kernel
 * lacks what is needed; -ENOMEM.
 *
 * @take: frames that the socket's filter accepts are taken before the device's stack sees
 * them, until an open without it, or the program's end.  -EPERM: without CAP_NET_ADMIN over the
 * device's namespace; -EBUSY: the device's frames are taken by another; -EINVAL: they cannot be
 * taken; -EPROTOTYPE: the socket is bound to a protocol; -ENOSYS: in a process.
 */
long frames_open(struct run *run, int fd, enum frames_take take, struct frames **frames);

/*
 * Drops the frames of the last receive, sends the queued frames, and receives new frames, except
 * those that this host sends.  Returns the number received; 0 if no frame came in time or the
 * socket is non-blocking; -EINTR, -ESTALE (the descriptor has become another socket in this run),
 * or the socket's error, such as -ENETDOWN.
 */
long frames_receive(struct run *run, struct frames *frames, const struct frames_wait *wait);

/*
 * Sends the queued frames, in order.  Returns how many were sent; frames that the device refuses
 * are lost, as on a wire.  Frames for which the socket's buffer has no room stay queued.  If none
 * was sent: -EAGAIN, -EINTR, -EMSGSIZE, -ENETDOWN, ...
 */
long frames_flush(struct run *run, struct frames *frames);

/* Makes a frame of length 0 with room for @room bytes.  Returns its index in frames->in. */
long frames_build(struct run *run, struct frames *frames, unsigned int room);

/* Makes room for @room bytes in @frame, of @frames->in: 0, -ENOBUFS, -ENOMEM. */
long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room);

/* The room that frames_grow() can make without allocating memory, at least @frame->room. */
unsigned int frames_spare(const struct frame *frame);

/**
 * struct frames_slot - memory of the process for a datagram: the frame's number, from 1 (4
 * bytes), the payload's length (4 bytes), the payload
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
 * Writes the datagram in received frame @i to @slot; with @headers, the frame's bytes before the
 * payload as well.  Returns 1; 0 if the frame has no datagram or it does not fit; -1 for a bad
 * address.
 */
int frames_put_slot(struct run *run, struct frames *frames, unsigned int i,
		    const struct frames_slot *slot, int headers);

/*
 * Queues the payload in @slot as the reply to the frame that @slot names, and sets @place to that
 * frame's index.  Returns 1; 0 if frame_udp() found no datagram in the frame, or there is no
 * room; -1 for a bad address.
 */
int frames_take_slot(struct run *run, struct frames *frames, const struct frames_slot *slot,
		     unsigned int *place);

/*
 * For backends, after the frames of the last receive are freed: invalidates references to them,
 * so that they do not refer to later frames with the same index.
 */
static inline void frames_next_batch(struct frames *frames)
{
	frames->n = 0;
	frames->batch++;
}

/* Does the script want a frame of this packet type (PACKET_HOST, ...)? */
static inline int frames_wants(const struct frames *frames, unsigned int kind)
{
	return kind <= PACKET_MULTICAST || (kind == PACKET_OTHERHOST && frames->all);
}

/* Can one more frame be queued? Then frames_queue() moves @frame to @out. */
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
