// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements the batches of frames in syscript_image_batch.h. A frame stays in memory of
 * kernel/net. The program gets a copy of its bytes, and a record with the datagram's position;
 * bytes that it sends are copied back to the frame.
 *
 * Copies and records are in the arena, where the process's threads may write, too, so they are
 * not trusted: only kernel/net has a frame's address, size and charge.
 */
#include "batch_calls.h"
#include "batch_arena.h"
#include "engine.h"
#include "vm.h"
#include "usermem.h"

/* -- Ports --------------------------------------------------------------------------- */

/* The port with @number, or NULL. */
static struct frames *find_port(const struct engine_vm *vm, u64 number)
{
	u64 i = number - 1;

	return i < FRAMES_PORTS ? vm->batches.ports[image_index(i, FRAMES_PORTS)] : NULL;
}

/* The port's number.  A program has at most FRAMES_PORTS ports, so there is a number for each. */
static s64 number_of(struct engine_vm *vm, struct frames *frames)
{
	struct frames **ports = vm->batches.ports;
	unsigned int i = 0;

	while (i < FRAMES_PORTS - 1 && ports[i] && ports[i] != frames)
		i++;
	ports[i] = frames;
	return i + 1;
}

static s64 open_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_open given;
	struct frames *frames;
	s64 err;

	READ_STRUCT(vm, &given, address);
	if (given.take > FRAMES_TAKE_UNFILTERED)
		return -EINVAL;
	err = frames_open(vm->run, given.fd, given.take, &frames);
	/* If the run ends, there may be no port. */
	if (err || vm->run->stop_reason)
		return err;
	frames->all = given.all;
	return number_of(vm, frames);
}

/* -- Bytes --------------------------------------------------------------------------- */

#ifdef __x86_64__
/* Most frames are short: the kernel's memcpy(), a single instruction, takes long to begin. */
#define SHORT	256

static void copy_bytes(void *to, const void *from, unsigned int n)
{
	u64 *p = to;
	const u64 *q = from;
	u64 last;

	if (n < sizeof(last) || n > SHORT) {
		memcpy(to, from, n);
		return;
	}
	for (; n >= 4 * sizeof(*p); n -= 4 * sizeof(*p), p += 4, q += 4) {
		p[0] = q[0];
		p[1] = q[1];
		p[2] = q[2];
		p[3] = q[3];
	}
	for (; n >= sizeof(*p); n -= sizeof(*p))
		*p++ = *q++;
	if (!n)
		return;
	/* The last word overlaps the one before. */
	memcpy(&last, (const char *)q + n - sizeof(last), sizeof(last));
	memcpy((char *)p + n - sizeof(last), &last, sizeof(last));
}
#else
#define copy_bytes(to, from, n)	memcpy(to, from, n)
#endif

/* The bytes of the program's memory that a frame of @len bytes takes. */
static u64 slot_of(unsigned int len)
{
	return len < IMAGE_FRAME_SLOT ? IMAGE_FRAME_SLOT : (len + 63) & ~63UL;
}

static u64 slots_of(const struct frames *frames)
{
	u64 size = 0;
	unsigned int i;

	for (i = 0; i < frames->n; i++)
		if (frames->in[i].data)
			size += slot_of(frames->in[i].len);
	return size;
}

/* -- To the program -------------------------------------------------------------------- */

static void describe(struct image_batch_frame *record, struct frame *frame, u64 at, u64 slot)
{
	int found = frame_udp(frame);
	unsigned int room = frames_spare(frame);

	*record = (struct image_batch_frame){
		.at = at, .len = frame->len, .room = room < slot ? room : slot,
		.vlan = frame->vlan, .sum = frame->sum, .sum_start = frame->sum_start,
		.sum_at = frame->sum_at, .slot = slot,
	};
	if (found >= 0) {
		record->found = frame->udp;
		record->found_len = frame->payload_len;
	}
}

static s64 fetch_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_fetch given;
	struct image_batch_frame *records, record;
	struct frames *frames;
	char *bytes;
	unsigned int i;
	u64 slot, at;

	READ_STRUCT(vm, &given, address);
	frames = find_port(vm, given.port);
	if (!frames)
		return -EBADF;
	records = range_in_arena(vm, given.records, frames->n * sizeof(record));
	bytes = range_in_arena(vm, given.bytes, given.size);
	if (!records || !bytes)
		return -EINVAL;
	if (slots_of(frames) > given.size)
		return -ENOBUFS;
	at = given.bytes;
	for (i = 0; i < frames->n; i++, at += slot, bytes += slot) {
		struct frame *frame = &frames->in[i];

		slot = 0;
		if (frame->data) {
			slot = slot_of(frame->len);
			describe(&record, frame, at, slot);
			copy_bytes(bytes, frame->data, frame->len);
		} else {
			record = (struct image_batch_frame){ };
		}
		memcpy(&records[i], &record, sizeof(record));
	}
	return frames->n;
}

/* -- From the program -------------------------------------------------------------------- */

/* Is this the end of headers without options: Ethernet's, and IPv4's or IPv6's? */
static bool is_after_headers(unsigned int at)
{
	return at == 34 || at == 54;
}

static bool is_udp(const struct image_batch_out *given)
{
	return is_after_headers(given->udp) && given->len >= given->udp + 0u + UDP_LEN;
}

/* Is the position that of a checksum to be completed: the frame's own, or UDP's? */
static bool is_sum(const struct frame *frame, const struct image_batch_out *given)
{
	if (given->sum_at + 2u > given->len)
		return false;
	if (frame->sum == FRAME_SUM_PARTIAL && given->sum_start == frame->sum_start &&
	    given->sum_at == frame->sum_at)
		return true;
	return is_after_headers(given->sum_start) && given->sum_at == given->sum_start + 6;
}

static void set_sum(struct frame *frame, const struct image_batch_out *given)
{
	if (!is_sum(frame, given)) {
		frame->sum = FRAME_SUM_UNKNOWN;
		return;
	}
	frame->sum = FRAME_SUM_PARTIAL;
	frame->sum_start = given->sum_start;
	frame->sum_at = given->sum_at;
}

/* Copies the given bytes to the frame. False if they are invalid or do not fit. */
static bool write_frame(struct engine_vm *vm, struct frames *from, struct frame *frame,
			const struct image_batch_out *given)
{
	const void *bytes = range_in_arena(vm, given->at, given->len);
	bool udp = is_udp(given);

	if (!bytes || (given->reply && !udp))
		return false;
	if (given->len > frame->room && frames_grow(vm->run, from, frame, given->len))
		return false;
	copy_bytes(frame->data, bytes, given->len);
	frame->len = given->len;
	frame->udp = 0;
	set_sum(frame, given);
	if (udp) {
		frame->udp = given->udp;
		frame->payload_len = given->len - given->udp - UDP_LEN;
	}
	return true;
}

/* @to: the port that is to send the frame, or NULL to keep it. */
static void take_out(struct engine_vm *vm, const struct image_batch_out *given,
		     struct frames *to)
{
	struct frames *from = find_port(vm, given->port);
	struct frame *frame;

	if (!from || given->place >= from->n || given->len > FRAME_MAX ||
	    (to && !frames_may_queue(to)))
		return;
	frame = &from->in[image_index(given->place, FRAMES_MAX)];
	if (!frame->data || !write_frame(vm, from, frame, given) || !to)
		return;
	if (!given->reply || frame_reply(frame, frame->payload_len))
		frames_queue(to, frame);
}

static s64 take_all_out(struct engine_vm *vm, const struct image_batch_port *given,
			struct frames *to)
{
	struct image_batch_out out;
	unsigned int i;

	if (given->n > FRAMES_MAX)
		return -EINVAL;
	for (i = 0; i < given->n && !vm->run->stop_reason; i++) {
		READ_STRUCT(vm, &out, given->out + i * sizeof(out));
		take_out(vm, &out, to);
	}
	return 0;
}

static s64 receive(struct engine_vm *vm, struct frames *frames,
		   const struct image_batch_port *given)
{
	struct frames_wait wait = {
		.max = given->max, .timeout = given->timeout,
		.enough = given->enough, .hold = given->hold,
	};

	if (!wait.max || wait.max > FRAMES_MAX || wait.timeout < -1 ||
	    wait.timeout > FRAMES_TIMEOUT_MAX || !wait.enough || wait.enough > FRAMES_MAX ||
	    wait.hold > FRAMES_HOLD_MAX)
		return -EINVAL;
	return frames_receive(vm->run, frames, &wait);
}

static s64 port_call(struct engine_vm *vm, u64 op, u64 address)
{
	struct image_batch_port given;
	struct frames *frames;
	s64 ret;

	READ_STRUCT(vm, &given, address);
	frames = find_port(vm, given.port);
	if (!frames)
		return -EBADF;
	ret = take_all_out(vm, &given, op == IMAGE_BATCH_FRAMES_WRITE ? NULL : frames);
	if (!ret && !vm->run->stop_reason) {
		if (op == IMAGE_BATCH_FRAMES_RECEIVE)
			ret = receive(vm, frames, &given);
		else if (op == IMAGE_BATCH_FRAMES_FLUSH)
			ret = frames_flush(vm->run, frames);
	}
	given.waiting = frames->nout;
	given.batch = frames->batch;
	given.bytes = op == IMAGE_BATCH_FRAMES_RECEIVE ? slots_of(frames) : 0;
	memcpy(in_arena(vm, address), &given, sizeof(given));
	return ret;
}

/* -- New frames, and longer ones ----------------------------------------------------------- */

static s64 place_call(struct engine_vm *vm, bool builds, u64 address)
{
	struct image_batch_place given;
	struct frames *frames;
	s64 ret = 0;

	READ_STRUCT(vm, &given, address);
	frames = find_port(vm, given.port);
	if (!frames)
		return -EBADF;
	if (builds) {
		ret = frames_build(vm->run, frames, given.room);
		given.place = ret;
	}
	if (ret < 0 || vm->run->stop_reason)
		return ret;
	if (given.place >= frames->n)
		return -ENOENT;
	given.place = image_index(given.place, FRAMES_MAX);
	if (!frames->in[given.place].data)
		return -ENOENT;
	if (!builds)
		ret = frames_grow(vm->run, frames, &frames->in[given.place], given.room);
	given.room = frames_spare(&frames->in[given.place]);
	memcpy(in_arena(vm, address), &given, sizeof(given));
	return ret;
}

static s64 keep_call(struct engine_vm *vm, bool keeps, u64 number)
{
	struct frames *frames = find_port(vm, number);

	if (!frames)
		return -EBADF;
	frames->keep = keeps;
	return 0;
}

/* -- Memory of the process ------------------------------------------------------------------- */

static s64 copy_out(struct engine_vm *vm, struct frames *frames,
		    const struct image_batch_slots *given)
{
	struct frames_slot slot = { given->addr, given->size };
	unsigned int i;
	s64 n = 0;

	for (i = 0; i < frames->n && !vm->run->stop_reason; i++) {
		int done = frames_put_slot(vm->run, frames, i, &slot, given->headers);

		if (done < 0)
			return -EFAULT;
		if (done)
			slot.addr += slot.size;
		n += done;
	}
	return n;
}

static s64 reply(struct engine_vm *vm, struct frames *frames, struct image_batch_slots *given)
{
	struct frames_slot slot = { given->addr, given->size };
	unsigned int i, place;
	s64 n = 0;

	if (given->n > FRAMES_MAX)
		return -EINVAL;
	for (i = 0; i < given->n && !vm->run->stop_reason; i++, slot.addr += slot.size) {
		int done = frames_take_slot(vm->run, frames, &slot, &place);

		if (done < 0)
			return -EFAULT;
		if (done)
			given->taken |= 1ULL << place;
		n += done;
	}
	return n;
}

static s64 slots_call(struct engine_vm *vm, bool replies, u64 address)
{
	struct image_batch_slots given;
	struct frames *frames;
	s64 ret;

	READ_STRUCT(vm, &given, address);
	frames = find_port(vm, given.port);
	if (!frames)
		return -EBADF;
	if (given.size < FRAMES_SLOT_HEAD || given.size > FRAMES_SLOT_MAX)
		return -EINVAL;
	if (!replies)
		return copy_out(vm, frames, &given);
	given.taken = 0;
	ret = reply(vm, frames, &given);
	memcpy(in_arena(vm, address), &given, sizeof(given));
	return ret;
}

s64 batches_frames_call(struct engine_vm *vm, u64 op, u64 address)
{
	switch (op) {
	case IMAGE_BATCH_FRAMES_STATE:
	case IMAGE_BATCH_FRAMES_QUEUE:
	case IMAGE_BATCH_FRAMES_WRITE:
	case IMAGE_BATCH_FRAMES_FLUSH:
	case IMAGE_BATCH_FRAMES_RECEIVE:
		return port_call(vm, op, address);
	case IMAGE_BATCH_FRAMES_FETCH:
		return fetch_call(vm, address);
	case IMAGE_BATCH_FRAMES_OPEN:
		return open_call(vm, address);
	case IMAGE_BATCH_FRAMES_BUILD:
	case IMAGE_BATCH_FRAMES_GROW:
		return place_call(vm, op == IMAGE_BATCH_FRAMES_BUILD, address);
	case IMAGE_BATCH_FRAMES_KEEP:
	case IMAGE_BATCH_FRAMES_DROP:
		return keep_call(vm, op == IMAGE_BATCH_FRAMES_KEEP, address);
	case IMAGE_BATCH_FRAMES_COPY_OUT:
	case IMAGE_BATCH_FRAMES_REPLY:
		return slots_call(vm, op == IMAGE_BATCH_FRAMES_REPLY, address);
	}
	return -ENOSYS;
}
