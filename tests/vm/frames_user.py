# SPDX-License-Identifier: GPL-2.0
"""Run by test_frames_kept.py as an ordinary user in a namespace with devices one and two.

Prints the ways in which frames were answered, each in its turn: "echo" by a script; "take" by a
script that takes them from the stack; "compound" by a C compound; "pod" as in a container, where
the device one has an address, and the process has only CAP_NET_RAW. There the stack would reply
that the port is closed; docs/deploy.md's server, which runs here, prevents that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import netns_pair  # noqa: E402
from library import KERNEL, Library  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ECHO = (ROOT / "scripts" / "net" / "udp_echo.lua").read_text()
PAGE = (ROOT / "docs" / "deploy.md").read_text()
COMPOUND = ROOT / "build" / "tests" / "cosy" / "guest" / "frames"
CAP_NET_RAW, ICMP = 13, 1
library = Library()


def register(source: str) -> int:
    fd, text = library.register(source.encode(), backend=KERNEL)
    assert fd >= 0, text
    return fd


def packet(name: str, protocol: int) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((name, protocol))
    return sock


def pods_server() -> str:
    """docs/deploy.md's server in a pod, at this test's device and port."""
    section = PAGE.partition("### In a pod")[2]
    found = re.search(r"^```python\n(.*?)^```", section, re.M | re.S)
    assert found and found[1].count('"eth0"') == 1 and found[1].count("53") == 2
    return found[1].replace("eth0", "one").replace("53", "7")


def protocols(sock: socket.socket, mac: bytes, n: int) -> list[int]:
    """Protocols of the next n IPv4 frames, and of any that follow immediately."""
    found: list[int] = []
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(BlockingIOError):
            frame = sock.recv(2000, socket.MSG_DONTWAIT)
            if frame[6:12] == mac and frame[12:14] == b"\x08\x00":
                found.append(frame[23])
                if len(found) == n:
                    until = min(until, time.monotonic() + 0.2)
    return found


def run_echo(one: socket.socket, two: socket.socket, source: str = ECHO) -> None:
    fd, mac = register(source), one.getsockname()[4]
    library.call(fd, one.fileno(), 7, 0, 0)
    for i in range(4):
        two.send(mac + netns_pair.frame4(b"%d" % i)[6:])
    assert library.call(fd, one.fileno(), 7, 4, 1000) == (1, 4), library.error(fd)
    library.so.syscript_close(fd)


def run_taking(_: socket.socket, two: socket.socket) -> None:
    with packet("one", 0) as taker:
        run_echo(taker, two, ECHO.replace("net.frames(fd)", "net.frames(fd, false, true)"))


def run_compound(one: socket.socket, two: socket.socket) -> None:
    mac = one.getsockname()[4]
    server = subprocess.Popen(
        [COMPOUND, "echo", "one", "7", "8"],
        env={**os.environ, "COSY_ENGINE": "kernel"},
        stdout=subprocess.PIPE,
        text=True,
    )
    while server.poll() is None:
        two.send(mac + netns_pair.frame4(b"to a compound")[6:])
        time.sleep(0.05)
    assert int(server.communicate()[0]) >= 8 and server.returncode == 0
    assert protocols(two, mac, 8).count(socket.IPPROTO_UDP) >= 8


def run_in_a_pod(one: socket.socket, two: socket.socket) -> None:
    effective = re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    assert effective and int(effective[1], 16) == 1 << CAP_NET_RAW
    fd, mac = register(ECHO), one.getsockname()[4]
    two.send(mac + netns_pair.frame4(b"nobody there")[6:])
    assert ICMP in protocols(two, mac, 1)

    def script(packet: int, port: int, count: int, ms: int) -> None:
        assert (port, count, ms) == (7, 1 << 30, -1)
        for i in range(4):
            two.send(mac + netns_pair.frame4(b"%d" % i)[6:])
        assert library.call(fd, packet, port, 4, 5000) == (1, 4), library.error(fd)
        assert protocols(two, mac, 4) == [socket.IPPROTO_UDP] * 4

    exec(pods_server(), {"ctypes": ctypes, "socket": socket, "struct": struct, "script": script})


WAYS = {
    "echo": run_echo,
    "take": run_taking,
    "compound": run_compound,
    "pod": run_in_a_pod,
}
for way in sys.argv[1:]:
    with packet("one", netns_pair.ETH_P_ALL) as one, packet("two", netns_pair.ETH_P_ALL) as two:
        WAYS[way](one, two)
    print(way)
