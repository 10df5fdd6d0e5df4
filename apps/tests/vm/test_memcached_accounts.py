# SPDX-License-Identifier: GPL-2.0
"""memcached with scripts works for any user, in the kernel if permitted."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "memcached"))

from server import SAYS_USER, SCRIPTED, UDPLOAD, Server, Wire, free_port  # noqa: E402


@contextlib.contextmanager
def devices_closed() -> Iterator[None]:
    device = Path("/dev/syscript")
    mode = device.stat().st_mode & 0o777
    device.chmod(0o600)
    try:
        yield
    finally:
        device.chmod(mode)


# As at Facebook: several threads, GETs of several keys.
KEYS_PER_GET, GETS = (
    {"syscript": 50, "syscript_interp": 1, "syscript_wait": 1, "confined": 1},
    {"syscript": 300, "syscript_interp": 2500, "syscript_wait": 2500, "confined": 2500},
)


@pytest.mark.sample(5)
@pytest.mark.parametrize("mode", SCRIPTED)
@pytest.mark.parametrize(
    ("account", "backend", "says"),
    [("member", "kernel", []), ("outsider", "kernel", []), ("nobody", "user", [SAYS_USER])],
)
def test_served(mode: str, account: str, backend: str, says: list[str]) -> None:
    """A user who may open no device gets one message, not one per worker."""
    with (
        devices_closed() if account == "nobody" else contextlib.nullcontext(),
        Server(mode, options=("-t", "3"), account=account.replace("nobody", "outsider")) as server,
    ):
        command = [UDPLOAD, "--quiet", "--keys", "100", "--requests", "3000", str(server.port)]
        command += ["--threads", "2", "--keys-per-get", str(KEYS_PER_GET[mode])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said, complaints = server.batching(), server.complaints()
    assert done.returncode == 0, done.stderr
    load = json.loads(done.stdout)
    assert load["get"]["answered"] > GETS[mode]
    assert (load["wrong"], load["misses"], load["duplicate"]) == (0, 0, 0)
    assert said["udp_batch_backend"] == backend
    assert int(said["udp_batch_received"]) >= load["get"]["answered"]
    assert [line[: len(SAYS_USER)] for line in complaints] == says


# -- Frames, and what is left to the stack ------------------------------------

HERE4, HERE6, THERE6 = "10.88.0.1", "fd88::1", "fd88::2"
VALUE = b"v" * 64
KEYS = [b"key%d-%s" % (i, b"k" * 200) for i in range(16)]  # 3 frames of names


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    """A namespace with addresses of both families."""
    with Wire(free_port()) as made:
        for where, address, device in (
            (["ip"], HERE6, Wire.NAME),
            (["ip", "-n", Wire.NAME], THERE6, "frames0"),
        ):
            words = ["address", "add", f"{address}/64", "dev", device, "nodad"]
            subprocess.run([*where, *words], check=True)
        yield made


@pytest.fixture(params=["1", "3"])
def frames(request: pytest.FixtureRequest, wire: Wire) -> Iterator[Server]:
    """On all addresses of both families, with this many workers."""
    options = ("-l", "::", "-t", request.param)
    with Server("frames", port=wire.port, wire=wire, options=options) as server:
        with socket.create_connection((server.host, server.port)) as conn:
            for key in KEYS:
                conn.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(VALUE), VALUE))
                assert conn.recv(100) == b"STORED\r\n"
        yield server


def ask(sock: socket.socket, keys: list[bytes]) -> bytes:
    """The reply to a GET over UDP, with one datagram per value, and no other."""
    sock.settimeout(20)
    sock.send(struct.pack("!HHHH", 77, 0, 1, 0) + b"get " + b" ".join(keys) + b"\r\n")
    reply = b""
    while not reply.endswith(b"END\r\n"):
        datagram = sock.recv(65536)
        assert struct.unpack("!HHHH", datagram[:8]) == (77, 0, 1, 0)
        reply += datagram[8:]
    sock.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        raise AssertionError(f"one reply too many: {sock.recv(65536)!r}")
    return reply


def hits(keys: list[bytes]) -> bytes:
    found = (b"VALUE %s 0 %d\r\n%s\r\n" % (key, len(VALUE), VALUE) for key in keys)
    return b"".join(found) + b"END\r\n"


IP_OPTIONS, IPV6_DSTOPTS = 4, 59
PADN = b"\0\0\1\4\0\0\0\0"  # An extension header with padding only.
# Address, socket options, number of keys; and is it a plain datagram, eligible for frames?
REQUESTS = {
    "ip4": (Wire.HOST, None, 1, True),
    "ip6": (THERE6, None, 1, True),
    "ip4-fragments": (Wire.HOST, None, 16, False),
    "ip6-fragments": (THERE6, None, 16, False),
    "ip4-options": (Wire.HOST, (socket.IPPROTO_IP, IP_OPTIONS, b"\1\1\1\0"), 1, False),
    "ip6-extension": (THERE6, (socket.IPPROTO_IPV6, IPV6_DSTOPTS, PADN), 1, False),
}


@pytest.mark.sample(2)
def test_frames_or_the_stack(frames: Server) -> None:
    """Each request gets one reply, in frames if eligible, else through the stack."""
    for name, (address, option, n, plain) in REQUESTS.items():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            if option:
                sock.setsockopt(*option)
            sock.connect((address, frames.port))
            before = int(frames.batching()["udp_batch_received"])
            for i in range(4):
                keys = (KEYS[i:] + KEYS[:i])[:n]
                assert ask(sock, keys) == hits(keys), name
            received = int(frames.batching()["udp_batch_received"]) - before
            assert received == (4 if plain else 0), name


HERE = """
import socket, sys
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(20)
sock.connect((sys.argv[1], int(sys.argv[2])))
sock.send(b"\\0\\1\\0\\0\\0\\1\\0\\0get none\\r\\n")
sys.stdout.buffer.write(sock.recv(100)[8:])
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("address", [Wire.HOST, THERE6, "127.0.0.1", "::1"])
def test_frames_server_asked_by_its_host(frames: Server, address: str) -> None:
    """Packets that do not arrive at the device go through the stack, too."""
    command = ["ip", "netns", "exec", Wire.NAME, sys.executable, "-c", HERE, address]
    done = subprocess.run([*command, str(frames.port)], capture_output=True, check=True)
    assert done.stdout == b"END\r\n"
