// SPDX-License-Identifier: GPL-2.0
/*
 * Implements mmsg.h for the module: looks the socket up once for a batch, uses buffers that were
 * imported before, and sends and receives each message through the functions of sendmmsg(2) and
 * recvmmsg(2).
 */
#include "net/mmsg.h"

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
#include <linux/unistd.h>
#include <net/inet_common.h>
#include <net/sock.h>

#include "compat.h"
#include "arch_regs.h"
#include "syscall_jump_table.h"
#include "mmsg_entry.h"
#include "run.h"
#include "syscall_observers.h"

/* Control data is kept on the task's stack, so longer data is refused. */
#define CONTROL_MAX	256

/* Returned by no call: leaves this message to the kernel's own call. */
#define UNUSUAL		(-MAX_ERRNO)

/**
 * struct batch - messages on a socket
 * @regs: NULL, or the registers of the system call that the batch replaces: then headers are read
 *	again for each message, and unusual ones are left to the kernel
 */
struct batch {
	struct mmsg_call call;
	const struct pt_regs *regs;
};

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

/* -- Unusual messages -------------------------------------------------------- */

/* Makes the system call @entry for the messages from @done on. */
static __always_inline long make_rest_of_calls(const struct batch *batch, unsigned int done,
					       unsigned int flags,
					       long (*entry)(const struct pt_regs *))
{
	struct pt_regs regs = REGS_ARGS(regs_arg(batch->regs, 0),
					regs_arg(batch->regs, 1) + done * sizeof(struct mmsghdr),
					batch->call.n - done, flags, 0, 0);

	return entry(&regs);
}

/* -- Receiving ------------------------------------------------------------- */

/* Once per receive, so that it depends on no earlier state of the slot. */
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

/* Done once by net.messages() for each message. */
static int mmsg_import_slot(struct mmsg_slot *slot, struct mmsghdr __user *hdr)
{
	struct user_msghdr __user *from = &hdr->msg_hdr;
	struct iovec __user *iov;
	size_t iovlen, controllen;

	if (!user_read_access_begin(from, sizeof(*from)))
		return UNUSUAL;
	unsafe_get_user(slot->user_name, (unsigned long __user *)&from->msg_name, fault);
	unsafe_get_user(slot->name_room, (u32 __user *)&from->msg_namelen, fault);
	unsafe_get_user(iov, &from->msg_iov, fault);
	unsafe_get_user(iovlen, &from->msg_iovlen, fault);
	unsafe_get_user(controllen, &from->msg_controllen, fault);
	user_read_access_end();
	if (iovlen != 1 || controllen || (int)slot->name_room < 0 ||
	    !user_read_access_begin(iov, sizeof(*iov)))
		return UNUSUAL;
	unsafe_get_user(slot->iov[0].base, (unsigned long __user *)&iov->iov_base, fault);
	unsafe_get_user(slot->iov[0].len, &iov->iov_len, fault);
	user_read_access_end();
	slot->iovlen = 1;
	return slot->iov[0].len > MAX_RW_COUNT ? UNUSUAL : 0;
fault:
	user_read_access_end();
	return UNUSUAL;
}

static int recv_one(struct socket *sock, struct mmsghdr __user *hdr, struct mmsg_slot *slot,
		    bool first, unsigned int *flags)
{
	struct msghdr msg = { .msg_name = slot->name };
	int len;

	len = slot_iter(&msg.msg_iter, slot);
	if (len < 0)
		return len;
	/* As in recvmmsg(2), security modules are asked once a batch. */
	if (first)
		len = sock_recvmsg(sock, &msg, *flags & ~MSG_WAITFORONE);
	else
		len = INDIRECT_CALL_1(sock->ops->recvmsg, inet_recvmsg, sock, &msg,
				      msg_data_left(&msg), *flags & ~MSG_WAITFORONE);
	if (len < 0)
		return len;
	slot->namelen = msg.msg_namelen;
	audits_see_address(slot->name, slot->namelen);
	if (*flags & MSG_WAITFORONE)
		*flags |= MSG_DONTWAIT;
	return put_received(hdr, slot, &msg, len);
}

/* Not inline: a kernel that clears the stack would clear the slot for imported messages, too. */
static noinline int recv_by_header(struct socket *sock, struct mmsghdr __user *hdr, bool first,
				   unsigned int *flags)
{
	struct mmsg_slot slot;

	return mmsg_import_slot(&slot, hdr) ?: recv_one(sock, hdr, &slot, first, flags);
}

/* Receives message @i of @batch; @flags becomes the flags for the messages after it. */
static __always_inline int recv_next(struct socket *sock, const struct batch *batch,
				     unsigned int i, unsigned int *flags)
{
	struct mmsghdr __user *hdr = (struct mmsghdr __user *)batch->call.addr + i;

	if (batch->regs)
		return recv_by_header(sock, hdr, !i, flags);
	return recv_one(sock, hdr, &batch->call.mmsg->slot[i], !i, flags);
}

static long recv_batch(struct socket *sock, const struct batch *batch)
{
	unsigned int flags = batch->call.flags, i;
	long err;

	if (sock->file->f_flags & O_NONBLOCK)
		flags |= MSG_DONTWAIT;
	err = sock_error(sock->sk);
	for (i = 0; !err && i < batch->call.n; i++) {
		err = recv_next(sock, batch, i, &flags);
		if (err)
			break;
		cond_resched();
	}
	if (err == UNUSUAL) {
		err = make_rest_of_calls(batch, i, flags, syscall_entry_recvmmsg);
		i += max(err, 0L);
		err = min(err, 0L);
	}
	/* As in recvmmsg(2), an error after the first message is reported by the next call. */
	if (i && err && err != -EAGAIN)
		WRITE_ONCE(sock->sk->sk_err, -err);
	return i ? (long)i : err;
}

/* -- Sending --------------------------------------------------------------- */

struct outgoing {
	struct user_msghdr hdr;
	struct msghdr msg;
	struct iovec fast[UIO_FASTIOV];
	struct iovec *iov;		/* allocated array, or NULL */
	struct sockaddr_storage name;
	u8 control[CONTROL_MAX] __aligned(sizeof(size_t));
};

/* Copied word by word: for so few bytes a function call costs more than the copy. */
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
	unsafe_get_user(to->msg_flags, &from->msg_flags, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

/* Does @hdr need more of sendmmsg(2) than mmsg_send_one() implements? */
static bool is_unusual(const struct user_msghdr *hdr)
{
	return hdr->msg_controllen || hdr->msg_namelen < 0 || hdr->msg_flags & MSG_EOR;
}

/* import_iovec() for a single buffer. */
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

/* Copies the address, an IPv4 one word by word. */
static int mmsg_copy_name(struct outgoing *out, int len)
{
	u64 *to = (u64 *)&out->name;
	u64 __user *from = (u64 __user *)out->hdr.msg_name;

	if (len != sizeof(struct sockaddr_in))
		return copy_from_user(to, from, len) ? -EFAULT : 0;
	if (!user_read_access_begin(from, sizeof(struct sockaddr_in)))
		return -EFAULT;
	unsafe_get_user(to[0], from, fault);
	unsafe_get_user(to[1], from + 1, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static int import_name(struct outgoing *out, const struct mmsg_slot *to)
{
	int len = out->hdr.msg_namelen;

	if (to) {
		out->msg.msg_namelen = to->namelen;
		out->msg.msg_name = to->namelen ? (void *)to->name : NULL;
		audits_see_address(to->name, to->namelen);
		return 0;
	}
	if (len < 0)
		return -EINVAL;
	if (!out->hdr.msg_name || !len)
		return 0;
	len = min_t(int, len, sizeof(out->name));
	if (mmsg_copy_name(out, len))
		return -EFAULT;
	out->msg.msg_name = &out->name;
	out->msg.msg_namelen = len;
	audits_see_address(&out->name, len);
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
static long mmsg_send_one(struct socket *sock, struct outgoing *out,
			  const struct batch *batch, unsigned int i, unsigned int flags)
{
	struct mmsghdr __user *hdr = (struct mmsghdr __user *)batch->call.addr + i;
	const struct mmsg *to = batch->call.mmsg;
	long ret = import_header(out, hdr);

	if (ret)
		return ret;
	if (batch->regs && is_unusual(&out->hdr))
		return UNUSUAL;
	memset(&out->msg, 0, sizeof(out->msg));
	out->msg.msg_flags = flags;
	out->iov = NULL;
	ret = import_name(out, to ? &to->slot[i] : NULL) ?:
	      import_control(out) ?: import_buffers(out);
	if (ret)
		return ret;
	ret = sock_sendmsg(sock, &out->msg);
	kfree(out->iov);
	if (ret >= 0 && put_user((unsigned int)ret, &hdr->msg_len))
		return -EFAULT;
	return ret;
}

static long send_batch(struct socket *sock, const struct batch *batch)
{
	unsigned int flags = batch->call.flags, i;
	struct outgoing out;
	long ret = 0;

	if (sock->file->f_flags & O_NONBLOCK)
		flags |= MSG_DONTWAIT;
	for (i = 0; i < batch->call.n && ret >= 0; i++) {
		ret = mmsg_send_one(sock, &out, batch, i, flags);
		if (ret < 0)
			break;
		cond_resched();
		if (fatal_signal_pending(current))
			ret = -EINTR;
		/* After a partial send, the rest must precede the next message. */
		if (msg_data_left(&out.msg))
			ret = -EAGAIN;
	}
	if (ret == UNUSUAL) {
		ret = make_rest_of_calls(batch, i, flags, syscall_entry_sendmmsg);
		i += max(ret, 0L);
	}
	return i ? (long)i : ret;
}

/* -- Receiving and sending --------------------------------------------------- */

static __always_inline long on_socket(const struct batch *batch,
				      long (*fn)(struct socket *, const struct batch *))
{
	struct socket *sock;
	long ret;
	int err;

	sock = sockfd_lookup(batch->call.fd, &err);
	if (!sock)
		return err;
	ret = fn(sock, batch);
	sockfd_put(sock);
	return ret;
}

static bool is_valid(const struct mmsg_call *call, unsigned int flags_known)
{
	return !(call->flags & ~flags_known) && call->n <= MMSG_MAX &&
	       (!call->mmsg || call->n <= call->mmsg->n);
}

/* Shows observers one call for all messages. */
static noinline long mmsg_watched(struct run *run, unsigned int nr, unsigned long addr,
				  struct mmsg_call *call, long (*fn)(struct mmsg_call *))
{
	struct observers_call shown = { .nr = nr, .args = {
		call->fd, addr, call->n, call->flags,
	} };

	return observers_ask(run, &shown) ?: observers_done(&shown, fn(call));
}

struct work {
	struct run *run;
	struct mmsg_call *call;
};

static long recv_plain(struct mmsg_call *call)
{
	struct batch batch = { *call };

	batch.call.addr = call->mmsg->addr;
	return is_valid(call, MMSG_RECV_FLAGS) ? on_socket(&batch, recv_batch) : -EINVAL;
}

static long send_plain(struct mmsg_call *call)
{
	const struct batch batch = { *call };

	return is_valid(call, MMSG_SEND_FLAGS) ? on_socket(&batch, send_batch) : -EINVAL;
}

static long recv_call(void *arg)
{
	struct work *work = arg;
	struct mmsg_call *call = work->call;

	if (unlikely(observers_watch()))
		return mmsg_watched(work->run, __NR_recvmmsg, call->mmsg->addr, call,
				    recv_plain);
	return recv_plain(call);
}

static long send_call(void *arg)
{
	struct work *work = arg;
	struct mmsg_call *call = work->call;

	if (unlikely(observers_watch()))
		return mmsg_watched(work->run, __NR_sendmmsg, call->addr, call, send_plain);
	return send_plain(call);
}

long mmsg_recv(struct run *run, struct mmsg_call *call)
{
	struct work work = { run, call };

	return run_as_syscall(run, recv_call, &work, true);
}

long mmsg_send(struct run *run, struct mmsg_call *call)
{
	struct work work = { run, call };

	return run_as_syscall(run, send_call, &work, true);
}

/* -- In place of the process's own calls -------------------------------------- */

static struct batch batch_of(const struct pt_regs *regs)
{
	return (struct batch){
		.call = {
			.fd = regs_arg(regs, 0), .addr = regs_arg(regs, 1),
			.n = regs_arg(regs, 2), .flags = regs_arg(regs, 3),
		},
		.regs = regs,
	};
}

long mmsg_entry_recv(const struct pt_regs *regs)
{
	const struct batch batch = batch_of(regs);

	/* A call with a timeout is the kernel's. */
	if (regs_arg(regs, 4) || !is_valid(&batch.call, MMSG_RECV_FLAGS))
		return syscall_entry_recvmmsg(regs);
	return on_socket(&batch, recv_batch);
}

long mmsg_entry_send(const struct pt_regs *regs)
{
	const struct batch batch = batch_of(regs);

	if (!is_valid(&batch.call, MMSG_SEND_FLAGS))
		return syscall_entry_sendmmsg(regs);
	return on_socket(&batch, send_batch);
}
