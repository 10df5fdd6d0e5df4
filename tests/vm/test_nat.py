# SPDX-License-Identifier: GPL-2.0
"""Programs that translate connections, in namespaces of an ordinary user's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import programs as p
from test_programs import in_own_namespace
from test_states import LUA, VALUE

NAMES = ("nf_nat", "nf_conntrack")


@pytest.fixture(scope="module", autouse=True)
def nat() -> None:
    if subprocess.run(["modprobe", "nf_nat"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel has no NAT")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for program in p.programs():
        p.unload(program.name)
    assert p.references() == 0


# The peer has a namespace of its own, behind a veth pair, and obeys lines: an expression each.
PEER = """
class Peer:
    CODE = '''
import json, socket, sys
print(flush=True)
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
'''
    def __init__(self):
        self.process = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-c", self.CODE], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()
    def ip(self, words):
        subprocess.run(["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "ip", *words.split()],
                       check=True)
    def begin(self, line):
        self.process.stdin.write(line + chr(10))
        self.process.stdin.flush()
    def end(self):
        return json.loads(self.process.stdout.readline())
    def __call__(self, line):
        self.begin(line)
        return self.end()
def ip(words):
    subprocess.run(["ip", *words.split()], check=True)
peer = Peer()
ip(f"link add near type veth peer name far netns {peer.process.pid}")
for words in ("address add 10.9.0.1/24 dev near", "address add fd09::1/64 dev near nodad",
              "link set near up"):
    ip(words)
for words in ("address add 10.9.0.2/24 dev far", "address add fd09::2/64 dev far nodad",
              "link set far up", "route add 10.7.0.0/24 via 10.9.0.1",
              "route add fd07::/64 via fd09::1"):
    peer.ip(words)
def server(kind, host, port):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, port))
    s.settimeout(10)
    return s
ADDRESS = "local function address(a, b, c, d) return ((a * 256 + b) * 256 + c) * 256 + d end "
SERVICE = ADDRESS + '''
local function is_service(packet)
  local port = packet:u2(packet.l4 + 2)
  return (packet.transport == 17 or packet.transport == 6) and port and port == 4000
end
'''
def asks(family, host):
    "The peer asks by UDP, from a connected socket, which takes answers from @host only."
    peer("[sys.modules.update(u=socket.socket(socket.AF_INET%s, socket.SOCK_DGRAM)),"
         "sys.modules['u'].settimeout(10), sys.modules['u'].connect((%r, 4000)),"
         "sys.modules['u'].send(b'question')] and 1" % (family, host))
"""

DESTINATION = """
own = {own!r}, 5000
with server(socket.SOCK_DGRAM, *own) as udp, server(socket.SOCK_STREAM, *own) as tcp:
    tcp.listen()
    for n in range(2):
        asks({family!r}, {host!r})
        got, at = udp.recvfrom(99)
        udp.sendto(b"answer", at)
        result["udp"] = got.decode(), peer("sys.modules['u'].recv(99).decode()"), at[0]
    peer.begin("sys.modules.update(t=socket.create_connection(({host!r}, 4000), 10)) or 1")
    c, at = tcp.accept()
    peer.end()
    for n in range(3):
        peer("sys.modules['t'].send(b'q' * 5000)")
        got = b""
        while len(got) < 5000:
            got += c.recv(5000)
        c.send(b"r" * 3)
        result["tcp"] = peer("sys.modules['t'].recv(99).decode()"), at[0]
    result["peer"] = peer("sys.modules['t'].getpeername()[:2]")
result["calls"], result["errors"] = listed("to")["calls"], listed("to")["errors"]
"""


# Family, what the peer asks, where the service is, where the peer is, the program.
TO_SERVICE = {
    "nat": (
        *("", "10.7.0.9", "10.9.0.1", "10.9.0.2"),
        "packet:u4(16) == 0x0a070009 and not packet:translate(address(10, 9, 0, 1), 5000)",
    ),
    "nat6": (
        *("6", "fd07::9", "fd09::1", "fd09::2"),
        "not packet:translate(0xfd090000, 0, 0, 1, 5000)",
    ),
}
FAMILIES = ("nat", pytest.param("nat6", marks=pytest.mark.long))


@pytest.mark.parametrize("where", FAMILIES)
def test_destination(where: str) -> None:
    """A service's address leads here, and its answers come from that address."""
    family, host, own, far, fails = TO_SERVICE[where]
    result = in_own_namespace(
        LUA
        + PEER
        + f"""
result["load"] = lua("to", SERVICE + '''function run(packet)
  if is_service(packet) and {fails} then return DROP end
  return ACCEPT
end''', "--at", "{where} prerouting")
"""
        + DESTINATION.format(family=family, host=host, own=own)
    )
    # One call for a connection, whatever it carries. Neighbour discovery is not tracked.
    assert result == {
        "load": "",
        "udp": ["question", "answer", far],
        "tcp": ["rrr", far],
        "peer": [host, 4000],
        "calls": 3,
        "errors": 0,
    }


@pytest.mark.long
def test_source() -> None:
    """An address that this machine has not, and a port of a range; the peer's answers come back.
    Another program changes nothing for connections that have begun; none ends the translation."""
    image = (
        "i.storei(10, -4, 0x0500070a, 4) + i.mov(1, 10) + i.alui('add', 1, -4) + i.movi(2, 4)"
        "+ i.movi(3, 7000) + i.movi(4, 7003) + i.outside(i.FUNCTION) + i.alui('add', 0, 1) + i.EXIT"
    )
    result = in_own_namespace(
        LUA
        + PEER
        + f"""
code = {image}
result["load"] = p.load(p.image([(code, 8)]), where="nat postrouting",
                        functions=("packet_translate",))
peer("[sys.modules.update(u=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),"
     "sys.modules['u'].settimeout(10), sys.modules['u'].bind(('10.9.0.2', 6000))] and 1")
ANSWER = ("(lambda r: sys.modules['u'].sendto(r[0] + b'!', r[1]) and r[1])"
          "(sys.modules['u'].recvfrom(99))")
result["from"] = []
socks = [server(socket.SOCK_DGRAM, "10.9.0.1", 0) for n in range(6)]
for n, s in enumerate(socks):
    try:
        s.connect(("10.9.0.2", 6000))
        s.send(b"%d" % n)
    except OSError:
        continue  # no port is left
    if n < 4:
        result["from"].append(peer(ANSWER))
        assert s.recv(99) == b"%d!" % n
result["replaced"] = p.load(p.image([p.verdict(1)]), where="nat postrouting")
socks[2].send(b"again")
result["later"] = peer(ANSWER) == result["from"][2], socks[2].recv(99).decode()
result["unload"] = p.unload()
socks[2].send(b"end")
result["end"] = peer(ANSWER) == [*socks[2].getsockname()]
"""
    )
    ports = [port for _, port in result["from"]]
    assert result["load"] == [0, ""]
    assert {host for host, _ in result["from"]} == {"10.7.0.5"}
    assert sorted(ports) == [7000, 7001, 7002, 7003]
    assert result["replaced"] == [0, ""]
    assert result["later"] == [True, "again!"]
    assert result["unload"] == 0
    assert result["end"]


# Each try counts in its own entry: how often it succeeded.
TRIES = """
local t = program.table{{ "n", "last", name = "counts", entries = 64, age = 0 }}
local function try(k, done)
  t:add(k):add("n", done and 101 or 100)
end
function run(packet)
  if packet.transport == 17 and packet:u2(packet.l4 + 2) == 4000 then
    {body}
  end
  return ACCEPT
end
"""
MISUSES = (
    "packet:translate(0, 5000)",
    "packet:translate(0xe0000001, 5000)",
    "packet:translate(0xffffffff, 5000)",
    "packet:translate(0xfd090000, 0, 0, 1, 5000)",
    "packet:translate(0x7f000001, 65536)",
    "packet:translate(0x7f000001, -1)",
    "packet:put_u2(packet.l4 + 2, 5000)",
)


GOOD = "packet:translate(0x7f000001, 5000)"
TRIED = f"""
good = {GOOD!r}
def tried(body, where, send=lambda: arrives(4000)):
    lua("try", {TRIES!r}.format(body=body), "--at", where)
    lua("value", {VALUE!r})
    send()
    found = [value(k) for k in range({len(MISUSES)})]
    p.unload("try"), p.unload("value")
    return [x for x in found if x >= 0]
"""


def test_misuse() -> None:
    """Bad targets, and a second translation."""
    bad = " ".join(f"try({k}, {misuse})" for k, misuse in enumerate(MISUSES))
    result = in_own_namespace(
        LUA
        + TRIED
        + f"""
result["bad"] = tried({bad!r}, "nat output")
result["once"] = tried(f"try(0, {{good}}) try(1, {{good}})", "nat output")
"""
    )
    assert result["bad"] == [100] * len(MISUSES)
    assert result["once"] == [101, 100]


@pytest.mark.long
def test_misplaced() -> None:
    """Hooks where NAT is not possible, other protocols, verdicts that are none of NAT's."""
    result = in_own_namespace(
        LUA
        + TRIED
        + f"""
result["hooks"] = [tried(f"try(0, {{good}})", where) for where in
                   ("ip output -99", "inet input", "netdev egress lo")]
result["places"] = [lua("try", {TRIES!r}.format(body=""), "--at", where) for where in
                    ("nat forward", "nat6 ingress lo", "nat")]
def ping():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.sendto(bytes([8, 0, 0xf7, 0xff, 0, 0, 0, 0]), ("127.0.0.1", 0))
icmp = {TRIES!r}.format(body=f"try(0, {{good}})").replace(
    "packet.transport == 17 and packet:u2(packet.l4 + 2) == 4000", "packet.transport == 1")
lua("try", icmp, "--at", "nat output")
lua("value", {VALUE!r})
ping()
result["icmp"] = value(0)
p.unload("try"), p.unload("value")
# Queueing is no verdict of NAT.
result["queue"] = p.load(p.image([p.verdict(p.QUEUE)]), where="nat output"), arrives(4000)
p.unload()
result["after"] = arrives(4000)
"""
    )
    assert result["hooks"] == [[100]] * 3
    assert all("netfilter has no place" in text for text in result["places"])
    assert result["icmp"] == 100
    assert result["queue"] == [[0, ""], 0]
    assert result["after"] == 1


# Each packet begins a connection.
FLOOD = """
import socket, time
end = time.monotonic() + 3
while time.monotonic() < end:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.sendto(b"", ("127.0.0.1", 4000))
        except OSError:
            pass
"""


@pytest.mark.long
def test_stores_nothing_while_it_comes_and_goes() -> None:
    """Calls that come while the program is attached or detached are calls of NAT, too."""
    to_5001 = (
        "i.storei(10, -4, 0x8913, 2) + i.movi(1, 22) + i.mov(2, 10) + i.alui('add', 2, -4)"
        "+ i.movi(3, 2) + i.outside(i.FUNCTION) + i.movi(0, 1) + i.EXIT"
    )
    result = in_own_namespace(
        f"""
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
    sink.bind(("127.0.0.1", 5001))
    sink.setblocking(False)
    def arrived():
        n = 0
        try:
            while sink.recv(9) == b"":
                n += 1
        except BlockingIOError:
            return n
    def load(where):
        return p.load(p.image([({to_5001}, 8)]), where=where, functions=("packet_store",))
    def loads(where):
        calls = 0
        flood = subprocess.Popen([sys.executable, "-c", {FLOOD!r}])
        while flood.poll() is None:
            assert load(where) == (0, "")
            time.sleep(0.01)
            calls += listed()["calls"]
            p.unload()
        return calls, arrived()
    result["outside"], result["nat"] = loads("ip output"), loads("nat output")
"""
    )
    assert all(result["outside"])
    calls, stores = result["nat"]
    assert calls and not stores


def test_module_is_held_while_needed() -> None:
    """nf_nat stays as long as a program is loaded, and no longer."""

    def removal() -> int:
        return subprocess.run(["rmmod", NAMES[0]], capture_output=True, check=False).returncode

    def load() -> tuple[int, str]:
        return p.load(p.image([p.verdict(1)]), where="nat prerouting")

    assert load() == (0, "")
    assert removal() != 0
    assert p.unload() == 0
    for _ in range(2):
        assert load()[0] == 0 and p.unload() == 0
    subprocess.run(["modprobe", "-r", "nft_chain_nat", "iptable_nat"], check=False)
    assert removal() == 0
    assert load() == (-95, "NAT is not loaded: modprobe nf_nat, as root")
    subprocess.run(["modprobe", NAMES[0]], check=True)
    assert load()[0] == 0 and p.unload() == 0
