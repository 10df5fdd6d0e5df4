/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Batches of messages on a socket, as of recvmmsg(2) and sendmmsg(2), but cheaper: one descriptor
 * lookup a batch, and buffers that are imported once.  Every message passes the checks of the
 * plain call: security modules, address space, socket errors.
 *
 * Plain C, for engines.  mmsg.c implements this for the module, core/user/mmsg.c
 * for a process.
 */
#ifndef SYSCRIPT_MMSG_H
#define SYSCRIPT_MMSG_H

#define MMSG_MAX	64	/* messages in a batch */
#define MMSG_IOV	8	/* buffers of a message for receiving */
#define MMSG_NAME	128	/* sizeof(struct sockaddr_storage) */

/*
 * The error text for a malformed message begins with this; any other text is about memory that is
 * not mapped.
 */
#define MMSG_MALFORMED	"message "

/* The flags that a batch accepts, as numbers, which are the same in every header. */
#define MMSG_RECV_FLAGS	(0x2 | 0x20 | 0x40 | 0x10000)
		/* MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT, MSG_WAITFORONE */
#define MMSG_SEND_FLAGS	(0x4 | 0x40 | 0x800 | 0x4000 | 0x8000)
		/* MSG_DONTROUTE, MSG_DONTWAIT, MSG_CONFIRM, MSG_NOSIGNAL, MSG_MORE */

/* struct mmsghdr of 64 bit processes. */
struct mmsg_header {
	unsigned long name;
	int namelen;
	unsigned long iov, iovlen;
	unsigned long control, controllen;
	unsigned int flags;
	unsigned int len __attribute__((aligned(8)));
};

/* An imported message: its buffers, and its sender. */
struct mmsg_slot {
	struct {
		unsigned long base, len;
	} iov[MMSG_IOV];		/* struct iovec */
	unsigned int iovlen;
	unsigned int name_room;		/* room at @user_name at the time of the import */
	unsigned long user_name;	/* user address of the sender's name, or 0 */
	unsigned int namelen;		/* length of @name; 0 before the first receive */
	char name[MMSG_NAME] __attribute__((aligned(8)));
};

struct mmsg {
	unsigned long addr;		/* user address of struct mmsghdr[n] */
	unsigned int n;
	struct mmsg_slot slot[];
};

struct mmsg_call {
	int fd;
	unsigned int n, flags;
	unsigned long addr;		/* messages to send: user address of struct mmsghdr[n] */
	struct mmsg *mmsg;		/* slots to receive into, or with addresses, or NULL */
};

struct run;

/*
 * Reads the struct mmsghdr[@n] at @addr, which the process has prepared for receiving, into
 * @mmsg, which is zeroed and has room for them.  Returns 0, or
 *
 * -EFAULT: the address *@wrong is not mapped
 *
 * or, for message *@wrong, counted from 1: -E2BIG: it has more than MMSG_IOV buffers;
 * -EOPNOTSUPP: it asks for control data; -EINVAL: a negative msg_namelen.
 */
int mmsg_import(struct run *run, struct mmsg *mmsg, unsigned long addr, unsigned int n,
		unsigned long *wrong);

/*
 * Receives up to @n messages into the first slots of @mmsg, and writes msg_len,
 * msg_name, msg_namelen and msg_flags of the user's array.  Stops at the first
 * error; with MSG_WAITFORONE only waits for the first message.
 *
 * Sends the @n messages at @addr; message i goes to the sender of slot i of @mmsg, if
 * there is one, else to its msg_name.  Writes msg_len.
 *
 * Both return the number of messages, or -errno if that is 0: -EINVAL for flags other than
 * MMSG_*_FLAGS or @n beyond MMSG_MAX, -EBADF, -ENOTSOCK, -EFAULT, -EAGAIN, -EINTR, and the
 * protocol's own errors.  They replace a system call: see run_as_syscall().
 */
long mmsg_recv(struct run *run, struct mmsg_call *call);
long mmsg_send(struct run *run, struct mmsg_call *call);

#endif /* SYSCRIPT_MMSG_H */
