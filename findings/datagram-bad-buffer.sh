#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A message that is received into memory that is not there
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     a call that fails with EFAULT has done nothing: the message is still there.
# Behaviour: so it is for streams.  Datagrams and packets, by UDP or UNIX sockets, are lost.
# Seen:      UDP, UNIX datagrams and packets: gone; TCP, UNIX streams and pipes: still there
# Here:      the same in scripts: a batch of messages with one wrong buffer loses that message
#            (tests/unit/test_lib_messages.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/lost.py" <<'PY'
import ctypes, errno, os, socket

libc = ctypes.CDLL(None, use_errno=True)
NOWHERE = ctypes.c_void_p(4096)


def inet(kind):
    server = socket.socket(socket.AF_INET, kind)
    server.bind(("127.0.0.1", 0))
    if kind == socket.SOCK_STREAM:
        server.listen()
    client = socket.socket(socket.AF_INET, kind)
    client.connect(server.getsockname())
    return (server.accept()[0] if kind == socket.SOCK_STREAM else server), client


def pair(ends):
    return tuple(end.detach() for end in ends)


KINDS = {
    "UDP": lambda: pair(inet(socket.SOCK_DGRAM)),
    "datagrams": lambda: pair(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)),
    "packets": lambda: pair(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)),
    "TCP": lambda: pair(inet(socket.SOCK_STREAM)),
    "streams": lambda: pair(socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)),
    "pipe": os.pipe,
}
lost = []
for name, made in KINDS.items():
    receiver, sender = made()
    os.write(sender, b"hello")
    assert libc.read(receiver, NOWHERE, 100) < 0 and ctypes.get_errno() == errno.EFAULT
    os.set_blocking(receiver, False)
    try:
        assert os.read(receiver, 100) == b"hello"
    except BlockingIOError:
        lost.append(name)
print(*lost)
PY
expect "lost by" "UDP datagrams packets" "$(python3 "$tmp/lost.py")"
