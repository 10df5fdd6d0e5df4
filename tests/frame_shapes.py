# SPDX-License-Identifier: GPL-2.0
"""Frames of all shapes that a kernel itself produces, received by scripts.

Two namespaces with a veth pair, and whatever tunnels this kernel has from one to the
other. Rounds of traffic pass through these: GSO datagrams, streams, SCTP, pages of files, frames
with false metadata. Meanwhile devices change their offloads, filters truncate frames, and other
sockets hold copies. Scripts receive through a packet socket, or take frames from the stack, on any
device with Ethernet frames.

The test checks that sockets hold no more than their buffers, and nothing in the end. The caller
checks the kernel's log.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import random
import socket
import struct
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import netns_pair
from library import Library
from netns_pair import CLIENT4, CLIENT6, SERVER4, SERVER6, Namespace, Wire

UDP_SEGMENT, UDP_GRO, SCTP = 103, 104, 132
SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_ZEROCOPY = 26, 33, 60
SOL_PACKET, PACKET_COPY_THRESH, PACKET_RX_RING, PACKET_VNET_HDR = 263, 7, 5, 15
MSG_ZEROCOPY = 0x4000000
# ETHTOOL_S* commands: checksums, scatter-gather, segmentation, and merging.
FEATURES = {"tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
SIOCETHTOOL, GSTRINGS, GSSET_INFO, SFEATURES = 0x8946, 0x1B, 0x37, 0x3B
MERGING = b"rx-gro-list", b"rx-udp-gro-forwarding"
# Bytes that a socket may exceed its buffer by: the last frame accepted.
SLACK = 256 << 10
# A user's share suffices for this many receivers.
SCRIPT_MEMORY = 512 << 10


@dataclass
class Kind:
    """A tunnel: ip's commands for both ends, with {n} for its number."""

    client: str
    server: str
    v4: bool = True
    v6: bool = True
    ethernet: bool = False  # frames come out of it


def both(
    words: str, ethernet: bool = False, v4: bool = True, v6: bool = True, base: str = ""
) -> Kind:
    """A command for both ends, {local} and {remote} exchanged; {local6} and {remote6}; {base}."""
    here = {"local": CLIENT4, "remote": SERVER4, "local6": CLIENT6, "remote6": SERVER6}
    there = {"local": SERVER4, "remote": CLIENT4, "local6": SERVER6, "remote6": CLIENT6}
    ends = []
    for end, device in ((here, "near"), (there, "far")):
        text = words.replace("{base}", device + base)
        for key, value in end.items():
            text = text.replace("{" + key + "}", value)
        ends.append(text)
    return Kind(*ends, v4, v6, ethernet)


@dataclass
class Receiver:
    """A packet socket and its script; taken: it takes frames from the stack."""

    sock: socket.socket
    script: int
    taken: bool
    local: bool
    drops: int = 0


ENDS = "local {local} remote {remote}"
ENDS6 = "local {local6} remote {remote6}"
FOU = ["fou add port 5555 ipproto 4", "fou add port 5556 gue"]
L2TP = """l2tp add tunnel tunnel_id {n} peer_tunnel_id {n} local {local} remote {remote} %s
l2tp add session name t{n} tunnel_id {n} session_id {n} peer_session_id {n}"""
KINDS = {
    "plain": None,
    "ipip": both(f"link add t{{n}} type ipip {ENDS}", v6=False),
    "sit": both(f"link add t{{n}} type sit {ENDS}", v4=False),
    "gre": both(f"link add t{{n}} type gre {ENDS}"),
    "gre-sum": both(f"link add t{{n}} type gre {ENDS} csum key 5"),
    "gretap": both(f"link add t{{n}} type gretap {ENDS} key 6", ethernet=True),
    "ip6gre": both(f"link add t{{n}} type ip6gre {ENDS6}"),
    "ip6gretap": both(f"link add t{{n}} type ip6gretap {ENDS6} key 7", ethernet=True),
    "ip6tnl": both(f"link add t{{n}} type ip6tnl {ENDS6} mode any"),
    "vxlan": both(f"link add t{{n}} type vxlan id 5 {ENDS} dstport 4789", ethernet=True),
    "vxlan-sum": both(
        f"link add t{{n}} type vxlan id 6 {ENDS} dstport 4790 udpcsum", ethernet=True
    ),
    "vxlan6": both(f"link add t{{n}} type vxlan id 7 {ENDS6} dstport 4791", ethernet=True),
    "geneve": both("link add t{n} type geneve id 5 remote {remote}", ethernet=True),
    "fou": both(
        f"link add t{{n}} type ipip {ENDS} encap fou encap-sport auto encap-dport 5555", v6=False
    ),
    "gue": both(
        f"link add t{{n}} type ipip {ENDS} encap gue encap-sport auto encap-dport 5556", v6=False
    ),
    "gre-gue": both(
        f"link add t{{n}} type gre {ENDS} key 8 encap gue encap-sport auto encap-dport 5556"
    ),
    "l2tp": both(L2TP % "encap ip", ethernet=True),
    "l2tp-udp": both(L2TP % "encap udp udp_sport 6000 udp_dport 6000", ethernet=True),
    "vlan": both("link add t{n} link {base} type vlan id 5", ethernet=True),
    "qinq": both(
        "link add q{n} link {base} type vlan proto 802.1ad id 6\nlink set q{n} up\n"
        "link add t{n} link q{n} type vlan id 7",
        ethernet=True,
    ),
    "macvlan": both("link add t{n} link {base} type macvlan mode bridge", ethernet=True, base="1"),
    "macsec": both("link add t{n} link {base} type macsec encrypt on", ethernet=True, base="2"),
    "mpls": both("link add t{n} type dummy"),
    "bareudp": both("link add t{n} type bareudp dstport 6635 ethertype ipv4", v6=False),
    "wireguard": both("link add t{n} type wireguard"),
    "esp": both("link add t{n} type dummy", v6=False),
}

RECEIVE = """
-- Does to frames all that can be done to them, whatever they are; drops some of them.
function run(fd, all, taking, batch, choice)
  local port = taking > 0 and net.frames(fd, all > 0, true) or net.frames(fd, all > 0)
  local n = port:receive(batch, 0)
  for i = 1, n do
    local f = port[i]
    local at, len = f:udp()
    f:headers()
    if choice == 1 then pcall(f.put, f, f:len() + 20, "longer") end
    if choice == 2 and at then f:fill(at, 88, len) end
    if choice < 3 and not pcall(f.reply, f, len or 0) then pcall(f.send, f) end
  end
  if choice == 4 then port:keep() end
  port:flush()
  return n
end
"""


class Shapes:
    """The network under test, and counters: `frames` received, `dropped` ones."""

    def __init__(self, seed: int, kinds: Iterable[str]) -> None:
        self.random = random.Random(seed)
        self.library = Library()
        self.counts: Counter[str] = Counter()
        self.receivers: list[Receiver] = []
        self.kinds: dict[str, int] = {}
        self.wire = Wire()
        self.here, self.there = self.wire.client, self.wire.server
        self.closing = contextlib.ExitStack()
        self.address()
        for kind in kinds:
            self.add(kind)
        self.file = self.closing.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.file.write(os.urandom(1 << 16))
        self.file.flush()
        self.open_senders()
        self.open_receivers()

    # -- Devices ------------------------------------------------------------------

    def address(self) -> None:
        self.there.sysctl("ipv6/conf/far/disable_ipv6", 0)
        for where, device, last, peer in (
            (self.here, "near", 1, netns_pair.SERVER_MAC),
            (self.there, "far", 2, netns_pair.CLIENT_MAC),
        ):
            other = 3 - last
            lines = [f"address replace 10.9.{i}.{last}/24 dev {device}" for i in (0, 1)]
            lines += [f"address replace fd09::{last}/64 dev {device} nodad"]
            lines += [
                f"neigh replace {to} lladdr {peer.hex(':')} dev {device}"
                for to in (f"10.9.0.{other}", f"10.9.1.{other}", f"fd09::{other}")
            ]
            self.batch(where, lines)
        # Devices on which other devices take all frames.
        for n in (1, 2):
            far = f"name far{n} address {netns_pair.SERVER_MAC.hex(':')} netns {self.there.pid}"
            near = f"name near{n} address {netns_pair.CLIENT_MAC.hex(':')}"
            self.here.ip(f"link add {near} type veth peer {far}")
            self.here.ip(f"link set near{n} up")
            self.there.ip(f"link set far{n} up")
        for line in FOU:
            for where in (self.here, self.there):
                self.batch(where, [line])

    def batch(self, where: Namespace, lines: list[str]) -> bool:
        """Runs commands of ip(8); false if it does not know one of them."""
        with where.inside():
            done = subprocess.run(
                ["ip", "-batch", "-"],
                input="\n".join(lines) + "\n",
                capture_output=True,
                text=True,
                check=False,
            )
        return done.returncode == 0

    def add(self, name: str) -> None:
        """Adds a tunnel if the kernel and the machine's commands support it."""
        kind, n = KINDS[name], len(self.kinds) + 1
        if kind:
            for where, words, last in ((self.here, kind.client, 1), (self.there, kind.server, 2)):
                lines = words.replace("{n}", str(n)).splitlines()
                lines += [
                    f"address add 10.20.{n}.{last}/24 dev t{n}",
                    f"address add fd20:{n}::{last}/64 dev t{n} nodad",
                    f"link set t{n} up",
                    *self.special(name, n, last),
                ]
                if not self.batch(where, lines):
                    return
        self.kinds[name] = n

    def special(self, name: str, n: int, last: int) -> list[str]:
        """Extra arguments of such a tunnel besides an address."""
        other, device = 3 - last, "near" if last == 1 else "far"
        if name == "mpls":
            outside = f"10.9.0.{other}"
            return [
                f"route add 10.21.{n}.{other}/32 encap mpls 100 via inet {outside} dev {device}"
            ]
        if name == "bareudp":
            encap = f"encap ip id 5 dst 10.9.0.{other}"
            return [f"route add 10.21.{n}.{other}/32 {encap} dev t{n}"]
        if name == "macsec":
            mac = (netns_pair.SERVER_MAC if last == 1 else netns_pair.CLIENT_MAC).hex(":")
            key = "0123456789abcdef0123456789abcdef"
            return [
                f"macsec add t{n} tx sa 0 pn 1 on key 01 {key}",
                f"macsec add t{n} rx port 1 address {mac}",
                f"macsec add t{n} rx port 1 address {mac} sa 0 pn 1 on key 02 {key}",
            ]
        if name == "esp":
            key = "0x" + "01" * 20
            states = [
                f"xfrm state add src 10.9.1.{a} dst 10.9.1.{b} proto esp spi 5 mode transport "
                f"aead rfc4106(gcm(aes)) {key} 128"
                for a, b in ((1, 2), (2, 1))
            ]
            tmpl = "tmpl proto esp mode transport"
            out = f"xfrm policy add src 10.9.1.{last} dst 10.9.1.{other} dir out {tmpl}"
            return [*states, out]
        return []

    def to(self, name: str, family: int) -> tuple[str, str] | None:
        """Addresses of both ends of the tunnel."""
        n, kind = self.kinds[name], KINDS[name]
        if name == "esp":
            return ("10.9.1.1", "10.9.1.2") if family == 4 else None
        if name in ("mpls", "bareudp"):
            return (f"10.20.{n}.1", f"10.21.{n}.2") if family == 4 else None
        if not kind:
            return (CLIENT4, SERVER4) if family == 4 else (CLIENT6, SERVER6)
        if family == 4:
            return (f"10.20.{n}.1", f"10.20.{n}.2") if kind.v4 else None
        return (f"fd20:{n}::1", f"fd20:{n}::2") if kind.v6 else None

    # -- Features -------------------------------------------------------------------

    def set_feature(self, where: Namespace, device: bytes, command: bytes) -> None:
        """Ignores features that the device does not have."""
        memory = ctypes.create_string_buffer(command)
        request = struct.pack("16sP16x", device, ctypes.addressof(memory))
        with where.udp() as sock, contextlib.suppress(OSError):
            fcntl.ioctl(sock, SIOCETHTOOL, request)

    def merging_bits(self) -> dict[bytes, int]:
        """Bits of features without a command of their own."""
        memory = ctypes.create_string_buffer(struct.pack("IIQI", GSSET_INFO, 0, 1 << 4, 0))
        request = struct.pack("16sP16x", b"far", ctypes.addressof(memory))
        with self.there.udp() as sock:
            fcntl.ioctl(sock, SIOCETHTOOL, request)
            count = struct.unpack_from("I", memory, 16)[0]
            memory = ctypes.create_string_buffer(12 + 32 * count)
            struct.pack_into("III", memory, 0, GSTRINGS, 4, count)
            request = struct.pack("16sP16x", b"far", ctypes.addressof(memory))
            fcntl.ioctl(sock, SIOCETHTOOL, request)
        names = [memory.raw[12 + 32 * i :][:32].split(b"\0")[0] for i in range(count)]
        self.words = (count + 31) // 32
        return {name: names.index(name) for name in MERGING if name in names}

    def change_features(self) -> None:
        where, device = self.random.choice(((self.here, b"near"), (self.there, b"far")))
        device += self.random.choice((b"", b"", b"1", b"2"))
        on = self.random.random() < 0.6
        if self.random.random() < 0.4 and self.bits:
            bit = self.random.choice(list(self.bits.values()))
            words = [[0, 0] for _ in range(self.words)]
            words[bit // 32] = [1 << bit % 32, on << bit % 32]
            flat = [word for pair in words for word in pair]
            head = struct.pack("II", SFEATURES, self.words)
            self.set_feature(where, device, head + struct.pack(f"{len(flat)}I", *flat))
        else:
            feature = self.random.choice(list(FEATURES.values()))
            self.set_feature(where, device, struct.pack("II", feature, on))

    # -- Senders ----------------------------------------------------------------------

    def open_senders(self) -> None:
        """Datagram and stream sockets through each tunnel, and their receivers."""
        self.datagrams: list[tuple[str, socket.socket]] = []
        self.streams: list[tuple[str, socket.socket, socket.socket]] = []
        for name in self.kinds:
            for family in (4, 6):
                ends = self.to(name, family)
                if ends:
                    self.open_pair(name, *ends)
        self.raw = self.closing.enter_context(self.here.packet("near", 0))
        self.raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.raw.setblocking(False)
        self.tap = self.closing.enter_context(self.there.packet("far"))
        self.tap.setblocking(False)
        self.seen: list[bytes] = [netns_pair.frame4(bytes(1000)), netns_pair.frame6(bytes(1000))]
        self.open_sctp()
        self.open_stack()
        self.bits = self.merging_bits()

    def open_pair(self, name: str, source: str, to: str) -> None:
        with contextlib.suppress(OSError):
            sock = self.closing.enter_context(self.here.udp(source))
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
            sock.connect((to, 7))
            self.datagrams.append((name, sock))
        family = socket.AF_INET6 if ":" in to else socket.AF_INET
        with contextlib.suppress(OSError), self.there.inside():
            server = socket.create_server((to, 8), family=family)
        with contextlib.suppress(OSError, UnboundLocalError):
            self.closing.enter_context(server)
            server.settimeout(3)
            with self.here.inside():
                client = socket.create_connection((to, 8), 3, (source, 0))
            accepted, _ = server.accept()
            for sock in (client, accepted):
                sock.setblocking(False)
                self.closing.enter_context(sock)
            self.streams.append((name, client, accepted))

    def open_sctp(self) -> None:
        """Open an SCTP connection as a stream."""
        with contextlib.suppress(OSError):
            with self.there.inside():
                server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP)
            with self.here.inside():
                client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP)
            server.bind((SERVER4, 9))
            server.listen()
            client.settimeout(5)
            client.connect((SERVER4, 9))
            accepted, _ = server.accept()
            for sock in (client, accepted):
                sock.setblocking(False)
            for sock in (client, accepted, server):
                self.closing.enter_context(sock)
            self.streams.append(("sctp", client, accepted))

    def open_stack(self) -> None:
        """Sockets of the other end's stack: one gets merged datagrams (GRO)."""
        self.asks = self.closing.enter_context(self.there.udp("0.0.0.0", 7))
        self.asks.setblocking(False)
        self.asks.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        self.local = self.closing.enter_context(self.there.udp())
        self.local.setblocking(False)
        self.local.connect(("127.0.0.1", 7))

    def payload(self) -> tuple[bytes, int]:
        """Bytes to send, and their segment size; 0: unsegmented."""
        size = self.random.choice([0, 1, 2, 7, 100, 536, 1000, 1200, 1300, 1372, 1472])
        n = self.random.choice([1, 2, 3, 16, 40, 64]) if size else 1
        length = min(max(size * n - self.random.choice([0, 1, size // 2]), 1), 60000)
        return bytes(length), size

    def send_datagrams(self, name: str, sock: socket.socket) -> None:
        data, size = self.payload()
        flags = MSG_ZEROCOPY if self.random.random() < 0.2 else 0
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)
        if self.random.random() < 0.3:
            os.sendfile(sock.fileno(), self.file.fileno(), 0, min(len(data), 1 << 16))
        else:
            sock.send(data, flags)
        self.counts[name] += 1
        with contextlib.suppress(OSError):
            sock.recv(65536)
        if flags:
            with contextlib.suppress(OSError):
                sock.recv(100, socket.MSG_ERRQUEUE)

    def send_stream(self, name: str, client: socket.socket, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):
            accepted.recv(1 << 18)
        length = self.random.choice([1, 100, 1400, 3000, 20000, 65000])
        if self.random.random() < 0.3 and name != "sctp":
            os.sendfile(client.fileno(), self.file.fileno(), 0, length)
        else:
            client.send(bytes(length))
        self.counts[f"{name} stream"] += 1

    def send_liar(self) -> None:
        """Sends a frame seen before, with false metadata."""
        frame = self.random.choice(self.seen)
        kind = self.random.choice([0, 1, 3, 4, 5, 0x81, 0x84])
        size = self.random.choice([1, 8, 100, 536, 1400, 65535])
        start = self.random.choice([0, 14, 34, 54, len(frame) - 2, self.random.randrange(2000)])
        offset = self.random.choice([0, 6, 8, 16, self.random.randrange(2000)])
        header = self.random.choice([0, 14, 34, 42, 54, 74, len(frame)])
        flags = self.random.choice([0, 1, 1, 1, 2])
        vnet = struct.pack("<BBHHHH", flags, kind, header, size, start, offset)
        if self.random.random() < 0.3:
            at = self.random.randrange(len(frame))
            frame = frame[:at] + os.urandom(1) + frame[at + 1 :]
        self.raw.send(vnet + frame)
        self.counts["lies"] += 1

    def look(self) -> None:
        """Collects frames to copy from; the tap's copies also hold references to other frames."""
        with contextlib.suppress(OSError):
            frame = self.tap.recv(65536)
            if len(self.seen) < 200:
                self.seen.append(frame)
            else:
                self.seen[self.random.randrange(200)] = frame

    def send(self) -> None:
        what = self.random.random()
        with contextlib.suppress(OSError):
            if what < 0.55:
                self.send_datagrams(*self.random.choice(self.datagrams))
            elif what < 0.8 and self.streams:
                self.send_stream(*self.random.choice(self.streams))
            elif what < 0.9:
                self.send_liar()
            else:
                self.send_datagrams("local", self.local)

    # -- Receivers ----------------------------------------------------------------------

    def open_receivers(self) -> None:
        """Open receivers on the device, the tunnels' devices, and the loopback device."""
        names = [f"t{n}" for name, n in self.kinds.items() if KINDS[name] and KINDS[name].ethernet]
        for device in ("far", "far", "far", "lo", *names):
            script, text = self.library.register(RECEIVE.encode(), memory=SCRIPT_MEMORY)
            assert script >= 0, text
            taken = device != "lo" and self.random.random() < 0.3
            sock = self.there.packet(device, 0 if taken else netns_pair.ETH_P_ALL)
            sock.setblocking(False)
            room = self.random.choice([2048, 65536, 212992, 212992, 1 << 21])
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
            self.receivers.append(Receiver(sock, script, taken, device == "lo"))
        with_ring(self.receivers[1].sock)

    def change_filter(self, sock: socket.socket) -> None:
        """Truncates frames to some length, or not at all."""
        kept = self.random.choice(
            [1, 14, 20, 34, 41, 42, 43, 46, 54, 62, 66, 74, 100, 142, 600, 1000, 1514, 3000, 40000]
        )
        set_filter(sock, kept if self.random.random() < 0.5 else 0xFFFFFFFF)

    def receive(self, receiver: Receiver) -> None:
        """Until nothing is left, or some time has passed."""
        sock, script = receiver.sock, receiver.script
        # Sometimes the stack gets its frames, too.
        taking = int(receiver.taken and self.random.random() < 0.3)
        if self.random.random() < 0.1:
            with contextlib.suppress(OSError):
                sock.recv(100, socket.MSG_PEEK)
        for _ in range(40):
            # Frames sent on the loopback device come back.
            choice = self.random.choice([3, 4]) if receiver.local else self.random.randrange(5)
            batch = self.random.choice([1, 5, 64, 64])
            all_ = int(self.random.random() < 0.8)
            count, n = self.library.call(script, sock.fileno(), all_, taking, batch, choice)
            assert count == 1 or (count < 0 and taking), self.library.error(script)
            self.counts["frames"] += max(n, 0) if count == 1 else 0
            if count != 1 or n <= 0:
                break
        held = netns_pair.memory(sock)
        assert held["rmem"] <= held["rcvbuf"] + SLACK, held
        self.counts["dropped"] += (held["drops"] - receiver.drops) & 0xFFFFFFFF
        receiver.drops = held["drops"]

    def round(self) -> None:
        """Send some traffic, then run some receivers."""
        if self.random.random() < 0.3:
            self.change_features()
        for _ in range(16):
            self.send()
        self.look()
        for drained in (self.asks, self.raw):
            with contextlib.suppress(OSError):
                drained.recv(65536)
        for receiver in self.random.sample(self.receivers, 3):
            if self.random.random() < 0.3:
                self.change_filter(receiver.sock)
            self.receive(receiver)

    def run(self, frames: int, seconds: float) -> None:
        """Until this many frames arrived, or this many seconds passed; 0 frames: no limit."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not 0 < frames <= self.counts["frames"]:
            self.round()

    def finish(self) -> None:
        """Devices disappear while scripts hold frames of theirs; in the end nothing is held."""
        self.batch(self.here, ["link del near"])
        while self.receivers:
            receiver = self.receivers.pop()
            sock, script = receiver.sock, receiver.script
            self.library.call(script, sock.fileno(), 1, receiver.taken, 64, 4)
            set_filter(sock, 0)
            os.close(script)
            # The first read only reports that the device is gone.
            with contextlib.suppress(OSError):
                netns_pair.drain(sock)
            netns_pair.drain(sock)
            held = netns_pair.memory(sock)
            sock.close()
            assert held["rmem"] == 0, held

    def close(self) -> None:
        for receiver in self.receivers:
            with contextlib.suppress(OSError):
                os.close(receiver.script)
            receiver.sock.close()
        self.closing.close()
        self.wire.close()


def set_filter(sock: socket.socket, kept: int) -> None:
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, kept))
    packed = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, packed)


def with_ring(sock: socket.socket) -> None:
    """A ring with room for little more than headers: longer frames are queued, too."""
    sock.setsockopt(SOL_PACKET, PACKET_COPY_THRESH, 1 << 20)
    sock.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("4I", 4096, 16, 128, 512))


@contextlib.contextmanager
def shapes(seed: int, kinds: Iterable[str] = tuple(KINDS)) -> Iterator[Shapes]:
    made = Shapes(seed, kinds)
    try:
        yield made
        made.finish()
    finally:
        made.close()
