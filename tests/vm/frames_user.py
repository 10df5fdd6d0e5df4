# SPDX-License-Identifier: GPL-2.0
"""Run by test_frames.py as an ordinary user in a namespace with devices one and two."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wire  # noqa: E402
from library import KERNEL, Library  # noqa: E402

ECHO = (Path(__file__).resolve().parents[2] / "scripts" / "net" / "udp_echo.lua").read_text()
TAKE = sys.argv[1:] == ["take"]


def packet(name: str, protocol: int) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((name, protocol))
    return sock


library = Library()
one, two = packet("one", 0 if TAKE else wire.ETH_P_ALL), packet("two", wire.ETH_P_ALL)
source = ECHO.replace("net.frames(fd)", "net.frames(fd, false, true)") if TAKE else ECHO
fd, text = library.register(source.encode(), backend=KERNEL)
assert fd >= 0, text
library.call(fd, one.fileno(), 7, 0, 0)
mac = one.getsockname()[4]
for i in range(4):
    two.send(mac + wire.frame4(b"%d" % i)[6:])
count, answered = library.call(fd, one.fileno(), 7, 4, 1000)
assert count == 1, library.error(fd)
print("answered", answered)
