#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# sendmmsg() of musl
#
# Versions:  musl 1.2.3, strace 6.1
# Guess:     it is one system call, as its name says: that is what it is for.
# Behaviour: on 64-bit machines musl calls sendmsg() once a message.
# Seen:      eight messages: no sendmmsg, 8 sendmsg
# Here:      against a server linked with musl a script saves more than the tables say, which
#            count the kernel's sendmmsg.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian musl-dev 1.2.3-1
debian strace 6.1-0.1
cat >"$tmp/send.c" <<'C'
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>

int main(void)
{
	int ends[2];
	struct iovec part = { "x", 1 };
	struct mmsghdr messages[8];

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < 8; i++) {
		messages[i].msg_hdr.msg_iov = &part;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || sendmmsg(ends[0], messages, 8, 0) != 8;
}
C
musl=$tmp/root/usr/lib/x86_64-linux-musl
gcc -static -nostdinc -isystem "$tmp/root/usr/include/x86_64-linux-musl" -nostdlib \
	-o "$tmp/send" "$tmp/send.c" "$musl/crt1.o" "$musl/libc.a" -lgcc
"$tmp/root/usr/bin/strace" -o "$tmp/trace" -e trace=sendmsg,sendmmsg "$tmp/send"
expect "calls of sendmsg for eight messages" 8 "$(grep -c '^sendmsg(' "$tmp/trace")"
expect "calls of sendmmsg" 0 "$(grep -c '^sendmmsg(' "$tmp/trace" || true)"
