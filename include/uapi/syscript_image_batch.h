/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * IMAGE_CALL_BATCH: the batches of kernel/fs and kernel/net (files, entries, messages,
 * connections, frames) for images, with r1 one of enum image_batch and r2 the address of its
 * structure.
 *
 * The structure is in the arena and read once: later writes of other threads or the process have
 * no effect. All addresses in it are the process's, in the arena or outside; unmapped addresses
 * give -EFAULT. r0 is the result of the function in kernel/fs or kernel/net, or -errno; -ENOSYS:
 * there is no such batch.
 *
 * Types are those of C: programs for the engine include this, too.
 */
#ifndef _UAPI_SYSCRIPT_IMAGE_BATCH_H
#define _UAPI_SYSCRIPT_IMAGE_BATCH_H

/*
 *   PENDING   no structure.  1: a signal is pending, and waits for the run to end
 *   STAT, READ, WRITE, OPEN
 *             struct image_batch_files.  The number of files done: core/fs/files.h
 *   ENTRIES   struct image_batch_entries.  0: core/fs/readdirplus.h
 *   MESSAGES  struct image_batch_import.  A handle above 0 of the imported messages
 *             (core/net/mmsg.h), which writes to the arena cannot change; -ENOBUFS:
 *             no memory, or too many
 *   FORGET    r2: such a handle, which is freed.  0 or -ENOENT
 *   RECEIVE, SEND
 *             struct image_batch_messages.  The number of messages; -ENOENT: @messages is
 *             not such a handle
 *   COPY_IN, COPY_OUT
 *             struct image_batch_copy.  0; -EFAULT, -EINVAL
 *   ACCEPT    struct image_batch_accept.  The number of connections: core/net/accept.h
 *   READ_FILE struct image_batch_file.  The bytes read: core/fs/files.h
 *
 * Frames of a device, by ports, which core/net/frames.h describes.  The frames are in kernel
 * memory: a program has copies, and says which frames are to be sent, with which bytes.
 *
 *   FRAMES_OPEN
 *             struct image_batch_open.  A number above 0 for the port of a socket: always the
 *             same number for the same descriptor
 *   FRAMES_STATE, FRAMES_QUEUE, FRAMES_WRITE, FRAMES_FLUSH, FRAMES_RECEIVE
 *             struct image_batch_port.  -EBADF: no such port.  First, each processes the
 *             received frames at @out: WRITE changes them, the others queue them to be sent
 *             by @port.  Then FLUSH sends the queue of @port, and RECEIVE drops the frames of
 *             the last receive, sends, and receives: they return the number or -errno as
 *             frames_flush() and frames_receive().  The others return 0
 *   FRAMES_FETCH
 *             struct image_batch_fetch.  Copies the frames of a port, with records: their
 *             number; -EBADF, -ENOBUFS (@size is too small), -EINVAL (not in the arena)
 *   FRAMES_BUILD, FRAMES_GROW
 *             struct image_batch_place.  BUILD makes a frame of length 0: its index, or
 *             -errno as frames_build(); GROW: 0, or -errno as frames_grow()
 *   FRAMES_KEEP, FRAMES_DROP
 *             r2: a port, whose frames live on after this run if it succeeds (KEEP), or not
 *             (DROP).  0 or -EBADF
 *   FRAMES_COPY_OUT, FRAMES_REPLY
 *             struct image_batch_slots.  Copies datagrams to and from memory of the process:
 *             their number; -EFAULT, -EBADF, -EINVAL
 *
 *   USE       struct image_batch_use.  Allocates that part of an arena that is a mapping of
 *             the device: 0; -ENOMEM: not, or not all of it; -EINVAL.  Unallocated memory can
 *             be written, and reads as anything that the program has written to unallocated
 *             memory.  Other arenas are always allocated
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
 * @to: destination of the records, @room bytes at most
 * @used, @n, @taken, @end, @start: out
 *
 * If writing to @to fails, the directory's position has advanced nevertheless; it was @start
 * before.
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
 * @wrong: out, on error: number of the message, from 1; for -EFAULT, the address
 *
 * -E2BIG: more than MMSG_IOV buffers; -EOPNOTSUPP: control data; -EINVAL: a negative
 * msg_namelen, or not 1 to MMSG_MAX messages.
 */
struct image_batch_import {
	unsigned long addr;
	unsigned int n;
	unsigned long wrong;
};

/* struct mmsg_call; @messages: handle of slots to receive into, or of addresses to send to; or 0 */
struct image_batch_messages {
	unsigned long addr;
	int fd;
	unsigned int n, flags, messages;
};

#define IMAGE_MESSAGES_MAX	64	/* handles that a program may have at once */

/* copies @n bytes, IMAGE_COPY_MAX at most, between @here in the arena and @there in the process */
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

/* @take: 0: copies; 1: taken from the device's stack; 2: only those it would not filter */
struct image_batch_open {
	int fd;
	unsigned int take, all;
};

/**
 * struct image_batch_out - a received or built frame, with its new bytes
 * @at:    address of the bytes in the arena
 * @len:   number of bytes
 * @port:  the port that it belongs to
 * @place: its index, from 0
 * @udp:   0, or the offset of its UDP header, 34 or 54, after headers without options
 * @reply: not 0: it becomes the reply to that datagram, with its present payload
 * @sum_start, @sum_at: 0, or the beginning of the bytes whose checksum is to be completed, and
 *                      the position of the checksum: as received, or UDP's after such headers
 *
 * Invalid entries are ignored.
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
 * @n:       number of frames at @out, struct image_batch_out[n], 64 at most
 * @max, @timeout, @enough, @hold: of a receive, struct frames_wait
 * @waiting: out: frames that wait for the next flush
 * @batch:   out: changes when the received frames are replaced or dropped
 * @bytes:   out, RECEIVE: bytes that FETCH needs
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
 * @at:      address of its bytes; 0: the frame is gone
 * @len:     number of bytes
 * @room:    number of bytes that it can have before it must grow
 * @vlan:    the VLAN tag that the device removed, with its protocol in the upper half; or 0
 * @sum, @sum_start, @sum_at: the state of its checksum
 * @udp, @payload_len: 0
 * @found, @found_len: 0, or the offset of its UDP header and the payload's length, if it is a
 *                     whole datagram with correct checksums
 * @slot:    bytes reserved for it at @at
 * @changed, @unused: 0; @unused is where padding would be
 */
struct image_batch_frame {
	unsigned long at;
	unsigned int len, room;
	unsigned int vlan;
	unsigned short sum, sum_start, sum_at;
	unsigned short udp, payload_len;
	unsigned short found, found_len, slot, changed, unused;
};

#define IMAGE_FRAME_SLOT	512	/* the least; longer frames get more */

/* @records: struct image_batch_frame[64]; @bytes: destination of the contents, of @size bytes */
struct image_batch_fetch {
	unsigned long records, bytes, size;
	unsigned int port;
};

/* @room: in: bytes needed; out: bytes that it can have without growing again */
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
