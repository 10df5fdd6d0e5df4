#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Clients of memcached that send malformed requests, or vanish before the reply.

Usage: vandals.py PORT. They run until they are killed, whether or not a server listens. They never
change keys that other clients use.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import sys
import time

# s between two attacks, which must not be the main load.
PAUSE = 0.004
LONGEST = 65507
FRAME = struct.Struct(">HHHH")
COMMANDS = (
    b"get\r\n",
    b"get \r\n",
    b"get " + b"k" * 251 + b"\r\n",
    b"get " + b"k" * 4000 + b"\r\n",
    b"get k0 k1 k2 k3 k4 k5\r\nget k6\r\n",
    b"get k0",
    b"\r\n" * 40,
    b"set vandal 0 0 10\r\nshort\r\n",
    b"set vandal 0 0 -1\r\n",
    b"set vandal 0 0 99999999999\r\n",
    b"gets\r\nversion\r\nnonsense\r\n",
    b"mn\r\nmg\r\nmg vandal v\r\n",
    b"verbosity\r\n",
    b"\x80\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00",
    b"stats items\r\n",
)


def frame(*, number: int = 0, total: int = 1) -> bytes:
    return FRAME.pack(random.randrange(65536), number, total, random.choice((0, 0, 1)))


def malformed() -> bytes:
    """A malformed datagram, or an unusual one."""
    return random.choice(
        (
            lambda: b"",
            lambda: random.randbytes(random.randrange(1, 8)),
            frame,
            lambda: frame(total=0) + b"get k0\r\n",
            lambda: frame(total=2) + b"get k0\r\n",
            lambda: frame(number=7, total=9) + b"get k0\r\n",
            lambda: frame() + random.randbytes(random.randrange(1, 1400)),
            lambda: frame() + b"get k0\r\n" * random.randrange(1, 200),
            lambda: frame() + b"x" * random.choice((1392, 2041, 60000, LONGEST - FRAME.size)),
            lambda: frame() + random.choice(COMMANDS),
        )
    )()


def send_malformed(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.connect(("127.0.0.1", port))
        for _ in range(random.randrange(1, 8)):
            udp.send(malformed())


def ask_and_vanish(port: int) -> None:
    """GETs whose replies find no receiver."""
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.connect(("127.0.0.1", port))
        for key in range(random.randrange(1, 40)):
            udp.send(frame() + b"get k%015x\r\n" % key)


def connect_and_vanish(port: int) -> None:
    """A TCP connection that ends in the middle of a request, or is reset."""
    with socket.create_connection(("127.0.0.1", port), 1) as tcp:
        if random.random() < 0.5:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        tcp.send(random.choice((b"", b"se", b"set vandal 0 0 500\r\nhalf", b"get k0\r\n" * 50)))


def main() -> None:
    port = int(sys.argv[1])
    while True:
        prank = random.choice((send_malformed, ask_and_vanish, connect_and_vanish))
        with contextlib.suppress(OSError):
            prank(port)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
