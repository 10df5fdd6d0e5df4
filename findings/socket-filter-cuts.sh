#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a socket filter's value does to a datagram
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     SO_ATTACH_FILTER's program says yes or no: any value but 0 lets a datagram in.
# Behaviour: the value is a length, and the datagram is cut to it; on a UDP socket its header
#            of 8 bytes counts.  The receiver gets no MSG_TRUNC.
# Seen:      100 bytes, and a filter that returns 12: 4 bytes by UDP, 12 by a UNIX socket,
#            msg_flags 0
# Here:      net.frames() takes frames as the socket's filter cut them, and a filter that
#            mutes a socket has to return 0.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/cut.py" <<'PY'
import ctypes, socket, struct

SO_ATTACH_FILTER = 26


def received(receiver, sender):
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 12))  # ret #12
    receiver.setsockopt(
        socket.SOL_SOCKET,
        SO_ATTACH_FILTER,
        struct.pack("HxxxxxxQ", 1, ctypes.addressof(program)),
    )
    sender.send(b"x" * 100)
    data, _, flags, _ = receiver.recvmsg(200)
    return len(data), flags


udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(udp.getsockname())
print(*received(udp, peer), *received(*socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
PY
expect "bytes and flags: UDP, UNIX" "4 0 12 0" "$(python3 "$tmp/cut.py")"
