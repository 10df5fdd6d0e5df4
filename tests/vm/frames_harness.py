# SPDX-License-Identifier: GPL-2.0
"""Scripts and sockets that tests of frames share; a test module names the fixtures that it uses."""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import netns_pair
import pytest
from library import KERNEL, Library
from netns_pair import (
    Wire,
    drain,
    frame4,
)

ROOT = Path(__file__).resolve().parents[2]
AsUser = Callable[..., subprocess.CompletedProcess[str]]
USER = 2  # SYSCRIPT_BACKEND_USER
NOJIT = 1  # SYSCRIPT_NOJIT
ECHO = (ROOT / "scripts" / "net" / "udp_echo.lua").read_text()
CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
# The backend, flags, and engine.
MODES = {
    "kernel": (KERNEL, 0, 0),
    "kernel-interp": (KERNEL, NOJIT, 0),
    "confined": (KERNEL, 0, CONFINED),
    "user": (USER, 0, 0),
    "confined-user": (USER, 0, CONFINED),
}

# C code handles frames: modes can differ in how their views are compiled.
IN_KERNEL = ["kernel", "confined", pytest.param("kernel-interp", marks=pytest.mark.long)]


SCRIPTS: list[int] = []


class Script:
    """A script in one of the modes, until the test's end."""

    def __init__(self, mode: str, source: str, **more: int) -> None:
        backend, flags, engine = MODES[mode]
        self.library = Library()
        self.fd, text = self.library.register(
            source.encode(), backend=backend, flags=flags, engine=engine, **more
        )
        assert self.fd >= 0, text
        SCRIPTS.append(self.fd)

    def __call__(self, *args: int) -> int:
        count, result = self.library.call(self.fd, *args)
        assert count >= 0, (count, self.error())
        return result

    def fails(self, *args: int) -> str:
        count, _ = self.library.call(self.fd, *args)
        assert count < 0
        return self.error()

    def error(self) -> str:
        return self.library.error(self.fd)

    def printed(self) -> str:
        return self.library.output(self.fd).decode(errors="replace")


@pytest.fixture(autouse=True)
def closed_scripts() -> Iterator[None]:
    yield
    while SCRIPTS:
        os.close(SCRIPTS.pop())


@pytest.fixture(params=[*IN_KERNEL, "user", "confined-user"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["kernel", "confined"])
def kernel(request: pytest.FixtureRequest) -> str:
    """Both engines: the core decides who holds a frame, and for how long."""
    return request.param


@pytest.fixture(scope="module")
def net() -> Iterator[Wire]:
    with netns_pair.wire() as made:
        yield made


@pytest.fixture
def far(net: Wire) -> Iterator[socket.socket]:
    """The server's packet socket."""
    with net.server.packet("far") as sock:
        yield sock


@pytest.fixture
def near(net: Wire) -> Iterator[socket.socket]:
    """The client's packet socket, which sees everything that comes back."""
    with net.client.packet("near") as sock:
        yield sock


def queued(sock: socket.socket, n: int) -> int:
    """Waits for n more frames; returns how many were dropped for lack of room."""
    seen = dropped = 0
    while seen < n:  # A busy thread may deliver them late.
        counts = struct.unpack("II", sock.getsockopt(263, 6, 8))  # PACKET_STATISTICS
        seen, dropped = seen + counts[0], dropped + counts[1]
    return dropped


def arrived(sock: socket.socket, n: int = 1) -> list[bytes]:
    """The n frames that come from the server; a busy thread may deliver them late."""
    found: list[bytes] = []
    while len(found) < n:
        frame = sock.recv(65536)
        found += [frame] * (frame[:6] == netns_pair.CLIENT_MAC)
    return found + [frame for frame in drain(sock) if frame[:6] == netns_pair.CLIENT_MAC]


GOOD = frame4(b"payload")


HOLD = """
function run(fd, pipe)
  local port = net.frames(fd)
  local n = port:receive(64)
  local b = util.buffer(16)
  syscall.write(pipe, b, 1)
  syscall.read(pipe, b, 1)
  return n
end
"""


ETHTOOL_STSO, ETHTOOL_SGRO = 0x1F, 0x2C


def set_feature(where: netns_pair.Namespace, device: bytes, feature: int, on: bool) -> None:
    command = ctypes.create_string_buffer(struct.pack("II", feature, on))
    request = struct.pack("16sP16x", device, ctypes.addressof(command))
    with where.udp() as sock:
        fcntl.ioctl(sock, 0x8946, request)  # SIOCETHTOOL


BURST = """
-- One frame n times, in one section of the device's work.
function run(fd, frame, len, n)
  local port = net.frames(fd)
  local bytes = util.str_in(frame, len)
  for i = 1, n do port:build(bytes):send() end
  return port:flush()
end
"""


def spare(net: Wire) -> None:
    """Add another pair of devices."""
    net.server.ip("link add name one type veth peer name two")
    for name in ("one", "two"):
        net.server.sysctl(f"ipv6/conf/{name}/disable_ipv6", 1)
    net.server.ip("link set one up", "link set two up")


def set_filter(sock: socket.socket, *code: tuple[int, int, int, int]) -> None:
    """SO_ATTACH_FILTER with a classic BPF program."""
    program = array.array("B", b"".join(struct.pack("HBBI", *line) for line in code))
    where = program.buffer_info()[0]
    sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", len(code), where))


def repeat(over: threading.Event, work: Callable[[], object]) -> threading.Thread:
    """A thread that repeats the work until the end."""

    def loop() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                work()

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


STATES = """
-- state: 0 as it is, 1 close it, 2 make it another socket
function run(fd, state, other)
  local port = net.frames(fd)
  local n = port:receive(4)
  for i = 1, n do
    local at, len = port[i]:udp()
    port[i]:reply(len)
  end
  if state == 1 then syscall.close(fd) end
  if state == 2 then syscall.dup3(other, fd, 0) end
  return port:flush() * 1000 + port:receive(4, 0)
end
"""


ENDS = {
    "error": "error('stop')",
    "loop": "while true do end",
    "memory": "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end",
    "kill": "syscall.kill(syscall.getpid(), 9)",
    "returns": "",
}


def limits(how: str) -> dict[str, int]:
    """Only a loop is to meet the time limit: a busy machine may take long for the other ends."""
    return {"time_limit_ns": 400_000_000} if how.startswith("loop") else {}


SIZE = 2048  # of a slot


KEEP = """
local RECEIVE, REPLY, STALE = 1, 2, 3
function run(fd, what, addr, size, n)
  local port = net.frames(fd)
  if what == RECEIVE then
    port:receive(64, 30000)
    port:keep()
    return port:copyout(addr, size)
  elseif what == REPLY then
    port:keep()
    local done = port:reply(addr, size, n)
    local sent = port:flush()
    return sent < 0 and sent or done
  elseif what == STALE then
    return pcall(port[1].len, port[1]) and 1 or 0
  end
  return 0
end
"""


class Call:
    """Operations of KEEP."""

    NOTHING, RECEIVE, REPLY, STALE = range(4)


class Slots:
    """Memory of the process into which datagrams are received and from which they are sent."""

    def __init__(self, n: int = 64) -> None:
        self.memory = ctypes.create_string_buffer(n * SIZE)
        self.at = ctypes.addressof(self.memory)

    def __getitem__(self, i: int) -> tuple[int, bytes]:
        place, size = struct.unpack_from("II", self.memory, i * SIZE)
        return place, self.memory.raw[i * SIZE + 8 : i * SIZE + 8 + size]

    def put(self, i: int, place: int, payload: bytes, size: int | None = None) -> None:
        head = struct.pack("II", place, len(payload) if size is None else size)
        self.memory[i * SIZE : i * SIZE + 8 + len(payload)] = head + payload
