#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shutdown() of a UDP socket that is not connected
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     it fails with ENOTCONN, and changes nothing.
# Behaviour: it fails with ENOTCONN, and does it: a recv() that waits returns 0, like an empty
#            datagram.  Datagrams that come later are still received; where none is left, recv()
#            returns 0 at once.
# Seen:      ENOTCONN, b'', b'hello', b''
# Here:      a server in a script can be woken so; an end of 0 bytes needs not be a datagram.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/shut.py" <<'PY'
import errno, socket, threading, time

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
got = []
waiting = threading.Thread(target=lambda: got.append(server.recv(10)), daemon=True)
waiting.start()
time.sleep(0.3)
try:
    server.shutdown(socket.SHUT_RD)
except OSError as error:
    print(errno.errorcode[error.errno], end=" ")
waiting.join(5)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", server.getsockname())
print(*got, server.recv(10), server.recv(10))
PY
expect "shutdown, the recv() that waited, two more" "ENOTCONN b'' b'hello' b''" \
	"$(timeout 20 python3 "$tmp/shut.py")"
