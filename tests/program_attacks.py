#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hostile programs for netfilter, loaded by the owner of a user and a network namespace.

  program_attacks.py ATTACK SECONDS SEED    in such namespaces; writes JSON

The attack checks what the owner sees; the caller checks the kernel's log, the neighbours' view, and
that nothing is left.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import programs as p
from confined import insn as i

UDP_SEGMENT, UDP = 103, 17
SOL_NETLINK, NFNL_QUEUE = 12, 3
FUNCTIONS = ("packet_load", "packet_store", "packet_mark", "packet_queue", "packet_translate")
TABLES = ("table_find", "table_add", "table_delete")
LOAD, STORE, MARK, QUEUE, TRANSLATE, FIND, ADD, DELETE = range(8)
# Layout of the arena: a table's header, its sets, and bytes for functions.
TABLE, SETS, BYTES = 0x5000, 0x5100, 0x8000
AT_DEVICES = ("netdev ingress", "netdev egress", "inet ingress")
PLACES = (
    *(
        f"{family} {hook}"
        for family in ("inet", "ip", "ip6", "bridge")
        for hook in ("prerouting", "input", "forward", "output", "postrouting")
    ),
    *("arp input", "arp output", "netdev ingress lo", "netdev egress lo", "inet ingress lo"),
    *(
        f"{family} {hook}"
        for family in ("nat", "nat6")
        for hook in ("prerouting", "input", "output", "postrouting")
        if Path("/sys/module/nf_nat").exists()
    ),
)
# Permitted results of a load: shares are exhausted, or another process has loaded the name.
SHARES = {0, -errno.EDQUOT, -errno.ENOBUFS, -errno.EEXIST, -errno.ENOMEM}
FRAME = 480
SHARE = 16  # max_programs
SIZES = (1, 100, 1400, 4000, 20000, 60000)


# -- Programs ------------------------------------------------------------------------------


def function(number: int, *args: int) -> bytes:
    """A call with constants; the addresses among them are masked."""
    code = b"".join(i.imm64(1 + n, arg & (1 << 64) - 1) for n, arg in enumerate(args))
    return code + i.outside(i.FUNCTION + number)


def spins(rng: random.Random) -> bytes:
    body = i.alui("add", 2, 1) * rng.randrange(60)
    return body + i.jump(-len(body) // 8 - 1) + i.EXIT


def recurses(rng: random.Random) -> bytes:
    return i.storei(10, -8 * rng.randrange(1, FRAME // 8), 1) + i.call(-2) + p.verdict(1)


def goes_wild(rng: random.Random) -> bytes:
    """Addresses from anywhere are masked, and lead to the program's own memory."""
    code = b""
    for _ in range(20):
        where = rng.choice((0xFFFF888000000000, 0xFFFFFFFF81000000, 0, 1 << 63)) + rng.getrandbits(
            32
        )
        size = rng.choice((1, 2, 4, 8))
        code += i.imm64(2, where)
        code += i.store(2, rng.randrange(-32768, 32768), 1, size)
        code += i.load(3, 2, rng.randrange(-32768, 32768), size)
        code += i.atomic(0, 2, rng.randrange(-32768, 32768), 3, rng.choice((4, 8)))
    return code + p.verdict(rng.randrange(2))


def fills_tables(rng: random.Random) -> bytes:
    """Inserts keys from the clock, into tables with an arbitrary header."""
    code = i.mov(6, 1)
    for at in range(TABLE, TABLE + 40, 8):
        if rng.randrange(4) == 0:
            code += i.imm64(2, at, i.ARENA) + i.imm64(3, rng.getrandbits(64)) + i.store(2, 0, 3)
    for _ in range(rng.randrange(1, 8)):
        code += i.load(3, 6, 32) + i.alui("add", 3, rng.getrandbits(20))
        code += i.imm64(2, BYTES, i.ARENA) + i.store(2, 0, 3)
        code += i.imm64(1, TABLE, i.ARENA) + i.imm64(2, BYTES, i.ARENA)
        code += i.outside(i.FUNCTION + rng.choice((FIND, ADD, ADD, DELETE)))
        # Overwrites the value, if there is one, even after its deletion.
        code += i.jump_ifi("eq", 0, 0, 1) + i.store(0, rng.randrange(0, 64, 8), 0)
    return code + p.verdict(1)


def stores(rng: random.Random) -> bytes:
    """Writes anything anywhere in packets, and passes them on."""
    code = b""
    for _ in range(rng.randrange(1, 6)):
        offset = rng.choice((rng.randrange(64), rng.randrange(2000), rng.getrandbits(64)))
        length = rng.choice((1, 2, 4, 20, 256, 257, rng.getrandbits(64)))
        code += i.imm64(1, offset) + i.imm64(2, BYTES + rng.randrange(200), i.ARENA)
        code += i.imm64(3, length) + i.outside(i.FUNCTION + STORE)
    return code + p.verdict(rng.choice((0, 1, 1, 1, 1, 2)))


def translates(rng: random.Random) -> bytes:
    """Asks NAT for anything, from anywhere, more than once."""
    code = b""
    for _ in range(rng.randrange(1, 4)):
        at = rng.choice((BYTES + rng.randrange(200), rng.getrandbits(64)))
        length = rng.choice((0, 4, 4, 16, 16, 5, rng.getrandbits(64)))
        first = rng.choice((0, 1, rng.randrange(65536), rng.getrandbits(64)))
        last = rng.choice((0, first, 65535, rng.randrange(65536), rng.getrandbits(64)))
        code += function(TRANSLATE, at, length, first, last)
    return code + p.verdict(rng.choice((0, 1, 1, 1, 2, 3)))


def loads(rng: random.Random) -> bytes:
    code = b""
    for _ in range(rng.randrange(1, 30)):
        offset = rng.choice((rng.randrange(100), rng.randrange(70000), rng.getrandbits(64)))
        to = rng.choice((BYTES, 0xFF80, 0xFFFF, rng.getrandbits(64)))
        code += function(LOAD, offset, to, rng.choice((1, 8, 256, 257, rng.getrandbits(64))))
    return code + p.verdict(1)


def queues(rng: random.Random) -> bytes:
    return function(QUEUE, rng.choice((0, 0, 1, 65535, 65536))) + p.verdict(3)


def fails(rng: random.Random) -> bytes:
    return rng.choice(
        (
            p.verdict(4),
            p.verdict(-1),
            i.movi(1, 7) + i.outside(i.CALL_ABORT) + i.EXIT,
            i.outside(i.FUNCTION + 63) + i.EXIT,
            i.outside(i.CALL_THROW) + i.EXIT,
        )
    )


def rejects(rng: random.Random) -> bytes:
    return function(MARK, rng.getrandbits(32)) + p.verdict(2)


BODIES = (
    *(spins, recurses, goes_wild, fills_tables, stores, stores, loads, queues, fails, rejects),
    *(translates, translates),
)


def data(rng: random.Random) -> bytes:
    """A table of 32-bit keys with 64 entries, and bytes."""
    memory = bytearray(BYTES + 512)
    struct.pack_into("<IIIIQ", memory, TABLE, 64, 4, 24, rng.choice((0, 1, 1000)), SETS)
    memory[BYTES:] = rng.randbytes(512)
    return bytes(memory)


def hostile(rng: random.Random) -> tuple[bytes, dict]:
    """An image, and options of load()."""
    body = rng.choice(BODIES)(rng)
    options = {
        "data": data(rng),
        "functions": FUNCTIONS + TABLES,
        "copies": rng.choice((0, 1, 28, 64, 256)),
        "errors_max": rng.choice((0, 1, 10**9)),
        "flags": p.FALLBACK,
        "fallback": rng.randrange(4),
        "memory": rng.choice((0, 0, 8 << 20)),
    }
    return p.image([(body, FRAME)], shift=rng.choice((16, 16, 16, 20, 22))), options


# -- Packets -------------------------------------------------------------------------------


def udp(rng: random.Random, host: str, family: int) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        size = rng.choice(SIZES)
        for _ in range(20):
            s.sendto(rng.randbytes(64) * (size // 64 + 1), (host, rng.randrange(4000, 4004)))


def segments(rng: random.Random, host: str, family: int) -> None:
    """A GSO packet, which stands for several."""
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.setsockopt(UDP, UDP_SEGMENT, rng.choice((100, 1000, 1400)))
        for _ in range(5):
            s.sendto(bytes(rng.randrange(1401, 50000)), (host, 4000))


def raw(rng: random.Random, host: str, family: int) -> None:
    """Headers that lie."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
        for _ in range(20):
            head = struct.pack(
                "!BBHHHBBH4s4s",
                *(0x40 | rng.choice((5, 5, 6, 15)), 0, 0, rng.getrandbits(16)),
                *(rng.choice((0, 0x2000, rng.getrandbits(16))), 64, rng.choice((1, 6, 17, 255)), 0),
                *(socket.inet_aton("127.0.0.1"), socket.inet_aton("127.0.0.1")),
            )
            s.sendto(head + rng.randbytes(rng.choice((0, 1, 7, 8, 60, 1000))), ("127.0.0.1", 0))


def stream(rng: random.Random, host: str, family: int) -> None:
    """Pages of a file, in segments; programs' changes may end the connection."""
    with socket.socket(family) as server, socket.socket(family) as s, tempfile.TemporaryFile() as f:
        f.write(rng.randbytes(1 << 16) * 4)
        f.flush()
        server.bind((host, 0))
        server.listen()
        for sock in (server, s):
            sock.settimeout(0.05)
        s.connect(server.getsockname()[:2])
        peer, _ = server.accept()
        with peer:
            peer.settimeout(0.05)
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                os.sendfile(s.fileno(), f.fileno(), 0, 1 << 18)
            while peer.recv(1 << 16):
                pass


KINDS = (udp, udp, segments, raw, stream)


def send(rng: random.Random) -> int:
    """Some packets of one kind; 1, or 0 if a program dropped them."""
    family = rng.choice((socket.AF_INET, socket.AF_INET6))
    try:
        rng.choice(KINDS)(rng, "127.0.0.1" if family == socket.AF_INET else "::1", family)
    except OSError:
        return 0
    return 1


def taps() -> list[socket.socket]:
    """Other sockets that hold each packet and seldom read."""
    return [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2)]


def ip(words: str) -> bool:
    return not subprocess.run(["ip", *words.split()], capture_output=True).returncode


# -- Attacks -------------------------------------------------------------------------------


@contextlib.contextmanager
def beside(work: Callable[[random.Random], int], seed: int) -> Iterator[None]:
    """Another process repeats the work meanwhile; its failure fails the attack."""
    pid = os.fork()
    if not pid:
        rng = random.Random(seed)
        try:
            while os.getppid() != 1:
                work(rng)
        except BaseException as error:  # a child of fork(2) must not return
            print(f"{work.__name__}: {error!r}", file=sys.stderr)
        os._exit(1)
    try:
        yield
        ended, _ = os.waitpid(pid, os.WNOHANG)
        assert not ended, work.__name__
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def change(rng: random.Random) -> int:
    """Loads a program, replacing one or as a new one, or unloads one: 0 or -errno."""
    name = f"n{rng.randrange(6)}"
    if rng.randrange(4) == 0:
        error = p.unload(name)
        assert error in (0, -errno.ENOENT), error
        return error
    code, options = hostile(rng)
    where = rng.choice(PLACES) + rng.choice(("", " -100", " 2147483647"))
    error, text = p.load(code, name=name, where=where, **options)
    assert error in SHARES, (error, text)
    return error


def storm(seconds: float, rng: random.Random) -> dict:
    """Two CPUs load and unload programs, while packets arrive on two CPUs."""
    held, until, seen = taps(), time.monotonic() + seconds, Counter()
    with beside(change, rng.getrandbits(32)), beside(send, rng.getrandbits(32)):
        while time.monotonic() < until:
            seen[change(rng)] += 1
            seen["sent"] += send(rng)
            for tap in held:
                with contextlib.suppress(BlockingIOError):
                    tap.recv(100, socket.MSG_DONTWAIT)
    for listed in p.programs():
        assert listed.calls >= listed.defaults >= listed.errors, listed
        assert p.unload(listed.name) == 0
    return {"loads": seen[0], "sent": seen["sent"], "left": len(p.programs())}


def vanish(seconds: float, rng: random.Random) -> dict:
    """Namespaces and devices vanish with their programs, while packets are on the way there."""
    until, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        other = subprocess.Popen(
            ["unshare", "--net", sys.executable, __file__, "victim", "0", str(rng.getrandbits(32))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert other.stdout.read(1) == b"+"
        ip(f"link add v0 type veth peer name v1 netns {other.pid}")
        ip("address add 10.9.0.1/24 dev v0")
        ip("link set v0 up")
        other.stdin.write(b"+")
        other.stdin.flush()
        code, options = hostile(rng)
        where = rng.choice((*PLACES, *(f"{hook} v0" for hook in AT_DEVICES * 6)))
        assert p.load(code, where=where, **options)[0] in SHARES
        with contextlib.suppress(OSError):
            for _ in range(30):
                udp(rng, "10.9.0.2", socket.AF_INET)
        ip(rng.choice(("link delete v0", f"link set v0 netns {other.pid}", "link show v0")))
        if rng.randrange(2):
            code, options = hostile(rng)
            assert p.load(code, where=where, **options)[0] in (*SHARES, -errno.ENODEV)
        other.kill()
        with contextlib.suppress(OSError):
            udp(rng, "10.9.0.2", socket.AF_INET)
        other.wait()
        ip("link delete v0")
        p.unload()
        rounds += 1
    return {"rounds": rounds, "left": len(p.programs())}


def victim(seconds: float, rng: random.Random) -> dict:
    """A namespace with programs and a device, until it is killed."""
    ip("link set lo up")
    for n in range(3):
        code, options = hostile(rng)
        p.load(code, name=f"v{n}", where=rng.choice(PLACES), **options)
    os.write(1, b"+")
    os.read(0, 1)
    ip("address add 10.9.0.2/24 dev v1")
    ip("link set v1 up")
    code, options = hostile(rng)
    p.load(code, name="v3", where=f"{rng.choice(AT_DEVICES)} v1", **options)
    while True:
        send(rng)
        with contextlib.suppress(OSError):
            udp(rng, "10.9.0.1", socket.AF_INET)


def rewriter(offset: int, port: int) -> bytes:
    """Writes '!' at an offset of UDP or TCP packets to @port."""
    other = i.movi(0, 1) + i.EXIT
    store = i.movi(1, offset) + i.imm64(2, BYTES, i.ARENA) + i.movi(3, 1)
    store += i.outside(i.FUNCTION) + i.alui("and", 0, 0) + i.alui("add", 0, 1) + i.EXIT
    test = i.load(2, 1, p.VIEW + 22, 2) + i.insn(0xDC, 2, 0, 0, 16)
    return test + i.jump_ifi("eq", 2, port, 2) + other + store


def shared(seconds: float, rng: random.Random) -> dict:
    """A program changes packets whose bytes are shared: only the packet itself changes."""
    seen = {}
    memory = bytes(BYTES) + b"!"
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
    tap.settimeout(2)

    def load(where: str, offset: int) -> None:
        code = p.image([rewriter(offset, 4000)])
        assert p.load(code, where=where, data=memory, functions=("packet_store",)) == (0, "")

    # A copy for the packet socket, made before the input hook.
    load("ip input", 30)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s,
    ):
        to.bind(("127.0.0.1", 4000))
        to.settimeout(2)
        s.sendto(b"a" * 100, ("127.0.0.1", 4000))
        seen["received"] = to.recv(200)[:4].decode()
        seen["tapped"] = tap.recv(200)[28:32].decode()
        to.settimeout(0.2)
    p.unload()
    # Outgoing pages of a file, of which the program overwrites the first and others.
    with tempfile.TemporaryFile() as f, socket.socket() as server, socket.socket() as s:
        f.write(b"a" * 20000)
        f.flush()
        server.bind(("127.0.0.1", 4000))
        server.listen()
        s.connect(("127.0.0.1", 4000))
        peer, _ = server.accept()
        peer.settimeout(2)
        for k, offset in enumerate((52, 60, 3000)):
            load("ip output", offset)
            os.sendfile(s.fileno(), f.fileno(), 0, 20000)
            got = b""
            while len(got) < 20000:
                got += peer.recv(20000 - len(got))
            p.unload()
            seen[f"file{k}"] = [got.count(b"!") > 0, os.pread(f.fileno(), 20000, 0).count(b"!")]
    return seen


def queue(seconds: float, rng: random.Random) -> dict:
    """Packets are queued for a listener that never reads, when their program is unloaded."""
    listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOL_NETLINK)
    listener.bind((0, 0))

    def say(kind: int, payload: bytes) -> None:
        attribute = struct.pack("<HH", 4 + len(payload), kind) + payload
        attribute += bytes(-len(attribute) % 4)
        head = struct.pack("<BBH", 0, 0, 0)
        length = 16 + len(head) + len(attribute)
        listener.send(
            struct.pack("<IHHII", length, NFNL_QUEUE << 8 | 2, 5, 0, 0) + head + attribute
        )
        assert struct.unpack_from("<i", listener.recv(200), 16)[0] == 0

    say(1, struct.pack(">BBH", 1, 0, 0))  # bind
    say(2, struct.pack(">IB", 60000, 2))  # whole packets
    until, rounds = time.monotonic() + seconds, 0
    while not rounds or time.monotonic() < until:
        code = p.image([p.verdict(p.QUEUE)])
        assert p.load(code, where=rng.choice(("ip input", "ip prerouting", "ip output"))) == (0, "")
        with contextlib.suppress(OSError):
            udp(rng, "127.0.0.1", socket.AF_INET)
        assert p.unload() == 0
        rounds += 1
    return {"rounds": rounds}


def counted(seconds: float, rng: random.Random) -> dict:
    """A neighbour's program counts its packets, undisturbed.

    A datagram may be lost before it reaches the program: CPUs' backlogs are shared.
    """
    count = i.imm64(2, BYTES, i.ARENA) + i.movi(3, 1) + i.atomic(0, 2, 0, 3) + p.verdict(1)
    assert p.load(p.image([count]), where="ip input", data=bytes(BYTES + 8)) == (0, "")
    until, sent, got = time.monotonic() + seconds, 0, 0
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s,
    ):
        to.bind(("127.0.0.1", 4000))
        to.settimeout(1)
        while time.monotonic() < until:
            s.sendto(b"x" * 10, ("127.0.0.1", 4000))
            sent += 1
            with contextlib.suppress(TimeoutError):
                got += len(to.recv(100)) == 10
            time.sleep(0.001)
        with contextlib.suppress(TimeoutError):
            while got < sent:
                got += len(to.recv(100)) == 10
    (listed,) = p.programs()
    return {
        "sent": sent, "got": got, "calls": listed.calls, "errors": listed.errors,
        "defaults": listed.defaults, "unloaded": p.unload(),
    }  # fmt: skip


def shares(seconds: float, rng: random.Random) -> dict:
    """How many programs a user may load."""
    image = p.image([p.verdict(1)])
    loaded = [p.load(image, name=f"s{n}")[0] for n in range(SHARE + 1)]
    assert loaded[-1] == -errno.EDQUOT
    return {"loaded": loaded.count(0)}


def hoard(seconds: float, rng: random.Random) -> None:
    """Eight programs of 1 MiB; their number must not grow afterwards."""
    image = p.image([p.verdict(1)], shift=20)
    print("begin", flush=True)
    for line in sys.stdin:
        done = [
            p.load(image, name=f"h{n}", memory=2 << 20)[0]
            if line == "load\n"
            else p.unload(f"h{n}")
            for n in range(8)
        ]
        print(json.dumps(done), flush=True)


ATTACKS = {f.__name__: f for f in (storm, vanish, victim, shared, queue, counted, shares, hoard)}


def main() -> None:
    name, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    ip("link set lo up")
    print(json.dumps(ATTACKS[name](seconds, random.Random(seed))))


if __name__ == "__main__":
    main()
