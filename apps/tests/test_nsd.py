# SPDX-License-Identifier: GPL-2.0 OR MIT
"""NSD with queries as frames (apps/nsd): the same replies as from its UDP sockets."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NSD = ROOT / "build" / "nsd"
ENABLED = Path("/sys/module/syscript/parameters/enabled")
PATIENCE = 60.0
QUIET = 1.0  # every expected datagram arrives earlier
# NSD discards further queries that are errors in the same second of the clock.
ERRORS_MAX = 100
FORMERR, NOTIMP = 1, 4
WAYS = {"plain": 0, "frames": 1}  # with the network that each is in
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "TXT": 16, "AAAA": 28, "AXFR": 252, "ANY": 255}
NAMES = ["", "ns", "host", "alias", "big", "none", "a.wild", "sub.deep", "empty"]
OPT = 41

ZONE = """
$ORIGIN example.
$TTL 300
@ SOA ns hostmaster 1 7200 3600 1209600 300
@ NS ns
@ NS ns2
ns A 192.0.2.1
ns2 AAAA 2001:db8::2
host A 192.0.2.3
host AAAA 2001:db8::3
alias CNAME host
*.wild TXT "wild"
sub NS ns.sub
ns.sub A 192.0.2.4
below.empty A 192.0.2.5
"""
BIG = "".join(f'big TXT "{number:03d}{"x" * 240}"\n' for number in range(14))


def in_net(number: int, *command: str) -> None:
    subprocess.run(["ip", "netns", "exec", f"nsd{number}", *command], check=True)


@pytest.fixture(scope="module")
def nets() -> Iterator[None]:
    """A network namespace for each server, with a veth pair to the client's."""
    for number in WAYS.values():
        mine, theirs = f"to{number}", f"frames{number}"
        for command in (
            f"ip netns add nsd{number}",
            f"ip link add name {mine} type veth peer name {theirs} netns nsd{number}",
            f"ip address add 10.88.{number}.1/24 dev {mine}",
            f"ip address add fd88:{number}::1/64 dev {mine} nodad",
            f"ip link set {mine} up",
        ):
            subprocess.run(command.split(), check=True)
        in_net(number, "ip", "link", "set", "lo", "up")
        in_net(number, "ip", "address", "add", f"10.88.{number}.2/24", "dev", theirs)
        in_net(number, "ip", "address", "add", f"fd88:{number}::2/64", "dev", theirs, "nodad")
        in_net(number, "ip", "link", "set", theirs, "up")
    yield
    for number in WAYS.values():
        subprocess.run(["ip", "netns", "del", f"nsd{number}"], check=True)


def write_conf(way: str, place: Path, options: list[str]) -> Path:
    """Writes the configuration of a server for example.; the last of repeated options wins."""
    (place / "zone").write_text(ZONE + BIG)
    lines = ["ipv4-edns-size: 4096", "ipv6-edns-size: 4096"]
    lines += ['chroot: ""', 'pidfile: ""', 'xfrdfile: ""', "rrl-ratelimit: 0", "verbosity: 2"]
    lines += [f'{name}: "{place}"' for name in ("zonesdir", "xfrdir")]
    lines += [f'zonelistfile: "{place}/zones"', f'logfile: "{place}/log"']
    if way == "frames":
        lines.append(f"frames-device: frames{WAYS[way]}")
    text = "server:\n" + "".join(f"  {line}\n" for line in [*lines, *options])
    text += "remote-control:\n  control-enable: no\nzone:\n  name: example.\n  zonefile: zone\n"
    conf = place / "nsd.conf"
    conf.write_text(text)
    return conf


def output(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


PROTOCOLS = ["/proc/net/snmp", "/proc/net/snmp6"]


def protocols(text: str) -> dict[str, int]:
    """The counters in a file: "Udp InErrors", "Udp6InErrors" ..."""
    counted = {}
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        first, *words = line.split()
        if not first.endswith(":"):
            counted[first] = int(words[0])
        elif after.startswith(first):
            numbers = map(int, after.split()[1:])
            counted |= {f"{first[:-1]} {w}": n for w, n in zip(words, numbers, strict=True)}
    return counted


# Counters of lost packets in IP and UDP.
LOST = re.compile(
    r"(Ip |Ip6|Udp |Udp6)(InDiscards|InHdrErrors|InAddrErrors|InTruncatedPkts|OutDiscards|"
    r"OutNoRoutes|ReasmFails|FragFails|InErrors|RcvbufErrors|SndbufErrors|InCsumErrors|MemErrors)"
)


def drops(output: Callable[..., str]) -> dict[str, int]:
    """Counters of lost packets in a namespace: protocols, devices and packet sockets."""
    counted = {n: c for n, c in protocols(output("cat", *PROTOCOLS)).items() if LOST.fullmatch(n)}
    for link in json.loads(output("ip", "-json", "-statistics", "link")):
        for way in ("rx", "tx") if re.match("to|frames", link["ifname"]) else ():
            for kind in ("dropped", "errors", "over_errors", "carrier_errors"):
                name = f"{link['ifname']} {way} {kind}"
                counted[name] = link["stats64"][way].get(kind, 0)
    found = re.findall(r"skmem:\(.*?,d(\d+)\)", output("ss", "--packet", "--memory", "--numeric"))
    counted["packet sockets"] = sum(map(int, found))
    return counted


class Server:
    """A server for example. in its own namespace."""

    def __init__(self, way: str, place: Path, *options: str, closed: bool = False) -> None:
        self.way, self.number = way, WAYS[way]
        self.log = place / "log"
        addresses = [f"ip-address: 10.88.{self.number}.2", f"ip-address: fd88:{self.number}::2"]
        if any(option.startswith("ip-address") for option in options):
            addresses = []
        conf = write_conf(way, place, ['username: ""', *addresses, *options])
        command = ["ip", "netns", "exec", f"nsd{self.number}"]
        if closed:
            command += ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        self.process = subprocess.Popen(
            [*command, NSD / way / "nsd", "-d", "-c", conf], start_new_session=True
        )
        self.wait(b"\0\1" + query("host", 1)[2:])

    def wait(self, message: bytes) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.ask(message, patience=0.2):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()

    def ask(self, message: bytes, family: int = 4, patience: float = QUIET) -> bytes:
        """The reply, or b"" after the timeout."""
        kind = socket.AF_INET if family == 4 else socket.AF_INET6
        host = f"10.88.{self.number}.2" if family == 4 else f"fd88:{self.number}::2"
        with socket.socket(kind, socket.SOCK_DGRAM) as sock:
            sock.connect((host, 53))
            sock.settimeout(patience)
            with contextlib.suppress(OSError):
                sock.send(message)
                return sock.recv(65536)
        return b""

    def output(self, *command: str) -> str:
        """The output of a command in the server's namespace."""
        return output("ip", "netns", "exec", f"nsd{self.number}", *command)

    def by_sockets(self) -> int:
        """Datagrams that UDP sockets of its namespace have received so far."""
        counted = protocols(self.output("cat", *PROTOCOLS))
        return counted["Udp InDatagrams"] + counted["Udp6InDatagrams"]

    def dropped(self) -> dict[str, int]:
        """Lost packets, by the place where they were dropped, on both sides."""
        counted = {f"here: {name}": n for name, n in drops(output).items()}
        counted |= {f"there: {name}": n for name, n in drops(self.output).items()}
        lines = Path("/proc/net/softnet_stat").read_text().splitlines()
        counted["backlogs"] = sum(int(line.split()[1], 16) for line in lines)
        return counted

    def servers(self) -> list[int]:
        """The processes that answer: those without children."""
        parent_of = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                _, parent, _, session = entry.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid:
                    parent_of[int(entry.parent.name)] = int(parent)
        return [pid for pid in parent_of if pid not in parent_of.values()]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0


def query(
    name: str, kind: int, edns: int = 0, flags: int = 0, do: bool = False, klass: int = 1
) -> bytes:
    labels = [*filter(None, name.split(".")), "example"]
    qname = b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"
    head = struct.pack(">6H", random.getrandbits(16), flags, 1, 0, 0, 1 if edns else 0)
    opt = struct.pack(">BHHIH", 0, OPT, edns, 0x8000 if do else 0, 0) if edns else b""
    return head + qname + struct.pack(">HH", kind, klass) + opt


def messages() -> Iterator[bytes]:
    """Every kind of query, and malformed datagrams."""
    for name in NAMES:
        for kind in TYPES.values():
            for edns in (0, 512, 1232, 4096):
                yield query(name, kind, edns, do=edns == 1232)
    yield query("host", 1, klass=3)
    yield query("host", 1, flags=0x0100)
    for opcode in range(16):
        yield query("host", 6, flags=opcode << 11)
    yield query("host", 1, flags=0x8000)
    whole = query("host", 1, 1232)
    for length in range(len(whole)):
        yield whole[:length]
    yield whole + b"more"
    yield whole + bytes(1200)
    rng = random.Random(53)
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(2, len(broken))] = rng.randrange(256)
        yield bytes(broken)


@pytest.fixture
def both(nets: None, tmp_path: Path) -> Iterator[list[Server]]:
    servers = []
    for way in WAYS:
        (tmp_path / way).mkdir()
        servers.append(Server(way, tmp_path / way))
    yield servers
    for server in servers:
        server.stop()


class Pace:
    """Waits for the next second before NSD has got too many errors."""

    def __init__(self) -> None:
        self.second, self.errors = 0, 0

    def keep(self, reply: bytes) -> None:
        if not reply or reply[3] & 15 not in (FORMERR, NOTIMP):
            return
        now = time.time()
        if int(now) != self.second:
            self.second, self.errors = int(now), 0
        self.errors += 1
        if self.errors >= ERRORS_MAX - 10:
            time.sleep(self.second + 1 - now)


def lost_since(before: dict[str, int], server: Server) -> dict[str, int]:
    now = server.dropped()
    return {name: now[name] - n for name, n in before.items() if now[name] != n}


def descriptors(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/fd").iterdir())


@pytest.mark.parametrize("family", [4, 6])
def test_same_replies(both: list[Server], family: int) -> None:
    """Both reply with identical bytes, and ignore the same messages."""
    plain, frames = both
    by_sockets, dropped = frames.by_sockets(), frames.dropped()
    asked = answered = 0
    pace = Pace()
    for message in messages():
        reply = plain.ask(message, family, 0.1)
        other = frames.ask(message, family, PATIENCE if reply else 0.1)
        # On a busy machine the silence may have been a timeout: ask again.
        reply = reply if reply or not other else plain.ask(message, family, PATIENCE)
        assert other == reply, (message, lost_since(dropped, frames))
        pace.keep(reply)
        asked += 1
        answered += bool(reply)
    assert asked > answered > asked // 2
    assert frames.by_sockets() == by_sockets
    assert lost_since(dropped, frames) == {}


def test_errors_are_limited(both: list[Server]) -> None:
    """Both answer a hundred broken queries of a burst in each second, and discard the others."""
    broken = query("host", 1)[:20]
    for server in both:
        assert server.ask(broken, patience=PATIENCE)[3] & 15 == FORMERR
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect((f"10.88.{server.number}.2", 53))
            sock.settimeout(QUIET)
            began, got = time.time(), 0
            for _ in range(4 * ERRORS_MAX):
                sock.send(broken)
            with contextlib.suppress(TimeoutError):
                while True:
                    sock.recv(512)
                    got += 1
            seconds = int(time.time()) - int(began) + 1
        assert ERRORS_MAX <= got <= (ERRORS_MAX + 1) * seconds


def test_standard_descriptors(nets: None, tmp_path: Path) -> None:
    """Started with descriptors 0, 1 and 2 closed, NSD uses none of them for frames."""
    server = Server("frames", tmp_path, closed=True)
    try:
        wait_until_taken(server)
        lines = server.output("cat", "/proc/net/packet", "/proc/net/netlink").splitlines()
        sockets = {f"socket:[{line.split()[-1]}]" for line in lines}
        of = {fd: str(fd.readlink()) for pid in server.servers() for fd in descriptors(pid)}
        assert sockets & set(of.values())
        assert not [fd for fd, what in of.items() if what in sockets and int(fd.name) < 3]
    finally:
        server.stop()


def test_many_at_once(both: list[Server]) -> None:
    """More than a batch, from several ports: each client gets its own replies only."""
    _, frames = both
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
    for sock in socks:
        sock.connect(("10.88.1.2", 53))
        sock.settimeout(PATIENCE)
    asked = {sock: [query("host", 1) for _ in range(32)] for sock in socks}
    for turn in range(32):
        for sock in socks:
            sock.send(asked[sock][turn])
    for sock in socks:
        got = {sock.recv(512)[:2] for _ in range(32)}
        assert got == {message[:2] for message in asked[sock]}
        sock.close()


def test_what_is_no_plain_datagram(both: list[Server]) -> None:
    """Fragments, packets with options, and long replies go through the UDP socket."""
    plain, frames = both
    long = query("host", 1, 4096) + bytes(3000)
    before = frames.by_sockets()
    assert frames.ask(long) == plain.ask(long) != b""
    assert frames.by_sockets() == before + 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\1" * 4)
        sock.settimeout(PATIENCE)
        sock.connect(("10.88.1.2", 53))
        sock.send(query("host", 1))
        assert sock.recv(512)[3] == 0
    assert frames.by_sockets() == before + 2
    assert len(frames.ask(query("big", TYPES["TXT"], 4096))) > 1500


def test_tcp(both: list[Server]) -> None:
    for number in WAYS.values():
        with socket.create_connection((f"10.88.{number}.2", 53), PATIENCE) as sock:
            message = query("big", TYPES["TXT"])
            sock.sendall(struct.pack(">H", len(message)) + message)
            assert struct.unpack(">H", sock.recv(2, socket.MSG_WAITALL))[0] > 3000


@pytest.fixture
def frames(nets: None, tmp_path: Path) -> Iterator[Server]:
    server = Server("frames", tmp_path)
    yield server
    server.stop()


def taken(server: Server) -> bool:
    """Is a query received as a frame? It is answered in either case."""
    before = server.by_sockets()
    assert server.ask(query("host", 1), patience=PATIENCE)
    return server.by_sockets() == before


def wait_until_taken(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE
    while not taken(server):
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.1)


def test_reload(frames: Server) -> None:
    """After a reload the new process takes over; queries meanwhile are answered."""
    wait_until_taken(frames)
    before = frames.servers()
    frames.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE
    while set(frames.servers()) & set(before):
        assert frames.ask(query("host", 1), patience=PATIENCE)
        assert time.monotonic() < deadline
    wait_until_taken(frames)


def test_killed(frames: Server) -> None:
    """When the process dies its frames go to the stack, later to the next process."""
    wait_until_taken(frames)
    for pid in frames.servers():
        os.kill(pid, signal.SIGKILL)
    frames.wait(query("host", 1))
    wait_until_taken(frames)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["username: member"], "CAP_NET_ADMIN"),
        (["frames-device: nowhere"], "no packet socket"),
        # It would receive packets that the machine only forwards.
        (["ip-address: 0.0.0.0"], "Destination address required"),
    ],
)
def test_not_taken(nets: None, tmp_path: Path, options: list[str], why: str) -> None:
    """Without capability, device or address: it uses sockets, and the log says why."""
    for directory in (tmp_path, *tmp_path.parents[:3]):
        directory.chmod(0o777)
    server = Server("frames", tmp_path, *options)
    try:
        assert not taken(server)
        assert why in server.log.read_text()
    finally:
        server.stop()


def test_switched_off(nets: None, tmp_path: Path) -> None:
    """The log tells the administrator what to do next."""
    ENABLED.write_text("0")
    try:
        server = Server("frames", tmp_path)
        try:
            assert not taken(server)
            assert "syscript doctor" in server.log.read_text()
        finally:
            server.stop()
    finally:
        ENABLED.write_text("1")


# In a user namespace: the network namespaces of server and client.
WITHOUT_ROOT = """
unshare -n sleep 1000 & client=$!
until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.1; done
ip link add name frames1 type veth peer name client1
ip link set client1 netns $client
ip address add 10.88.1.2/24 dev frames1
ip link set frames1 up
near="nsenter -t $client -n"
$near ip address add 10.88.1.1/24 dev client1
$near ip link set client1 up
{nsd} -d -c {conf} & nsd=$!
$near dig +short +tries=30 +time=2 @10.88.1.2 host.example
kill $nsd
wait $nsd
kill $client
"""


def test_without_root(as_user: Callable) -> None:
    """An ordinary user receives frames in a namespace of their own."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o777)
        conf = write_conf("frames", place, ['username: ""', "ip-address: 10.88.1.2"])
        script = WITHOUT_ROOT.format(nsd=NSD / "frames" / "nsd", conf=conf)
        done = as_user(["unshare", "-Urn", "sh", "-c", script])
        log = (place / "log").read_text()
        assert done.stdout == "192.0.2.3\n", done.stderr + log
        assert "taken as frames" in log
