// SPDX-License-Identifier: GPL-2.0
/* Batches of messages on a socket, see mmsg.h. */
#include "mmsg.h"

#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/inet_common.h>
#include <net/sock.h>

#include "backlog.h"
#include "compat.h"

/*
 * What one hold of the backlog may queue: a loopback with Ethernet's MTU makes
 * this and a last message of 64 KiB about 90 packets.
 */
#define HOLD_BYTES	(64 << 10)
/*
 * Few messages, too, and the first one goes alone: who waits for it on another
 * CPU gets to work while the rest is sent.
 */
#define HOLD_MESSAGES	4
/* On the task's stack; longer is refused. */
#define CONTROL_MAX	256

static_assert(MMSG_NAME == sizeof(struct sockaddr_storage));
static_assert(sizeof(((struct mmsg_slot *)0)->iov[0]) == sizeof(struct iovec));
static_assert(sizeof(struct mmsg_header) == sizeof(struct mmsghdr));
static_assert(offsetof(struct mmsg_header, controllen) ==
	      offsetof(struct mmsghdr, msg_hdr.msg_controllen));
static_assert(offsetof(struct mmsg_header, len) ==
	      offsetof(struct mmsghdr, msg_len));
static_assert(MMSG_RECV_FLAGS ==
	      (MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT | MSG_WAITFORONE));
static_assert(MMSG_SEND_FLAGS == (MSG_DONTROUTE | MSG_DONTWAIT | MSG_CONFIRM |
				  MSG_NOSIGNAL | MSG_MORE));

/* -- Receiving ------------------------------------------------------------- */

/* Once per receive, so that nothing rests on how the slot came about. */
static int slot_iter(struct iov_iter *iter, const struct mmsg_slot *slot)
{
	const struct iovec *iov = (const struct iovec *)slot->iov;
	size_t total = 0;
	unsigned int i;

	if (slot->iovlen > MMSG_IOV)
		return -EMSGSIZE;
	for (i = 0; i < slot->iovlen; i++) {
		if (!access_ok(iov[i].iov_base, iov[i].iov_len))
			return -EFAULT;
		total += iov[i].iov_len;
	}
	if (total > INT_MAX)
		return -EINVAL;
	if (slot->iovlen == 1)
		iov_iter_ubuf(iter, ITER_DEST, iov->iov_base, total);
	else
		iov_iter_init(iter, ITER_DEST, iov, slot->iovlen, total);
	return 0;
}

static int put_received(struct mmsghdr __user *hdr, const struct mmsg_slot *slot,
			const struct msghdr *msg, unsigned int len)
{
	int copied = min(slot->name_room, slot->namelen);

	if (slot->user_name &&
	    copy_to_user((void __user *)slot->user_name, slot->name, copied))
		return -EFAULT;
	if (!user_access_begin(hdr, sizeof(*hdr)))
		return -EFAULT;
	if (slot->user_name)
		unsafe_put_user(slot->namelen, &hdr->msg_hdr.msg_namelen, fault);
	unsafe_put_user(msg->msg_flags & ~MSG_CMSG_COMPAT,
			&hdr->msg_hdr.msg_flags, fault);
	unsafe_put_user(len, &hdr->msg_len, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static int recv_one(struct socket *sock, struct mmsg *mmsg, unsigned int i,
		    unsigned int *flags)
{
	struct mmsghdr __user *hdrs = (struct mmsghdr __user *)mmsg->addr;
	struct mmsg_slot *slot = &mmsg->slot[i];
	struct msghdr msg = { .msg_name = slot->name };
	int len;

	len = slot_iter(&msg.msg_iter, slot);
	if (len < 0)
		return len;
	/* As recvmmsg(2): security modules are asked once a batch. */
	if (!i)
		len = sock_recvmsg(sock, &msg, *flags & ~MSG_WAITFORONE);
	else
		len = INDIRECT_CALL_1(sock->ops->recvmsg, inet_recvmsg, sock, &msg,
				      msg_data_left(&msg), *flags & ~MSG_WAITFORONE);
	if (len < 0)
		return len;
	slot->namelen = msg.msg_namelen;
	if (*flags & MSG_WAITFORONE)
		*flags |= MSG_DONTWAIT;
	return put_received(hdrs + i, slot, &msg, len);
}

static long recv_batch(struct socket *sock, const struct mmsg_call *call)
{
	unsigned int flags = call->flags, i;
	int err;

	if (sock->file->f_flags & O_NONBLOCK)
		flags |= MSG_DONTWAIT;
	err = sock_error(sock->sk);
	for (i = 0; !err && i < call->n; i++) {
		err = recv_one(sock, call->mmsg, i, &flags);
		if (err)
			break;
		cond_resched();
	}
	/* As recvmmsg(2): the next call meets an error that came too late. */
	if (i && err && err != -EAGAIN)
		WRITE_ONCE(sock->sk->sk_err, -err);
	return i ? (long)i : err;
}

/* -- Sending --------------------------------------------------------------- */

struct outgoing {
	struct user_msghdr hdr;
	struct msghdr msg;
	struct iovec fast[UIO_FASTIOV];
	struct iovec *iov;		/* to be freed */
	struct sockaddr_storage name;
	u8 control[CONTROL_MAX] __aligned(sizeof(size_t));
};

/* Word by word: a copy of so little is mostly its call. */
static int import_header(struct outgoing *out, struct mmsghdr __user *mmsghdr)
{
	struct user_msghdr __user *from = &mmsghdr->msg_hdr;
	struct user_msghdr *to = &out->hdr;

	if (!user_read_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(to->msg_name, &from->msg_name, fault);
	unsafe_get_user(to->msg_namelen, &from->msg_namelen, fault);
	unsafe_get_user(to->msg_iov, &from->msg_iov, fault);
	unsafe_get_user(to->msg_iovlen, &from->msg_iovlen, fault);
	unsafe_get_user(to->msg_control, &from->msg_control, fault);
	unsafe_get_user(to->msg_controllen, &from->msg_controllen, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

/* What import_iovec() does, for a single buffer. */
static int import_buffer(struct outgoing *out)
{
	const struct iovec __user *from = out->hdr.msg_iov;
	void __user *base;
	size_t len;

	if (!user_read_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(base, &from->iov_base, fault);
	unsafe_get_user(len, &from->iov_len, fault);
	user_read_access_end();
	if ((ssize_t)len < 0)
		return -EINVAL;
	len = min_t(size_t, len, MAX_RW_COUNT);
	if (!access_ok(base, len))
		return -EFAULT;
	iov_iter_ubuf(&out->msg.msg_iter, ITER_SOURCE, base, len);
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static int import_buffers(struct outgoing *out)
{
	int ret;

	if (out->hdr.msg_iovlen == 1)
		return import_buffer(out);
	if (out->hdr.msg_iovlen > UIO_MAXIOV)
		return -EMSGSIZE;
	out->iov = out->fast;
	ret = import_iovec(ITER_SOURCE, out->hdr.msg_iov, out->hdr.msg_iovlen,
			   ARRAY_SIZE(out->fast), &out->iov, &out->msg.msg_iter);
	return ret < 0 ? ret : 0;
}

static int import_name(struct outgoing *out, const struct mmsg_slot *to)
{
	int len = out->hdr.msg_namelen;

	if (to) {
		out->msg.msg_namelen = to->namelen;
		out->msg.msg_name = to->namelen ? (void *)to->name : NULL;
		return 0;
	}
	if (len < 0)
		return -EINVAL;
	if (!out->hdr.msg_name || !len)
		return 0;
	len = min_t(int, len, sizeof(out->name));
	if (copy_from_user(&out->name, out->hdr.msg_name, len))
		return -EFAULT;
	out->msg.msg_name = &out->name;
	out->msg.msg_namelen = len;
	return 0;
}

static int import_control(struct outgoing *out)
{
	size_t len = out->hdr.msg_controllen;

	if (!len)
		return 0;
	if (len > sizeof(out->control))
		return -ENOBUFS;
	if (copy_from_user(out->control,
			   (void __user __force *)out->hdr.msg_control, len))
		return -EFAULT;
	out->msg.msg_control = out->control;
	out->msg.msg_controllen = len;
	return 0;
}

/* Returns the bytes sent. */
static long send_one(struct socket *sock, struct outgoing *out,
		     struct mmsghdr __user *hdr, const struct mmsg_slot *to,
		     unsigned int flags)
{
	long ret = import_header(out, hdr);

	if (ret)
		return ret;
	memset(&out->msg, 0, sizeof(out->msg));
	out->msg.msg_flags = flags;
	out->iov = NULL;
	ret = import_name(out, to) ?: import_control(out) ?: import_buffers(out);
	if (ret)
		return ret;
	ret = sock_sendmsg(sock, &out->msg);
	kfree(out->iov);
	if (ret >= 0 && put_user((unsigned int)ret, &hdr->msg_len))
		return -EFAULT;
	return ret;
}

static long send_batch(struct socket *sock, const struct mmsg_call *call)
{
	struct mmsghdr __user *hdrs = (struct mmsghdr __user *)call->addr;
	unsigned int flags = call->flags, i = 0;
	struct outgoing out;
	long ret = 0;

	if (sock->file->f_flags & O_NONBLOCK)
		flags |= MSG_DONTWAIT;
	while (i < call->n && ret >= 0) {
		struct backlog_hold hold;
		unsigned int end = min(call->n, i ? i + HOLD_MESSAGES : 1);
		long bytes = 0;

		backlog_hold(&hold);
		do {
			ret = send_one(sock, &out, hdrs + i,
				       call->mmsg ? &call->mmsg->slot[i] : NULL,
				       flags);
			if (ret < 0)
				break;
			bytes += ret;
			i++;
		} while (i < end && bytes < HOLD_BYTES && !need_resched());
		backlog_release(&hold);
		cond_resched();
		if (fatal_signal_pending(current))
			ret = -EINTR;
	}
	return i ? (long)i : ret;
}

/* -- Both ------------------------------------------------------------------ */

static long batch(const struct mmsg_call *call, unsigned int flags_known,
		  long (*fn)(struct socket *, const struct mmsg_call *))
{
	struct socket *sock;
	long ret;
	int err;

	if (call->flags & ~flags_known || call->n > MMSG_MAX ||
	    (call->mmsg && call->n > call->mmsg->n))
		return -EINVAL;
	sock = sockfd_lookup(call->fd, &err);
	if (!sock)
		return err;
	ret = fn(sock, call);
	sockfd_put(sock);
	return ret;
}

long mmsg_recv(const struct mmsg_call *call)
{
	return batch(call, MMSG_RECV_FLAGS, recv_batch);
}

long mmsg_send(const struct mmsg_call *call)
{
	return batch(call, MMSG_SEND_FLAGS, send_batch);
}
