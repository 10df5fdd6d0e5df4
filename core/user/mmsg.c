// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements core/net/mmsg.h in a process, through recvmmsg(2) and sendmmsg(2). */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/mmsg.h"
#include "sys.h"
#include "user.h"
#include "usermem.h"

_Static_assert(sizeof(struct mmsg_header) == sizeof(struct mmsghdr), "struct mmsghdr");
_Static_assert(offsetof(struct mmsg_header, len) == offsetof(struct mmsghdr, msg_len), "msg_len");
_Static_assert(sizeof(struct sockaddr_storage) == MMSG_NAME, "struct sockaddr_storage");
_Static_assert(MMSG_RECV_FLAGS == (MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT | MSG_WAITFORONE),
	       "flags to receive with");
_Static_assert(MMSG_SEND_FLAGS == (MSG_DONTROUTE | MSG_DONTWAIT | MSG_CONFIRM | MSG_NOSIGNAL |
				   MSG_MORE), "flags to send with");

#define mmsg_syscall(run, nr, fd, addr, n, flags) \
	run_plain_syscall(run, nr, (const long []){ fd, (long)(addr), n, flags, 0, 0 })

static long check(const struct mmsg_call *call, unsigned int flags_known)
{
	if (call->flags & ~flags_known || call->n > MMSG_MAX ||
	    (call->mmsg && call->n > call->mmsg->n))
		return -EINVAL;
	return 0;
}

static int put_received(struct run *run, unsigned long addr, struct mmsg_slot *slot,
			const struct mmsghdr *got)
{
	struct mmsg_header h;
	unsigned int copied = got->msg_hdr.msg_namelen;

	slot->namelen = copied < MMSG_NAME ? copied : MMSG_NAME;
	copied = slot->namelen < slot->name_room ? slot->namelen : slot->name_room;
	if (usermem_copy_in(run, &h, addr, sizeof(h)))
		return -EFAULT;
	if (slot->user_name) {
		if (usermem_copy_out(run, slot->user_name, slot->name, copied))
			return -EFAULT;
		h.namelen = got->msg_hdr.msg_namelen;
	}
	h.flags = got->msg_hdr.msg_flags;
	h.len = got->msg_len;
	return usermem_copy_out(run, addr, &h, sizeof(h));
}

long mmsg_recv(struct run *run, struct mmsg_call *call)
{
	struct mmsghdr msgs[MMSG_MAX];
	struct mmsg *mmsg = call->mmsg;
	long n = check(call, MMSG_RECV_FLAGS), i;

	if (n)
		return n;
	for (i = 0; i < (long)call->n; i++) {
		struct mmsg_slot *slot = &mmsg->slot[i];

		msgs[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = slot->name, .msg_namelen = MMSG_NAME,
			.msg_iov = (struct iovec *)slot->iov, .msg_iovlen = slot->iovlen,
		} };
	}
	n = mmsg_syscall(run, SYS_recvmmsg, call->fd, msgs, call->n, call->flags);
	for (i = 0; i < n; i++) {
		if (put_received(run, mmsg->addr + i * sizeof(struct mmsg_header), &mmsg->slot[i],
				 &msgs[i]))
			return i ? i : -EFAULT;
	}
	return n;
}

/* Sends the caller's array with the senders in @mmsg in place of its addresses. */
static long send_to(struct run *run, const struct mmsg_call *call)
{
	struct mmsg_header h[MMSG_MAX];
	long n, i;

	if (usermem_copy_in(run, h, call->addr, call->n * sizeof(h[0])))
		return -EFAULT;
	for (i = 0; i < (long)call->n; i++) {
		h[i].namelen = call->mmsg->slot[i].namelen;
		h[i].name = h[i].namelen ? (unsigned long)call->mmsg->slot[i].name : 0;
	}
	n = mmsg_syscall(run, SYS_sendmmsg, call->fd, h, call->n, call->flags);
	for (i = 0; i < n; i++) {
		if (usermem_copy_out(run, call->addr + i * sizeof(h[0]) +
				  offsetof(struct mmsg_header, len), &h[i].len, sizeof(h[i].len)))
			return i ? i : -EFAULT;
	}
	return n;
}

long mmsg_send(struct run *run, struct mmsg_call *call)
{
	long err = check(call, MMSG_SEND_FLAGS);

	if (err)
		return err;
	if (call->mmsg)
		return send_to(run, call);
	return mmsg_syscall(run, SYS_sendmmsg, call->fd, call->addr, call->n, call->flags);
}
