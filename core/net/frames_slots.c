// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements the slots of frames.h: a process that parses and replies by itself gets datagrams
 * copied to its memory, and its replies copied back.  Compiled for both the module and
 * libsyscript.
 */
#include "frames.h"
#include "usermem.h"

int frames_put_slot(struct run *run, struct frames *frames, unsigned int i,
		    const struct frames_slot *slot, int headers)
{
	struct frame *frame = &frames->in[i];
	int found = frame->data ? frame_udp(frame) : -1;
	unsigned long long head;
	unsigned int from, end;

	if (found < 0)
		return 0;
	from = headers ? 0 : (unsigned int)found & 255;
	end = ((unsigned int)found & 255) + frame->payload_len;
	if (end - from > slot->size - FRAMES_SLOT_HEAD)
		return 0;
	head = (i + 1) | (unsigned long long)frame->payload_len << 32;
	return usermem_put(run, slot->addr, head, frame->data + from, end - from) ? -1 : 1;
}

/*
 * The address for a reply's payload of @n bytes, or NULL if there is no room. The payload
 * overwrites the query's in place; the frame's length does not change yet.
 */
static unsigned char *replace(struct run *run, struct frames *frames, struct frame *frame,
			      unsigned int n)
{
	unsigned short payload_len = frame->payload_len;
	unsigned int len = frame->len, room;

	frame->len = frame->udp + UDP_LEN;
	frame->payload_len = 0;
	room = frame->len + n;
	if (n > FRAME_MAX || (room > frame->room && frames_grow(run, frames, frame, room))) {
		frame->len = len;
		frame->payload_len = payload_len;
		return (void *)0;
	}
	return frame_at(frame, frame->len, n, frame->room);
}

int frames_take_slot(struct run *run, struct frames *frames, const struct frames_slot *slot,
		     unsigned int *place)
{
	struct frame *frame;
	unsigned long long head;
	unsigned int i, len;
	unsigned char *p;

	if (usermem_load(run, &head, slot->addr, FRAMES_SLOT_HEAD))
		return -1;
	i = (unsigned int)head - 1;
	len = (unsigned int)(head >> 32);
	if (i >= FRAMES_MAX || len > slot->size - FRAMES_SLOT_HEAD)
		return 0;
	*place = i % FRAMES_MAX;	/* Masked, so that the bound holds in speculation, too. */
	frame = &frames->in[*place];
	if (!frame->data || !frame->udp || !frames_may_queue(frames))
		return 0;
	p = replace(run, frames, frame, len);
	if (!p)
		return 0;
	if (usermem_get(run, p, slot->addr + FRAMES_SLOT_HEAD, len))
		return -1;
	frame->len += len;
	if (!frame_reply(frame, len))
		return 0;
	frames_queue(frames, frame);
	return 1;
}
