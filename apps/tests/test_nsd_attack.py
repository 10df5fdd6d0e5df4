# SPDX-License-Identifier: GPL-2.0 OR MIT
"""NSD with queries as frames (apps/nsd), under attack from its network and misconfiguration.

Whatever packets arrive, and however devices, addresses and rules change: its replies and silences
equal those of NSD without the patch, to the same hosts, from the same addresses.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import netns_pair
import pytest
import test_nsd
from test_nsd import PATIENCE, WAYS, Server, in_net, query, taken, wait_until_taken

nets = test_nsd.nets
both = test_nsd.both
PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 23, 33
QUIET = 0.7
IP4, IP6, ARP = 0x0800, 0x86DD, 0x0806
OTHER_MAC = bytes.fromhex("0200000000aa")
# A host of the same network; one of another network, behind the client.
NEIGHBOUR, BEYOND = 77, "192.0.2.77"


def sysctl(name: str, value: int) -> None:
    """Set it for both servers."""
    for number in WAYS.values():
        path = f"/proc/sys/net/{name.format(number)}"
        in_net(number, "sh", "-c", f"echo {value} >{path}")


class End:
    """The client's end of a server's link, for raw frames."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.mac = bytes.fromhex(
            Path(f"/sys/class/net/to{number}/address").read_text().replace(":", "")
        )
        shown = subprocess.run(
            ["ip", "-n", f"nsd{number}", "-br", "link", "show", f"frames{number}"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        self.server_mac = bytes.fromhex(shown.split()[2].replace(":", ""))
        self.sock = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(netns_pair.ETH_P_ALL)
        )
        self.sock.setsockopt(263, PACKET_IGNORE_OUTGOING, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self.sock.bind((f"to{number}", netns_pair.ETH_P_ALL))

    def four(self, host: int) -> int:
        return int(ipaddress.ip_address(f"10.88.{self.number}.{host}"))

    def six(self, host: int) -> bytes:
        return ipaddress.ip_address(f"fd88:{self.number}::{host:x}").packed

    def shown(self, address: bytes) -> str:
        """The address in a form equal for both ends."""
        for own in (self.six(0), struct.pack(">I", self.four(0))):
            end = len(own) // 2 if len(own) == 16 else 3
            if address[:end] == own[:end] and len(address) == len(own):
                return f"its network's {address[end:].hex()}"
        return str(ipaddress.ip_address(address))

    def frames(self, quiet: float = QUIET) -> list[bytes]:
        """All frames up to a silence."""
        self.sock.settimeout(quiet)
        found = []
        with contextlib.suppress(TimeoutError):
            while True:
                found.append(self.sock.recv(65536))
        return found

    def replies(self, quiet: float = QUIET) -> dict[int, list[tuple[str, ...]]]:
        """Replies by query number: source, destination, and contents."""
        macs = {self.mac: "client", self.server_mac: "server"}
        found: dict[int, list[tuple[str, ...]]] = {}
        for frame in self.frames(quiet):
            if len(frame) < 42 or (frame[12:14], frame[23]) not in (
                (b"\x08\0", 17),
                (b"\x86\xdd", frame[23]),
            ):
                continue
            six = frame[12:14] == b"\x86\xdd"
            if six and (len(frame) < 62 or frame[20] != 17):
                continue
            source, destination = (
                (frame[22:38], frame[38:54]) if six else (frame[26:30], frame[30:34])
            )
            udp = frame[54:] if six else frame[34:]
            sport, dport, length = struct.unpack(">3H", udp[:6])
            if sport != 53:
                continue
            ends = [macs.get(mac, mac.hex()) for mac in (frame[6:12], frame[:6])]
            told = (
                *ends,
                self.shown(source),
                self.shown(destination),
                str(dport),
                udp[8:length].hex(),
            )
            found.setdefault(int.from_bytes(udp[8:10]), []).append(told)
        return found

    def close(self) -> None:
        self.sock.close()


class Shapes:
    """Frames with queries in all shapes; the query's number identifies its reply."""

    def __init__(self, end: End) -> None:
        self.end = end
        self.cases: list[tuple[str, list[bytes]]] = []
        self.headers()
        self.fragments()
        self.lengths()
        self.sources()
        self.destinations()
        self.link()
        self.messages()
        self.six()

    def add(self, name: str, *frames: bytes) -> None:
        self.cases.append((name, list(frames)))

    def query(self) -> bytes:
        return struct.pack(">H", len(self.cases) + 1) + query("host", 1)[2:]

    def ethernet(self, kind: int, payload: bytes, to: bytes = b"", of: bytes = b"") -> bytes:
        return (
            (to or self.end.server_mac) + (of or self.end.mac) + struct.pack(">H", kind) + payload
        )

    def udp(self, payload: bytes | None = None, source: int = 0, **ports: int) -> bytes:
        destination = self.end.four(2)
        pseudo = netns_pair.pseudo4(source or self.end.four(1), destination)
        ports = {"sport": 1024 + len(self.cases), "dport": 53, **ports}
        return netns_pair.udp(self.query() if payload is None else payload, pseudo, **ports)

    def ip(self, payload: bytes | None = None, options: bytes = b"", **fields: int) -> bytes:
        fields = {"source": self.end.four(1), "destination": self.end.four(2), **fields}
        whole = self.udp(source=fields["source"]) if payload is None else payload
        return netns_pair.ip4(whole, options, **fields)

    def frame(self, payload: bytes | None = None, options: bytes = b"", **fields: int) -> bytes:
        return self.ethernet(IP4, self.ip(payload, options, **fields))

    def changed(self, name: str, at: int, by: bytes) -> None:
        """Overwrites bytes of the frame."""
        frame = self.frame()
        self.add(name, frame[:at] + by + frame[at + len(by) :])

    def headers(self) -> None:
        self.add("plain", self.frame())
        for version in (0, 5, 6, 15):
            self.add(f"version {version}", self.frame(version=version))
        for ihl in (0, 4, 6, 15):
            self.add(f"ihl {ihl}", self.frame(ihl=ihl))
        self.add("options", self.frame(options=b"\1" * 4))
        self.add("record route", self.frame(options=b"\x07\x07\x04\0\0\0\0\0"))
        self.add("source route", self.frame(options=b"\x83\x07\x04\x0a\x58\0\x01\0"))
        self.add("bad options", self.frame(options=b"\x44\xff\xff\xff"))
        self.add("sum of IP", self.frame(sum=0x1234))
        self.add("sum of IP is 0", self.frame(sum=0))
        for protocol in (1, 6, 136):
            self.add(f"protocol {protocol}", self.frame(protocol=protocol))
        for value in (0, 1, 255):
            frame = bytearray(self.frame())
            frame[15], frame[22] = 0xFF, value
            frame[24:26] = bytes(2)
            frame[24:26] = struct.pack(">H", netns_pair.checksum(bytes(frame[14:34])))
            self.add(f"TOS, TTL {value}", bytes(frame))
        whole = self.frame()
        for length in (14, 15, 20, 33, 34, 35, 41, 42, 43, 50, len(whole) - 1):
            self.add(f"cut at {length}", self.frame()[:length])

    def fragments(self) -> None:
        self.add("do not cut", self.frame(fragment=0x4000))
        self.add("reserved bit", self.frame(fragment=0x8000))
        self.add("the first of none", self.frame(fragment=0x2000))
        self.add("the last of none", self.frame(fragment=1))
        for name, order in (("in order", (0, 1)), ("from behind", (1, 0))):
            whole = self.udp()
            parts = [self.frame(whole[:16], fragment=0x2000), self.frame(whole[16:], fragment=2)]
            self.add(f"fragments {name}", *(parts[i] for i in order))
        whole = self.udp()
        self.add(
            "overlapping",
            self.frame(whole[:24], fragment=0x2000),
            self.frame(whole[16:], fragment=2),
        )

    def lengths(self) -> None:
        for name, of in (
            ("0", 0),
            ("7", 7),
            ("8", 8),
            ("9", 9),
            ("short", -3),
            ("long", 3),
            ("huge", 65535),
        ):
            whole = self.udp()
            length = of if of >= 0 and name != "long" else len(whole) + of
            self.add(
                f"UDP length {name}",
                self.frame(whole[:4] + struct.pack(">H", length) + bytes(2) + whole[8:]),
            )
        for name, more in (
            ("shorter", -1),
            ("much shorter", -20),
            ("longer", 1),
            ("much longer", 2000),
        ):
            self.add(f"IP length {name}", self.frame(total=20 + len(self.udp()) + more))
        self.add("more after UDP", self.frame(self.udp() + b"more"))
        self.add("padding", self.frame() + bytes(18))
        whole = self.udp()
        self.add("no sum", self.frame(whole[:6] + bytes(2) + whole[8:]))
        whole = self.udp()
        self.add("a wrong sum", self.frame(whole[:6] + b"\x12\x34" + whole[8:]))

    def sources(self) -> None:
        of = self.end.four
        sources = {
            "nobody": 0,
            "zero's net": 0x00000001,
            "loopback": 0x7F000001,
            "a group": 0xE0000001,
            "all hosts": 0xFFFFFFFF,
            "class E": 0xF0000001,
            "the server": of(2),
            "the server's other address": of(3),
            "the network": of(0),
            "its broadcast": of(255),
            "a neighbour": of(NEIGHBOUR),
            "beyond": int(ipaddress.ip_address(BEYOND)),
        }
        for name, source in sources.items():
            self.add(f"from {name}", self.frame(source=source))
        self.add(
            "from here to here", self.ethernet(IP4, self.ip(source=of(2)), of=self.end.server_mac)
        )
        for port in (0, 53, 65535):
            self.add(f"from port {port}", self.frame(self.udp(sport=port)))

    def destinations(self) -> None:
        for name, host in (("its other address", 3), ("another", 9), ("broadcast", 255)):
            self.add(f"to {name}", self.frame(destination=self.end.four(host)))
        for address in ("224.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0", BEYOND):
            self.add(f"to {address}", self.frame(destination=int(ipaddress.ip_address(address))))
        for port in (0, 54):
            self.add(f"to port {port}", self.frame(self.udp(dport=port)))

    def link(self) -> None:
        for name, mac in (
            ("all", b"\xff" * 6),
            ("a group", b"\1\0\x5e\0\0\1"),
            ("another", OTHER_MAC),
        ):
            self.add(f"Ethernet's to {name}", self.ethernet(IP4, self.ip(), to=mac))
        sources = {"all": b"\xff" * 6, "a group": b"\1\0\x5e\0\0\1", "0": bytes(6)}
        sources["the server"] = self.end.server_mac
        for name, mac in sources.items():
            self.add(f"Ethernet's from {name}", self.ethernet(IP4, self.ip(), of=mac))
        for tags in ([0], [5], [0xE000], [5, 6], [0, 0]):
            inner = struct.pack(">H", IP4) + self.ip()
            for tag in tags:
                inner = struct.pack(">HH", 0x8100, tag) + inner
            self.add(f"VLAN {tags}", self.ethernet(0, b"")[:12] + inner)
        for kind in (0x0003, 0x05DC, ARP, 0x88B5, IP6):
            self.add(f"type {kind:#06x}", self.ethernet(kind, self.ip()))

    def messages(self) -> None:
        for length in (0, 1, 2, 11, 12, 13):
            self.add(f"message of {length}", self.frame(self.udp(self.query()[:length])))
        options = {"nothing": 0, "all": 65535, "512": 512, "511": 511, "1": 1}
        for name, size in options.items():
            message = self.query()
            message = message[:11] + b"\1" + message[12:]
            opt = struct.pack(">BHHIH", 0, test_nsd.OPT, size, 0, 0)
            self.add(f"EDNS of {name}", self.frame(self.udp(message + opt)))
        for size in (1440, 1900, 1998, 1999, 2000, 3000, 8000):
            message = self.query()
            self.add(
                f"message of {size}", self.frame(self.udp(message + bytes(size - len(message))))
            )

    # -- IPv6 --

    def udp6(self, source: bytes, payload: bytes | None = None) -> bytes:
        pseudo = source + self.end.six(2)
        return netns_pair.udp(
            self.query() if payload is None else payload, pseudo, 1024 + len(self.cases), 53
        )

    def ip6(
        self,
        payload: bytes | None = None,
        source: bytes = b"",
        to: bytes = b"",
        protocol: int = 17,
        length: int | None = None,
        first: int = 0x60000000,
        hops: int = 64,
    ) -> bytes:
        source = source or self.end.six(1)
        whole = self.udp6(source) if payload is None else payload
        size = len(whole) if length is None else length
        head = struct.pack("!IHBB", first, size, protocol, hops)
        return head + source + (to or self.end.six(2)) + whole

    def frame6(self, *args: bytes, **fields: int | bytes) -> bytes:
        return self.ethernet(IP6, self.ip6(*args, **fields))

    def six(self) -> None:
        of = self.end.six
        self.add("plain", self.frame6())
        self.add("class, flow", self.frame6(first=0x6FF12345))
        self.add("version 4", self.frame6(first=0x40000000))
        for hops in (0, 1, 255):
            self.add(f"hops {hops}", self.frame6(hops=hops))
        for name, number in (("hop by hop", 0), ("destination", 60), ("routing", 43)):
            self.add(
                name,
                self.frame6(bytes([17, 0, 1, 4, 0, 0, 0, 0]) + self.udp6(of(1)), protocol=number),
            )
        self.add(
            "a whole fragment",
            self.frame6(bytes([17, 0, 0, 0, 0, 0, 0, 1]) + self.udp6(of(1)), protocol=44),
        )
        self.add(
            "a first fragment",
            self.frame6(bytes([17, 0, 0, 1, 0, 0, 0, 2]) + self.udp6(of(1)), protocol=44),
        )
        self.add("no next header", self.frame6(protocol=59))
        for name, more in (("0", -999), ("shorter", -1), ("longer", 1), ("much longer", 2000)):
            self.add(f"IP length {name}", self.frame6(length=max(0, len(self.udp6(of(1))) + more)))
        whole = self.udp6(of(1))
        self.add("no sum", self.frame6(whole[:6] + bytes(2) + whole[8:]))
        whole = self.udp6(of(1))
        self.add("a wrong sum", self.frame6(whole[:6] + b"\x12\x34" + whole[8:]))
        self.add("more after UDP", self.frame6(self.udp6(of(1)) + b"more"))
        self.add("UDP length 0", self.jumbo())
        sources = [
            "::",
            "::1",
            "ff02::1",
            "::ffff:10.88.0.1",
            "::10.88.0.1",
            "2001:db8::77",
            "fe80::77",
        ]
        for source in sources:
            self.add(f"from {source}", self.frame6(source=ipaddress.ip_address(source).packed))
        for name, host in (
            ("the server", 2),
            ("the server's other address", 3),
            ("a neighbour", NEIGHBOUR),
        ):
            self.add(f"from {name}", self.frame6(source=of(host)))
        for to in (of(3), of(9), ipaddress.ip_address("ff02::1").packed):
            self.add(f"to {to.hex()}", self.frame6(to=to))
        self.add("Ethernet's to all", self.ethernet(IP6, self.ip6(), to=b"\xff" * 6))
        self.add("padding", self.frame6() + bytes(7))
        for size in (1400, 1978, 1979, 3000):
            message = self.query()
            whole = self.udp6(of(1), message + bytes(size - len(message)))
            self.add(f"message of {size}", self.frame6(whole))

    def jumbo(self) -> bytes:
        """Its length is left to IP; otherwise it is correct."""
        of = self.end.six
        whole = self.udp6(of(1))
        bare = whole[:4] + bytes(4) + whole[8:]
        total = netns_pair.checksum(of(1) + of(2) + struct.pack(">HH", 17, len(whole)) + bare)
        return self.frame6(bare[:6] + struct.pack(">H", total or 0xFFFF) + bare[8:])


def introduce(number: int) -> None:
    """Make the server learn the neighbours of all these addresses, and another one."""
    end = End(number)
    mac = end.mac.hex(":")
    device = f"frames{number}"
    other = f"to{number}"
    subprocess.run(["ip", "link", "set", other, "mtu", "9000"], check=True)
    in_net(number, "ip", "link", "set", device, "mtu", "9000")
    in_net(number, "ip", "address", "replace", f"10.88.{number}.3/24", "dev", device)
    in_net(number, "ip", "address", "replace", f"fd88:{number}::3/64", "dev", device, "nodad")
    for family, hosts in (
        ("-4", [f"10.88.{number}.1", f"10.88.{number}.{NEIGHBOUR}"]),
        ("-6", [f"fd88:{number}::1", f"fd88:{number}::{NEIGHBOUR:x}", "fe80::77"]),
    ):
        for host in hosts:
            in_net(number, "ip", family, "neigh", "replace", host, "lladdr", mac, "dev", device)
        in_net(number, "ip", family, "route", "replace", "default", "via", hosts[0], "dev", device)
    end.close()


@pytest.fixture
def ends(both: list[Server]) -> Iterator[list[End]]:
    for number in WAYS.values():
        introduce(number)
    wait_until_taken(both[1])
    opened = [End(number) for number in WAYS.values()]
    yield opened
    for end in opened:
        end.close()


def send(end: End, cases: list[tuple[str, list[bytes]]]) -> None:
    for name, frames in cases:
        for frame in frames:
            try:
                end.sock.send(frame)
            except OSError as error:
                assert error.errno in (errno.EMSGSIZE, errno.EINVAL), name
        # No ring overflows.
        time.sleep(0.002)


@pytest.mark.parametrize("strict", [0, 1])
def test_frames_as_plain(both: list[Server], ends: list[End], strict: int) -> None:
    """Each shape gets the same reply, or none; also under strict source checks."""
    sysctl("ipv4/conf/frames{}/rp_filter", strict)
    answers = []
    try:
        for end in ends:
            cases = Shapes(end).cases
            send(end, cases)
            answers.append(end.replies())
    finally:
        sysctl("ipv4/conf/frames{}/rp_filter", 0)
    wrong = [
        f"{name}: {answers[0].get(number)}, as frames {answers[1].get(number)}"
        for number, (name, _) in enumerate(cases, 1)
        if answers[0].get(number) != answers[1].get(number)
    ]
    assert not wrong, "\n".join(wrong)
    assert answers[0].keys() == answers[1].keys()
    assert len(cases) > len(answers[0]) > len(cases) // 4
    # Plain queries are still taken as frames, of both address families.
    before = both[1].by_sockets()
    for family in (4, 6):
        assert both[1].ask(query("host", 1), family, PATIENCE)
    assert both[1].by_sockets() == before
    wait_until_taken(both[1])


def test_flood(both: list[Server], ends: list[End]) -> None:
    """More than fits, from everywhere: each reply matches a query, and the server goes on."""
    end, shapes = ends[1], Shapes(ends[1])
    asked, frames = set(), []
    for number in range(2000):
        source, port = 0xC6336400 + number % 199, 1024 + number
        message = struct.pack(">H", number) + query("host", 1)[2:]
        udp = netns_pair.udp(message, netns_pair.pseudo4(source, end.four(2)), port, 53)
        frames.append(shapes.frame(udp, source=source))
        asked.add((str(ipaddress.ip_address(source)), str(port)))
    for frame in frames * 3:
        with contextlib.suppress(OSError):
            end.sock.send(frame)
    replies = end.replies()
    assert replies
    for told in replies.values():
        for _, to, source, destination, port, _ in told:
            assert to == "client"
            assert source == "its network's 02"
            assert (destination, port) in asked
    for server in both:
        assert server.ask(query("host", 1), patience=PATIENCE)
    wait_until_taken(both[1])


# -- Who looks after it ---------------------------------------------------------------


def asked(servers: list[Server], times: int = 1) -> list[list[bool]]:
    """Whether each server answers, for a number of queries."""
    message = query("host", 1)
    return [[bool(server.ask(message, 4, 0.5)) for _ in range(times)] for server in servers]


RULES = {
    "input": "table inet t {{ chain c {{ type filter hook input priority 0; "
    "udp dport 53 drop; }}; }}",
    "prerouting": "table ip t {{ chain c {{ type filter hook prerouting priority -300; "
    "udp dport 53 drop; }}; }}",
    "redirect": "table ip t {{ chain c {{ type nat hook prerouting priority -100; "
    "udp dport 53 redirect to :5353; }}; }}",
    "output": "table inet t {{ chain c {{ type filter hook output priority 0; "
    "udp sport 53 drop; }}; }}",
    "limit": "table ip t {{ chain c {{ type filter hook input priority 0; "
    "udp dport 53 limit rate over 1/hour burst 2 packets drop; }}; }}",
    "ingress": "table netdev t {{ chain c {{ type filter hook ingress device frames{0} "
    "priority 0; udp dport 53 drop; }}; }}",
    "egress": "table netdev t {{ chain c {{ type filter hook egress device frames{0} "
    "priority 0; udp sport 53 drop; }}; }}",
}


@pytest.mark.parametrize("rule", RULES)
def test_rules(both: list[Server], rule: str) -> None:
    """It obeys rules of nftables; when they are removed it takes frames again."""
    wait_until_taken(both[1])
    for number in WAYS.values():
        in_net(number, "nft", RULES[rule].format(number))
    try:
        plain, frames = asked(both, 4)
        assert plain == frames != [True] * 4
    finally:
        for number in WAYS.values():
            in_net(number, "nft", "flush ruleset")
    wait_until_taken(both[1])


def test_policy(both: list[Server]) -> None:
    """An IPsec policy."""
    wait_until_taken(both[1])
    policy = "src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dir in"
    for number in WAYS.values():
        in_net(number, "ip", "xfrm", "policy", "add", *policy.split(), "action", "block")
    try:
        assert asked(both) == [[False], [False]]
    finally:
        for number in WAYS.values():
            in_net(number, "ip", "xfrm", "policy", "flush")
    wait_until_taken(both[1])


def change(command: str) -> None:
    for number in WAYS.values():
        in_net(number, *command.format(number).split())


def test_addresses(both: list[Server]) -> None:
    """It never replies from a removed address, until that is added again."""
    wait_until_taken(both[1])
    for family, address in ((4, "10.88.{0}.2/24"), (6, "fd88:{0}::2/64")):
        more = "nodad" if family == 6 else ""
        change(f"ip address del {address} dev frames{{0}}")
        # Otherwise the client would lose its neighbour entry.
        for number in WAYS.values():
            host = address.partition("/")[0].format(number)
            mac = End(number).server_mac.hex(":")
            command = ["ip", "neigh", "replace", host, "lladdr", mac, "dev", f"to{number}"]
            subprocess.run(command, check=True)
        message = query("host", 1)
        assert [server.ask(message, family, 0.5) for server in both] == [b"", b""]
        change(f"ip address add {address} dev frames{{0}} {more}")
        for server in both:
            assert server.ask(message, family, PATIENCE)
    wait_until_taken(both[1])


def test_devices(both: list[Server]) -> None:
    """The device goes down, is renamed, disappears, and returns."""
    wait_until_taken(both[1])
    change("ip link set frames{0} down")
    assert asked(both) == [[False], [False]]
    change("ip link set frames{0} name renamed{0}")
    change("ip link set renamed{0} up")
    change("ip address replace fd88:{0}::2/64 dev renamed{0} nodad")
    for server in both:
        server.wait(query("host", 1))
    wait_until_taken(both[1])
    change("ip link set renamed{0} down")
    change("ip link set renamed{0} name frames{0}")
    change("ip link set frames{0} netns 1")
    assert asked(both) == [[False], [False]]
    for number in WAYS.values():
        device = f"frames{number}"
        subprocess.run(["ip", "link", "set", device, "netns", f"nsd{number}"], check=True)
    change("ip address add 10.88.{0}.2/24 dev frames{0}")
    change("ip address add fd88:{0}::2/64 dev frames{0} nodad")
    change("ip link set frames{0} up")
    for server in both:
        server.wait(query("host", 1))
    wait_until_taken(both[1])


def test_bound_to_another_device(nets: None, tmp_path: Path) -> None:
    """A socket bound to one device gets nothing from another device."""
    servers = []
    change("ip link add other type dummy")
    change("ip address add 10.88.{0}.4/32 dev other")
    change("ip link set other up")
    for way, number in WAYS.items():
        (tmp_path / way).mkdir()
        addresses = [f"10.88.{number}.2", f"10.88.{number}.4 bindtodevice=yes"]
        options = [f"ip-address: {address}" for address in addresses]
        servers.append(Server(way, tmp_path / way, *options))
    try:
        wait_until_taken(servers[1])
        for server in servers:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.connect((f"10.88.{server.number}.4", 53))
                sock.settimeout(0.5)
                sock.send(query("host", 1))
                with pytest.raises(OSError):
                    sock.recv(512)
    finally:
        for server in servers:
            server.stop()
        change("ip link del other")


BIND = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, int(sys.argv[1]), 1)
sock.bind((sys.argv[2], 53))
"""


def test_port_is_taken(both: list[Server]) -> None:
    """No other process receives queries by binding the same port."""
    for option in (socket.SO_REUSEPORT, socket.SO_REUSEADDR):
        for address in ("10.88.{0}.2", "0.0.0.0"):
            results = []
            for number in WAYS.values():
                command = ["ip", "netns", "exec", f"nsd{number}", "python3", "-c", BIND]
                done = subprocess.run(
                    [*command, str(option), address.format(number)],
                    stderr=subprocess.PIPE,
                    text=True,
                    check=False,
                )
                results.append("Address already in use" in done.stderr)
            assert results == [True, True]


def test_two_servers(both: list[Server], tmp_path: Path) -> None:
    """A second server uses sockets on another address of the device, and then takes over."""
    change("ip address replace 10.88.{0}.3/24 dev frames{0}")
    wait_until_taken(both[1])
    second = tmp_path / "second"
    second.mkdir()

    class Second(Server):
        def ask(self, message: bytes, family: int = 4, patience: float = QUIET) -> bytes:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.connect((f"10.88.{self.number}.3", 53))
                sock.settimeout(patience)
                with contextlib.suppress(OSError):
                    sock.send(message)
                    return sock.recv(65536)
            return b""

    server = Second("frames", second, "ip-address: 10.88.1.3")
    try:
        assert not taken(server)
        assert taken(both[1])
        assert "another script takes this device's frames" in server.log.read_text()
    finally:
        server.stop()
    assert taken(both[1])


def test_without_descriptors(both: list[Server]) -> None:
    """Without free descriptors a process uses sockets, until it has some."""
    server = both[1]
    wait_until_taken(server)
    # The parent of the server processes.
    parent = int(
        re.search(r"PPid:\t(\d+)", Path(f"/proc/{server.servers()[0]}/status").read_text())[1]
    )
    before = resource.prlimit(parent, resource.RLIMIT_NOFILE)
    used = max(int(entry.name) for entry in Path(f"/proc/{parent}/fd").iterdir()) + 1
    resource.prlimit(parent, resource.RLIMIT_NOFILE, (used + 6, before[1]))
    for pid in server.servers():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.5)
    server.wait(query("host", 1))
    for pid in server.servers():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    resource.prlimit(parent, resource.RLIMIT_NOFILE, before)
    wait_until_taken(server)


@pytest.mark.parametrize("what", ["reload", "kill"])
def test_in_a_storm(both: list[Server], ends: list[End], what: str) -> None:
    """While servers restart and rules change, each shape gets the same reply as otherwise."""
    server, end = both[1], ends[1]
    cases = Shapes(end).cases
    plain = Shapes(ends[0]).cases
    send(ends[0], plain)
    right = ends[0].replies()
    actions: list[Callable[[], object]] = [
        lambda: (
            server.process.send_signal(signal.SIGHUP)
            if what == "reload"
            else [os.kill(pid, signal.SIGKILL) for pid in server.servers()]
        ),
        lambda: in_net(
            1, "nft", "table inet t { chain c { type filter hook input priority 0; }; }"
        ),
        lambda: in_net(1, "nft", "flush ruleset"),
    ]
    for turn in range(6):
        with contextlib.suppress(ProcessLookupError):
            actions[turn % len(actions)]()
        send(end, cases)
        for number, told in end.replies(0.2).items():
            assert set(told) <= set(right[number]), cases[number - 1][0]
    server.wait(query("host", 1))
    wait_until_taken(server)
