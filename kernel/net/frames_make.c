// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the parts of frames.h that make and grow frames: memory of a socket buffer, charged
 * to the socket.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/sock.h>

#include "frames_port.h"
#include "kernel/run_priv.h"

/* Work: make a frame, or grow one. */
struct room {
	struct frames_work work;
	struct frame *frame;
	unsigned int room;
};

static long build_frame(struct frames_work *work)
{
	const struct room *room = container_of(work, struct room, work);
	struct frames *frames = &work->port->frames;
	struct sock *sk = work->port->sk;
	struct sk_buff *skb;

	if (frames->n == FRAMES_MAX || !frames_has_buffer(sk))
		return -ENOBUFS;
	skb = alloc_skb(LL_MAX_HEADER + room->room, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_set_owner_r(skb, sk);
	frames_give(frames, skb);
	return frames->n - 1;
}

static long build_call(void *arg)
{
	return frames_with_socket(arg, build_frame);
}

long frames_build(struct run *run, struct frames *frames, unsigned int room)
{
	struct room new = { .work = { .run = run, .port = frames_port_of(frames) }, .room = room };

	return room > FRAME_MAX ? -ENOBUFS : run_outside(run, build_call, &new.work);
}

/* Recharge: truesize grew. */
static long grow_frame(void *arg)
{
	struct room *room = arg;
	struct sk_buff *skb = room->frame->buffer;
	struct sock *sk = room->work.port->sk;
	int err;

	if (!frames_has_buffer(sk))
		return -ENOBUFS;
	frames_set_length(skb, room->frame->len);
	skb_orphan(skb);
	err = pskb_expand_head(skb, 0, room->room - skb->len - skb_tailroom(skb), GFP_KERNEL);
	skb_set_owner_r(skb, sk);
	frames_look_at(room->frame, skb);
	return err;
}

/* Uses the headroom, which most devices leave in front of a frame. */
static bool move_up(struct frame *frame, unsigned int room)
{
	unsigned int by = round_up(room - frame->room, 16), len = frame->len;
	struct sk_buff *skb = frame->buffer;

	if (by > skb_headroom(skb))
		return false;
	memmove(skb->data - by, skb->data, len);
	__skb_push(skb, by);
	frames_set_length(skb, len);
	frames_look_at(frame, skb);
	return true;
}

unsigned int frames_spare(const struct frame *frame)
{
	unsigned int before = round_down(skb_headroom(frame->buffer), 16);

	return min_t(unsigned int, frame->room + before, FRAME_MAX);
}

static noinline long make_room(struct run *run, struct frames *frames, struct frame *frame,
			       unsigned int room)
{
	struct room more = { .work = { .run = run, .port = frames_port_of(frames) },
			     .frame = frame, .room = room };

	return run_outside(run, grow_frame, &more);
}

long frames_grow(struct run *run, struct frames *frames, struct frame *frame,
		 unsigned int room)
{
	if (room > FRAME_MAX)
		return -ENOBUFS;
	if (room <= frame->room || move_up(frame, room))
		return 0;
	return make_room(run, frames, frame, room);
}
