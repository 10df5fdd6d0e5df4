#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How many datagrams a local socket holds
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     as many as fit into SO_SNDBUF of the sender: hundreds of small ones.
# Behaviour: a socket that has a name holds net.unix.max_dgram_qlen and one more, whatever
#            their size; then senders wait.  The two ends of a socketpair() are not limited
#            so, only by SO_SNDBUF.
# Seen:      11 of one byte, where the limit is 10; 278 in a pair
# Here:      batches of messages to local sockets are cut after so many.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/fill.py" <<'PY'
import socket

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("receiver")
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sender.connect("receiver")


def room(sender):
    sender.setblocking(False)
    number = 0
    while True:
        try:
            sender.send(b"x")
        except BlockingIOError:
            return number
        number += 1


limit = int(open("/proc/sys/net/unix/max_dgram_qlen").read())
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
print(room(sender) - limit, room(one) > 10 * limit)
PY
expect "more than the limit, ten times as many in a pair" "1 True" "$(cd "$tmp" && python3 fill.py)"
