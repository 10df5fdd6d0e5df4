/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * IMAGE_CALL_BATCH: the batches of kernel/fs and kernel/net (files, entries, messages,
 * connections) for images, with r1 one of enum image_batch and r2 the address of its
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
 *             struct image_batch_files.  How many were done: kernel/fs/files.h
 *   ENTRIES   struct image_batch_entries.  0: kernel/fs/readdirplus.h
 *   MESSAGES  struct image_batch_import.  A number above 0 for the imported messages
 *             (kernel/net/mmsg.h), which nothing in the arena can change; -ENOBUFS:
 *             no memory, or too many
 *   FORGET    r2: such a number, which is free from now on.  0 or -ENOENT
 *   RECEIVE, SEND
 *             struct image_batch_messages.  How many messages; -ENOENT: @messages is
 *             not such a number
 *   COPY_IN, COPY_OUT
 *             struct image_batch_copy.  0; -EFAULT, -EINVAL
 *   ACCEPT    struct image_batch_accept.  How many connections: kernel/net/accept.h
 *   READ_FILE struct image_batch_file.  The bytes read: kernel/fs/files.h
 */
enum image_batch {
	IMAGE_BATCH_PENDING = 1,
	IMAGE_BATCH_STAT, IMAGE_BATCH_READ, IMAGE_BATCH_WRITE, IMAGE_BATCH_OPEN,
	IMAGE_BATCH_ENTRIES,
	IMAGE_BATCH_MESSAGES, IMAGE_BATCH_FORGET, IMAGE_BATCH_RECEIVE, IMAGE_BATCH_SEND,
	IMAGE_BATCH_COPY_IN, IMAGE_BATCH_COPY_OUT,
	IMAGE_BATCH_ACCEPT,
	IMAGE_BATCH_READ_FILE,
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

/* struct accept_request; @fds: int[n] */
struct image_batch_accept {
	unsigned long fds;
	int fd;
	unsigned int n, flags;
};

#endif /* _UAPI_SYSCRIPT_IMAGE_BATCH_H */
