# SPDX-License-Identifier: GPL-2.0
"""Two network namespaces with a veth pair between them, and frames made by hand.

Without scapy, which only tests of odd shapes use: importing it takes a guest ten seconds.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
LIBC = ctypes.CDLL(None, use_errno=True)
# The debug kernel has neither qdiscs nor VLANs.
ON_DEBUG = os.environ.get("SYSCRIPT_GUEST") == "debug"
MISSING = re.compile("Unknown device type|Operation not supported|qdisc kind is unknown")


def check(ret: int) -> None:
    if ret:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def patient(sock: socket.socket) -> socket.socket:
    """Waits for 10 s without making the socket non-blocking, as Python's timeouts would."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 10, 0))
    return sock


class Namespace:
    """A network namespace; after close() it lives as long as its sockets."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                check(LIBC.unshare(CLONE_NEWNET))
                os.write(writing, b"+")
                signal.pause()
            finally:
                os._exit(1)
        os.close(writing)
        made = os.read(reading, 1)
        os.close(reading)
        if not made:
            raise OSError("no network namespace to be had")
        self.fd = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)
        self.ip("link set lo up")

    @contextmanager
    def inside(self) -> Iterator[None]:
        """This thread enters the namespace."""
        back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        check(LIBC.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            check(LIBC.setns(back, CLONE_NEWNET))
            os.close(back)

    def run(self, command: list[str], stdin: str = "") -> str:
        with self.inside():
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if ON_DEBUG and MISSING.search(done.stderr):
            # Programs that tests run need not wait until pytest is imported.
            import pytest  # noqa: PLC0415

            pytest.skip(f"the debug kernel is without {' '.join(command[:4])}")
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def ip(self, *lines: str) -> str:
        """Runs commands up to the first that fails.

        In one process, because in a guest each takes a tenth of a second.
        """
        if len(lines) == 1:
            return self.run(["ip", *lines[0].split()])
        return self.run(["ip", "-batch", "-"], "\n".join(lines))

    def tc(self, words: str) -> str:
        return self.run(["tc", *words.split()])

    def sysctl(self, name: str, value: int) -> None:
        with self.inside():
            Path("/proc/sys/net", name).write_text(str(value))

    def udp(self, address: str = "", port: int = 0) -> socket.socket:
        """A datagram socket, bound if there is an address."""
        with self.inside():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            sock = socket.socket(family, socket.SOCK_DGRAM)
        if address:
            sock.bind((address, port))
        return patient(sock)

    def packet(self, device: str, protocol: int = ETH_P_ALL) -> socket.socket:
        """A packet socket bound to a device; with protocol 0 it receives nothing."""
        with self.inside():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sock.bind((device, protocol))
        return patient(sock)

    def close(self) -> None:
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def drain(sock: socket.socket) -> list[bytes]:
    """What waits there."""
    found = []
    while True:
        try:
            found.append(sock.recv(65536, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return found


CLIENT_MAC, SERVER_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
CLIENT4, SERVER4 = "10.9.0.1", "10.9.0.2"
CLIENT6, SERVER6 = "fd09::1", "fd09::2"


# The client's stack is silent: only frames sent by tests arrive.
SILENT = {
    "ipv6/conf/near/router_solicitations": 0,
    "ipv6/icmp/ratelimit": 10**9,
    "ipv4/icmp_ratelimit": 10**9,
}


class Wire:
    """`client` has an address on its device "near"; `server` has none on its device "far".

    All frames that arrive at the server are for the script.
    """

    def __init__(self) -> None:
        self.client, self.server = Namespace(), Namespace()
        # Without ARP it joins no multicast groups, which it would report.
        near = f"name near address {CLIENT_MAC.hex(':')} arp off"
        far = f"name far address {SERVER_MAC.hex(':')} netns {self.server.pid}"
        self.client.ip(f"link add {near} type veth peer {far}")
        self.server.sysctl("ipv6/conf/far/disable_ipv6", 1)
        for name, value in SILENT.items():
            self.client.sysctl(name, value)
        self.server.ip("link set far up")
        self.client.ip(
            f"address add {CLIENT4}/24 dev near",
            f"address add {CLIENT6}/64 dev near nodad",
            "link set near up",
        )
        self.introduce()

    def introduce(self) -> None:
        """The client knows the server's addresses."""
        mac = SERVER_MAC.hex(":")
        addresses = (SERVER4, SERVER6)
        self.client.ip(*(f"neigh replace {each} lladdr {mac} dev near" for each in addresses))

    def to_server(self, port: int, family: int = 4, source: int = 0) -> socket.socket:
        """A UDP socket connected to the server, from a given port if that matters."""
        sock = self.client.udp(CLIENT6 if family == 6 else CLIENT4, source)
        sock.connect((SERVER6 if family == 6 else SERVER4, port))
        return sock

    def close(self) -> None:
        self.client.close()
        self.server.close()


@contextmanager
def wire() -> Iterator[Wire]:
    made = Wire()
    try:
        yield made
    finally:
        made.close()


# -- Frames by hand -----------------------------------------------------------


def checksum(data: bytes) -> int:
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def udp(payload: bytes, pseudo: bytes, sport: int = 1234, dport: int = 7) -> bytes:
    length = 8 + len(payload)
    header = struct.pack("!HHHH", sport, dport, length, 0)
    total = checksum(pseudo + struct.pack("!HH", 17, length) + header + payload)
    return header[:6] + struct.pack("!H", total or 0xFFFF) + payload


def ethernet(kind: int, payload: bytes) -> bytes:
    return SERVER_MAC + CLIENT_MAC + struct.pack("!H", kind) + payload


def ip4(payload: bytes, options: bytes = b"", **fields: int) -> bytes:
    """An IPv4 packet; fields override the header's usual values."""
    of = {"version": 4, "fragment": 0, "protocol": 17, "ihl": 5 + len(options) // 4, **fields}
    total = of.get("total", 20 + len(options) + len(payload))
    source = of.get("source", 0x0A090001)
    destination = of.get("destination", 0x0A090002)
    first = of["version"] << 4 | of["ihl"]
    header = struct.pack(
        "!BBHHHBBHII",
        first,
        0,
        total,
        0,
        of["fragment"],
        64,
        of["protocol"],
        0,
        source,
        destination,
    )
    header += options
    total = of.get("sum", checksum(header))
    return header[:10] + struct.pack("!H", total) + header[12:] + payload


def pseudo4(source: int = 0x0A090001, destination: int = 0x0A090002) -> bytes:
    return struct.pack("!II", source, destination)


PSEUDO6 = socket.inet_pton(socket.AF_INET6, CLIENT6) + socket.inet_pton(socket.AF_INET6, SERVER6)


def ip6(payload: bytes, protocol: int = 17, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return struct.pack("!IHBB", 0x60000000, size, protocol, 64) + PSEUDO6 + payload


def frame4(payload: bytes, **fields: int) -> bytes:
    return ethernet(0x0800, ip4(udp(payload, pseudo4()), **fields))


def frame6(payload: bytes) -> bytes:
    return ethernet(0x86DD, ip6(udp(payload, PSEUDO6)))


SO_MEMINFO = 55


def drain_all(sock: socket.socket) -> None:
    """Reads until the buffer is empty: a busy thread may deliver late. Gives up after 10 s."""
    for _ in range(100):
        drain(sock)
        if not memory(sock)["rmem"]:
            return
        time.sleep(0.1)


def memory(sock: socket.socket) -> dict[str, int]:
    """What a socket's buffers hold, in bytes of kernel memory."""
    raw = sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36)
    words = struct.unpack("9I", raw)
    names = ("rmem", "rcvbuf", "wmem", "sndbuf", "fwd", "queued", "optmem", "backlog", "drops")
    return dict(zip(names, words, strict=True))
