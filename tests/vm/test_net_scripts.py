# SPDX-License-Identifier: GPL-2.0
"""scripts/net/ as servers, with clients in another namespace.

Clients are sockets, ping(8), dig(1), and scapy for frames that no client sends.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import frames_harness
import netns_pair
import pytest
from library import BUILD, KERNEL, Library
from netns_pair import (
    CLIENT4,
    CLIENT_MAC,
    SERVER4,
    SERVER_MAC,
    Wire,
    checksum,
    drain,
    ethernet,
    ip4,
    patient,
)

MALFORMED = BUILD / "tests" / "vm"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "net"
USER = 2  # SYSCRIPT_BACKEND_USER
CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
Where = dict[str, int]
PLACES: dict[str, Where] = {
    "kernel": {"backend": KERNEL},
    "confined": {"backend": KERNEL, "engine": CONFINED},
    "user": {"backend": USER},
}
pytestmark = pytest.mark.sample(2, spread=True)  # as in test_frames.py
ADDRESS = int.from_bytes(socket.inet_aton(SERVER4), "big")
MAC = int.from_bytes(SERVER_MAC, "big")


class Server:
    """A thread that serves with one of the scripts."""

    def __init__(self, name: str, where: Where) -> None:
        self.library = Library()
        source = (SCRIPTS / f"{name}.lua").read_bytes()
        self.fd, text = self.library.register(source, **where)
        assert self.fd >= 0, text
        self.thread: threading.Thread | None = None
        self.results: list[tuple[int, int]] = []

    def call(self, *args: int) -> int:
        count, result = self.library.call(self.fd, *args)
        assert count == 1, self.library.error(self.fd)
        return result

    def serve(self, *args: int) -> None:
        self.thread = threading.Thread(target=lambda: self.results.append(self.call(*args)))
        self.thread.start()

    def served(self) -> int:
        assert self.thread
        self.thread.join(30)
        assert len(self.results) == 1
        return self.results.pop()


def text(data: bytes) -> tuple[ctypes.Array, int, int]:
    """A buffer to keep alive, its address, its length."""
    buffer = ctypes.create_string_buffer(data, len(data) + 1)
    return buffer, ctypes.addressof(buffer), len(data)


net = frames_harness.net
far = frames_harness.far


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> Where:
    return PLACES[request.param]


def start(name: str, where: Where) -> Iterator[Server]:
    server = Server(name, where)
    yield server
    os.close(server.fd)


@pytest.fixture
def ground(where: Where) -> Iterator[Server]:
    yield from start("arp_icmp", where)


@pytest.fixture
def names(where: Where) -> Iterator[Server]:
    yield from start("dns", where)


@pytest.fixture
def cache(where: Where) -> Iterator[Server]:
    yield from start("memcached_get", where)


@pytest.fixture
def balancer(where: Where) -> Iterator[Server]:
    yield from start("load_balancer", where)


def test_arp_and_ping(net: Wire, far: socket.socket, ground: Server) -> None:
    """The client's stack resolves the address by itself, and its pings are answered."""
    net.client.ip("link set near arp on")  # It forgets the server's address.
    try:
        ground.serve(far.fileno(), ADDRESS, MAC, 4, 10000)
        with net.client.inside():
            ping = patient(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
        for sequence, size in enumerate((0, 1, 1000)):
            echo = struct.pack("!BBHHH", 8, 0, 0, 77, sequence) + os.urandom(size)
            echo = echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]
            ping.sendto(echo, (SERVER4, 0))
            reply = ping.recv(2000)[20:]
            assert reply[:1] == b"\0" and reply[4:] == echo[4:]
            assert checksum(reply) == 0
        assert ground.served() == 4
        assert SERVER_MAC.hex(":") in net.client.ip("neigh show dev near")
        ping.close()
    finally:
        net.client.ip("link set near arp off")
        net.introduce()


def test_ping_command(net: Wire, far: socket.socket, ground: Server) -> None:
    """With the usual tools: who has the address, and does it reply?"""
    net.client.ip("link set near arp on")
    try:
        ground.serve(far.fileno(), ADDRESS, MAC, 5, 60000)
        ping = ["ping", "-n", "-i", "0.2", "-W", "20", "-s", "100", "-p", "a5"]
        said = net.client.run([*ping, "-c", "4", SERVER4])
        assert "4 packets transmitted, 4 received, 0% packet loss" in said
        assert not re.search("wrong|DUP|truncated|error", said), said
        assert ground.served() == 5
    finally:
        net.client.ip("link set near arp off")
        net.introduce()


def test_ping_that_is_none(net: Wire, far: socket.socket, ground: Server) -> None:
    """Short, fragmented, for other hosts, to groups: not answered."""
    echo = struct.pack("!BBHHH", 8, 0, 0xF7FF - 77, 77, 0)
    arp = struct.pack("!HHBBH", 1, 0x800, 6, 4, 1) + CLIENT_MAC + socket.inet_aton(CLIENT4)
    frames = [
        ethernet(0x0806, arp + bytes(6) + socket.inet_aton("10.9.0.3")),
        ethernet(0x0806, arp),
        ethernet(0x0806, b""),
        ethernet(0x0800, ip4(echo, protocol=1, destination=ADDRESS + 1)),
        ethernet(0x0800, ip4(echo, protocol=1, fragment=0x2000)),
        ethernet(0x0800, ip4(echo, protocol=1, source=0xE0000001)),
        ethernet(0x0800, ip4(b"", protocol=1)),
        ethernet(0x0800, b""),
    ]
    with net.client.packet("near") as near:
        for frame in frames:
            near.send(frame)
        assert ground.call(far.fileno(), ADDRESS, MAC, 1, 300) == 0


def question(name: str, kind: int = 1, more: bytes = b"", count: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    head = struct.pack("!HHHHHH", 0x1234, 0x0100, count, 0, 0, bool(more))
    return head + labels + b"\0" + struct.pack("!HH", kind, 1) + more


def test_dns(net: Wire, far: socket.socket, names: Server) -> None:
    kept = [text(b"www.example.org"), text(b"Mail.Example.org")]
    for i, (_, address, length) in enumerate(kept):
        assert names.call(-1, address, length, 0xC0000201 + i) == 0
    option = b"\0\0\x29\x10\0\0\0\0\0\0\0"  # EDNS, as of dig
    with net.to_server(53) as client:

        def ask(query: bytes) -> bytes:
            client.send(query)
            return client.recv(2000)

        names.serve(far.fileno(), 53, 7, 10000)
        for name, last in (("www.example.org", 1), ("WWW.eXample.ORG", 1), ("mail.example.org", 2)):
            reply = ask(question(name, more=option))
            assert reply[:12] == struct.pack("!HHHHHH", 0x1234, 0x8500, 1, 1, 0, 0)
            assert reply[12 : len(question(name))] == question(name)[12:]
            record = reply[len(question(name)) :]
            assert record == struct.pack("!HHHIHI", 0xC00C, 1, 1, 3600, 4, 0xC0000200 + last)
        # Missing: a type, a name, a zone, an operation.
        for query, flags in (
            (question("www.example.org", 28), 0x8500),
            (question("none.example.org"), 0x8503),
            (question("www.example.com"), 0x8105),
            (question("www.example.org")[:2] + b"\x29\0" + question("www.example.org")[4:], 0x8104),
        ):
            reply = ask(query)
            assert reply[:12] == struct.pack("!HHHHHH", 0x1234, flags, 1, 0, 0, 0), flags
        assert names.served() == 7
        # No questions.
        good = question("www.example.org")
        for bad in (b"", good[:11], good[:20], good[:-1], good[:2] + b"\x81" + good[3:]):
            client.send(bad)
        client.send(question("www.example.org", count=2))
        client.send(good[:12] + b"\xc0\x0c" + good[-4:] + bytes(9))
        assert names.call(far.fileno(), 53, 1, 300) == 0


def test_dig(net: Wire, far: socket.socket, names: Server) -> None:
    """The client of an ordinary resolver, with EDNS and cookies."""
    kept = text(b"www.example.org")
    assert names.call(-1, *kept[1:], 0xC0000201) == 0
    names.serve(far.fileno(), 53, 4, 60000)

    def dig(*words: str) -> str:
        return net.client.run(["dig", f"@{SERVER4}", "+tries=1", "+time=30", *words])

    assert dig("+short", "www.example.org") == "192.0.2.1\n"
    said = dig("WWW.Example.org", "A")
    assert "status: NOERROR" in said and "flags: qr aa rd" in said
    assert re.search(r"^WWW.Example.org.\s+3600\s+IN\s+A\s+192.0.2.1$", said, re.MULTILINE)
    assert "status: NXDOMAIN" in dig("none.example.org")
    assert "status: REFUSED" in dig("www.example.com")
    assert not re.search("Warning|malformed|BAD", said), said
    assert names.served() == 4


@functools.cache
def nonsense(seed: int) -> list[list[str]]:
    """Scripts' names, and frames for each."""
    lines = (MALFORMED / f"malformed-{seed}").read_text().splitlines()
    return [line.split() for line in lines]


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["arp_icmp", "dns", "memcached_get", "udp_echo"])
def test_malformed(net: Wire, far: socket.socket, where: Where, name: str, seed: int) -> None:
    """Malformed frames by scapy: any reply is a valid one, and the next good request gets one."""
    server = Server(name, where)
    frames = [bytes.fromhex(line) for whose, line in nonsense(seed) if whose == name]
    assert len(frames) == 200
    fixed = {"arp_icmp": (ADDRESS, MAC), "dns": (53,), "memcached_get": (11211,), "udp_echo": (7,)}
    more = (-1,) if name == "memcached_get" else ()
    with net.client.packet("near") as near:
        for first in range(0, len(frames), 50):
            for frame in frames[first : first + 50]:
                near.send(frame)
            assert server.call(far.fileno(), *fixed[name], 200, 200, *more) >= 0
        replies = [frame for frame in drain(near) if frame[6:12] == SERVER_MAC]
    for reply in replies:
        if reply[12:14] == b"\x08\x00":
            assert reply[:6] == CLIENT_MAC
            size = int.from_bytes(reply[16:18], "big")
            assert reply[14] == 0x45 and 28 <= size <= len(reply) - 14
            assert not checksum(reply[14:34])
    with net.client.packet("near") as near:
        good = frames[-1]  # The only one that is.
        near.send(good)
        # The cache has no such key: waiting for its reply would time out.
        patience = 200 if name == "memcached_get" else 20000
        answered = server.call(far.fileno(), *fixed[name], 1, patience, *more)
    assert answered == (0 if name == "memcached_get" else 1)
    os.close(server.fd)


def get(key: str, number: int = 7) -> bytes:
    return struct.pack("!HHHH", number, 0, 1, 0) + f"get {key}\r\n".encode()


def test_cache(net: Wire, far: socket.socket, cache: Server) -> None:
    key, value = text(b"key"), text(os.urandom(500))
    assert cache.call(-1, *key[1:], *value[1:], 5) == 0
    with net.to_server(11211) as client:
        for number in range(3):
            client.send(get("key", number))
        assert cache.call(far.fileno(), 11211, 3, 1000, -1) == 3
        for number in range(3):
            head = struct.pack("!HHHH", number, 0, 1, 0) + b"VALUE key 5 500\r\n"
            assert client.recv(2000) == head + value[0].raw[:500] + b"\r\nEND\r\n"
        # Misses and all other requests are left to another server.
        for other in (get("kex"), get("key key"), b"", get("key")[:-1], get("key")[:9]):
            client.send(other)
        client.send(struct.pack("!HHHH", 1, 1, 2, 0) + b"get key\r\n")
        assert cache.call(far.fileno(), 11211, 1, 300, -1) == 0
        assert cache.call(-1, *key[1:]) == 0
        client.send(get("key"))
        assert cache.call(far.fileno(), 11211, 1, 300, -1) == 0


def test_cache_before_a_stack(net: Wire, far: socket.socket, cache: Server) -> None:
    """Unknown requests go to an ordinary socket, whose replies come back."""
    key, value = text(b"key"), text(b"cached")
    assert cache.call(-1, *key[1:], *value[1:], 0) == 0
    net.server.tc("qdisc add dev far ingress")
    net.server.ip(f"link add name up0 type veth peer name stack address {SERVER_MAC.hex(':')}")
    try:
        net.server.sysctl("ipv6/conf/up0/disable_ipv6", 1)
        net.server.ip(f"address add {SERVER4}/24 dev stack", "link set up0 up")
        # The stack has the address now, and would also take what arrives at "far".
        net.server.tc("filter add dev far parent ffff: protocol all u32 match u32 0 0 action drop")
        net.server.ip(
            "link set stack up", f"neigh add {CLIENT4} lladdr {CLIENT_MAC.hex(':')} dev stack"
        )
        with (
            net.server.packet("up0") as up,
            net.server.udp(SERVER4, 11211) as ordinary,
            net.to_server(11211) as client,
        ):
            cache.serve(far.fileno(), 11211, 2, 10000, up.fileno())
            client.send(get("key", 1))
            assert client.recv(100)[8:] == b"VALUE key 0 6\r\ncached\r\nEND\r\n"
            client.send(get("other", 2))
            query, whose = ordinary.recvfrom(100)
            assert query == get("other", 2)
            ordinary.sendto(b"from the stack", whose)
            assert client.recv(100) == b"from the stack"
            client.send(get("key", 3))
            assert client.recv(100)[:2] == b"\0\3"
            assert cache.served() == 2
    finally:
        net.server.tc("qdisc del dev far ingress")
        net.server.ip("link del up0")


def test_load_balancer(net: Wire, far: socket.socket, balancer: Server) -> None:
    """Two real servers behind it; each client keeps its server, and sees one address."""
    servers = netns_pair.Namespace()
    back_mac = bytes.fromhex("020000000009")
    net.server.ip(
        f"link add name back address {back_mac.hex(':')} type veth "
        f"peer name inner address 02:00:00:00:00:0a netns {servers.pid}"
    )
    try:
        net.server.sysctl("ipv6/conf/back/disable_ipv6", 1)
        net.server.ip("link set back up")
        servers.ip("link set inner up")
        for last in (1, 2):
            servers.ip(f"address add 10.7.0.{last}/32 dev inner")
            assert balancer.call(-1, 0x0A070000 + last, 0x02000000000A) == 0
        servers.ip("route add 10.9.0.0/24 dev inner")
        servers.ip(f"neigh add {CLIENT4} lladdr {back_mac.hex(':')} dev inner")
        real = [servers.udp(f"10.7.0.{last}", 7) for last in (1, 2)]

        def answer(sock: socket.socket) -> None:
            while True:
                data, whose = sock.recvfrom(100)
                if not data:
                    return
                sock.sendto(data + sock.getsockname()[0][-1].encode(), whose)

        threads = [threading.Thread(target=answer, args=(sock,)) for sock in real]
        for thread in threads:
            thread.start()
        with net.server.packet("back") as back:
            # The server of each is known: it depends on the sum of address and port.
            clients = [net.to_server(7, source=20000 + n) for n in range(8)]
            args = (far.fileno(), back.fileno(), ADDRESS, 7, int.from_bytes(back_mac, "big"))
            balancer.serve(*args, 8 * 3 * 2, 10000)
            seen = []
            for client in clients:
                replies = set()
                for _ in range(3):
                    client.send(b"which ")
                    replies.add(client.recv(100))
                assert len(replies) == 1
                seen.append(replies.pop())
            assert balancer.served() == 48
            assert set(seen) == {b"which 1", b"which 2"}
            for client in clients:
                client.close()
        for sock, thread in zip(real, threads, strict=True):
            with servers.udp() as end:
                end.sendto(b"", sock.getsockname())
            thread.join()
            sock.close()
    finally:
        net.server.ip("link del back")
        servers.close()


def test_lengths() -> None:
    """The scripts stay short, because they are examples."""
    for script in SCRIPTS.glob("*.lua"):
        assert len(script.read_text().splitlines()) <= 100, script
