# SPDX-License-Identifier: GPL-2.0 OR MIT
"""memcached over UDP, in all modes of -o udp_batch: the same replies, byte by byte.

The scripts run in the user backend, unless SYSCRIPT_BACKEND says something else.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMCACHED = ROOT / "build" / "memcached" / "memcached"

# Older kernels hide it in network namespaces.
WMEM_MAX = int(Path("/proc/sys/net/core/wmem_max").read_text())

BATCHED = ["mmsg", "io_uring", "syscript", "syscript_interp", "syscript_wait", "frames"]
MODES = ["off", *BATCHED]

PAYLOAD = 1392  # of a datagram of a reply
HEADER = struct.Struct(">HHHH")  # request, sequence, total, reserved
LOCALHOST = "127.0.0.1"
# As in 'syscript net setup': frames to this address go to the server, not to the stack.
FRAMES_ADDRESS, FRAMES_MAC = "10.87.0.2", "02:00:0a:57:00:02"
FRAMES_DEVICE = f"""
ip link set lo up
ip link add name client0 type veth peer name frames0 address {FRAMES_MAC}
ip address add 10.87.0.1/24 dev client0
ip link set client0 up
ip link set frames0 up
ip neigh add {FRAMES_ADDRESS} lladdr {FRAMES_MAC} dev client0
"""
SO_RCVBUFFORCE = 33  # missing in Python's socket
CLONE_NEWNET = 0x40000000
# An emulated guest is slow.
IN_GUEST = "SYSCRIPT_GUEST" in os.environ
PATIENCE = 60.0 if IN_GUEST else 5.0
SLOW_LINK = "10mbit" if IN_GUEST else "100mbit"
QUIET = PATIENCE / 20  # every expected datagram arrives earlier


class Server:
    """A memcached on a free port, for TCP and UDP."""

    def __init__(
        self, mode: str, *options: str, host: str = LOCALHOST, env: dict[str, str] | None = None
    ) -> None:
        self.mode, self.port = mode, free_port()
        self.address = self.udp_address = (host, self.port)
        if mode == "frames":
            host, self.udp_address = "0.0.0.0", (FRAMES_ADDRESS, self.port)
            options += ("-o", "udp_batch_device=frames0")
        arguments = ["-u", "root", "-l", host, "-p", str(self.port), "-U", str(self.port)]
        if "-t" not in options:
            arguments += ["-t", "1"]
        self.process = subprocess.Popen(
            [MEMCACHED, *arguments, "-o", f"udp_batch={mode}", *options],
            env={"SYSCRIPT_BACKEND": "user", **os.environ, **(env or {})},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait()

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(ConnectionError):
                # Workers open their UDP sockets before TCP connections.
                self.tcp(b"version\r\n", b"\r\n")
                return
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.02)
        raise AssertionError("memcached does not answer")

    def stop(self) -> str:
        """Stops it; returns its standard error."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        _, text = self.process.communicate(timeout=PATIENCE)
        return text

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Datagrams sent meanwhile form one backlog: full batches."""
        self.process.send_signal(signal.SIGSTOP)
        while (
            Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"
        ):
            time.sleep(0.001)
        yield
        self.process.send_signal(signal.SIGCONT)

    def tcp(self, command: bytes, end: bytes) -> bytes:
        with socket.create_connection(self.address, PATIENCE) as sock:
            sock.sendall(command)
            reply = b""
            while not reply.endswith(end):
                part = sock.recv(65536)
                assert part, reply
                reply += part
        return reply

    def set(self, key: str, value: bytes) -> None:
        command = b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value)
        assert self.tcp(command, b"\r\n") == b"STORED\r\n"

    def stats(self) -> dict[str, str]:
        lines = self.tcp(b"stats\r\n", b"END\r\n").decode().splitlines()
        return dict(line.split(" ", 2)[1:] for line in lines[:-1])

    def counted(self, name: str, enough: int) -> int:
        """A count once it is enough: workers count batches after their replies have left."""
        deadline = time.monotonic() + PATIENCE
        while (count := int(self.stats()[name])) < enough and time.monotonic() < deadline:
            time.sleep(0.02)
        return count


def free_port() -> int:
    """A port that is free for UDP and for TCP."""
    while True:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        ):
            udp.bind(("127.0.0.1", 0))
            with contextlib.suppress(OSError):
                tcp.bind(udp.getsockname())
                return udp.getsockname()[1]


class Client:
    """A UDP client that splits replies."""

    def __init__(self, server: Server) -> None:
        address = server.udp_address
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_DGRAM)
        with contextlib.suppress(PermissionError):
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.sock.connect(address)

    def send(self, request: int, text: bytes, sequence: int = 0, total: int = 1) -> None:
        self.sock.send(HEADER.pack(request, sequence, total, 0) + text)

    def datagrams(self, quiet: float = QUIET, enough: int | None = None) -> list[bytes]:
        """The datagrams up to a silence, or up to the number expected."""
        found: list[bytes] = []
        while enough is None or len(found) < enough:
            patience = quiet if enough is None else PATIENCE
            if not select.select([self.sock], [], [], patience)[0]:
                break
            found.append(self.sock.recv(65536))
        return found

    def ask(self, text: bytes, request: int = 1, enough: int = 1) -> list[bytes]:
        """The bodies of the datagrams of a reply, in order."""
        self.send(request, text)
        return bodies(self.datagrams(enough=enough), request)

    def silent(self) -> bool:
        return self.datagrams() == []


def bodies(datagrams: list[bytes], request: int) -> list[bytes]:
    """Check headers of one reply, or of several in one datagram each."""
    parts = sorted(datagrams, key=lambda d: HEADER.unpack(d[:8])[1])
    for datagram in datagrams:
        assert HEADER.unpack(datagram[:8])[0] == request
        assert HEADER.unpack(datagram[:8])[3] == 0
    return [part[8:] for part in parts]


def hit(key: str, value: bytes) -> bytes:
    return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key.encode(), len(value), value)


Start = Callable[..., Server]


@pytest.fixture(scope="module", autouse=True)
def own_network() -> Iterator[bool]:
    """Whether the tests run in a network namespace of their own."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as before:
        own = libc.unshare(CLONE_NEWNET) == 0
        if own:
            subprocess.run(["sh", "-ec", FRAMES_DEVICE], check=True)
        yield own
        if own:
            libc.setns(before.fileno(), CLONE_NEWNET)


@pytest.fixture
def start() -> Iterator[Start]:
    """start(mode, *options): starts a server that ends with the test."""
    servers: list[Server] = []

    def run(mode: str, *options: str, **more) -> Server:
        servers.append(Server(mode, *options, **more))
        return servers[-1]

    yield run
    for server in servers:
        text = server.stop() if server.process.returncode is None else ""
        assert server.process.returncode == 0, text


@pytest.fixture(scope="module")
def shared(own_network: bool) -> Iterator[Callable[[str], Server]]:
    """shared(mode): one server for all tests that can share it."""
    servers: dict[str, Server] = {}

    def get(mode: str) -> Server:
        if mode not in servers or servers[mode].process.poll() is not None:
            servers[mode] = Server(mode)
        return servers[mode]

    yield get
    for server in servers.values():
        server.stop()


def check_mode(mode: str, own_network: bool) -> None:
    if mode == "frames" and not own_network:
        pytest.skip("needs a network namespace of its own: run it as root")


@pytest.fixture(params=MODES)
def server(
    request: pytest.FixtureRequest, shared: Callable[[str], Server], own_network: bool
) -> Iterator[Server]:
    check_mode(request.param, own_network)
    server = shared(request.param)
    server.tcp(b"flush_all\r\n", b"OK\r\n")
    yield server
    assert server.process.poll() is None, server.process.communicate()[1]


@pytest.fixture(params=BATCHED)
def batched(
    request: pytest.FixtureRequest, shared: Callable[[str], Server], own_network: bool
) -> Iterator[Server]:
    check_mode(request.param, own_network)
    server = shared(request.param)
    server.tcp(b"flush_all\r\nstats reset\r\n", b"RESET\r\n")
    yield server
    assert server.process.poll() is None, server.process.communicate()[1]


def test_get(server: Server) -> None:
    server.set("key", b"value")
    client = Client(server)
    assert client.ask(b"get key\r\n", 0xABCD) == [hit("key", b"value")]
    assert client.ask(b"get none\r\n") == [b"END\r\n"]
    assert client.ask(b"get key\n") == [hit("key", b"value")]
    assert client.silent()


def test_header(server: Server) -> None:
    server.set("key", b"value")
    client = Client(server)
    client.send(0x1234, b"get key\r\n")
    assert client.datagrams(enough=1) == [HEADER.pack(0x1234, 0, 1, 0) + hit("key", b"value")]


def test_reply_sizes(server: Server) -> None:
    """Sizes around one datagram, two datagrams, and a batch."""
    client = Client(server)
    frame = len(hit("k", b"")) + 3  # the reply's length field grows: adjusted below
    for target in [
        PAYLOAD - 1,
        PAYLOAD,
        PAYLOAD + 1,
        2 * PAYLOAD,
        15 * PAYLOAD,
        17 * PAYLOAD,
        60000,
    ]:
        size = target - frame
        while len(hit("k", b"x" * size)) < target:
            size += 1
        value = os.urandom(size)
        server.set("k", value)
        reply = hit("k", value)
        enough = -(-len(reply) // PAYLOAD)
        client.send(7, b"get k\r\n")
        found = client.datagrams(enough=enough)
        headers = [HEADER.unpack(d[:8]) for d in found]
        assert headers == [(7, i, enough, 0) for i in range(enough)]
        assert b"".join(bodies(found, 7)) == reply
    assert client.silent()


def test_large_chunked_value(server: Server) -> None:
    """A value in several chunks of memory, and one in hundreds of datagrams."""
    value = os.urandom(900_000)
    server.set("large", value)
    client = Client(server)
    reply = hit("large", value)
    found = client_ask_large(client, b"get large\r\n", -(-len(reply) // PAYLOAD))
    assert b"".join(bodies(found, 1)) == reply


def client_ask_large(client: Client, text: bytes, enough: int) -> list[bytes]:
    client.send(1, text)
    found = client.datagrams(enough=enough)
    assert len(found) == enough
    return found


def test_several_keys(server: Server) -> None:
    """Upstream sends one datagram for each key found."""
    for key in "abc":
        server.set(key, key.encode() * 3)
    client = Client(server)
    found = client.ask(b"get a none b c\r\n", enough=3)
    assert sorted(found) == sorted(
        [b"VALUE a 0 3\r\naaa\r\n", b"VALUE b 0 3\r\nbbb\r\n", hit("c", b"ccc")]
    )


def test_several_commands(server: Server) -> None:
    server.set("key", b"value")
    client = Client(server)
    found = client.ask(b"get key\r\nset other 0 0 3\r\nabc\r\nget other\r\n", enough=3)
    assert Counter(found) == Counter([hit("key", b"value"), b"STORED\r\n", hit("other", b"abc")])


def test_more_commands_than_one_event_may_run(server: Server) -> None:
    server.set("key", b"value")
    client = Client(server)
    found = client.ask(b"get key\r\n" * 100, enough=100)
    assert found == [hit("key", b"value")] * 100
    # All are answered, even if the datagram ends at the limit of commands per event.
    for count in [19, 20, 21, 22, 60]:
        found = client.ask(b"incr none 1\r\n" * count, enough=count)
        assert found == [b"NOT_FOUND\r\n"] * count
    assert client.silent()


def test_set_over_udp(server: Server) -> None:
    client = Client(server)
    # A fragmented datagram never becomes a frame.
    value = os.urandom(1000 if server.mode == "frames" else 60_000)
    assert client.ask(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value)) == [b"STORED\r\n"]
    assert server.tcp(b"get big\r\n", b"END\r\n") == hit("big", value)
    assert client.ask(b"delete big\r\n") == [b"DELETED\r\n"]
    assert client.ask(b"set n 0 0 2\r\n41\r\nincr n 1\r\n", enough=2) == [b"STORED\r\n", b"42\r\n"]


def test_errors(server: Server) -> None:
    client = Client(server)
    assert client.ask(b"nonsense\r\n") == [b"ERROR\r\n"]
    assert client.ask(b"get\r\n") == [b"ERROR\r\n"]
    assert client.ask(b"get " + b"k" * 251 + b"\r\n") == [
        b"CLIENT_ERROR bad command line format\r\n"
    ]
    assert client.ask(b"set k 0 0 3\r\nabcdef\r\n")[0] == b"CLIENT_ERROR bad data chunk\r\n"


def test_noreply(server: Server) -> None:
    client = Client(server)
    client.send(1, b"set key 0 0 5 noreply\r\nvalue\r\n")
    assert client.silent()
    assert client.ask(b"get key\r\n") == [hit("key", b"value")]
    client.send(1, b"delete key noreply\r\ndelete key noreply\r\n")
    assert client.silent()
    assert client.ask(b"get key\r\n") == [b"END\r\n"]


def test_malformed_is_dropped(server: Server) -> None:
    server.set("key", b"value")
    client = Client(server)
    with server.paused():
        client.sock.send(b"")
        client.sock.send(b"\0\1\0\0")
        client.send(1, b"")
        client.send(1, b"get key\r\n", total=2)
        client.send(1, b"get key")
        client.send(1, b"x" * 5000)
        client.send(1, b"get " + b"k " * 5000)
        client.send(1, b"\x80\0\0\3")
        client.send(2, b"get key\r\n")
    found = client.datagrams()
    assert found == [HEADER.pack(2, 0, 1, 0) + hit("key", b"value")]


def test_line_without_end_keeps_its_buffer(batched: Server) -> None:
    """On TCP, upstream gives it a larger buffer, and its old one to the next connection."""
    batched.set("key", b"value")
    client = Client(batched)
    client.send(1, b"get " + b"k " * 2000)
    assert client.silent()
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(batched.address, PATIENCE))
            for _ in range(10)
        ]
        for tcp in connections:
            tcp.sendall(b"get ke")
        for request in range(64):
            client.send(request, b"get " + b"k" * 200 + b"\r\n")
        assert len(client.datagrams(enough=64)) == 64
        for tcp in connections:
            tcp.sendall(b"y\r\n")
            assert tcp.recv(100) == hit("key", b"value")


def binary(opcode: int, key: bytes = b"", extras: bytes = b"", value: bytes = b"", opaque: int = 0):
    total = len(key) + len(extras) + len(value)
    header = struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, total, opaque, 0)
    return header + extras + key + value


def test_binary(server: Server) -> None:
    client = Client(server)
    stored = client.ask(binary(1, b"key", b"\0" * 8, b"value", 77))[0]
    assert stored[:2] == b"\x81\1" and stored[6:8] == b"\0\0" and stored[12:16] == b"\0\0\0\x4d"
    found = client.ask(binary(0, b"key", opaque=78))[0]
    assert found[:2] == b"\x81\0" and found[12:16] == b"\0\0\0\x4e" and found[28:] == b"value"
    missing = client.ask(binary(0, b"none"))[0]
    assert missing[6:8] == b"\0\1" and missing[24:] == b"Not found"


def test_quiet_get_misses_are_quiet(batched: Server) -> None:
    """Without batches, upstream sends an empty datagram instead."""
    client = Client(batched)
    client.send(1, binary(9, b"none") + binary(9, b"none"))
    assert client.silent()
    found = client.ask(binary(9, b"none") + binary(10, opaque=5))
    assert len(found) == 1 and found[0][:2] == b"\x81\x0a"


def test_incomplete_set_takes_nothing_from_the_next(batched: Server) -> None:
    """Without batches, upstream reads the rest of the value from the next datagrams."""
    batched.set("key", b"value")
    client = Client(batched)
    with batched.paused():
        client.send(1, b"set cut 0 0 100\r\nabc")
        client.send(2, binary(1, b"cut", b"\0" * 8, b"value")[:-2])
        client.send(3, b"set cut 0 0 900000\r\n" + b"x" * 20_000)
        client.send(4, b"get key\r\n")
        client.send(5, b"get cut\r\n")
    found = client.datagrams()
    assert [HEADER.unpack(d[:8])[0] for d in found] == [4, 5]
    assert found[0][8:] == hit("key", b"value") and found[1][8:] == b"END\r\n"


def test_too_large_set_is_answered(batched: Server) -> None:
    client = Client(batched)
    with batched.paused():
        client.send(1, b"set huge 0 0 2000000\r\n" + b"x" * 1000)
        client.send(2, b"get huge\r\n")
    found = client.datagrams()
    assert [d[8:] for d in found] == [
        b"SERVER_ERROR object too large for cache\r\n",
        b"END\r\n",
    ]


def test_what_closes_a_connection_ends_one_request(batched: Server) -> None:
    batched.set("key", b"value")
    clients = [Client(batched) for _ in range(3)]
    with batched.paused():
        clients[0].send(1, b"get key\r\n")
        clients[1].send(2, b"quit\r\n")
        clients[1].send(3, b"GET / HTTP/1.1\r\n")
        clients[1].send(4, b"\x80" + b"\xff" * 40)
        clients[2].send(5, b"get key\r\n")
    assert clients[0].datagrams(enough=1) == [HEADER.pack(1, 0, 1, 0) + hit("key", b"value")]
    assert clients[2].datagrams(enough=1) == [HEADER.pack(5, 0, 1, 0) + hit("key", b"value")]
    assert Client(batched).ask(b"get key\r\n") == [hit("key", b"value")]


def test_watch_is_refused(batched: Server) -> None:
    client = Client(batched)
    assert client.ask(b"watch\r\n") == [b"CLIENT_ERROR watch needs a TCP connection\r\n"]
    assert client.ask(b"lru_crawler metadump all\r\n") == [
        b"ERROR metadump needs a TCP connection\r\n"
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 64])
@pytest.mark.parametrize("mode", BATCHED)
def test_batches(start: Start, mode: str, size: int, own_network: bool) -> None:
    """Many clients: each gets its own replies, once, and batches are full."""
    check_mode(mode, own_network)
    server = start(mode, "-o", f"udp_batch_size={size}")
    for i in range(20):
        server.set(f"key{i}", b"v%d" % i * (i + 1))
    clients = [Client(server) for _ in range(20)]
    with server.paused():
        for request in range(10):
            for i, client in enumerate(clients):
                client.send(request, b"get key%d\r\n" % i)
    for i, client in enumerate(clients):
        reply = hit(f"key{i}", b"v%d" % i * (i + 1))
        expected = {HEADER.pack(request, 0, 1, 0) + reply for request in range(10)}
        found = client.datagrams(enough=10)
        assert set(found) == expected and len(found) == 10
    assert all(client.silent() for client in clients[:2])
    stats = server.stats()
    assert stats["udp_batch"] == mode
    assert int(stats["udp_batch_received"]) == int(stats["udp_batch_sent"]) == 200
    assert int(stats["udp_batches"]) <= -(-200 // size) + 5
    assert int(stats["udp_batch_refused"]) == 0
    assert int(stats["cmd_get"]) == 200


def test_one_call_for_a_batch(start: Start, own_network: bool) -> None:
    """One call of a script sends a batch and receives the next."""
    calls = {}
    for mode in ["mmsg", "syscript", *["frames"] * own_network]:
        server = start(mode)
        client = Client(server)
        with server.paused():
            for request in range(64):
                client.send(request, b"get none\r\n")
        assert len(client.datagrams(enough=64)) == 64
        calls[mode] = int(server.stats()["udp_batch_calls"])
    # 4 batches are received and sent; one or two calls find no next batch.
    assert calls.pop("mmsg") >= 8 and max(calls.values()) <= 6


def test_tcp_has_its_turn(batched: Server) -> None:
    """A backlog of datagrams does not starve the worker's TCP connections."""
    client = Client(batched)
    with socket.create_connection(batched.address, PATIENCE) as tcp:
        tcp.sendall(b"version\r\n")
        assert tcp.recv(100).startswith(b"VERSION")
        with batched.paused():
            for request in range(200):
                client.send(request, b"get late\r\n")
            tcp.sendall(b"set late 0 0 1\r\nx\r\n")
        assert tcp.recv(100) == b"STORED\r\n"
    found = client.datagrams(enough=200)
    assert [HEADER.unpack(d[:8])[0] for d in found] == list(range(200))
    assert found[0][8:] == b"END\r\n" and found[-1][8:] == hit("late", b"x")


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "frames"])
def test_ipv6(start: Start, mode: str) -> None:
    server = start(mode, host="::1")
    server.set("key", b"value")
    clients = [Client(server) for _ in range(20)]
    with server.paused():
        for request, client in enumerate(clients):
            client.send(request, b"get key\r\n")
    for request, client in enumerate(clients):
        expected = HEADER.pack(request, 0, 1, 0) + hit("key", b"value")
        assert client.datagrams(enough=1) == [expected]


def test_workers(start: Start, own_network: bool) -> None:
    """All workers share the socket; each has its own batch."""
    for mode in BATCHED if own_network else BATCHED[:-1]:
        server = start(mode, "-t", "4")
        server.set("key", b"value")
        clients = [Client(server) for _ in range(8)]
        for request in range(200):
            for client in clients:
                client.send(request, b"get key\r\n")
            if request % 10 == 9:
                for client in clients:
                    found = client.datagrams(enough=10)
                    expected = range(request - 9, request + 1)
                    assert sorted(HEADER.unpack(d[:8])[0] for d in found) == list(expected)
                    assert {d[8:] for d in found} == {hit("key", b"value")}
        assert server.counted("udp_batch_received", 1600) == 1600
        assert server.counted("udp_batch_sent", 1600) == 1600


@pytest.fixture
def slow_loopback(own_network: bool) -> Iterator[None]:
    """Datagrams stay in the send buffer for a while, as on a real link."""
    if not own_network:
        pytest.skip("needs a network namespace of its own: run it as root")
    tc = ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", SLOW_LINK]
    done = subprocess.run([*tc, "burst", "1m", "limit", "200m"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no token bucket filter here: {done.stderr.strip()}")
    yield
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)


def send_queue(port: int) -> int:
    """Bytes of memory queued in the send buffer of a UDP port."""
    for line in Path("/proc/thread-self/net/udp").read_text().splitlines()[1:]:
        _, local, _, _, queues, *_ = line.split()
        if int(local.partition(":")[2], 16) == port:
            return int(queues.partition(":")[0], 16)
    raise AssertionError(f"no process has UDP port {port}")


def test_full_send_buffer(batched: Server, slow_loopback: None) -> None:
    """Replies that the socket refuses wait, in order, and are sent once."""
    if batched.mode == "frames":
        pytest.skip("what the device does not take is lost")
    value = os.urandom(900_000)
    batched.set("large", value)
    reply = hit("large", value)
    total = -(-len(reply) // PAYLOAD)
    client, other = Client(batched), Client(batched)
    with batched.paused():
        for request in range(12):
            client.send(request, b"get large\r\n")
        other.send(1, b"get none\r\n")
    found, fullest = [], 0
    while len(found) < 12 * total:
        more = client.datagrams(enough=50)
        assert more, f"{len(found)} of {12 * total} came"
        found += more
        fullest = max(fullest, send_queue(batched.port))
    assert client.silent()
    # Otherwise the test would not have met a full buffer.
    assert fullest > 0.9 * 2 * WMEM_MAX
    for request in range(12):
        mine = [d for d in found if HEADER.unpack(d[:8])[0] == request]
        assert len(mine) == total
        assert b"".join(bodies(mine, request)) == reply
    assert other.datagrams(enough=1) == [HEADER.pack(1, 0, 1, 0) + b"END\r\n"]
    assert batched.stats()["udp_batch_refused"] == "0"


def forge(server: Server, source: tuple[str, int], request: int, text: bytes) -> None:
    """Send a request with a forged source address."""
    payload = HEADER.pack(request, 0, 1, 0) + text
    udp = struct.pack(">HHHH", source[1], server.port, 8 + len(payload), 0)
    addresses = socket.inet_aton(source[0]) + socket.inet_aton("127.0.0.1")
    head = struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_UDP, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(head + addresses + udp + payload, server.address)


def test_clients_that_cannot_be_answered(batched: Server, own_network: bool) -> None:
    """Their replies are dropped; those before and after are sent."""
    if not own_network:
        pytest.skip("needs a network namespace of its own: run it as root")
    if batched.mode == "frames":
        pytest.skip("answers what came by the way that it came")
    batched.set("key", b"value")
    client = Client(batched)
    with batched.paused():
        client.send(1, b"get key\r\n")
        forge(batched, ("127.0.0.1", 0), 2, b"get key\r\n")
        client.send(3, b"get key\r\n")
        forge(batched, ("203.0.113.1", 4000), 4, b"get key\r\n")
        forge(batched, ("203.0.113.1", 4000), 5, b"get key\r\n")
        client.send(6, b"get key\r\n")
    found = client.datagrams()
    assert [HEADER.unpack(d[:8])[0] for d in found] == [1, 3, 6]
    stats = batched.stats()
    assert (stats["udp_batch_sent"], stats["udp_batch_refused"]) == ("3", "3")


def test_client_that_is_gone(batched: Server) -> None:
    """The ICMP error of its closed port harms no other client."""
    batched.set("key", b"value")
    for _ in range(3):
        gone, client = Client(batched), Client(batched)
        with batched.paused():
            gone.send(1, b"get key\r\n")
            client.send(2, b"get key\r\n")
            gone.sock.close()
        assert client.datagrams() == [HEADER.pack(2, 0, 1, 0) + hit("key", b"value")]


def test_sets_over_tcp_meanwhile(batched: Server) -> None:
    """Each reply has a complete value that was set: all one letter, full length."""
    batched.set("key", b"a" * 1000)
    client = Client(batched)
    with socket.create_connection(batched.address, PATIENCE) as tcp:
        for step in range(200):
            letter = b"abcdefgh"[step % 8 :][:1]
            for request in range(8):
                client.send(request, b"get key\r\n")
            tcp.sendall(b"set key 0 0 1000\r\n" + letter * 1000 + b"\r\n")
            assert tcp.recv(100) == b"STORED\r\n"
            found = client.datagrams(enough=8)
            assert sorted(HEADER.unpack(d[:8])[0] for d in found) == list(range(8))
            for datagram in found:
                assert datagram[8:] == hit("key", datagram[-8:-7] * 1000)


def test_without_the_device(start: Start) -> None:
    """The script runs in the process instead; a message says so once."""
    if Path("/dev/syscript").exists():
        pytest.skip("there is a device")
    server = start("syscript", "-t", "4", env={"SYSCRIPT_BACKEND": "auto"})
    assert Client(server).ask(b"get none\r\n") == [b"END\r\n"]
    assert server.stats()["udp_batch_backend"] == "user"
    lines = server.stop().splitlines()
    assert len(lines) == 1 and "in this process" in lines[0] and "/dev/syscript" in lines[0]


def test_scripts_are_switched_off(start: Start) -> None:
    """From then on scripts run in the process; no request is lost."""
    switch = Path("/sys/module/syscript/parameters/enabled")
    if not os.access(switch, os.W_OK):
        pytest.skip("needs the module, and root")
    server = start("syscript", "-t", "2", env={"SYSCRIPT_BACKEND": "auto"})
    client = Client(server)
    assert client.ask(b"get none\r\n") == [b"END\r\n"]
    assert server.stats()["udp_batch_backend"] == "kernel"
    try:
        switch.write_text("0")
        for request in range(200):
            client.send(request, b"get none\r\n")
            assert client.datagrams(enough=1) == [HEADER.pack(request, 0, 1, 0) + b"END\r\n"]
    finally:
        switch.write_text("1")
    stats = server.stats()
    assert stats["udp_batch_backend"] != "kernel"
    assert stats["udp_batch_refused"] == "0"
    assert "in this process" in server.stop()


def test_kernel_backend_that_is_not_there(tmp_path: Path) -> None:
    """If the user insists on the kernel backend, there is an error and no server."""
    if Path("/dev/syscript").exists():
        pytest.skip("there is a device")
    done = run_memcached("-o", "udp_batch=syscript", SYSCRIPT_BACKEND="kernel")
    assert done.returncode == 1 and "udp_batch: no script: there is no /dev/syscript" in done.stderr


def run_memcached(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    port = str(free_port())
    command = [MEMCACHED, "-u", "root", "-l", "127.0.0.1", "-p", port, "-U", port, *options]
    return subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (
            "udp_batch",
            "udp_batch must be one of: off, mmsg, io_uring, syscript, syscript_interp, syscript_w",
        ),
        ("udp_batch=fast", "udp_batch must be one of: off,"),
        ("udp_batch=frames", "frames need a device: -o udp_batch_device=NAME"),
        ("udp_batch=frames,udp_batch_device=none", "no packet sockets on none: No such device"),
        ("udp_batch_hold=1001", "must be a number of us from 0 to 1000"),
        ("udp_batch_device", "must be the name of a network device"),
        ("udp_batch_size=0", "from 1 to 64"),
        ("udp_batch_size=65", "from 1 to 64"),
        ("udp_batch_size=-1", "from 1 to 64"),
        ("udp_batch_size=many", "from 1 to 64"),
        ("udp_batch_size", "from 1 to 64"),
    ],
)
def test_options(option: str, says: str) -> None:
    done = run_memcached("-o", option)
    assert done.returncode != 0 and says in done.stderr


def test_frames_that_are_waited_for(start: Start, own_network: bool) -> None:
    """Batches are full if clients have several requests in flight, and no reply waits for ever."""
    check_mode("frames", own_network)
    server = start("frames", "-o", "udp_batch_hold=1000,udp_batch_size=4")
    client = Client(server)
    for _ in range(20):
        assert client.ask(b"get none\r\n") == [b"END\r\n"]
    for request in range(100):
        client.send(request, b"get none\r\n")
    assert len(client.datagrams(enough=100)) == 100
    stats = server.stats()
    assert stats["udp_batch_received"] == stats["udp_batch_sent"] == "120"


def test_frames_that_are_for_others(start: Start, own_network: bool) -> None:
    """Other ports and addresses, fragments and garbage do not reach the server."""
    check_mode("frames", own_network)
    server = start("frames")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(HEADER.pack(1, 0, 1, 0) + b"get key\r\n", (FRAMES_ADDRESS, server.port ^ 1))
        other.sendto(bytes(4000), server.udp_address)
        other.sendto(b"", server.udp_address)
        other.sendto(b"short", server.udp_address)
    assert Client(server).ask(b"get none\r\n") == [b"END\r\n"]
    assert server.stats()["udp_batch_received"] == "3"


def test_off_is_the_default(start: Start) -> None:
    server = start("off")
    assert not any(name.startswith("udp_batch") for name in server.stats())
    settings = server.tcp(b"stats settings\r\n", b"END\r\n").decode()
    assert "STAT udp_batch off\r\n" in settings and "STAT udp_batch_size 16\r\n" in settings
