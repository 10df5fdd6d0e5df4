/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Texts for the errors of frames_open(), for scripts on both engines. */
#ifndef SYSCRIPT_FRAMES_TEXT_H
#define SYSCRIPT_FRAMES_TEXT_H

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

static inline const char *frames_open_text(long err)
{
	switch (err) {
	case -ESOCKTNOSUPPORT:
		return "no packet socket of SOCK_RAW";
	case -EDESTADDRREQ:
		return "not bound to a device with Ethernet frames";
	case -EPERM:
		return "taking frames from the stack needs CAP_NET_ADMIN over the socket's network namespace";
	case -EBUSY:
		return "a bridge, bond, macvlan or another script takes this device's frames";
	case -EINVAL:
		return "a device whose frames cannot be taken from the stack";
	case -EPROTOTYPE:
		return "it is bound to a protocol and would get frames twice: bind it with protocol 0";
	case -ENOSYS:
		return "taking frames from the stack needs the kernel backend: omit the argument here";
	case -EINTR:
		return "interrupted";
	case -ESTALE:
		return "the descriptor has become another socket in this call";
	case -EMFILE:
		return "more sockets with frames than a script may have";
	case -EOPNOTSUPP:
		return "not supported by this kernel";
	case -EBADF:
		return "no such descriptor";
	case -ENOTSOCK:
		return "no socket";
	default:
		return "no memory";
	}
}

#endif /* SYSCRIPT_FRAMES_TEXT_H */
