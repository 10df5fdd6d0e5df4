# SPDX-License-Identifier: GPL-2.0
"""net.frames: datagrams, the contents of frames, views of them."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import threading

import frames_harness
import netns_pair
import pytest
from frames_harness import ECHO, GOOD, Script, arrived
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

# Engines and modes times kinds of frames: in the gate each test runs a third of its cases.
pytestmark = pytest.mark.sample(3, spread=True)

closed_scripts = frames_harness.closed_scripts
mode = frames_harness.mode
net = frames_harness.net
far = frames_harness.far
near = frames_harness.near

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
