# SPDX-License-Identifier: GPL-2.0
"""net.frames: the contents of frames, others who hold them, and who is charged for them."""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import netns_pair
import pytest
import seccomp
from library import KERNEL, Library
from netns_pair import (
    CLIENT4,
    SERVER4,
    Wire,
    drain,
    ethernet,
    frame4,
    frame6,
    ip4,
    ip6,
    memory,
    pseudo4,
    udp,
)

ROOT = Path(__file__).resolve().parents[2]
AsUser = Callable[..., subprocess.CompletedProcess[str]]
USER = 2  # SYSCRIPT_BACKEND_USER
NOJIT = 1  # SYSCRIPT_NOJIT
ECHO = (ROOT / "scripts" / "net" / "udp_echo.lua").read_text()
CONFINED = 0x101  # SYSCRIPT_LUA_ON_CONFINED
# The backend, flags, and engine.
MODES = {
    "kernel": (KERNEL, 0, 0),
    "kernel-interp": (KERNEL, NOJIT, 0),
    "confined": (KERNEL, 0, CONFINED),
    "user": (USER, 0, 0),
    "confined-user": (USER, 0, CONFINED),
}
# Engines and modes times kinds of frames: in the gate each test runs a third of its cases.
pytestmark = pytest.mark.sample(3, spread=True)

# C code handles frames: modes can differ in how their views are compiled.
IN_KERNEL = ["kernel", "confined", pytest.param("kernel-interp", marks=pytest.mark.long)]


SCRIPTS: list[int] = []


class Script:
    """A script in one of the modes, until the test's end."""

    def __init__(self, mode: str, source: str, **more: int) -> None:
        backend, flags, engine = MODES[mode]
        self.library = Library()
        self.fd, text = self.library.register(
            source.encode(), backend=backend, flags=flags, engine=engine, **more
        )
        assert self.fd >= 0, text
        SCRIPTS.append(self.fd)

    def __call__(self, *args: int) -> int:
        count, result = self.library.call(self.fd, *args)
        assert count >= 0, (count, self.error())
        return result

    def fails(self, *args: int) -> str:
        count, _ = self.library.call(self.fd, *args)
        assert count < 0
        return self.error()

    def error(self) -> str:
        return self.library.error(self.fd)

    def printed(self) -> str:
        return self.library.output(self.fd).decode(errors="replace")


@pytest.fixture(autouse=True)
def closed_scripts() -> Iterator[None]:
    yield
    while SCRIPTS:
        os.close(SCRIPTS.pop())


@pytest.fixture(params=[*IN_KERNEL, "user", "confined-user"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["kernel", "confined"])
def kernel(request: pytest.FixtureRequest) -> str:
    """Both engines: the core decides who holds a frame, and for how long."""
    return request.param


@pytest.fixture(scope="module")
def net() -> Iterator[Wire]:
    with netns_pair.wire() as made:
        yield made


@pytest.fixture
def far(net: Wire) -> Iterator[socket.socket]:
    """The server's packet socket."""
    with net.server.packet("far") as sock:
        yield sock


@pytest.fixture
def near(net: Wire) -> Iterator[socket.socket]:
    """The client's packet socket, which sees everything that comes back."""
    with net.client.packet("near") as sock:
        yield sock


def queued(sock: socket.socket, n: int) -> int:
    """Waits for n more frames; returns how many were dropped for lack of room."""
    seen = dropped = 0
    while seen < n:  # A busy thread may deliver them late.
        counts = struct.unpack("II", sock.getsockopt(263, 6, 8))  # PACKET_STATISTICS
        seen, dropped = seen + counts[0], dropped + counts[1]
    return dropped


def arrived(sock: socket.socket, n: int = 1) -> list[bytes]:
    """The n frames that come from the server; a busy thread may deliver them late."""
    found: list[bytes] = []
    while len(found) < n:
        frame = sock.recv(65536)
        found += [frame] * (frame[:6] == netns_pair.CLIENT_MAC)
    return found + [frame for frame in drain(sock) if frame[:6] == netns_pair.CLIENT_MAC]


# -- Datagrams ----------------------------------------------------------------


@pytest.mark.parametrize("family", [4, 6])
def test_echo(mode: str, net: Wire, far: socket.socket, family: int) -> None:
    """Datagrams of all lengths, including odd ones, through real sockets and checksums."""
    echo = Script(mode, ECHO)
    with net.to_server(7, family) as client:
        for size in (0, 1, 2, 17, 18, 63, 64, 500, 501, 1400, 1452):
            payloads = [os.urandom(size) for _ in range(16)]
            for payload in payloads:
                client.send(payload)
            assert echo(far.fileno(), 7, 16, 30000) == 16
            assert [client.recv(2000) for _ in payloads] == payloads
        assert drain(client) == []


def test_many(mode: str, net: Wire, far: socket.socket) -> None:
    """Thousands, while they arrive: batches of all sizes, and compiled code."""
    echo = Script(mode, ECHO)
    answered: list[int] = []
    server = threading.Thread(target=lambda: answered.append(echo(far.fileno(), 7, 3000, 10000)))
    server.start()
    with net.to_server(7) as client:
        for i in range(300):
            sent = [struct.pack("!II", i, j) for j in range(10)]
            for payload in sent:
                client.send(payload)
            assert [client.recv(100) for _ in sent] == sent
    server.join(30)
    assert answered == [3000]


def test_reply_headers(mode: str, net: Wire, far: socket.socket, near: socket.socket) -> None:
    """Each field of a reply; nothing of the request leaks into it."""
    echo = Script(mode, ECHO)
    near.send(frame4(b"odd", fragment=0x4000))
    assert echo(far.fileno(), 7, 1, 30000) == 1
    (reply,) = arrived(near)
    assert reply[:14] == netns_pair.CLIENT_MAC + netns_pair.SERVER_MAC + b"\x08\x00"
    header = reply[14:34]
    assert header[:10] == struct.pack("!BBHHHBB", 0x45, 0, 31, 0, 0x4000, 64, 17)
    assert netns_pair.checksum(header) == 0
    assert header[12:] == socket.inet_aton(SERVER4) + socket.inet_aton(CLIENT4)
    assert reply[34:40] == struct.pack("!HHH", 7, 1234, 11)
    assert reply[42:] == b"odd"


def bad_sum(frame: bytes) -> bytes:
    """The frame with a byte of the payload changed on the way."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


GOOD = frame4(b"payload")
# Malformed, or not UDP datagrams for the script: udp() finds nothing in these.
NO_DATAGRAMS = {
    "arp": ethernet(0x0806, bytes(46)),
    "tcp": frame4(b"payload", protocol=6),
    "version": frame4(b"payload", version=5),
    "options": ethernet(0x0800, ip4(udp(b"payload", pseudo4()), options=b"\x01" * 4)),
    "ihl-beyond": frame4(b"payload", ihl=15),
    "ihl-short": frame4(b"payload", ihl=4),
    "first-fragment": frame4(b"payload", fragment=0x2000),
    "last-fragment": frame4(b"payload", fragment=1),
    "total-beyond": frame4(b"payload", total=2000),
    "total-short": frame4(b"payload", total=27),
    "total-zero": frame4(b"payload", total=0),
    "header-sum": frame4(b"payload", sum=0x1234),
    "sum": bad_sum(GOOD),
    "from-group": ethernet(0x0800, ip4(udp(b"", pseudo4(source=0xE0000001)), source=0xE0000001)),
    "from-all": ethernet(0x0800, ip4(udp(b"", pseudo4(source=0xFFFFFFFF)), source=0xFFFFFFFF)),
    "from-zero": ethernet(0x0800, ip4(udp(b"", pseudo4(source=0)), source=0)),
    "from-itself": ethernet(0x0800, ip4(udp(b"", pseudo4(source=0x7F000001)), source=0x7F000001)),
    "to-group": ethernet(
        0x0800, ip4(udp(b"", pseudo4(destination=0xE0000001)), destination=0xE0000001)
    ),
    "short-ethernet": ethernet(0x0800, b""),
    "short-ip": GOOD[:33],
    "short-udp": GOOD[:41],
    "cut": GOOD[:-1],
    "udp-length-short": GOOD[:38] + b"\x00\x07" + GOOD[40:],
    "udp-length-beyond": GOOD[:38] + b"\x00\x40" + GOOD[40:],
    "udp-length-less": GOOD[:38] + b"\x00\x0a" + GOOD[40:],
    "broadcast": b"\xff" * 6 + GOOD[6:],
    "ip6-hop-by-hop": ethernet(
        0x86DD, ip6(b"\x11\0\0\0\0\0\0\0" + udp(b"", netns_pair.PSEUDO6), 0)
    ),
    "ip6-fragment": ethernet(0x86DD, ip6(b"\x11\0\0\0\0\0\0\0" + udp(b"", netns_pair.PSEUDO6), 44)),
    "ip6-length-beyond": ethernet(0x86DD, ip6(udp(b"", netns_pair.PSEUDO6), length=100)),
    "ip6-length-zero": ethernet(0x86DD, ip6(udp(b"", netns_pair.PSEUDO6), length=0)),
    "ip6-short": ethernet(0x86DD, ip6(udp(b"", netns_pair.PSEUDO6)))[:50],
    "ip6-sum": bad_sum(frame6(b"payload")),
    "ip6-no-sum": frame6(b"x")[:60] + b"\0\0" + frame6(b"x")[62:],
    "vlan-twice": GOOD[:12] + b"\x81\x00\x00\x05\x81\x00\x00\x05\x08\x00" + GOOD[14:],
}
DATAGRAMS = {
    "plain": GOOD,
    "ip6": frame6(b"payload"),
    "no-sum": GOOD[:40] + b"\0\0" + GOOD[42:],
    "padded": frame4(b"") + b"\x55" * 18,
    "vlan": GOOD[:12] + b"\x81\x00\x00\x05\x08\x00" + GOOD[14:],
    "ip6-padded": frame6(b"") + b"\x55" * 30,
}

LOOK = """
function run(fd, n)
  local port, found = net.frames(fd), 0
  while n > 0 do
    local seen = port:receive(64, 30000)
    if seen < 1 then break end
    for i = 1, seen do
      local at, len = port[i]:udp()
      if at then
        found = found + 1
        port[i]:reply(len)
      end
    end
    port:flush()
    n = n - seen
  end
  return found
end
"""


def test_malformed(mode: str, far: socket.socket, near: socket.socket) -> None:
    """Each is skipped, next to datagrams that are found; and none is answered."""
    look = Script(mode, LOOK)
    for name, frame in NO_DATAGRAMS.items():
        near.send(GOOD)
        near.send(frame)
        near.send(GOOD)
        assert look(far.fileno(), 3) == 2, name
        assert len(arrived(near, 2)) == 2, name
    for name, frame in DATAGRAMS.items():
        near.send(frame)
        assert look(far.fileno(), 1) == 1, name
        assert len(arrived(near)) == 1, name
    assert drain(far) == []


def test_padding_stays_here(mode: str, far: socket.socket, near: socket.socket) -> None:
    """A reply has the datagram's bytes and no padding, and its checksum covers no padding."""
    look = Script(mode, LOOK)
    near.send(DATAGRAMS["padded"])
    assert look(far.fileno(), 1) == 1
    (reply,) = arrived(near)
    assert len(reply) == 42


# -- Views --------------------------------------------------------------------

VIEW = """
local function try(f, ...)
  local ok, message = pcall(f, ...)
  return ok and "done" or message
end

function run(fd)
  local port = net.frames(fd)
  local n = port:receive(8, 30000)
  local f, none = port[1], port[n + 1]
  local len = f:len()
  print(n, len, f:u1(0), f:u2(12), f:u4(26), f:u1(len - 1))
  print(f:str(len - 7, 7), f:find(112), f:find(1, len - 7), f:equals(len - 7, "payload"))
  print(f:equals(len - 7, "payloads"), #f:str(0, len), f:str(len, 0) == "")
  for _, bad in ipairs { -1, len, len + 1, 2^31, 2^32, 2^40, 2^52, -2^52, -2^31 } do
    print(try(f.u1, f, bad), try(f.put1, f, bad, 0), try(f.str, f, bad, 1))
  end
  print(try(f.u2, f, len - 1), try(f.u4, f, len - 3), try(f.str, f, 0, len + 1))
  print(try(f.str, f, 1, 2^52), try(f.str, f, 2^52, 2^52), try(f.find, f, 1, len + 1))
  print(try(f.put1, f, 0, 256), try(f.put2, f, 0, -1), try(f.find, f, 256))
  print(try(f.put, f, 10240, "x"), try(f.put, f, 10241, ""))
  print(try(f.fill, f, 0, 0, 10241), try(f.fill, f, 2^40, 0, 1), try(f.fill, f, 0, 0, -1))
  print(try(none.u1, none, 0), try(none.len, none), try(none.send, none))
  print(try(f.reply, f, 0), try(f.ports, f), try(f.set_source, f, "abcd", 1))
  print(try(f.len, port), try(f.len, {}), try(f.len, 1), try(port.receive, f), try(f.send, f, f))
  print(getmetatable(f), getmetatable(port), try(function() f.x = 1 end), f.nothing)
  print(f.__index, f.__metatable, port.__index, pcall(setmetatable, port, {}))
  f:put(0, f:str(6, 6) .. f:str(0, 6))
  f:put1(len - 7, 80)
  f:put2(12, 0x88b5)
  f:put4(14, 0xdeadbeef)
  f:put(len + 10, "end")
  f:fill(len + 13, 42, 2)
  print(f:send(), try(f.len, f), port:flush(), port:flush())
  return 0
end
"""

OUTSIDE = "not within the frame's 49 bytes"
GONE = "no frame here: it was sent, or dropped by a later receive"


def test_views(mode: str, far: socket.socket, near: socket.socket) -> None:
    view = Script(mode, VIEW)
    near.send(GOOD)
    view(far.fileno())
    lines = view.printed().replace("test:3: ", "").splitlines()
    assert lines[0].split("\t") == ["1", "49", "2", "2048", "168361985", "100"]
    assert lines[1].split("\t") == ["payload", "42", "nil", "true"]
    assert lines[2].split("\t") == ["false", "49", "true"]
    for line in lines[3:12]:
        for message in line.split("\t"):
            assert OUTSIDE in message or "beyond the integers" in message, line
    for line in lines[12:14]:
        assert all(OUTSIDE in message for message in line.split("\t")), line
    assert all("number out of range" in m for m in lines[14].split("\t"))
    assert all("no room" in m for m in lines[15].split("\t"))
    assert all("no room" in m or "out of range" in m for m in lines[16].split("\t")), lines[16]
    assert all(GONE in m for m in lines[17].split("\t"))
    assert all("udp() has found no datagram here" in m for m in lines[18].split("\t"))
    assert all("expected" in m for m in lines[19].split("\t")), lines[19]
    assert lines[20].split("\t")[:2] == ["frame", "port"]
    assert "index" in lines[20].split("\t")[2]
    assert lines[20].split("\t")[3] == "nil"
    assert lines[21].startswith("nil\tnil\tnil\tfalse")
    assert lines[22] == f"true\t{GONE}\t1\t0"
    (sent,) = arrived(near)
    body = bytearray(GOOD[14:])
    body[:4], body[-7] = b"\xde\xad\xbe\xef", ord("P")
    assert sent[12:] == b"\x88\xb5" + bytes(body) + bytes(10) + b"end**"


GROWN = """
function run(fd, size)
  local port = net.frames(fd)
  port:receive(1, 30000)
  local f = port[1]
  local at, len = f:udp()
  f:put(at, string.rep("a", size))
  local ok, message = pcall(f.reply, f, size + 1)
  assert(not ok and message:find("payload is shorter"))
  f:reply(size)
  return port:flush()
end
"""


def test_longer_replies(mode: str, net: Wire, far: socket.socket) -> None:
    """Longer replies get room, which is charged, and arrive complete."""
    grown = Script(mode, GROWN)
    with net.to_server(7) as client:
        for size in (10, 100, 200, 300, 700, 1000, 1472):
            client.send(b"?")
            assert grown(far.fileno(), size) == 1
            assert client.recv(2000) == b"a" * size
            assert memory(far)["rmem"] == memory(far)["wmem"] == 0
        client.send(b"?")
        assert grown(far.fileno(), 1473) == -errno.EMSGSIZE


STRUCTURES = """
local ethhdr = util.struct "uint8_t dest[6], source[6]; __be16 proto;"
local iphdr = util.struct [[
  uint8_t vihl, tos; __be16 tot_len, id, frag_off; uint8_t ttl, protocol; uint16_t check;
  struct { uint8_t byte[4]; } address[2];]]
local udphdr = util.struct "__be16 source, dest, len; uint16_t check;"
local big = util.struct "uint64_t host; __be64 net; __s8 tiny; uint8_t bytes[3]; __be32 word;"

local function try(f, ...)
  local ok, message = pcall(f, ...)
  return ok and "done" or message
end

local function headers(f, n)
  local eth, ip, udp, sum = ethhdr(f), iphdr(f, 14), udphdr(f, 34), 0
  for i = 1, n do
    assert(eth.proto == 0x800 and ip.tot_len == 35 and udp.len == 15)
    ip.ttl = i % 256
    udp.source = i
    ip.address[i % 2 + 1].byte[i % 4 + 1] = i % 256
    sum = sum + ip.ttl + udp.source + ip.address[i % 2 + 1].byte[i % 4 + 1]
  end
  return sum
end

function run(fd)
  local port = net.frames(fd)
  port:receive(1, 30000)
  local f = port[1]
  print(headers(f, 200))
  local eth, udp, ends = ethhdr(f), udphdr(f, 34), udphdr(f, f:len() - 7)
  print(ends.source, try(function() return ends.check end), try(function() ends.check = 1 end))
  for _, off in ipairs { 2^31, 2^32, 2^40, 2^52, -1, 0.5 } do
    print(try(function() return udphdr(f, off).check end))
  end
  print(try(function() udp.len = 65536 end), try(function() return udp.nothing end),
        try(function() return eth.dest[7] end), try(function() eth.dest[0.5] = 1 end),
        try(function() eth.dest = "1234567" end), try(function() eth.dest = 1 end),
        try(function() local v = udphdr(port) end),
        try(function() return syscall.read(fd, udp, 8) end))
  udp.check = -1
  eth.dest, eth.source = f:str(6, 6), "ab"
  local list = udphdr(f, 34, 1)
  list[1].len = 0x1234
  print(udp.check, f:str(6, 6) == "ab\\0\\0\\0\\0", list[1].dest, udp[0] == f,
        try(function() return list[2] end))
  local b = big(f, 16)
  b.host, b.net, b.tiny, b.bytes, b.word = 2^40 + 5, 2^40 + 7, -3, "xy", 0x01020304
  print(f:str(16, 24) == big.pack { host = 2^40 + 5, net = 2^40 + 7, tiny = -3,
        bytes = "xy", word = 0x01020304 }, b.host, b.net, b.tiny, b.bytes[2], b.word)
  f:put(24, "\\127" .. ("\\255"):rep(7))
  print(try(function() return b.net end))
  f:send()
  print(try(function() return udp.len end), try(function() udp.len = 1 end))
  port:build("\\1\\2\\3\\4\\5\\6\\7\\8")
  local g = udphdr(port[2])
  print(g.source, port:receive(1, 0), try(function() return g.source end))
  return 0
end
"""


def test_structures(mode: str, far: socket.socket, near: socket.socket) -> None:
    """Views of util.struct, over a frame as over memory, and no byte beyond it."""
    structures = Script(mode, STRUCTURES)
    near.send(GOOD)
    structures(far.fileno())
    text = structures.printed()
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0] == [str(3 * sum(range(1, 201)))]
    assert lines[1][0] == str(0x7061) and all(OUTSIDE in message for message in lines[1][1:])
    for line in lines[2:6]:
        assert OUTSIDE in line[0], line
    assert all("bad offset" in line[0] for line in lines[6:8])
    wrong = (
        "number out of range",
        "no field 'nothing'",
        "index 7 is outside 1 .. 6",
        "index 0.5 is outside",
        "7 bytes are too many",
        "'dest' is not a scalar",
        "frame expected",
        "not a view of memory",
    )
    for message, expected in zip(lines[8], wrong, strict=True):
        assert expected in message
    assert lines[9][:4] == ["65535", "true", "7", "true"] and "index 2 is" in lines[9][4]
    assert lines[10] == ["true", "1099511627781", "1099511627783", "-3", "121", "16909060"]
    assert "does not fit a number" in lines[11][0]
    assert all(GONE in message for message in lines[12])
    assert lines[13][:2] == ["258", "0"] and GONE in lines[13][2]
    (sent,) = arrived(near)
    assert sent[6:12] == b"ab" + bytes(4) and sent[36:40] == b"\x01\x02\x03\x04"


FREE_VIEWS = """
local udphdr = util.struct "__be16 source, dest, len; uint16_t check; uint8_t data[4];"
function run(fd)
  local port, sum = net.frames(fd), 0
  local f = port:build(("\\1"):rep(60))
  local function loop()
    for i = 1, 10000 do
      local udp = udphdr(f, 34)
      udp.len, udp.data[2] = i, 1
      sum = sum + udp.len + udp.data[2]
    end
  end
  loop()
  collectgarbage("stop")
  local before = collectgarbage("count")
  loop()
  return math.floor(collectgarbage("count") - before)
end
"""


@pytest.mark.parametrize("how", ["kernel", "user"])
def test_structures_for_nothing(far: socket.socket, how: str) -> None:
    """A compiled loop creates no view, and calls functions for loads and stores."""
    assert Script(how, FREE_VIEWS)(far.fileno()) < 10


LOOKED_AT = """
local other = { base = 100 }
function other:u1(at) return self.base + at end
function other:len() return 5 end
function other:find(byte, at) return byte + at end

local function look(x, byte) return x:u1(2), x:len(), (x:find(byte, 1)) end
local function is(x, byte, ...)
  local found = { look(x, byte) }
  for i = 1, 3 do assert(found[i] == (select(i, ...)), i .. ": " .. tostring(found[i])) end
end

function run(fd)
  local port = net.frames(fd)
  local f, g = port:build(("abcdefgh"):rep(2)), port:build("xyz" .. ("-"):rep(12))
  for _ = 1, 20 do
    is(f, 99, 99, 16, 2)
    is(g, 122, 122, 15, 2)
    is(other, 7, 102, 5, 8)
    for _, x in ipairs { "text", 1, true, print, port } do assert(not pcall(look, x, "t")) end
    assert(not pcall(look, nil))
    assert(#{ f:len(), g:len() } == 2 and select("#", g:u1(0), f:u2(0)) == 2)
  end
  string.u1 = string.byte
  is("text", "x", 101, 4, 3)
  is(g, 1, 122, 15, nil)
  f:send()
  local ok, message = pcall(look, f, 1)
  assert(not ok and message:find("no frame here", 1, true), message)
  is(g, 120, 122, 15, nil)
  g:send()
  assert(not pcall(look, g, 1))
  return port:flush()
end
"""


def test_what_else_has_such_methods(mode: str, far: socket.socket) -> None:
    """Functions for frames are compiled for them, and called with other objects as well."""
    assert Script(mode, LOOKED_AT)(far.fileno()) == 2


EDGES = """
local function cut(x, off, n) return (x:str(off, n)) end
local function set(x, off, s) x:put(off, s) return x:len() end
local function answer(x, n) return (x:reply(n)) end
local other = {}
function other:str(off, n) return off + n end
function other:put(off, s) self.text = s end
function other:len() return 3 end
function other:reply(n) return n end
local head = ("\\2"):rep(12) .. "\\8\\0\\69" .. ("\\0"):rep(8) .. "\\17" .. ("\\1"):rep(18)

local function strings(port)
  local f = port:build("abcdef")
  assert(cut(f, 0, 6) == "abcdef" and cut(f, 2, 3) == "cde" and cut(f, 6, 0) == "")
  for _, at in ipairs { { 7, 0 }, { 0, 7 }, { 6, 1 }, { -1, 1 }, { 0, -1 }, { 2^40, 1 },
                        { 1, 2^40 }, { 2^52, 2^52 }, { 0, "x" }, { 0 } } do
    assert(not pcall(cut, f, at[1], at[2]))
  end
  f:send()
  assert(not pcall(cut, f, 0, 0))
end

local function puts(port)
  local f, g = port:build("abcdef"), port:build("")
  assert(set(f, 1, "XY") == 6 and set(f, 4, "Z") == 6 and set(f, 6, "") == 6)
  assert(set(f, 6, "gh") == 8 and set(f, 10, "k") == 11 and f:str(0, 11) == "aXYdZfgh\\0\\0k")
  assert(set(f, 11, ("m"):rep(1000)) == 1011 and f:str(9, 4) == "\\0kmm" and f:u1(1010) == 109)
  assert(set(g, 0, "last") == 4 and cut(g, 0, 4) == "last" and cut(f, 0, 2) == "aX")
  assert(not pcall(set, f, -1, "x") and not pcall(set, f, 10240, "x") and not pcall(set, f, 0, nil))
  assert(not pcall(set, f, 0, ("x"):rep(10241)) and not pcall(set, f, 2^52, "x"))
  assert(set(f, 0, 12) == 1011 and f:str(0, 3) == "12Y")
  f:put(0, "old")
  f:put(0, 345)
  assert(f:str(0, 3) == "345")
  f:send() g:send()
  assert(not pcall(set, f, 0, ""))
end

local function datagram(port)
  local f = port:build(head .. "payload")
  assert(f:headers() == 42)
  return f
end

local function replies(port)
  local f = port:build(head)
  assert(not pcall(answer, f, 0))
  f = datagram(port)
  for _, n in ipairs { 8, -1, 10241, 2^40, 2^52, "x" } do assert(not pcall(answer, f, n)) end
  assert(answer(f, 7) == true and not pcall(answer, f, 7))
  local g, last = datagram(port), datagram(port)
  assert(answer(g, 0) == true and not pcall(cut, g, 0, 0))
  port:flush()
  for _ = 1, 50 do last:put(0, head) end
  assert(answer(last, 3) == true)
end

function run(fd)
  local port = net.frames(fd)
  assert(not pcall(cut, port[1], 0, 0))
  for _ = 1, 3 do
    strings(port)
    puts(port)
    replies(port)
    assert(cut(other, 1, 2) == 3 and set(other, 1, "t") == 3 and answer(other, 5) == 5)
    assert(not pcall(cut, "text", 1, 2) and not pcall(set, port, 1, "t"))
    assert(not pcall(answer, nil, 5))
    port:flush()
    port:receive(1, 0)
  end
  return 1
end
"""


def test_edges_of_compiled_methods(mode: str, far: socket.socket) -> None:
    """They take the methods' place only for what the frame has."""
    assert Script(mode, EDGES)(far.fileno()) == 1
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


BUILT = """
local bytes = string.rep("\\2", 12) .. "\\x88\\xb5"
function run(fd, n)
  local port = net.frames(fd)
  for i = 1, n do
    local f, err = port:build(bytes)
    if not f then return err end
    f:put(20, "built")
    f:send()
  end
  local f = port:build("")
  assert(not pcall(f.u1, f, 0) and f:len() == 0)
  return port:flush()
end
"""


def test_build(mode: str, far: socket.socket, near: socket.socket) -> None:
    built = Script(mode, BUILT)
    assert built(far.fileno(), 3) == 3
    frames: list[bytes] = []
    while len(frames) < 3:
        frames += [frame for frame in [near.recv(100)] if frame[12:14] == b"\x88\xb5"]
    assert frames == [b"\2" * 12 + b"\x88\xb5" + bytes(6) + b"built"] * 3
    assert built(far.fileno(), 65) == -errno.ENOBUFS
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


GROWING = """
function run(fd)
  local port = net.frames(fd)
  local f = port:build(("\\2"):rep(12) .. "\\x88\\xb5head")
  for i = 1, 140 do
    f:put(8 + 10 * i, string.char(i):rep(10))
    assert(f:len() == 18 + 10 * i and f:str(14, 5) == "head\\1")
  end
  f:send()
  return port:flush()
end
"""


def test_growing(mode: str, far: socket.socket, near: socket.socket) -> None:
    """Bit by bit, into the headroom and into new memory."""
    assert Script(mode, GROWING)(far.fileno()) == 1
    frame = b""
    while frame[12:14] != b"\x88\xb5":
        frame = near.recv(2000)
    assert frame[14:] == b"head" + b"".join(bytes([i]) * 10 for i in range(1, 141))
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


MEMORY = """
-- What comes is copied out; its answer is made of that, and of other memory.
function run(fd, memory, payload, len, n)
  local port = net.frames(fd)
  for i = 1, n do
    if port:receive(1, 30000) ~= 1 then return -i end
    local f = port[1]
    local at, got = f:udp()
    f:copyout(0, at + got, memory)
    local g = assert(port:build(memory, at))
    assert(g:len() == at and g:headers() == at)
    g:put(at, util.str_in(payload, len))
    assert(g:headers() == at)
    g:reply(len)
    if port:flush() ~= 1 then return -1000 - i end
  end
  local f = port:build("short")
  assert(f:headers() == nil and not pcall(f.reply, f, 0))
  assert(not pcall(f.copyout, f, 0, 6, memory) and not pcall(f.copyout, f, 0, 5, 16))
  assert(not pcall(port.build, port, 16, 5))
  local none, err = port:build(memory, 10241)
  assert(none == nil and err == -errno.EMSGSIZE)
  return n
end
"""


@pytest.mark.parametrize("family", [4, 6])
def test_memory_of_the_process(mode: str, net: Wire, far: socket.socket, family: int) -> None:
    """Frames copied to and from process memory, as in a server that parses them itself."""
    copy = Script(mode, MEMORY)
    memory_, answer = ctypes.create_string_buffer(2048), ctypes.create_string_buffer(b"answer")
    with net.to_server(7, family) as client:
        for _ in range(100):
            client.send(b"question")
        where = ctypes.addressof(memory_), ctypes.addressof(answer)
        assert copy(far.fileno(), *where, 6, 100) == 100
        assert memory_.raw.rstrip(b"\0").endswith(b"question")
        assert [client.recv(100) for _ in range(100)] == [b"answer"] * 100
        assert memory(far)["rmem"] == memory(far)["wmem"] == 0


# -- Who else has a frame -------------------------------------------------------


def test_taps_stay_whole(mode: str, net: Wire, far: socket.socket, near: socket.socket) -> None:
    """Copies of a frame that others hold are not written to, whether made before or after."""
    echo = Script(mode, ECHO)
    with net.server.packet("far") as tap, net.to_server(7) as client:
        payloads = [os.urandom(100) for _ in range(8)]
        for payload in payloads:
            client.send(payload)
        assert echo(far.fileno(), 7, 8, 30000) == 8
        assert [client.recv(200) for _ in payloads] == payloads
        for seen in (drain(tap), drain(near)):
            requests = [frame for frame in seen if frame[:6] == netns_pair.SERVER_MAC]
            assert [frame[42:] for frame in requests] == payloads
            assert {frame[26:34] for frame in requests} == {
                socket.inet_aton(CLIENT4) + socket.inet_aton(SERVER4)
            }


def test_files_stay_whole(mode: str, net: Wire, far: socket.socket, tmp_path: Path) -> None:
    """sendfile(2) puts a file's own pages into frames."""
    overwrite = Script(
        mode,
        """
        function run(fd)
          local port = net.frames(fd)
          port:receive(1, 30000)
          local at, len = port[1]:udp()
          port[1]:fill(at, 88, len)
          port[1]:reply(len)
          return port:flush()
        end""",
    )
    path = tmp_path / "file"
    content = os.urandom(1024)
    path.write_bytes(content)
    with path.open("rb") as file, net.to_server(7) as client:
        assert os.sendfile(client.fileno(), file.fileno(), 0, 1024) == 1024
        assert overwrite(far.fileno()) == 1
        assert client.recv(2000) == b"X" * 1024
        assert os.pread(file.fileno(), 1024, 0) == content


def test_peekers(kernel: str, net: Wire, far: socket.socket) -> None:
    """A reader that peeks at the queue also holds the frame while a script writes to it."""
    echo, over = Script(kernel, ECHO), threading.Event()
    torn: list[bytes] = []

    def peek() -> None:
        while not over.is_set():
            try:
                frame = far.recv(2000, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            if frame[:6] != netns_pair.SERVER_MAC or frame[26:30] != socket.inet_aton(CLIENT4):
                torn.append(frame)

    peeker = threading.Thread(target=peek)
    peeker.start()
    with net.to_server(7) as client:
        for _ in range(200):
            for _ in range(8):
                client.send(b"x" * 1000)
            assert echo(far.fileno(), 7, 8, 30000) == 8
            for _ in range(8):
                client.recv(2000)
    over.set()
    peeker.join()
    assert torn == []


def test_gso(kernel: str, net: Wire, far: socket.socket) -> None:
    """A script receives a GSO frame as separate datagrams."""
    echo = Script(kernel, ECHO)
    with net.to_server(7) as client:
        client.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
        payload = os.urandom(1450)
        client.send(payload)
        assert echo(far.fileno(), 7, 15, 30000) == 15
        found = [client.recv(2000) for _ in range(15)]
        assert b"".join(found) == payload
        assert {len(part) for part in found[:-1]} == {100}
        client.send(b"alone")
        client.send(payload)
        queued(far, 2)
        once = Script(kernel, "function run(fd) return net.frames(fd):receive(64, 30000) end")
        assert once(far.fileno()) == 16
        assert memory(far)["rmem"] == 0


BURST = """
-- One frame n times, in one section of the device's work.
function run(fd, frame, len, n)
  local port = net.frames(fd)
  local bytes = util.str_in(frame, len)
  for i = 1, n do port:build(bytes):send() end
  return port:flush()
end
"""


ETHTOOL_STSO, ETHTOOL_SGRO = 0x1F, 0x2C


def set_feature(where: netns_pair.Namespace, device: bytes, feature: int, on: bool) -> None:
    command = ctypes.create_string_buffer(struct.pack("II", feature, on))
    request = struct.pack("16sP16x", device, ctypes.addressof(command))
    with where.udp() as sock:
        fcntl.ioctl(sock, 0x8946, request)  # SIOCETHTOOL


def test_gro(kernel: str, net: Wire, far: socket.socket, near: socket.socket) -> None:
    """Datagrams merged by the receiving device (GRO) are separate again."""
    burst, echo = Script(kernel, BURST), Script(kernel, ECHO)
    frame = ctypes.create_string_buffer(frame4(b"put together", fragment=0x4000))
    # Frames that one driver segmented must not be merged by the other.
    set_feature(net.client, b"near", ETHTOOL_STSO, False)
    set_feature(net.server, b"far", ETHTOOL_SGRO, True)
    try:
        with (
            net.server.packet("far") as tap,
            net.client.udp(CLIENT4, 1234) as client,
            net.server.udp("0.0.0.0", 7) as asks,
        ):
            asks.setsockopt(socket.IPPROTO_UDP, 104, 1)  # UDP_GRO
            assert burst(near.fileno(), ctypes.addressof(frame), len(frame) - 1, 16) == 16
            assert len(tap.recv(65536)) > 2 * len(frame)
            assert echo(far.fileno(), 7, 16, 30000) == 16
            assert [client.recv(100) for _ in range(16)] == [b"put together"] * 16
            assert memory(far)["rmem"] == 0
    finally:
        set_feature(net.server, b"far", ETHTOOL_SGRO, False)
        set_feature(net.client, b"near", ETHTOOL_STSO, True)


def iptables(net: Wire, rule: str) -> str:
    return net.server.run(["iptables", *rule.split()])


@pytest.fixture
def looped(net: Wire) -> Iterator[None]:
    """Addresses on the server's loopback device, where frames keep the sender's metadata.

    Other devices drop the metadata on the way.
    """
    addresses = [f"10.6.0.{last}/32 dev lo" for last in (1, 2)]
    net.server.ip(*(f"address add {each}" for each in addresses))
    net.server.sysctl("ipv4/conf/lo/accept_local", 1)
    yield
    net.server.ip(*(f"address del {each}" for each in addresses))


# ldh [12], 0x800; ldb [23], 17; ldh [36], 7: IPv4, UDP, the port.
TO_SEVEN = [
    *((0x28, 0, 0, 12), (0x15, 0, 5, 0x800), (0x30, 0, 0, 23), (0x15, 0, 3, 17)),
    *((0x28, 0, 0, 36), (0x15, 0, 1, 7), (0x6, 0, 0, 0xFFFF), (0x6, 0, 0, 0)),
]
# How a script gets frames: where the stack must not see the port, or from the stack.
PORTS = {"copied": "net.frames(fd)", "taken": "net.frames(fd, false, true)"}


@pytest.fixture(params=PORTS)
def seven(request: pytest.FixtureRequest, net: Wire, looped: None) -> Iterator[socket.socket]:
    """A packet socket for port 7 on that device."""
    ingress = "qdisc {} dev lo ingress"
    drop = "filter add dev lo parent ffff: protocol ip u32 match ip dport 7 0xffff action drop"
    if request.param == "copied":
        net.server.tc(ingress.format("add"))
        net.server.tc(drop)
    try:
        with net.server.packet(
            "lo", netns_pair.ETH_P_ALL if request.param == "copied" else 0
        ) as lo:
            set_filter(lo, *TO_SEVEN)
            yield lo
    finally:
        if request.param == "copied":
            net.server.tc(ingress.format("del"))


@pytest.fixture
def opened(request: pytest.FixtureRequest, mode: str) -> str:
    """The script's expression for its port there."""
    how = request.node.callspec.params["seven"]
    if how == "taken" and mode.endswith("user"):
        pytest.skip("processes take no frames from the stack")
    return PORTS[how]


@contextlib.contextmanager
def accepted_only(net: Wire, datagrams: str, match: str, n: int) -> Iterator[None]:
    """The receiver's stack accepts n of these datagrams, matching a rule, and no others."""
    rules = [f"INPUT -i lo -p udp {datagrams} -m {match} -j ACCEPT"]
    rules += [f"INPUT -i lo -p udp {datagrams} -j DROP"]
    for rule in rules:
        iptables(net, f"-A {rule}")
    try:
        yield
        accepted, dropped = iptables(net, "-nvxL INPUT").splitlines()[2:]
        assert (accepted.split()[0], dropped.split()[0]) == (str(n), "0")
    finally:
        for rule in rules:
            iptables(net, f"-D {rule}")


@pytest.mark.sample(2)
def test_conntrack(mode: str, net: Wire, seven: socket.socket, opened: str) -> None:
    """A reply carries nothing of its request's tracked flow: its receiver looks the flow up."""
    echo = Script(mode, ECHO.replace(PORTS["copied"], opened))
    with (
        accepted_only(net, "--sport 7", "conntrack --ctstate ESTABLISHED", 20),
        net.server.udp("10.6.0.1") as client,
    ):
        client.connect(("10.6.0.2", 7))
        echo(seven.fileno(), 7, 0, 0)
        for i in range(20):
            client.send(b"%d" % i)
        assert echo(seven.fileno(), 7, 20, 30000) == 20
        assert [client.recv(100) for _ in range(20)] == [b"%d" % i for i in range(20)]


FORWARD = """
-- What comes for port 7 goes to port 8.
function run(fd, n)
  local port, sent = net.frames(fd), 0
  while sent < n do
    local seen = port:receive(16, 30000)
    if seen < 1 then break end
    for i = 1, seen do
      local f = port[i]
      if f:udp() and select(2, f:ports()) == 7 then
        f:set_destination("\\10\\6\\0\\2", 8)
        f:send()
      end
    end
    sent = sent + math.max(port:flush(), 0)
  end
  return sent
end
"""


@pytest.mark.sample(2)
def test_conntrack_of_forwarded(mode: str, net: Wire, seven: socket.socket, opened: str) -> None:
    """A redirected packet belongs to its new flow, not to the one of its first address."""
    forward = Script(mode, FORWARD.replace(PORTS["copied"], opened))
    with (
        accepted_only(net, "--dport 8", "conntrack --ctorigdstport 8", 20),
        net.server.udp("10.6.0.1") as client,
        net.server.udp("10.6.0.2", 8) as server,
    ):
        client.connect(("10.6.0.2", 7))
        forward(seven.fileno(), 0)
        for i in range(20):
            client.send(b"%d" % i)
        assert forward(seven.fileno(), 20) == 20
        # In any order: a thread that sends over veth from two CPUs uses two queues.
        assert {server.recv(100) for _ in range(20)} == {b"%d" % i for i in range(20)}


@pytest.mark.sample(2)
def test_marks(mode: str, net: Wire, seven: socket.socket, opened: str) -> None:
    """A reply has its own socket's mark, not the sender's."""
    echo = Script(mode, ECHO.replace(PORTS["copied"], opened))
    seven.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 5)
    with (
        accepted_only(net, "--sport 7", "mark --mark 5", 3),
        net.server.udp("10.6.0.1") as client,
    ):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
        client.connect(("10.6.0.2", 7))
        echo(seven.fileno(), 7, 0, 0)
        for _ in range(3):
            client.send(b"marked")
        assert echo(seven.fileno(), 7, 3, 30000) == 3
        assert [client.recv(100) for _ in range(3)] == [b"marked"] * 3


def test_filters_on_the_way_out(mode: str, net: Wire, far: socket.socket) -> None:
    """Filters that an administrator attached to a device see the frames that scripts send."""
    echo = Script(mode, ECHO)
    drop = "matchall action drop"
    net.server.tc("qdisc add dev far clsact")
    try:
        with net.to_server(7) as client:
            net.server.tc(f"filter add dev far egress {drop}")
            client.send(b"dropped")
            assert echo(far.fileno(), 7, 1, 30000) == 1
            net.server.tc("filter del dev far egress")
            client.send(b"passed")
            assert echo(far.fileno(), 7, 1, 30000) == 1
            assert client.recv(100) == b"passed"
    finally:
        net.server.tc("qdisc del dev far clsact")


def crc32c(data: bytes) -> int:
    """SCTP's checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("how", IN_KERNEL)
def test_sctp(net: Wire, far: socket.socket, how: str) -> None:
    """Its checksum, left to the device, is a CRC, not a sum to complete."""
    copy = Script(
        how,
        """
        function run(fd, memory)
          local port = net.frames(fd)
          while port:receive(1, 30000) == 1 do
            local f = port[1]
            if f:u2(12) == 0x0800 and f:u1(23) == 132 then
              f:copyout(0, f:len(), memory)
              return f:len()
            end
          end
        end""",
    )
    with net.client.inside():
        try:
            sctp = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
        except OSError:
            pytest.skip("the kernel is without SCTP")
    sctp.setblocking(False)
    seen = ctypes.create_string_buffer(2000)
    with sctp, pytest.raises(BlockingIOError):
        sctp.connect((SERVER4, 9))
    length = copy(far.fileno(), ctypes.addressof(seen))
    packet = seen.raw[34:length]
    assert struct.unpack("<I", packet[8:12])[0] == crc32c(packet[:8] + bytes(4) + packet[12:])


def test_vlan(mode: str, net: Wire, far: socket.socket) -> None:
    """A tag that the device removed from the frame is restored in the reply."""
    net.client.ip("link add link near name near.5 type vlan id 5")
    try:
        net.client.ip(
            "address add 10.8.0.1/24 dev near.5",
            "link set near.5 up",
            f"neigh add 10.8.0.2 lladdr {netns_pair.SERVER_MAC.hex(':')} dev near.5",
        )
        tagged = Script(
            mode,
            """
            function run(fd)
              local port = net.frames(fd)
              local n = port:receive(64, 30000)
              for i = 1, n do
                local at, len = port[i]:udp()
                if at and port[i]:vlan() then
                  local protocol, tag = port[i]:vlan()
                  port[i]:reply(len)
                  port:flush()
                  return protocol * 65536 + tag
                end
              end
            end""",
        )
        tagged(far.fileno()) if drain(far) else None
        with net.client.udp("10.8.0.1") as client:
            client.connect(("10.8.0.2", 7))
            client.send(b"tagged")
            assert tagged(far.fileno()) == 0x81000005
            assert client.recv(100) == b"tagged"
    finally:
        net.client.ip("link del near.5")


# -- Who pays -------------------------------------------------------------------

HOLD = """
function run(fd, pipe)
  local port = net.frames(fd)
  local n = port:receive(64)
  local b = util.buffer(16)
  syscall.write(pipe, b, 1)
  syscall.read(pipe, b, 1)
  return n
end
"""


def test_charged_to_the_receiver(kernel: str, net: Wire, far: socket.socket) -> None:
    """Frames that a script holds fill its socket's buffer, and no other's."""
    hold = Script(kernel, HOLD)
    ours, theirs = socket.socketpair()
    ours.settimeout(30)
    got: list[int] = []
    with net.to_server(7) as client:
        for _ in range(5):
            client.send(bytes(1000))
        queued(far, 5)
        waiting = memory(far)["rmem"]
        assert waiting > 5000
        holder = threading.Thread(target=lambda: got.append(hold(far.fileno(), theirs.fileno())))
        holder.start()
        ours.recv(1)
        assert memory(far)["rmem"] == waiting
        assert memory(client)["wmem"] == 0
        ours.send(b"+")
        holder.join()
        assert got == [5]
        assert memory(far)["rmem"] == 0


def test_senders_time_stamps(mode: str, net: Wire, far: socket.socket) -> None:
    """Time stamps requested by a frame's sender are not for the socket that sends it back."""
    echo = Script(mode, ECHO)
    with net.to_server(7) as client:
        # SOF_TIMESTAMPING_TX_SOFTWARE, SOF_TIMESTAMPING_SOFTWARE, SOF_TIMESTAMPING_TX_SCHED
        client.setsockopt(socket.SOL_SOCKET, 37, 1 << 1 | 1 << 4 | 1 << 8)
        for _ in range(16):
            client.send(bytes(1000))
        assert echo(far.fileno(), 7, 16, 30000) == 16
        assert client.recv(2000, socket.MSG_ERRQUEUE)
        with pytest.raises(BlockingIOError):
            far.recv(2000, socket.MSG_ERRQUEUE)
        assert memory(far)["rmem"] == 0


def test_overflow(mode: str, net: Wire, far: socket.socket) -> None:
    """Frames that do not fit into the buffer are dropped and counted, as usual."""
    echo = Script(mode, ECHO)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with net.to_server(7) as client:
        for _ in range(100):
            client.send(bytes(500))
        dropped = queued(far, 100)
        answered = echo(far.fileno(), 7, 100, 0)
        assert 0 < answered < 50
        assert dropped >= 100 - answered
        assert [len(client.recv(1000)) for _ in range(answered)] == [500] * answered
        assert drain(client) == []


HOARD = """
function run(fd)
  local port, n = net.frames(fd), 0
  local f, err, last
  repeat
    f, err = port:build(string.rep("x", 1000))
    if f then n, last = n + 1, f end
  until not f
  assert(not pcall(last.put, last, 9000, "x"))
  assert(last:len() == 1000 and last:u1(999) == 120)
  return n * 1000 - err
end
"""


@pytest.mark.parametrize("how", IN_KERNEL)
def test_no_more_than_the_buffer(far: socket.socket, how: str) -> None:
    """New frames and longer ones are refused at the end of the socket's buffer."""
    hoard = Script(how, HOARD)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(3):
        made, error = divmod(hoard(far.fileno()), 1000)
        assert (1 <= made <= 8, error) == (True, errno.ENOBUFS)
        assert memory(far)["rmem"] == 0


SEND = """
local bytes = string.rep("\\2", 12) .. "\\x88\\xb5" .. string.rep("x", 1000)
function run(fd, n)
  local port = net.frames(fd)
  for i = 1, n do assert(port:build(bytes)):send() end
  local sent = port:flush()
  return sent * 1000 + port:flush()
end
"""


def test_full_send_buffer(mode: str, net: Wire, far: socket.socket) -> None:
    """A flush stops at the socket's buffer limit; blocking calls wait."""
    send = Script(mode, SEND)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    far.setblocking(False)
    net.server.tc("qdisc add dev far root tbf rate 1mbit burst 3000 limit 1000000")
    try:
        first, again = divmod(send(far.fileno(), 40), 1000)
        if again > 500:
            first, again = first + 1, again - 1000
        assert 2 <= first <= 20
        # Frames sent meanwhile made room.
        assert again == -errno.EAGAIN or 0 <= again <= 40 - first
        far.setblocking(True)
        assert send(far.fileno(), 40) // 1000 == 40
    finally:
        net.server.tc("qdisc del dev far root")
    assert memory(far) | {"drops": 0} == memory(far) | {"drops": 0, "rmem": 0, "wmem": 0}


def test_refused_sends(mode: str, net: Wire, far: socket.socket) -> None:
    """A frame that the device refuses is lost; the next one is not."""
    lengths = Script(
        mode,
        """
        function run(fd, len)
          local port = net.frames(fd)
          port:build(string.rep("\\2", len)):send()
          local refused = port:flush()
          port:build(string.rep("\\2", len)):send()
          port:build(string.rep("\\2", 60)):send()
          return refused * 1000 + port:flush()
        end""",
    )
    assert lengths(far.fileno(), 13) == -errno.EINVAL * 1000 + 1
    assert lengths(far.fileno(), 1515) == -errno.EMSGSIZE * 1000 + 1
    assert lengths(far.fileno(), 1514) == 1002


# -- Sockets and devices ----------------------------------------------------------


def test_what_is_no_port(mode: str, net: Wire) -> None:
    open_only = Script(mode, "function run(fd) net.frames(fd) return 0 end")
    with net.server.inside():
        unbound = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        cooked = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    cooked.bind(("far", netns_pair.ETH_P_ALL))
    reading, writing = os.pipe()
    for fd, why in (
        (unbound.fileno(), "not bound to a device"),
        (cooked.fileno(), "no packet socket of SOCK_RAW"),
        (plain.fileno(), "no packet socket of SOCK_RAW"),
        (reading, "no socket"),
        (987, "no such descriptor"),
        (-1, "no such descriptor"),
        (1 << 40, "no such descriptor"),
    ):
        assert why in open_only.fails(fd), fd
    for sock in (unbound, cooked, plain):
        sock.close()
    os.close(reading)
    os.close(writing)


def test_many_ports(mode: str, net: Wire) -> None:
    """A program may have at most eight, and keeps them."""
    open_all = Script(
        mode,
        """
        function run(first, n)
          for fd = first, first + n - 1 do net.frames(fd) end
          return n
        end""",
    )
    socks = [net.server.packet("far") for _ in range(9)]
    first = 800
    for i, sock in enumerate(socks):
        os.dup2(sock.fileno(), first + i)
    for _ in range(3):
        assert open_all(first, 8) == 8
    assert "more sockets with frames" in open_all.fails(first, 9)
    for i, sock in enumerate(socks):
        os.close(first + i)
        sock.close()


STATES = """
-- state: 0 as it is, 1 close it, 2 make it another socket
function run(fd, state, other)
  local port = net.frames(fd)
  local n = port:receive(4)
  for i = 1, n do
    local at, len = port[i]:udp()
    port[i]:reply(len)
  end
  if state == 1 then syscall.close(fd) end
  if state == 2 then syscall.dup3(other, fd, 0) end
  return port:flush() * 1000 + port:receive(4, 0)
end
"""


def test_socket_goes(kernel: str, net: Wire, far: socket.socket) -> None:
    """The socket is closed, or replaced, while a script holds frames."""
    states = Script(kernel, STATES)
    with net.to_server(7) as client, net.server.packet("far") as other:
        for state, flush, receive in (
            (0, 2, 0),
            (1, -errno.EBADF, -errno.EBADF),
            (2, -errno.ESTALE, -errno.ESTALE),
        ):
            drain(far)
            client.send(b"one")
            client.send(b"two")
            queued(far, 2)
            fd = os.dup(far.fileno())
            assert states(fd, state, other.fileno()) == flush * 1000 + receive
            assert memory(far)["rmem"] == 0
            if state != 1:
                os.close(fd)
    # The last reference to a socket, dropped while its frames are held.
    gone = net.server.packet("far")
    with net.to_server(7) as client:
        client.send(b"one")
        assert states(gone.detach(), 1, 0) == -errno.EBADF * 1001


def spare(net: Wire) -> None:
    """Add another pair of devices."""
    net.server.ip("link add name one type veth peer name two")
    for name in ("one", "two"):
        net.server.sysctl(f"ipv6/conf/{name}/disable_ipv6", 1)
    net.server.ip("link set one up", "link set two up")


GOES = {
    "down": ("link set one down", errno.ENETDOWN, errno.ENETDOWN),
    "deleted": ("link del one", errno.ENETDOWN, errno.ENXIO),
    "moved": ("link set one netns {}", errno.ENETDOWN, errno.ENXIO),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", GOES)
def test_device_goes(mode: str, net: Wire, how: str) -> None:
    """A waiter is woken, and later sends are refused; frames in hand are freed."""
    command, error, refused = GOES[how]
    waits = Script(
        mode,
        """
        function run(fd, pipe)
          local port = net.frames(fd)
          local n, b = port:receive(1, 5000), util.buffer(16)
          port[1]:send()
          syscall.write(pipe, b, 1)
          syscall.read(pipe, b, 1)
          local sent = port:flush()
          return -n * 1000000 - sent * 1000 - port:receive(1, 10000)
        end""",
    )
    spare(net)
    ours, theirs = socket.socketpair()
    ours.settimeout(30)
    results: list[int] = []
    with net.server.packet("one") as one, net.server.packet("two") as two:
        two.send(b"\xff" * 6 + GOOD[6:])
        call = threading.Thread(target=lambda: results.append(waits(one.fileno(), theirs.fileno())))
        call.start()
        ours.recv(1)
        net.server.ip(command.format(net.client.pid))
        ours.send(b"+")
        call.join(20)
        assert results == [-1000000 + refused * 1000 + error], results
        if mode != "user":
            assert memory(one)["rmem"] == 0
    if how != "deleted":
        (net.client if how == "moved" else net.server).ip("link del one")


def test_namespace_goes(mode: str) -> None:
    """A socket keeps its namespace; when both are gone, a script's run has ended."""
    lonely = Wire()
    sock = lonely.server.packet("far")
    echo = Script(mode, ECHO)
    with lonely.to_server(7) as client:
        client.send(b"last")
        assert echo(sock.fileno(), 7, 1, 30000) == 1
    lonely.close()
    assert echo(sock.fileno(), 7, 1, 10) <= 0
    sock.close()
    assert "no such descriptor" in echo.fails(sock.fileno(), 7, 1, 10)


def test_frames_of_the_host_itself(mode: str, net: Wire, far: socket.socket) -> None:
    """Frames sent by the server's own stack, and those for others, are not received."""
    look = Script(mode, "function run(fd, all) return net.frames(fd, all == 1):receive(64, 0) end")
    with net.server.packet("far") as other, net.client.packet("near") as near:
        other.send(GOOD)
        assert look(far.fileno()) == 0
        for_others = b"\x02\0\0\0\0\x77" + GOOD[6:]
        near.send(for_others)
        assert look(far.fileno()) == 0
        near.send(for_others)
        assert look(far.fileno(), 1) == 1
        near.send(GOOD)
        assert look(far.fileno()) == 1


def set_filter(sock: socket.socket, *code: tuple[int, int, int, int]) -> None:
    """SO_ATTACH_FILTER with a classic BPF program."""
    program = array.array("B", b"".join(struct.pack("HBBI", *line) for line in code))
    where = program.buffer_info()[0]
    sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", len(code), where))


# Within headers, at their ends, within the first datagram, at its end, in the second.
@pytest.mark.parametrize("kept", [1, 14, 20, 34, 41, 42, 43, 100, 141, 142, 143, 300, 1000])
def test_filters_that_cut(kernel: str, net: Wire, far: socket.socket, kept: int) -> None:
    """A filter may truncate frames, GSO frames included."""
    look, burst = Script(kernel, CUT), Script(kernel, BURST)
    frame = ctypes.create_string_buffer(frame4(b"put together" * 8, fragment=0x4000))
    set_feature(net.client, b"near", ETHTOOL_STSO, False)
    set_feature(net.server, b"far", ETHTOOL_SGRO, True)
    set_filter(far, (0x6, 0, 0, kept))
    try:
        with (
            net.client.packet("near") as near,
            net.to_server(7) as client,
            net.server.udp("0.0.0.0", 7) as asks,
        ):
            asks.setsockopt(socket.IPPROTO_UDP, 104, 1)  # UDP_GRO
            burst(near.fileno(), ctypes.addressof(frame), len(frame) - 1, 16)
            client.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
            client.send(bytes(1450))
            client.setsockopt(socket.IPPROTO_UDP, 103, 0)
            client.send(bytes(1200))
            while look(far.fileno()) > 0:
                pass
            assert memory(far)["rmem"] == 0
    finally:
        set_feature(net.server, b"far", ETHTOOL_SGRO, False)
        set_feature(net.client, b"near", ETHTOOL_STSO, True)


CUT = """
-- All that can be done to a frame, whatever is left of it.
function run(fd)
  local port = net.frames(fd)
  local n = port:receive(64, 200)
  for i = 1, n do
    local f = port[i]
    local at, len = f:udp()
    f:put(f:len() + 20, "longer")
    f:headers()
    if not pcall(f.reply, f, len or 0) then f:send() end
  end
  port:flush()
  return n
end
"""


TURNS = """
function run(fd, n)
  local answered = 0
  for _ = 1, n do
    local port = net.frames(fd)
    local seen = port:receive(8, 20)
    for i = 1, seen do
      local at, len = port[i]:udp()
      if at then
        port[i]:reply(len)
        answered = answered + 1
      end
    end
    if port:build("held") then port:flush() end
  end
  return answered
end
"""


def repeat(over: threading.Event, work: Callable[[], object]) -> threading.Thread:
    """A thread that repeats the work until the end."""

    def loop() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                work()

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


def send_along(*fds: int) -> None:
    """In messages to itself: the last reference may be in flight, or be dropped there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        socket.send_fds(ours, [b"x"], fds)
        for fd in socket.recv_fds(theirs, 1, len(fds))[1]:
            os.close(fd)
        socket.send_fds(ours, [b"x"], fds)


def test_threads_at_one_socket(kernel: str, net: Wire, far: socket.socket) -> None:
    """Two scripts and recv(2) read from it, while descriptors of it are opened and closed."""
    over, first = threading.Event(), 900
    scripts = [Script(kernel, TURNS) for _ in range(2)]
    others = [net.server.packet("far") for _ in range(2)]

    def change() -> None:
        os.dup2(far.fileno(), first)
        os.dup2(others[0].fileno(), first + 1)
        os.dup2(others[1].fileno(), first)
        os.close(first)
        os.dup2(far.fileno(), first + 1)

    with net.to_server(7) as client:
        work: list[Callable[[], object]] = [
            lambda: scripts[0].library.call(scripts[0].fd, first, 20),
            lambda: scripts[1].library.call(scripts[1].fd, first + 1, 20),
            lambda: far.recv(2000, socket.MSG_DONTWAIT),
            lambda: client.send(bytes(100)),
            lambda: client.recv(2000, socket.MSG_DONTWAIT),
            lambda: send_along(first, far.fileno()),
            change,
        ]
        threads = [repeat(over, one) for one in work]
        time.sleep(5)
        over.set()
        for thread in threads:
            thread.join()
    for fd in (first, first + 1):
        with contextlib.suppress(OSError):
            os.close(fd)
    for sock in (far, *others):
        drain(sock)
        assert memory(sock)["rmem"] == memory(sock)["wmem"] == 0
    for sock in others:
        sock.close()


def test_filter_decides(mode: str, net: Wire, far: socket.socket) -> None:
    """The kernel applies a socket's own filter (SO_ATTACH_FILTER)."""
    # ldh [36]: the UDP port; jeq #7; ret whole, or ret 0.
    code = [(0x28, 0, 0, 36), (0x15, 0, 1, 7), (0x6, 0, 0, 0xFFFF), (0x6, 0, 0, 0)]
    set_filter(far, *code)
    echo = Script(mode, ECHO.replace("if to == port", "if true"))
    with net.to_server(7) as seven, net.to_server(8) as eight:
        eight.send(b"eight")
        seven.send(b"seven")
        queued(far, 1)
        assert echo(far.fileno(), 7, 2, 100) == 1
        assert seven.recv(100) == b"seven"
        assert drain(eight) == []


# -- Waiting ----------------------------------------------------------------------

RECEIVE = """
function run(fd, max, timeout, enough, hold)
  return net.frames(fd):receive(max, timeout, enough, hold)
end
"""


def test_waiting(mode: str, net: Wire, far: socket.socket) -> None:
    receive = Script(mode, RECEIVE)
    fd = far.fileno()
    start = time.monotonic()
    assert receive(fd, 16, 200, 1, 0) == 0
    assert 0.2 <= time.monotonic() - start < 5
    assert receive(fd, 16, 0, 1, 0) == 0
    far.setblocking(False)
    assert receive(fd, 16, -1, 1, 0) == 0
    far.setblocking(True)
    for bad in ((0, 0, 1, 0), (65, 0, 1, 0), (1, -2, 1, 0), (1, 0, 0, 0), (1, 0, 1, -1)):
        assert "1 to 64 frames" in receive.fails(fd, *bad)
    with net.to_server(7) as client:
        # The first comes while it waits, the others while it holds frames.
        def send() -> None:
            for _ in range(5):
                time.sleep(0.01)
                client.send(b"x")

        sender = threading.Thread(target=send)
        sender.start()
        assert receive(fd, 16, 5000, 5, 1_000_000) == 5
        sender.join()
        # Other frames neither count nor prolong the wait.
        with net.client.packet("near") as near:
            over = threading.Event()

            def disturb() -> None:
                for _ in range(200):
                    near.send(GOOD[:5] + b"\x99" + GOOD[6:])
                    if over.wait(0.05):
                        break

            sender = threading.Thread(target=disturb)
            sender.start()
            start = time.monotonic()
            assert receive(fd, 16, 300, 1, 0) == 0
            assert time.monotonic() - start < 5
            over.set()
            sender.join()


def test_signal_ends_a_wait(kernel: str, net: Wire, far: socket.socket) -> None:
    receive = Script(kernel, RECEIVE)
    main = threading.get_ident()
    old = signal.signal(signal.SIGUSR1, lambda *_: None)
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGUSR1))
    timer.start()
    assert receive(far.fileno(), 16, -1, 1, 0) == -errno.EINTR
    timer.join()
    signal.signal(signal.SIGUSR1, old)


ENDS = {
    "error": "error('stop')",
    "loop": "while true do end",
    "memory": "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end",
    "kill": "syscall.kill(syscall.getpid(), 9)",
    "returns": "",
}


@pytest.mark.parametrize("how", ENDS)
def test_ends_with_frames_in_hand(kernel: str, net: Wire, far: socket.socket, how: str) -> None:
    """However a run ends, the frames that it held are freed."""
    source = f"""
    function run(fd)
      local port = net.frames(fd)
      port:receive(8, 30000)
      local at, len = port[1]:udp()
      port[1]:reply(len)
      port:build("frame")
      {ENDS[how]}
      return 0
    end"""
    with net.to_server(7) as client:
        for _ in range(6):
            client.send(bytes(300))
        queued(far, 6)
        pid = os.fork()
        if not pid:
            script = Script(kernel, source, time_limit_ns=200_000_000)
            script.library.call(script.fd, far.fileno())
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) == (how == "kill")
        assert memory(far)["rmem"] == memory(far)["wmem"] == 0
        assert drain(far) == []
        assert drain(client) == []


def test_views_after_a_run(mode: str, net: Wire, far: socket.socket) -> None:
    """A view that a script kept shows nothing of an earlier run's frames."""
    keep = Script(
        mode,
        """
        local port, f
        function run(fd, again)
          if again == 0 then
            port = net.frames(fd)
            port:receive(1, 30000)
            f = port[1]
            return f:len()
          end
          return pcall(f.u1, f, 0) and 1 or pcall(f.udp, f) and 2 or port:flush()
        end""",
    )
    with net.to_server(7) as client:
        client.send(b"kept")
        assert keep(far.fileno(), 0) == 46
        assert keep(far.fileno(), 1) == 0


STALE = """
function run(fd, n)
  local port, kept, shown = net.frames(fd), nil, 0
  for i = 1, n do
    if port:receive(1, 30000) ~= 1 then return -i end
    local f = port[1]
    assert(f == port[1] and f:udp() and f ~= kept)
    if kept and (pcall(kept.len, kept) or pcall(kept.put1, kept, 0, 0)) then
      shown = shown + 1
    end
    kept = f
  end
  return shown
end
"""


def test_views_after_a_receive(mode: str, net: Wire, far: socket.socket) -> None:
    """A view belongs to a frame, not a position: a kept one does not show the next receive's."""
    stale = Script(mode, STALE)
    with net.to_server(7) as client:
        for _ in range(100):
            client.send(b"kept")
        assert stale(far.fileno(), 100) == 0


# -- Frames that outlive a call -------------------------------------------------

SIZE = 2048  # of a slot
KEEP = """
local RECEIVE, REPLY, STALE = 1, 2, 3
function run(fd, what, addr, size, n)
  local port = net.frames(fd)
  if what == RECEIVE then
    port:receive(64, 30000)
    port:keep()
    return port:copyout(addr, size)
  elseif what == REPLY then
    port:keep()
    local done = port:reply(addr, size, n)
    local sent = port:flush()
    return sent < 0 and sent or done
  elseif what == STALE then
    return pcall(port[1].len, port[1]) and 1 or 0
  end
  return 0
end
"""


class Call:
    """Operations of KEEP."""

    NOTHING, RECEIVE, REPLY, STALE = range(4)


class Slots:
    """Memory of the process into which datagrams are received and from which they are sent."""

    def __init__(self, n: int = 64) -> None:
        self.memory = ctypes.create_string_buffer(n * SIZE)
        self.at = ctypes.addressof(self.memory)

    def __getitem__(self, i: int) -> tuple[int, bytes]:
        place, size = struct.unpack_from("II", self.memory, i * SIZE)
        return place, self.memory.raw[i * SIZE + 8 : i * SIZE + 8 + size]

    def put(self, i: int, place: int, payload: bytes, size: int | None = None) -> None:
        head = struct.pack("II", place, len(payload) if size is None else size)
        self.memory[i * SIZE : i * SIZE + 8 + len(payload)] = head + payload


def held(sock: socket.socket) -> bool:
    return memory(sock)["rmem"] > 0


@pytest.mark.parametrize("family", [4, 6])
def test_kept(mode: str, net: Wire, far: socket.socket, family: int) -> None:
    """Answered in the next call, in any order, shorter and longer than the request."""
    keep, slots = Script(mode, KEEP), Slots()
    with net.to_server(7, family) as client:
        for i in range(80):
            sizes = [(i * 131 + j * 487) % 1453 for j in range(6)]
            requests, replies = (
                [os.urandom(n) for n in sizes[:3]],
                [os.urandom(n) for n in sizes[3:]],
            )
            for request in requests:
                client.send(request)
            queued(far, 3)
            assert keep(far.fileno(), Call.RECEIVE, slots.at, SIZE) == 3
            assert [slots[j] for j in range(3)] == [*enumerate(requests, 1)]
            assert held(far) or mode.endswith("user")
            for j, reply in enumerate(replies):
                slots.put(j, 3 - j, reply)
            assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 3) == 3
            assert [client.recv(2000) for _ in replies] == replies
        assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 3) == 0
        assert drain(client) == []
    assert keep(far.fileno(), Call.NOTHING) == 0
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


HEADERS = """
function run(fd, addr, size, all)
  local port = net.frames(fd)
  port:receive(64, 30000)
  return port:copyout(addr, size, all == 1)
end
"""


@pytest.mark.parametrize("family", [4, 6])
def test_copied_with_headers(mode: str, net: Wire, far: socket.socket, family: int) -> None:
    """The sender's address precedes the payload; datagrams that do not fit with it are skipped."""
    script, slots, headers = Script(mode, HEADERS), Slots(), 42 if family == 4 else 62
    kind = b"\x08\0" if family == 4 else b"\x86\xdd"
    with net.to_server(7, family) as client:
        port = struct.pack(">HH", client.getsockname()[1], 7)
        for n in (*range(100), 1400):
            payload = os.urandom(n)
            client.send(payload)
            assert script(far.fileno(), slots.at, SIZE, 1) == 1
            place, size = struct.unpack_from("II", slots.memory)
            frame = slots.memory.raw[8 : 8 + headers + n]
            assert (place, size, frame[headers:]) == (1, n, payload)
            assert (frame[12:14], frame[headers - 8 : headers - 4]) == (kind, port)
        for room, fits in ((8 + headers + 9, 0), (8 + headers + 10, 1)):
            client.send(bytes(10))
            assert script(far.fileno(), slots.at, room, 1) == fits
        client.send(bytes(10))
        assert script(far.fileno(), slots.at, 8 + 10, 0) == 1


def test_kept_for_one_call(mode: str, net: Wire, far: socket.socket) -> None:
    """A call without this request drops them, and so does a receive."""
    keep, slots = Script(mode, KEEP), Slots()
    with net.to_server(7) as client:
        for call in (Call.NOTHING, Call.RECEIVE, Call.REPLY):
            client.send(b"first")
            queued(far, 1)
            assert keep(far.fileno(), Call.RECEIVE, slots.at, SIZE) == 1
            slots.put(0, 1, b"reply")
            if call == Call.NOTHING:
                assert keep(far.fileno(), Call.NOTHING) == 0
                assert not held(far)
                assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 1) == 0
            elif call == Call.RECEIVE:
                client.send(b"second")
                queued(far, 1)
                assert keep(far.fileno(), Call.RECEIVE, slots.at, SIZE) == 1
                assert slots[0] == (1, b"second")
            else:
                assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 0) == 0
                assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 1) == 1
                assert client.recv(100) == b"reply"
        assert drain(client) == []
        client.send(b"view")
        queued(far, 1)
        assert keep(far.fileno(), Call.RECEIVE, slots.at, SIZE) == 1
        assert keep(far.fileno(), Call.STALE) == 1
        assert keep(far.fileno(), Call.STALE) == 0


def test_kept_for_a_while(kernel: str, net: Wire, far: socket.socket) -> None:
    """Periodic cleanup of idle scripts does not free them."""
    keep, slots = Script(kernel, KEEP), Slots()
    with net.to_server(7) as client:
        client.send(b"slow")
        queued(far, 1)
        assert keep(far.fileno(), Call.RECEIVE, slots.at, SIZE) == 1
        time.sleep(5)  # Twice the period of engine/luajit/kernel/idle.c.
        assert keep(far.fileno(), Call.REPLY, slots.at, SIZE, 1) == 1
        assert client.recv(100) == b"slow"


KEPT_ENDS = {**ENDS, "closed": "", "exit": ""}


@pytest.mark.parametrize("how", KEPT_ENDS)
def test_kept_to_the_end(kernel: str, net: Wire, far: socket.socket, how: str) -> None:
    """A failed call frees the kept frames, and so does the end of the script."""
    source = f"""
    function run(fd, again)
      local port = net.frames(fd)
      port:keep()
      if again == 0 then return port:receive(8, 30000) end
      port:build("frame")
      {KEPT_ENDS[how]}
      return 0
    end"""
    with net.to_server(7) as client:
        for _ in range(6):
            client.send(bytes(300))
        queued(far, 6)
    pid = os.fork()
    if not pid:
        script = Script(kernel, source, time_limit_ns=200_000_000)
        good = script(far.fileno(), 0) == 6 and held(far)
        if how != "exit":
            script.library.call(script.fd, far.fileno(), 1)
        if how in ("closed", "returns"):
            good = good and held(far)
            os.close(script.fd)
            # The confined engine's is freed when the library registers the next one.
            Script(kernel, "function run() end")
        if how != "exit":
            good = good and not held(far)
        os._exit(0 if good else 1)
    _, status = os.waitpid(pid, 0)
    if how == "kill":
        assert os.WIFSIGNALED(status)
    else:
        assert status == 0
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


@pytest.mark.parametrize("how", ["closed", "other", "deleted"])
def test_kept_without_a_socket(kernel: str, net: Wire, how: str) -> None:
    """The socket or device disappears between two calls: the next call frees the frames."""
    keep, slots = Script(kernel, KEEP), Slots()
    spare(net)
    with net.server.packet("one") as one, net.server.packet("two") as two:
        two.send(one.getsockname()[4] + GOOD[6:])
        fd = os.dup(one.fileno())
        assert keep(fd, Call.RECEIVE, slots.at, SIZE) == 1
        slots.put(0, 1, b"reply")
        if how == "closed":
            os.close(fd)
            assert "no such descriptor" in keep.fails(fd, Call.REPLY, slots.at, SIZE, 1)
        elif how == "other":
            os.dup2(two.fileno(), fd)
            assert keep(fd, Call.REPLY, slots.at, SIZE, 1) == -errno.ESTALE
            assert keep(fd, Call.NOTHING) == 0
            assert keep(fd, Call.REPLY, slots.at, SIZE, 1) == 0
        else:
            net.server.ip("link del one")
            gone = keep.fails(fd, Call.REPLY, slots.at, SIZE, 1)
            assert "not bound to a device" in gone
        assert memory(one)["rmem"] == memory(one)["wmem"] == 0
    if how != "deleted":
        net.server.ip("link del one")


def test_kept_without_a_namespace(kernel: str) -> None:
    """A script that keeps frames keeps the socket, until it is closed."""
    lonely, keep, slots = Wire(), Script(kernel, KEEP), Slots()
    sock = lonely.server.packet("far")
    with lonely.to_server(7) as client:
        client.send(b"last")
        assert keep(sock.fileno(), Call.RECEIVE, slots.at, SIZE) == 1
    lonely.close()
    sock.close()
    os.close(SCRIPTS.pop())


def test_slots_that_are_none(mode: str, net: Wire, far: socket.socket) -> None:
    """Invalid slots and lengths are skipped, invalid addresses are errors; none is answered."""
    keep, slots = Script(mode, KEEP), Slots()
    with net.to_server(7) as client:
        client.send(b"long" * 100)
        client.send(b"good")
        queued(far, 2)
        fd = far.fileno()
        assert keep(fd, Call.RECEIVE, slots.at, 64) == 1
        assert slots[0] == (2, b"good")
        wrong = [
            (0, 1),
            (3, 1),
            (65, 1),
            (1 << 31 | 2, 1),
            (0xFFFFFFFF, 1),
            (2, SIZE),
            (2, 1 << 31),
        ]
        for i, (place, size) in enumerate(wrong):
            slots.put(i, place, b"reply", size)
        assert keep(fd, Call.REPLY, slots.at, SIZE, len(wrong)) == 0
        # Too long for its slot, so it was not taken as a datagram, but it was received.
        slots.put(0, 2, b"reply")
        slots.put(1, 2, b"again")
        assert keep(fd, Call.REPLY, slots.at, SIZE, 2) == 1
        assert client.recv(100) == b"reply"
        client.send(b"good")
        queued(far, 1)
        assert keep(fd, Call.RECEIVE, slots.at, SIZE) == 1
        for addr, size, n in ((16, SIZE, 1), (-8, SIZE, 1), (slots.at, 7, 1), (slots.at, 65537, 1)):
            assert "bad address" in keep.fails(fd, Call.REPLY, addr, size, n)
            client.send(b"good")
            queued(far, 1)
            assert "bad address" in keep.fails(fd, Call.RECEIVE, addr, size)
        assert "out of range" in keep.fails(fd, Call.REPLY, slots.at, SIZE, 65)
        assert not held(far)
        assert drain(client) == []


def test_forwarding(mode: str, net: Wire, far: socket.socket) -> None:
    """From one port to another, with changed addresses: checksums are adjusted."""
    forward = Script(
        mode,
        """
        local CLIENT, SERVER = "\\10\\9\\0\\1", "\\10\\9\\0\\2"
        function run(fd, out)
          local a, b = net.frames(fd), net.frames(out)
          for i = 1, a:receive(8, 30000) do
            local f = a[i]
            local at, len = f:udp()
            local from, to = f:ports()
            f:set_destination(CLIENT, from)
            f:set_source(SERVER, to)
            f:put(0, f:str(6, 6) .. f:str(0, 6))
            f:send(b)
          end
          return b:flush()
        end""",
    )
    with net.to_server(7) as client, net.server.packet("far") as out:
        client.send(b"around")
        client.send(b"and again")
        assert forward(far.fileno(), out.fileno()) == 2
        assert [client.recv(100) for _ in range(2)] == [b"around", b"and again"]
        near_raw = net.client.packet("near")
        near_raw.send(frame4(b"") + b"\x55" * 18)
        assert forward(far.fileno(), out.fileno()) == 1
        near_raw.close()
        assert memory(out)["wmem"] == 0


@pytest.mark.parametrize("name", ["sendmmsg", "recvmmsg", "getsockname"])
def test_filters_see_batches(kernel: str, net: Wire, far: socket.socket, name: str) -> None:
    """Each batch corresponds to a call, and a seccomp filter decides on it."""
    reading, writing = os.pipe()
    with net.to_server(7) as client:
        client.send(b"?")
        pid = os.fork()
        if not pid:
            states = Script(kernel, STATES)
            chosen = seccomp.Filter(seccomp.ALLOW)
            chosen.rule(seccomp.error(errno.EPERM), name)
            chosen.load()
            count, result = states.library.call(states.fd, far.fileno(), 0, 0)
            os.write(writing, f"{count} {result}".encode())
            os._exit(0)
        os.waitpid(pid, 0)
    os.close(writing)
    count, result = os.read(reading, 100).decode().split()
    os.close(reading)
    if name == "sendmmsg":
        assert (count, int(result)) == ("1", -errno.EPERM * 1000)
    elif name == "recvmmsg":
        assert (count, int(result)) == ("1", -errno.EPERM)
    else:
        assert int(count) < 0


def check_ordinary_user(as_user: AsUser, *ways: str) -> None:
    """Run a program in the user's own namespaces, with ordinary rights only."""
    program = f"{ROOT}/build/venv/bin/python3 {ROOT}/tests/vm/frames_user.py"
    lines = (
        "ip link add name one type veth peer name two",
        "ip link set one up",
        "ip link set two up",
        " ".join(["exec", program, *ways]),
    )
    done = as_user(["unshare", "-Urn", "sh", "-ec", "\n".join(lines)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(ways)


@pytest.mark.long  # test_everyone() may open less
def test_ordinary_user(as_user: AsUser) -> None:
    check_ordinary_user(as_user, "echo", "take")


def test_everyone(as_outsider: AsUser) -> None:
    """A user who may open only the confined engine's device."""
    check_ordinary_user(as_outsider, "echo", "take", "compound")


def test_in_a_pod(as_outsider: AsUser) -> None:
    """A container as runtimes start it: root in a namespace with only CAP_NET_RAW."""
    program = f"{ROOT}/build/venv/bin/python3 {ROOT}/tests/vm/frames_user.py pod"
    lines = (
        "ip link add name one type veth peer name two",
        f"ip addr add {SERVER4}/24 dev one",
        "ip link set one up",
        "ip link set two up",
        f"ip neigh add {CLIENT4} lladdr {netns_pair.CLIENT_MAC.hex(':')} dev one",
        "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start",  # as container runtimes set it
        f"exec setpriv --bounding-set=-all,+net_raw --inh-caps=-all {program}",
    )
    done = as_outsider(["unshare", "-Urn", "sh", "-ec", "\n".join(lines)])
    assert done.returncode == 0, done.stderr
