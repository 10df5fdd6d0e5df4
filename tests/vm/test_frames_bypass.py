# SPDX-License-Identifier: GPL-2.0
"""Frames that scripts may, or must not, send past the queueing discipline (PACKET_QDISC_BYPASS)."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import frames_harness
import netns_pair
import pytest
import seccomp
from control_group import SETSOCKOPT, SOCKOPT, attached, control_group
from frames_harness import ECHO, GOOD, KEEP, SIZE, Call, Script, Slots, arrived, drain, spare
from netns_pair import Namespace, Wire, memory, pseudo4
from test_frames_taken import in_child

SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
FRAME = netns_pair.CLIENT_MAC + netns_pair.SERVER_MAC + b"\x88\xb5" + bytes(100)

Stops = Callable[[Wire], AbstractContextManager[None]]

closed_scripts = frames_harness.closed_scripts
mode = frames_harness.mode
net = frames_harness.net
far = frames_harness.far
near = frames_harness.near


def bypass(sock: socket.socket) -> socket.socket:
    sock.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    return sock


def text(data: bytes) -> str:
    """The bytes as a Lua string."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


SEND = f"""
-- Returns how many were sent, or the error.
function run(fd, n)
  local port = net.frames(fd)
  for i = 1, n do port:build({text(FRAME)}):send() end
  return port:flush()
end
"""


@contextmanager
def shut(net: Wire) -> Iterator[None]:
    """The discipline of the server's device drops everything and reports it to the sender."""
    net.server.tc("qdisc add dev far clsact")
    try:
        net.server.tc("filter add dev far egress matchall action drop")
        yield
    finally:
        net.server.tc("qdisc del dev far clsact")


@contextmanager
def filtered(net: Wire) -> Iterator[None]:
    """Netfilter drops everything that the server's device sends."""
    chain = "chain out { type filter hook egress device far priority 0; drop; };"
    net.server.run(["nft", f"table netdev past {{ {chain} }}"])
    try:
        yield
    finally:
        net.server.run(["nft", "delete table netdev past"])


@pytest.fixture
def dropping(net: Wire) -> Iterator[None]:
    with shut(net):
        yield


@pytest.mark.parametrize("by", [shut, filtered])
def test_past_the_discipline(mode: str, net: Wire, far: socket.socket, by: Stops) -> None:
    """With the socket's option they pass tc, like the process's own frames, but not nft."""
    bypass(far)
    echo = Script(mode, ECHO)
    with by(net), net.to_server(7) as client:
        client.send(b"past")
        assert echo(far.fileno(), 7, 1, 30000) == 1
        if by == shut:
            assert client.recv(100) == b"past"
        else:
            assert drain(client) == []
    assert memory(far)["wmem"] == 0


# -- Whose answer counts -------------------------------------------------------------


def forbid_setsockopt() -> None:
    """For this process, by a seccomp filter."""
    chosen = seccomp.Filter(seccomp.ALLOW)
    chosen.rule(seccomp.error(errno.EPERM), "setsockopt")
    chosen.load()


@contextmanager
def refusing(group: int) -> Iterator[None]:
    """A program of the cgroup refuses setsockopt(2)."""
    with attached(group, SOCKOPT, SETSOCKOPT, 0):
        yield


def check_refused(sock: socket.socket) -> None:
    with pytest.raises(PermissionError):
        bypass(sock)


def test_in_a_control_group(net: Wire, dropping: None) -> None:
    """If a cgroup's program checks setsockopt(2), the socket's option has no effect."""
    send = Script("kernel", SEND)
    with control_group() as group, net.server.packet("far", 0) as sock:
        bypass(sock)
        with refusing(group):
            check_refused(sock)
            assert send(sock.fileno(), 1) == -errno.ENOBUFS
        assert send(sock.fileno(), 1) == 1


POKE = """
function run(at, stop)
  while util.peek(stop, "i4") == 0 do
    for i = 1, 1000 do util.poke(at, "i8", 1) end
  end
  return 0
end
"""
SCRATCH_SIZE = 1 << 20


def scratch() -> int:
    """The address of the scratch memory of this process's only script."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    (line,) = (line for line in lines if "syscript-scratch" in line)
    return int(line.partition("-")[0], 16)


@contextmanager
def poking(at: int) -> Iterator[None]:
    """Another thread constantly overwrites getsockopt(2)'s result: "yes", and no length."""
    stop = ctypes.c_int(0)
    poke = Script("user", POKE)
    thread = threading.Thread(target=lambda: poke(at, ctypes.addressof(stop)))
    thread.start()
    try:
        yield
    finally:
        stop.value = 1
        thread.join()


def test_forged_answer(net: Wire, dropping: None) -> None:
    """Writing the result itself gains a thread nothing beyond setsockopt(2)."""

    def forging() -> None:
        send = Script("kernel", SEND)
        send(pair[0].fileno(), 1)
        at = scratch() + SCRATCH_SIZE - 8
        forbid_setsockopt()
        check_refused(pair[0])
        fd = os.dup(pair[0].fileno())
        with poking(at):
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                for sock in pair:  # The script asks for each socket anew.
                    os.dup2(sock.fileno(), fd)
                    assert send(fd, 1) == -errno.ENOBUFS

    pair = [net.server.packet("far", 0) for _ in range(2)]
    in_child(forging)
    for sock in pair:
        sock.close()


LASTING = f"""
local port
function run(fd, n, again)
  if again == 1 or not port then port = net.frames(fd) end
  for i = 1, n do port:build({text(FRAME)}):send() end
  return port:flush()
end
"""


def test_descriptor_becomes_another(net: Wire, far: socket.socket, dropping: None) -> None:
    """A script that keeps its port does not confuse one socket's option with another's."""
    send = Script("kernel", LASTING)
    with net.server.packet("far", 0) as plain:
        fd = os.dup(bypass(far).fileno())
        assert send(fd, 1) == 1
        os.dup2(plain.fileno(), fd)
        assert send(fd, 1) == -errno.ENOBUFS
        os.dup2(far.fileno(), fd)
        assert send(fd, 1, 1) == 1
        os.close(fd)
        assert memory(far)["wmem"] == memory(plain)["wmem"] == 0


LASTING_KEEP = "local port" + KEEP.replace("local port = ", "port = port or ")


def test_kept_by_another(net: Wire, far: socket.socket) -> None:
    """Nor does it send on one socket frames received on the other, or show them again."""
    keep, slots = Script("kernel", LASTING_KEEP), Slots()
    with net.to_server(7) as client, net.server.packet("far") as other:
        fd = os.dup(far.fileno())
        client.send(b"first")
        assert keep(fd, Call.RECEIVE, slots.at, SIZE) == 1
        os.dup2(other.fileno(), fd)
        slots.put(0, 1, b"reply")
        assert keep(fd, Call.REPLY, slots.at, SIZE, 1) == -errno.ESTALE
        assert keep(fd, Call.NOTHING) == memory(far)["rmem"] == 0
        assert keep(fd, Call.RECEIVE, slots.at, SIZE) == 1
        assert slots[0] == (1, b"first")  # The other socket has received it, too.
        slots.put(0, 1, b"its own")
        assert keep(fd, Call.REPLY, slots.at, SIZE, 1) == 1
        assert client.recv(100) == b"its own"
        assert drain(client) == []
        os.close(fd)


# -- Filters that were passed before ----------------------------------------------------


def test_redirected(net: Wire, far: socket.socket, near: socket.socket) -> None:
    """Frames that tc redirected from another device must still pass the egress filter here."""
    echo = Script("kernel", ECHO)
    spare(net)
    net.server.tc("qdisc add dev two clsact")
    net.server.tc("filter add dev two egress matchall action mirred ingress redirect dev far")
    with net.server.packet("two", 0) as two:
        two.send(GOOD)
        assert echo(far.fileno(), 7, 1, 30000) == 1
        assert len(arrived(near)) == 1
        with filtered(net):
            two.send(GOOD)
            assert echo(far.fileno(), 7, 1, 30000) == 1
            assert drain(near) == []
    net.server.ip("link del two")


# -- Queues of the device -----------------------------------------------------------------

IFF_TAP, IFF_MULTI_QUEUE, IFF_NO_PI = 0x2, 0x100, 0x1000
TUNSETIFF = 0x400454CA
ROOM = 8  # of each queue
FLOWS = [
    netns_pair.ethernet(0x0800, netns_pair.ip4(netns_pair.udp(b"?", pseudo4(), sport=n)))
    for n in range(64)
]
SEND_FLOWS = f"""
function run(fd, frames)
  local port = net.frames(fd)
  for i = 0, 63 do port:build(util.str_in(frames + i * {len(FLOWS[0])}, {len(FLOWS[0])})):send() end
  return port:flush()
end
"""


@contextmanager
def tap(where: Namespace, queues: int) -> Iterator[list[int]]:
    """A tap device, and the descriptors of its queues."""
    where.run(["modprobe", "tun"])
    with where.inside(), ExitStack() as opened:
        flags = IFF_TAP | IFF_NO_PI | (IFF_MULTI_QUEUE if queues > 1 else 0)
        fds = [os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK) for _ in range(queues)]
        for fd in fds:
            opened.callback(os.close, fd)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"tap", flags))
        where.sysctl("ipv6/conf/tap/disable_ipv6", 1)
        where.ip(f"link set tap txqueuelen {ROOM} up")
        yield fds


def read_all(fds: list[int]) -> list[int]:
    """The number of frames that each had."""
    counts = []
    for fd in fds:
        counts.append(0)
        try:
            while os.read(fd, 2000):
                counts[-1] += 1
        except BlockingIOError:
            pass
    return counts


def send_all(sock: socket.socket) -> int:
    """The number of frames that the device accepts from a process."""
    sent = 0
    for frame in FLOWS:
        try:
            sock.send(frame)
            sent += 1
        except OSError as error:
            assert error.errno == errno.ENOBUFS
    return sent


@pytest.mark.parametrize("queues", [1, 4])
def test_full_queues(net: Wire, queues: int) -> None:
    """Frames that do not fit into a full queue are lost and reported; later ones are not."""
    send = Script("kernel", SEND_FLOWS)
    frames = ctypes.create_string_buffer(b"".join(FLOWS))
    with tap(net.server, queues) as fds, net.server.packet("tap", 0) as sock:
        bypass(sock)
        for _ in range(3):
            sent = send(sock.fileno(), ctypes.addressof(frames))
            assert ROOM <= sent < 64
            counts = read_all(fds)
            assert sum(counts) == sent
            assert min(counts) > 0
            assert send_all(sock) == sent
            assert read_all(fds) == counts
        assert memory(sock)["wmem"] == 0


# -- The send buffer ------------------------------------------------------------------------

TURNS = f"""
-- Returns how many were sent in the last turn: 60, or those that found room.
function run(fd, turns)
  local port, sent = net.frames(fd), 60
  while sent == 60 and turns > 0 do
    for i = 1, 60 do port:build({text(FRAME)}):send() end
    sent, turns = port:flush(), turns - 1
    port:receive(1, 0)  -- Makes room for the next.
  end
  return sent
end
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 3, reason="needs three CPUs: vm/guest --cpus 4")
def test_many_senders(net: Wire) -> None:
    """Each holds part of the buffer while it sends: together they must leave room."""
    sent: list[int] = []
    with net.server.packet("far", 0) as sock:
        sock.setblocking(False)
        # The buffers are more than twice as large as all frames of the scripts.
        for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, buffer, 1 << 20)
        scripts = [Script("kernel", TURNS) for _ in range(4)]
        work = [lambda script=s: sent.append(script(sock.fileno(), 1000)) for s in scripts]
        threads = [threading.Thread(target=turns) for turns in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sent == [60] * 4
        assert memory(sock)["wmem"] == 0
