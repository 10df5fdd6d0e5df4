# SPDX-License-Identifier: GPL-2.0
"""net.frames: GSO frames, which kinds are received, and in which segments."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import frame_shapes
import frames_harness
import netns_pair
import pytest
from frames_harness import ETHTOOL_SGRO, ETHTOOL_STSO, HOLD, Script, set_feature, set_filter
from netns_pair import CLIENT4, CLIENT6, CLIENT_MAC, SERVER4, SERVER6, Wire, memory

closed_scripts = frames_harness.closed_scripts
pytestmark = pytest.mark.sample(3, spread=True)  # as in test_frames.py
UDP_SEGMENT = 103
SCTP = 132
ROOM = 2048

COPY = """
-- All that is there, to memory: of each its length, and so many bytes of it.
function run(fd, memory, room, most, batch)
  local port, n = net.frames(fd), 0
  while n < most do
    local seen = port:receive(batch, 200)
    if seen < 1 then return seen < 0 and seen or n end
    for i = 1, seen do
      local f = port[i]
      local at, len = f:udp()
      util.poke(memory + n * room, "u4", f:len())
      util.poke(memory + n * room + 4, "u4", at and len or 0xffffffff)
      f:copyout(0, math.min(f:len(), room - 8), memory + n * room + 8)
      n = n + 1
    end
  end
  return n
end
"""


class Copies:
    """Frames as a script gets them: their bytes, and the payloads of datagrams."""

    def __init__(self, mode: str = "kernel", most: int = 400) -> None:
        self.script = Script(mode, COPY)
        self.most = most
        self.memory = ctypes.create_string_buffer(most * ROOM)

    def __call__(self, sock: socket.socket, batch: int = 64) -> list[bytes]:
        at = ctypes.addressof(self.memory)
        n = self.script(sock.fileno(), at, ROOM, self.most, batch)
        assert n >= 0
        return [self.frame(i)[2] for i in range(n)]

    def frame(self, i: int) -> tuple[int, int, bytes]:
        length, payload = struct.unpack_from("II", self.memory, i * ROOM)
        return length, payload, self.memory.raw[i * ROOM + 8 : i * ROOM + 8 + length]

    def payloads(self, sock: socket.socket, batch: int = 64) -> list[bytes]:
        """The payloads of frames that are datagrams; None for others."""
        frames = self(sock, batch)
        lengths = [self.frame(i)[1] for i in range(len(frames))]
        assert 0xFFFFFFFF not in lengths
        return [frame[len(frame) - n :] for frame, n in zip(frames, lengths, strict=True)]


@pytest.fixture(scope="module")
def net() -> Iterator[Wire]:
    """The server's device has addresses, for protocols that need two ends."""
    with netns_pair.wire() as made:
        made.server.sysctl("ipv6/conf/far/disable_ipv6", 0)
        made.server.ip(
            f"address add {SERVER4}/24 dev far",
            f"address add {SERVER6}/64 dev far nodad",
            f"neigh replace {CLIENT4} lladdr {CLIENT_MAC.hex(':')} dev far",
            f"neigh replace {CLIENT6} lladdr {CLIENT_MAC.hex(':')} dev far",
        )
        made.introduce()
        yield made


@pytest.fixture
def far(net: Wire) -> Iterator[socket.socket]:
    with net.server.packet("far") as sock, net.server.udp("::", 7):
        set_filter(sock, *coming())
        yield sock


def coming(length: int = 0xFFFFFFFF) -> list[tuple[int, int, int, int]]:
    """A filter that passes frames from the client, truncated to a length."""
    low = int.from_bytes(CLIENT_MAC[2:], "big")
    return [(0x20, 0, 0, 8), (0x15, 0, 1, low), (0x6, 0, 0, length), (0x6, 0, 0, 0)]


def drops(sock: socket.socket) -> int:
    return memory(sock)["drops"]


def segmenting(sock: socket.socket, size: int) -> None:
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)


@contextmanager
def device(net: Wire, name: str, kind: str, address: str) -> Iterator[None]:
    """Adds a device to the client."""
    net.client.ip(f"link add name {name} {kind}")
    try:
        net.client.ip(f"address add {address} dev {name}", f"link set {name} up")
        yield
    finally:
        net.client.ip(f"link del {name}")


@contextmanager
def merging(net: Wire) -> Iterator[None]:
    """The server's device merges what the client's device sends unmerged."""
    set_feature(net.client, b"near", ETHTOOL_STSO, False)
    set_feature(net.server, b"far", ETHTOOL_SGRO, True)
    try:
        yield
    finally:
        set_feature(net.server, b"far", ETHTOOL_SGRO, False)
        set_feature(net.client, b"near", ETHTOOL_STSO, True)


# -- What is dropped --------------------------------------------------------------

TUNNELS = {
    "ipip": (f"type ipip local {CLIENT4} remote {SERVER4}", "10.7.0.1/24", "10.7.0.2"),
    "sit": (f"type sit local {CLIENT4} remote {SERVER4}", "fd07::1/64", "fd07::2"),
    "gre": (f"type gre local {CLIENT4} remote {SERVER4}", "10.7.0.1/24", "10.7.0.2"),
    "ip6tnl": (f"type ip6tnl local {CLIENT6} remote {SERVER6}", "10.7.0.1/24", "10.7.0.2"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", TUNNELS)
def test_tunnels(net: Wire, far: socket.socket, kind: str) -> None:
    """A GSO frame of datagrams in a tunnel is dropped and counted, and does no harm."""
    copies = Copies()
    words, address, to = TUNNELS[kind]
    with device(net, "tunnel", words, address), net.client.udp(address.split("/")[0]) as client:
        before = drops(far)
        client.sendto(b"alone", (to, 7))
        segmenting(client, 100)
        client.sendto(bytes(1200), (to, 7))
        segmenting(client, 0)
        client.sendto(b"again", (to, 7))
        # The tunnel's device sends neighbour discovery, too.
        frames = [frame for frame in copies(far) if len(frame) < 200]
        ends = [frame[-5:] for frame in frames]
        assert [end for end in ends if end in (b"alone", b"again")] == [b"alone", b"again"]
        assert not any(frame.endswith(bytes(100)) for frame in frames)
        assert (drops(far) - before, memory(far)["rmem"]) == (1, 0)


def tcp4(sequence: int, payload: bytes) -> bytes:
    """A TCP segment between the addresses of the tunnel's ends."""
    addresses = socket.inet_aton("10.7.0.1") + socket.inet_aton("10.7.0.2")
    header = struct.pack("!HHIIBBHHH", 1234, 7, sequence, 1, 0x50, 0x10, 1000, 0, 0)
    pseudo = addresses + struct.pack("!HH", 6, 20 + len(payload))
    total = netns_pair.checksum(pseudo + header + payload)
    return header[:16] + struct.pack("!H", total) + header[18:] + payload


def tunnelled(sequence: int, payload: bytes) -> bytes:
    """An IPIP packet as it comes from a wire."""
    segment = tcp4(sequence, payload)
    inner = netns_pair.ip4(
        segment, protocol=6, source=0x0A070001, destination=0x0A070002, fragment=0x4000
    )
    return netns_pair.ethernet(0x0800, netns_pair.ip4(inner, protocol=4, fragment=0x4000))


def test_merged_in_a_tunnel(net: Wire, far: socket.socket) -> None:
    """Frames of one flow, from any sender on the network: the device merges them."""
    copies, over = Copies(), bytes(1000)
    with net.client.packet("near") as near, merging(net):
        before = drops(far)
        burst = Script("kernel", MANY)
        frames = b"".join(tunnelled(1 + 1000 * i, over) for i in range(16))
        bytes_ = ctypes.create_string_buffer(frames)
        at, each = ctypes.addressof(bytes_), len(frames) // 16
        assert burst(near.fileno(), at, each, 16) == 16
        seen = copies(far)
        assert {len(frame) for frame in seen} <= {each}
        assert drops(far) > before and len(seen) < 16
        assert memory(far)["rmem"] == 0


MANY = """
-- n frames one after the other in memory, in one section of the device's work.
function run(fd, frames, len, n)
  local port = net.frames(fd)
  for i = 0, n - 1 do port:build(util.str_in(frames + i * len, len)):send() end
  return port:flush()
end
"""


@contextmanager
def association(net: Wire) -> Iterator[socket.socket]:
    """An SCTP association: its client's socket."""
    ends = []
    for where in (net.server, net.client):
        with where.inside():
            try:
                ends.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP))
            except OSError:
                pytest.skip("the kernel is without SCTP")
    server, client = ends
    with server, client:
        server.bind((SERVER4, 9))
        server.listen()
        client.connect((SERVER4, 9))
        accepted, _ = server.accept()
        with accepted:
            yield client


@pytest.mark.parametrize("kept", [42, 46, 100, 1400, 0xFFFFFFFF])
def test_sctp_cut(net: Wire, far: socket.socket, kept: int) -> None:
    """A GSO packet, truncated by the filter to its headers, or anywhere else."""
    copies = Copies()
    set_filter(far, *coming(kept))
    with association(net) as client:
        before, seen = drops(far), []
        client.setblocking(False)
        client.send(bytes(30000))

        def dropped() -> bool:
            seen.extend(copies(far))
            return drops(far) > before

        assert eventually(dropped)
        assert all(len(frame) <= kept for frame in seen)
        assert memory(far)["rmem"] == 0


@pytest.mark.parametrize("kept", [20, 34, 41, 42, 45, 46, 47])
def test_sctp_sum_beyond(net: Wire, far: socket.socket, kept: int) -> None:
    """Its checksum field is beyond what the filter left, or just within."""
    copies = Copies()
    set_filter(far, *coming(kept))
    with association(net):
        for frame in copies(far):
            assert len(frame) <= kept
        assert memory(far)["rmem"] == 0


# virtio_net_hdr: flags, type, header length, segment size, start and offset of the checksum.
VNET = "<BBHHHH"
NEEDS_SUM = 1
UFO, USO = 3, 5
LIES = {
    "fragments": (UFO, 42, 100, 34, 6),
    "many": (USO, 42, 1, 34, 6),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies(net: Wire, far: socket.socket, lie: str) -> None:
    """False claims of a sender: a datagram is to be fragmented, or into far too many segments."""
    kind, *rest = LIES[lie]
    copies, before = Copies(), drops(far)
    with net.client.packet("near") as near:
        near.setsockopt(263, 15, 1)  # PACKET_VNET_HDR
        frame = netns_pair.frame4(bytes(1200))
        header = struct.pack(VNET, NEEDS_SUM, kind, *rest)
        try:
            near.send(header + frame)
        except OSError:
            pytest.skip("this kernel refuses it")
        seen = copies(far)
        assert seen in ([], [frame]) or lie == "fragments"
        assert seen or drops(far) > before
        assert memory(far)["rmem"] == 0


# -- What comes in pieces -----------------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("size", [1, 99, 100, 101, 1400])
def test_datagrams(net: Wire, far: socket.socket, size: int, family: int) -> None:
    """Each is as if it had come by itself: lengths, headers, checksums."""
    copies, payload = Copies(), os.urandom(size * 12 + size // 2)
    with net.to_server(7, family) as client:
        segmenting(client, size)
        client.send(payload)
        client.send(payload[:size])
        found = copies.payloads(far)
        parts = [payload[i : i + size] for i in range(0, len(payload), size)]
        assert found == [*parts, payload[:size]]
        frames = [copies.frame(i)[2] for i in range(len(parts))]
    if family == 4:
        assert {netns_pair.checksum(frame[14:34]) for frame in frames} == {0}
        first = int.from_bytes(frames[0][18:20], "big")
        ids = [int.from_bytes(frame[18:20], "big") for frame in frames]
        assert ids == [(first + i) & 0xFFFF for i in range(len(parts))]
    assert memory(far)["rmem"] == 0


def test_vlan(net: Wire, far: socket.socket) -> None:
    """Each segment has the tag that the device removed."""
    tags = Script(
        "kernel",
        """
        function run(fd)
          local port, same = net.frames(fd), 0
          for i = 1, port:receive(64, 30000, 12, 1000000) do
            local protocol, tag = port[i]:vlan()
            if port[i]:udp() and protocol == 0x8100 and tag == 5 then same = same + 1 end
          end
          return same
        end""",
    )
    with device(net, "near.5", "link near type vlan id 5", "10.8.0.1/24"):
        net.client.ip(f"neigh add 10.8.0.2 lladdr {netns_pair.SERVER_MAC.hex(':')} dev near.5")
        with net.client.udp("10.8.0.1") as client:
            segmenting(client, 100)
            client.sendto(bytes(1200), ("10.8.0.2", 7))
            assert tags(far.fileno()) == 12


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_order(net: Wire, far: socket.socket, batch: int) -> None:
    """Order is preserved, segmented or not, for any batch size."""
    copies, sent = Copies(), []
    with net.to_server(7) as client:
        for i in range(4):
            segmenting(client, 0)
            sent.append(b"alone %d" % i)
            client.send(sent[-1])
            segmenting(client, 8)
            parts = [b"part%d/%02d" % (i, j) for j in range(10)]
            client.send(b"".join(parts))
            sent += parts
        assert copies.payloads(far, batch) == sent


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_stream(net: Wire, far: socket.socket, family: int) -> None:
    """TCP segments: their sequence numbers, flags, and checksums."""
    copies, data = Copies(most=800), os.urandom(100000)
    where = SERVER6 if family == socket.AF_INET6 else SERVER4
    at = 54 if family == socket.AF_INET6 else 34
    with net.server.inside():
        server = socket.create_server((where, 8), family=family)
    with net.client.inside():
        client = socket.create_connection((where, 8))
    got: list[bytes] = []
    with server, client:
        accepted, _ = server.accept()

        def read() -> None:
            while sum(map(len, got)) < len(data):
                got.append(accepted.recv(65536))

        far.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        reader = threading.Thread(target=read)
        reader.start()
        client.sendall(data)
        reader.join()
        accepted.close()
    assert b"".join(got) == data
    assert_segments(
        [frame for frame in copies(far) if frame[at + 2 : at + 4] == b"\0\x08"], at, data
    )


def assert_segments(frames: list[bytes], at: int, data: bytes) -> None:
    """They contain the whole stream, and none is longer than the device's frames."""
    assert max(map(len, frames)) <= 1514
    stream, base = bytearray(len(data)), None
    for frame in frames:
        sequence, flags = struct.unpack_from("!I", frame, at + 4)[0], frame[at + 13]
        if flags & 2:  # SYN
            base = sequence + 1
            continue
        assert base is not None
        end = 14 + struct.unpack_from("!H", frame, 16)[0] if at == 34 else len(frame)
        assert end == len(frame) or end < 60
        payload = frame[at + (frame[at + 12] >> 4) * 4 : end]
        where = (sequence - base) & 0xFFFFFFFF
        stream[where : where + len(payload)] = payload
        addresses = frame[26:34] if at == 34 else frame[22:54]
        pseudo = addresses + struct.pack("!HH", 6, end - at)
        partial = netns_pair.checksum(pseudo) ^ 0xFFFF
        found = struct.unpack_from("!H", frame, at + 16)[0]
        assert found == partial or netns_pair.checksum(pseudo + frame[at:end]) == 0
    assert stream == data


@pytest.mark.parametrize("kept", [41, 42, 43, 141, 142, 143, 342, 1000, 1242])
def test_cut(net: Wire, far: socket.socket, kept: int) -> None:
    """A truncating filter leaves only whole segments; others are counted, not shortened."""
    copies, payload = Copies(), os.urandom(1200)
    set_filter(far, *coming(kept))
    with net.to_server(7) as client:
        before = drops(far)
        segmenting(client, 100)
        client.send(payload)
        whole = max(kept - 42, 0) // 100
        assert copies.payloads(far) == [payload[i * 100 : i * 100 + 100] for i in range(whole)]
        assert drops(far) - before == (12 - whole if kept >= 42 else 1)
        assert memory(far)["rmem"] == 0


# -- Who pays -------------------------------------------------------------------


@pytest.mark.parametrize("room", [4096, 212992 // 2])
def test_no_more_than_the_buffer(net: Wire, far: socket.socket, room: int) -> None:
    """One-byte segments, held by a script and queued: at most one frame beyond the buffer."""
    hold = Script("kernel", HOLD)
    ours, theirs = socket.socketpair()
    ours.settimeout(30)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    with net.to_server(7) as client:
        segmenting(client, 1)
        for _ in range(200):
            client.send(bytes(60))
        one = memory(far)["rmem"] // 60
        before = drops(far)
        holder = threading.Thread(target=lambda: hold(far.fileno(), theirs.fileno()))
        holder.start()
        ours.recv(1)
        held = memory(far)
        ours.send(b"+")
        holder.join()
        assert one > 0
        assert held["rmem"] <= held["rcvbuf"] + 4096
        assert room > 4096 or drops(far) > before
    netns_pair.drain_all(far)
    assert memory(far)["rmem"] == 0


# -- Rings ------------------------------------------------------------------------


def with_ring(sock: socket.socket) -> None:
    """A ring with room for little more than headers: longer frames are queued, too."""
    sock.setsockopt(263, 10, 0)  # PACKET_VERSION
    sock.setsockopt(263, 7, 1 << 20)  # PACKET_COPY_THRESH
    sock.setsockopt(263, 5, struct.pack("4I", 4096, 16, 128, 512))  # PACKET_RX_RING


def routes(where: netns_pair.Namespace) -> int:
    """The number of routes in use."""
    return int(where.run(["cat", "/proc/net/stat/rt_cache"]).splitlines()[1].split()[0], 16)


RING = """
function run(fd, what)
  local port = net.frames(fd)
  if what == 0 then return 0 end
  port:keep()
  return port:receive(64, 30000, 64, 1000000)
end
"""


def test_queued_next_to_a_ring(net: Wire) -> None:
    """Frames that came with a route and a device have neither once a script has them."""
    keep, home = Script("kernel", RING), net.server
    home.ip("route add local 10.6.6.0/24 dev lo")
    with home.packet("lo") as lo:
        with_ring(lo)
        before = routes(home)
        with home.udp("0.0.0.0") as client, home.udp("0.0.0.0", 7):
            client.connect(("10.6.6.5", 7))
            client.send(bytes(600))
            segmenting(client, 100)
            client.send(bytes(1200))
            assert keep(lo.fileno(), 1) == 13
        assert memory(lo)["rmem"] > 0
        assert routes(home) > before
        home.ip("route del local 10.6.6.0/24 dev lo")
        # Routes that no frame refers to are freed one grace period later.
        assert eventually(lambda: routes(home) <= before)
        assert keep(lo.fileno(), 0) == 0
        netns_pair.drain(lo)
        assert memory(lo)["rmem"] == 0


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


LATER = """
function run(fd, pipe)
  local port, b = net.frames(fd), util.buffer(16)
  syscall.write(pipe, b, 1)
  syscall.read(pipe, b, 1)
  local n, whole = port:receive(64, 0), 0
  for i = 1, n do
    if port[i]:udp() then whole = whole + 1 end
  end
  return whole
end
"""


def test_device_goes_next_to_a_ring(net: Wire) -> None:
    """Frames in its queue still refer to the device, which is gone when they are segmented."""
    later = Script("kernel", LATER)
    ours, theirs = socket.socketpair()
    ours.settimeout(30)
    found: list[int] = []
    frames_harness.spare(net)
    net.server.ip("address add 10.5.0.1/24 dev two")
    with net.server.packet("one") as one, net.server.udp("10.5.0.1") as client:
        with_ring(one)
        mac = one.getsockname()[4].hex(":")
        net.server.ip(f"neigh replace 10.5.0.2 lladdr {mac} dev two")
        segmenting(client, 100)
        client.sendto(bytes(1200), ("10.5.0.2", 7))
        call = threading.Thread(target=lambda: found.append(later(one.fileno(), theirs.fileno())))
        call.start()
        ours.recv(1)
        net.server.ip("link del one")
        ours.send(b"+")
        call.join(30)
        assert found == [12]
        assert memory(one)["rmem"] == 0


# -- All of it ----------------------------------------------------------------------


@pytest.mark.long  # like test_tunnels() and its neighbours, randomised
@pytest.mark.skipif(netns_pair.ON_DEBUG, reason="it has no tunnels, and few of the rest")
def test_shapes() -> None:
    """A short run of `make test-attack`."""
    kinds = ("plain", "ipip", "gre", "gretap", "ip6tnl", "vxlan", "vlan")
    with frame_shapes.shapes(1, kinds) as made:
        made.run(1000, 5)
        assert set(made.kinds) == set(kinds)
        assert made.counts["frames"] > 0 and made.counts["dropped"] > 0
