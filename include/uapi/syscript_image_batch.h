/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * IMAGE_CALL_BATCH: the batches of kernel/fs and kernel/net (files, entries, messages,
 * connections, frames) for images, with r1 one of enum image_batch and r2 the address of its
 * structure.
 *
 * The structure is in the arena and read once: what other threads or the process write
 * there later changes nothing.  All addresses in it are the process's, in the arena or
 * not; if nothing is there, the result is -EFAULT.  r0 is the result of the functions
 * there, or -errno; -ENOSYS: there is no such batch.
 *
 * Types are those of C: programs for the engine include this, too.
 */
#ifndef _UAPI_SYSCRIPT_IMAGE_BATCH_H
#define _UAPI_SYSCRIPT_IMAGE_BATCH_H

/*
 *   PENDING   no structure.  1: a signal waits for the end of the run
 *   STAT, READ, WRITE, OPEN
 *             struct image_batch_files.  How many were done: core/fs/files.h
 *   ENTRIES   struct image_batch_entries.  0: core/fs/readdirplus.h
 *   MESSAGES  struct image_batch_import.  A number above 0 for the imported messages
 *             (core/net/mmsg.h), which nothing in the arena can change; -ENOBUFS:
 *             no memory, or too many
 *   FORGET    r2: such a number, which is free from now on.  0 or -ENOENT
 *   RECEIVE, SEND
 *             struct image_batch_messages.  How many messages; -ENOENT: @messages is
 *             not such a number
 *   COPY_IN, COPY_OUT
 *             struct image_batch_copy.  0; -EFAULT, -EINVAL
 *   ACCEPT    struct image_batch_accept.  How many connections: core/net/accept.h
 *   READ_FILE struct image_batch_file.  The bytes read: core/fs/files.h
 *
 * Frames of a device, by ports, which core/net/frames.h describes.  The frames are the
 * kernel's: a program has copies, and says which of them are to be sent, with which bytes.
 *
 *   FRAMES_OPEN
 *             struct image_batch_open.  A number above 0 for the port of a socket: the same
 *             for the same descriptor, as long as the program lives
 *   FRAMES_STATE, FRAMES_QUEUE, FRAMES_WRITE, FRAMES_FLUSH, FRAMES_RECEIVE
 *             struct image_batch_port.  -EBADF: no such port.  First, what @out says is
 *             done with frames that were received before: WRITE changes them, the others
 *             queue them to be sent by @port.  Then FLUSH sends what @port has queued, and
 *             RECEIVE drops what has become old, sends, and receives: how many, 0 or -errno,
 *             as frames_flush() and frames_receive().  The others return 0
 *   FRAMES_FETCH
 *             struct image_batch_fetch.  Copies the frames of a port, with records: how many;
 *             -EBADF, -ENOBUFS (@size is too small), -EINVAL (not in the arena)
 *   FRAMES_BUILD, FRAMES_GROW
 *             struct image_batch_place.  BUILD: a new frame without bytes, its place, or
 *             -errno as frames_build(); GROW: 0, or -errno as frames_grow()
 *   FRAMES_KEEP, FRAMES_DROP
 *             r2: a port, whose frames outlive this run if it succeeds, or do not.  0 or
 *             -EBADF
 *   FRAMES_COPY_OUT, FRAMES_REPLY
 *             struct image_batch_slots.  Datagrams to and from memory of the process: how
 *             many; -EFAULT, -EBADF, -EINVAL
 *
 *   USE       struct image_batch_use.  Memory for that part of an arena that is a mapping of
 *             the device: 0; -ENOMEM: none, or not for all of it; -EINVAL.  What has no
 *             memory yet can be written, and reads as anything that the program has written
 *             to such places.  Other arenas have memory for all of it
 */
enum image_batch {
	IMAGE_BATCH_PENDING = 1,
	IMAGE_BATCH_STAT, IMAGE_BATCH_READ, IMAGE_BATCH_WRITE, IMAGE_BATCH_OPEN,
	IMAGE_BATCH_ENTRIES,
	IMAGE_BATCH_MESSAGES, IMAGE_BATCH_FORGET, IMAGE_BATCH_RECEIVE, IMAGE_BATCH_SEND,
	IMAGE_BATCH_COPY_IN, IMAGE_BATCH_COPY_OUT,
	IMAGE_BATCH_ACCEPT,
	IMAGE_BATCH_READ_FILE,
	IMAGE_BATCH_FRAMES_OPEN, IMAGE_BATCH_FRAMES_STATE,
	IMAGE_BATCH_FRAMES_QUEUE, IMAGE_BATCH_FRAMES_WRITE,
	IMAGE_BATCH_FRAMES_FLUSH, IMAGE_BATCH_FRAMES_RECEIVE,
	IMAGE_BATCH_FRAMES_FETCH, IMAGE_BATCH_FRAMES_BUILD, IMAGE_BATCH_FRAMES_GROW,
	IMAGE_BATCH_FRAMES_KEEP, IMAGE_BATCH_FRAMES_DROP,
	IMAGE_BATCH_FRAMES_COPY_OUT, IMAGE_BATCH_FRAMES_REPLY,
	IMAGE_BATCH_USE,
};

/* struct files_request; @files: struct syscript_file[n] */
struct image_batch_files {
	unsigned long files;
	unsigned int n;
	int dirfd, flags;
	unsigned int mode, mask;
};

/* struct files_reading; @total: out */
struct image_batch_file {
	unsigned long path, addr, size;
	int dirfd, flags;
	long long total;
};

/**
 * struct image_batch_entries - struct readdirplus
 * @to: where the records are to be written: @room bytes at most
 * @used, @n, @taken, @end, @start: out
 *
 * If @to cannot be written to, the entries have been read nevertheless; the directory's
 * position was @start before.
 */
struct image_batch_entries {
	int fd;
	unsigned int mask, flags, max;
	unsigned long names, names_len, to, room;
	unsigned long used, taken;
	unsigned int n, end;
	long long start;
};

/**
 * struct image_batch_import - struct mmsghdr[n] at @addr, to receive into
 * @wrong: out, for an error: which message, from 1; for -EFAULT, the address
 *
 * -E2BIG: more than MMSG_IOV buffers; -EOPNOTSUPP: control data; -EINVAL: a negative
 * msg_namelen, or not 1 to MMSG_MAX messages.
 */
struct image_batch_import {
	unsigned long addr;
	unsigned int n;
	unsigned long wrong;
};

/* struct mmsg_call; @messages: to receive into, or with the addresses to send to, or 0 */
struct image_batch_messages {
	unsigned long addr;
	int fd;
	unsigned int n, flags, messages;
};

#define IMAGE_MESSAGES_MAX	64	/* of a program, at once */

/* @n bytes, IMAGE_COPY_MAX at most, between @here in the arena and @there in the process */
struct image_batch_copy {
	unsigned long here, there, n;
};

#define IMAGE_COPY_MAX		65536

/* @n bytes at the address @from in the arena */
struct image_batch_use {
	unsigned long from, n;
};

/* struct accept_request; @fds: int[n] */
struct image_batch_accept {
	unsigned long fds;
	int fd;
	unsigned int n, flags;
};

/* @take: 0, 1: from the device's stack, 2: those that it would not filter.  @all: not 0 */
struct image_batch_open {
	int fd;
	unsigned int take, all;
};

/**
 * struct image_batch_out - a frame that was received, or built, with its new bytes
 * @at:    where they are in the arena
 * @len:   how many
 * @port:  it is one of this port's
 * @place: which, from 0
 * @udp:   0, or where the header of its UDP datagram is: 34 or 54; the headers before it
 *         have no options
 * @reply: not 0: it becomes the reply to that datagram, with the payload that is there
 * @sum_start, @sum_at: 0, or where the bytes begin whose checksum is still to be completed,
 *         and where the checksum is: as it was received, or UDP's after such headers
 *
 * One that is not as it should be is ignored.
 */
struct image_batch_out {
	unsigned long at;
	unsigned int len;
	unsigned char port, place, udp, reply;
	unsigned short sum_start, sum_at;
};

/**
 * struct image_batch_port - a call on a port
 * @port:    its number
 * @n:       frames at @out, struct image_batch_out[n], 64 at most
 * @max, @timeout, @enough, @hold: of a receive, struct frames_wait
 * @waiting: out: frames that wait for the next flush
 * @batch:   out: changes when the received frames are others, or gone
 * @bytes:   out, RECEIVE: what FETCH wants room for
 */
struct image_batch_port {
	unsigned long out;
	unsigned int port, n;
	unsigned int max;
	int timeout;
	unsigned int enough, hold;
	unsigned int waiting;
	unsigned long batch, bytes;
};

/**
 * struct image_batch_frame - a copy of a frame: the first fields are struct frame's
 * @at:      of its bytes; 0: it is not here any more
 * @len:     how many
 * @room:    as many as may be there before it has to grow
 * @vlan:    the tag that the device took out, its protocol in the upper half, or 0
 * @sum, @sum_start, @sum_at: what is known of its checksum
 * @udp, @payload_len: 0
 * @found, @found_len: 0, or the offset of its UDP header and the payload's length, if it is
 *           a whole datagram with right checksums
 * @slot:    bytes that are its own at @at
 * @changed: 0
 */
struct image_batch_frame {
	unsigned long at;
	unsigned int len, room;
	unsigned int vlan;
	unsigned short sum, sum_start, sum_at;
	unsigned short udp, payload_len;
	unsigned short found, found_len, slot, changed;
};

#define IMAGE_FRAME_SLOT	512	/* at least; a longer frame has its length and a few */

/* @records: struct image_batch_frame[64]; @bytes: of their contents, @size bytes of room */
struct image_batch_fetch {
	unsigned long records, bytes, size;
	unsigned int port;
};

/* @room: for how many bytes; out: for how many there is room now, without growing again */
struct image_batch_place {
	unsigned int port, place, room;
};

/**
 * struct image_batch_slots - struct frames_slot: memory at @addr in @n pieces of @size bytes
 * @headers: not 0: with the headers before the payload
 * @taken:   out, REPLY: a bit for each frame that became a reply
 */
struct image_batch_slots {
	unsigned long addr;
	unsigned int port, size, n, headers;
	unsigned long long taken;
};

#endif /* _UAPI_SYSCRIPT_IMAGE_BATCH_H */
