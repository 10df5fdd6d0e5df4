# SPDX-License-Identifier: GPL-2.0
"""net.frames(fd, all, true): frames that a filter takes from the device's stack."""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import frames_harness
import netns_pair
import pytest
import seccomp
from control_group import EGRESS, INGRESS, SKB, attached, control_group
from frames_harness import GOOD, IN_KERNEL, SCRIPTS, Script, drain, spare
from netns_pair import (
    CLIENT4,
    CLIENT6,
    CLIENT_MAC,
    SERVER4,
    SERVER6,
    SERVER_MAC,
    Namespace,
    Wire,
    memory,
)

pytestmark = pytest.mark.sample(3, spread=True)  # as in test_frames.py
ROOT = Path(__file__).resolve().parents[2]
CAP_NET_ADMIN = 12
CLONE_NEWUSER = 0x10000000
SO_ATTACH_FILTER = 26
TAKE = "net.frames(fd, false, true)"
ECHO = frames_harness.ECHO.replace("net.frames(fd)", TAKE)
# Frames taken are available at once: count 0 takes without waiting.
RECEIVE = f"function run(fd, max, ms) return {TAKE}:receive(max, ms) end"
OPEN = f"function run(fd) {TAKE} return 0 end"
BUSY = "a bridge, bond, macvlan or another script takes this device's frames"

closed_scripts = frames_harness.closed_scripts


@pytest.fixture(params=IN_KERNEL)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def net() -> Iterator[Wire]:
    """The server's device has an address here, with a full stack."""
    with netns_pair.wire() as made:
        made.server.ip(
            f"address add {SERVER4}/24 dev far",
            f"neigh replace {CLIENT4} lladdr {CLIENT_MAC.hex(':')} dev far",
        )
        yield made


@pytest.fixture
def pair(net: Wire) -> Iterator[None]:
    """The server's namespace has devices "one" and "two", wherever "one" is moved."""
    spare(net)
    yield
    for where in (net.server, net.client):
        with contextlib.suppress(AssertionError):
            where.ip("link del one")


def attach(sock: socket.socket, code: list[tuple[int, int, int, int]]) -> None:
    """Attach a classic BPF filter."""
    program = array.array("B", b"".join(struct.pack("HBBI", *line) for line in code))
    packed = struct.pack("HxxxxxxP", len(code), program.buffer_info()[0])
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, packed)


def datagrams_to(port: int, length: int = 0xFFFF) -> list[tuple[int, int, int, int]]:
    """Filters IPv4 datagrams without options, truncated to a length."""
    return [
        (0x28, 0, 0, 12),
        (0x15, 0, 5, 0x0800),
        (0x30, 0, 0, 23),
        (0x15, 0, 3, 17),
        (0x28, 0, 0, 36),
        (0x15, 0, 1, port),
        (0x6, 0, 0, length),
        (0x6, 0, 0, 0),
    ]


def taker(where: Namespace, device: str, port: int = 7) -> socket.socket:
    """A packet socket that receives nothing by itself, for datagrams to a port."""
    with where.inside():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.bind((device, 0))
    attach(sock, datagrams_to(port))
    return netns_pair.patient(sock)


@pytest.fixture
def far(net: Wire) -> Iterator[socket.socket]:
    with taker(net.server, "far") as sock:
        yield sock


@pytest.fixture
def seven(net: Wire) -> Iterator[socket.socket]:
    """The stack's own socket for the port whose frames are taken."""
    with net.server.udp(SERVER4, 7) as sock:
        yield sock


def is_taken(client: socket.socket, seven: socket.socket) -> bool:
    """Are the client's datagrams kept from the stack?"""
    client.send(b"whose?")
    while select.select([seven], [], [], 1)[0]:
        if seven.recv(100) == b"whose?":
            return False
    return True


def is_free(where: Namespace, device: str) -> bool:
    """Can the device be added to a bridge?"""
    try:
        where.ip("link add name probe type bridge", f"link set {device} master probe")
    except AssertionError:
        return False
    else:
        return True
    finally:
        where.ip("link del probe")


def close(script: Script) -> None:
    SCRIPTS.remove(script.fd)
    os.close(script.fd)


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def ping(client: Namespace) -> None:
    """The server's stack replies."""
    request = struct.pack("!BBHHH", 8, 0, 0, 1, 1)
    request = request[:2] + struct.pack("!H", netns_pair.checksum(request)) + request[4:]
    with client.inside():
        sock = netns_pair.patient(
            socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        )
    with sock:
        sock.sendto(request, (SERVER4, 0))
        while sock.recv(100)[20] != 0:
            pass


# -- Frames -------------------------------------------------------------------


def test_echo(mode: str, net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """Datagrams of all lengths are answered, and the stack sees none of them."""
    echo = Script(mode, ECHO)
    echo(far.fileno(), 7, 0, 0)
    with net.to_server(7) as client:
        for size in (0, 1, 17, 18, 64, 500, 1400, 1472):
            payloads = [os.urandom(size) for _ in range(16)]
            for payload in payloads:
                client.send(payload)
            assert echo(far.fileno(), 7, 16, 30000) == 16
            assert [client.recv(2000) for _ in payloads] == payloads
        assert drain(client) == drain(seven) == drain(far) == []
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0


def test_the_rest_is_the_stacks(net: Wire, far: socket.socket) -> None:
    """The stack answers pings and other ports while frames are taken."""
    echo = Script("kernel", ECHO)
    echo(far.fileno(), 7, 0, 0)
    eight = net.server.udp(SERVER4, 8)

    def answer() -> None:
        for _ in range(300):
            data, sender = eight.recvfrom(100)
            eight.sendto(data, sender)

    answering = threading.Thread(target=answer)
    answering.start()
    served: list[int] = []
    serving = threading.Thread(target=lambda: served.append(echo(far.fileno(), 7, 300, 30000)))
    serving.start()
    with net.to_server(7) as taken, net.to_server(8) as other:
        for i in range(300):
            for client in (taken, other):
                client.send(b"%d" % i)
            assert (taken.recv(100), other.recv(100)) == (b"%d" % i, b"%d" % i)
            if i % 100 == 0:
                ping(net.client)
        with pytest.raises(ConnectionRefusedError), net.to_server(9) as closed:
            closed.send(b"?")
            closed.recv(100)
    serving.join(30)
    answering.join(30)
    assert served == [300]
    eight.close()


def test_filter_decides(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """A filter can change at any time, and decides how much of a frame is kept."""
    lengths = Script(
        "kernel",
        f"""
        function run(fd, n)
          local port, sum = {TAKE}, 0
          for i = 1, port:receive(64, n > 0 and 30000 or 0, math.max(n, 1), 1000000) do
            sum = sum + port[i]:len()
          end
          return sum
        end""",
    )
    lengths(far.fileno(), 0)
    with net.to_server(7) as client:
        assert is_taken(client, seven)
        attach(far, datagrams_to(8))
        assert not is_taken(client, seven)
        attach(far, [(0x6, 0, 0, 0)])
        assert not is_taken(client, seven)
        attach(far, datagrams_to(7, 50))
        client.send(b"x" * 100)
        assert lengths(far.fileno(), 2) == 48 + 50


def test_like_the_sockets_own(net: Wire, far: socket.socket) -> None:
    """A program that polls the socket and receives from it sees the usual behaviour."""
    Script("kernel", OPEN)(far.fileno())
    with net.to_server(7) as client, net.server.packet("far") as tap:
        client.send(b"plain")
        assert select.select([far], [], [], 30)[0] == [far]
        expected = tap.recvfrom(2000)
        while expected[0][36:38] != b"\0\7":
            expected = tap.recvfrom(2000)
        assert far.recvfrom(2000) == expected
        client.send(b"cut")
        data, _, flags, sender = far.recvmsg(20)
        assert (len(data), flags & socket.MSG_TRUNC, sender) == (20, socket.MSG_TRUNC, expected[1])
        assert drain(far) == []


def test_taps_stay_whole(mode: str, net: Wire, far: socket.socket) -> None:
    """Taps see frames before they are taken, and their copies stay unchanged."""
    overwrite = Script(
        mode,
        f"""
        function run(fd, n)
          local port = {TAKE}
          for i = 1, port:receive(64, n > 0 and 30000 or 0, math.max(n, 1), 100000) do
            local at, len = port[i]:udp()
            port[i]:fill(at, 88, len)
            port[i]:reply(len)
          end
          return port:flush()
        end""",
    )
    overwrite(far.fileno(), 0)
    with net.to_server(7) as client, net.server.packet("far") as tap:
        for _ in range(8):
            client.send(b"original" * 20)
        assert overwrite(far.fileno(), 8) == 8
        assert [client.recv(1000) for _ in range(8)] == [b"X" * 160] * 8
        seen = [frame[42:] for frame in drain(tap) if frame[:6] == SERVER_MAC]
        assert seen == [b"original" * 20] * 8


def test_gso(net: Wire, far: socket.socket) -> None:
    """A GSO frame is received as separate datagrams."""
    echo = Script("kernel", ECHO)
    echo(far.fileno(), 7, 0, 0)
    with net.to_server(7) as client:
        client.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT
        payload = os.urandom(1450)
        client.send(payload)
        assert echo(far.fileno(), 7, 15, 30000) == 15
        assert b"".join(client.recv(2000) for _ in range(15)) == payload
    assert memory(far)["rmem"] == 0


def test_senders_memory(net: Wire, far: socket.socket) -> None:
    """A sender that lends its pages gets them back even if the frame is never read."""
    Script("kernel", OPEN)(far.fileno())
    with net.to_server(7) as client:
        client.setsockopt(socket.SOL_SOCKET, 60, 1)  # SO_ZEROCOPY
        client.send(b"lent" * 300, 0x4000000)  # MSG_ZEROCOPY
        poll = select.poll()
        poll.register(client, 0)
        assert poll.poll(10000)
        client.recvmsg(0, 200, socket.MSG_ERRQUEUE)
        assert far.recv(2000)[42:] == b"lent" * 300


def test_overflow(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """Frames that do not fit the socket are dropped and counted, not left to the stack."""
    receive = Script("kernel", RECEIVE)
    receive(far.fileno(), 1, 0)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    before = memory(far)["drops"]
    with net.to_server(7) as client:
        for _ in range(200):
            client.send(bytes(500))
        assert eventually(lambda: memory(far)["drops"] > before)
        assert memory(far)["rmem"] <= memory(far)["rcvbuf"] + 4096
        got = receive(far.fileno(), 64, 0)
        assert 0 < got < 64
        assert eventually(lambda: memory(far)["drops"] - before + got == 200)
        assert drain(seven) == []
        client.send(b"again")
        assert receive(far.fileno(), 64, 30000) == 1
    assert memory(far)["rmem"] == 0


def test_flood(net: Wire, far: socket.socket) -> None:
    """Unread frames of one socket do not block other sockets."""
    Script("kernel", OPEN)(far.fileno())
    over = threading.Event()

    def flood() -> None:
        with net.to_server(7) as client:
            while not over.is_set():
                client.send(bytes(100))

    flooding = threading.Thread(target=flood)
    flooding.start()
    with net.server.udp(SERVER4, 8) as eight, net.to_server(8) as client:
        for i in range(200):
            client.send(b"%d" % i)
            assert eight.recv(100) == b"%d" % i
    assert memory(far)["rmem"] <= memory(far)["rcvbuf"] + 4096
    over.set()
    flooding.join(30)


# -- Who may ----------------------------------------------------------------------


def in_child(check: Callable[[], None]) -> None:
    """A child process, which may change its credentials."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            check()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def drop_net_admin() -> None:
    header = struct.pack("Ii", 0x20080522, 0)
    data = ctypes.create_string_buffer(24)
    assert not netns_pair.LIBC.capget(header, data)
    words = list(struct.unpack("6I", data.raw))
    words[0] &= ~(1 << CAP_NET_ADMIN)
    assert not netns_pair.LIBC.capset(header, struct.pack("6I", *words))


def test_capability(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """Starting to take frames requires CAP_NET_ADMIN over the socket's namespace."""

    def without() -> None:
        first, later = Script("kernel", RECEIVE), Script("kernel", OPEN)
        first(far.fileno(), 1, 0)
        drop_net_admin()
        assert is_taken(client, seven)
        assert first(far.fileno(), 1, 30000) == 1
        os.close(first.fd)
        assert "CAP_NET_ADMIN over the socket's network namespace" in later.fails(far.fileno())
        assert not is_taken(client, seven)

    def elsewhere() -> None:
        script = Script("kernel", OPEN)
        netns_pair.check(netns_pair.LIBC.unshare(CLONE_NEWUSER))
        assert "CAP_NET_ADMIN" in script.fails(far.fileno())

    with net.to_server(7) as client:
        in_child(without)
        in_child(elsewhere)
        assert not is_taken(client, seven)


def test_in_a_process(net: Wire, far: socket.socket) -> None:
    assert "needs the kernel backend" in Script("user", OPEN).fails(far.fileno())


def test_bound_to_a_protocol(net: Wire) -> None:
    with net.server.packet("far") as sock:
        assert "bind it with protocol 0" in Script("kernel", OPEN).fails(sock.fileno())


@pytest.mark.parametrize("name", ["setsockopt", "getsockname"])
def test_filters_see_it(net: Wire, far: socket.socket, name: str) -> None:
    def filtered() -> None:
        script = Script("kernel", OPEN)
        chosen = seccomp.Filter(seccomp.ALLOW)
        chosen.rule(seccomp.error(errno.EACCES), name)
        chosen.load()
        script.fails(far.fileno())

    in_child(filtered)
    assert is_free(net.server, "far")


# -- What the stack filters ----------------------------------------------------------

UNFILTERED = TAKE.replace("true", '"unfiltered"')
OPEN_UNFILTERED = f"function run(fd) {UNFILTERED} return 0 end"
NFT_END = "nft flush ruleset"
RP_FILTER = "sysctl -qw net.ipv4.conf.{}.rp_filter={}"
POLICY = "ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 proto udp"
# For each kind of filter, the commands that add and remove it.
FILTERS = {
    **{
        hook: (f"nft table ip t {{ chain c {{ type filter hook {hook} priority 0; }}; }}", NFT_END)
        for hook in ("prerouting", "input", "output", "postrouting")
    },
    "inet": ("nft table inet t { chain c { type filter hook input priority 0; }; }", NFT_END),
    "ipsec": (f"{POLICY} dir in action allow", "ip xfrm policy flush"),
    "ipsec out": (f"{POLICY} dir out action allow", "ip xfrm policy flush"),
    # Routes for which the stack would not reply, or not there.
    **{
        kind: (f"ip route add {kind} {CLIENT4}/32", f"ip route del {kind} {CLIENT4}/32")
        for kind in ("blackhole", "prohibit", "unreachable", "throw")
    },
    "network": ("ip route add blackhole 10.9.0.0/31", "ip route del blackhole 10.9.0.0/31"),
    "elsewhere": (f"ip route add {CLIENT4}/32 dev lo", f"ip route del {CLIENT4}/32 dev lo"),
}
NO_FILTERS = {
    # The way back is through the device, which strict checks require.
    "strict": (RP_FILTER.format("far", 1), RP_FILTER.format("far", 0)),
    "strict everywhere": (RP_FILTER.format("all", 1), RP_FILTER.format("all", 0)),
    "another's": ("ip route add blackhole 192.0.2.7/32", "ip route del blackhole 192.0.2.7/32"),
    "forward": ("nft table ip t { chain c { type filter hook forward priority 0; }; }", NFT_END),
    "ip6": ("nft table ip6 t { chain c { type filter hook input priority 0; }; }", NFT_END),
    "loose": (RP_FILTER.format("far", 2), RP_FILTER.format("far", 0)),
}


def after_a_tick() -> None:
    """A filter takes effect at the next tick: 4 ms in Debian's kernels."""
    time.sleep(0.02)


@pytest.mark.parametrize("kind", [*FILTERS, *NO_FILTERS])
def test_unfiltered(net: Wire, far: socket.socket, seven: socket.socket, kind: str) -> None:
    """While the stack would filter frames, it gets them, if the script requests that."""
    Script("kernel", OPEN_UNFILTERED)(far.fileno())
    begin, end = {**FILTERS, **NO_FILTERS}[kind]
    with net.to_server(7) as client:
        net.server.run(begin.split())
        after_a_tick()
        try:
            assert is_taken(client, seven) == (kind in NO_FILTERS)
        finally:
            net.server.run(end.split())
        after_a_tick()
        assert is_taken(client, seven)


DATAGRAMS6 = [
    *((0x28, 0, 0, 12), (0x15, 0, 5, 0x86DD), (0x30, 0, 0, 20), (0x15, 0, 3, 17)),
    *((0x28, 0, 0, 56), (0x15, 0, 1, 7), (0x6, 0, 0, 0xFFFF), (0x6, 0, 0, 0)),
]


def test_unfiltered_routes_of_ipv6() -> None:
    """IPv6 routes decide, too; and so do routing rules, which a namespace keeps."""
    script = Script("kernel", OPEN_UNFILTERED)
    with netns_pair.wire() as net, taker(net.server, "far") as sock:
        net.server.sysctl("ipv6/conf/far/disable_ipv6", 0)
        net.server.ip(
            f"address add {SERVER6}/64 dev far nodad",
            f"neigh replace {CLIENT6} lladdr {CLIENT_MAC.hex(':')} dev far",
        )
        attach(sock, DATAGRAMS6)
        script(sock.fileno())
        with net.server.udp(SERVER6, 7) as seven, net.to_server(7, 6) as client:
            assert is_taken(client, seven)
            for kind in ("blackhole", "prohibit", "unreachable"):
                net.server.ip(f"-6 route add {kind} {CLIENT6}/128")
                after_a_tick()
                assert not is_taken(client, seven), kind
                net.server.ip(f"-6 route del {kind} {CLIENT6}/128")
                after_a_tick()
                assert is_taken(client, seven)
            net.server.ip(f"-6 route add {CLIENT6}/128 dev lo")
            after_a_tick()
            assert not is_taken(client, seven)
            net.server.ip(f"-6 route del {CLIENT6}/128 dev lo")
            after_a_tick()
            assert is_taken(client, seven)
            net.server.ip("-6 rule add to 2001:db8:7::/48 table 100")
            after_a_tick()
            assert not is_taken(client, seven)
        close(script)


def test_unfiltered_with_rules_of_routes() -> None:
    script = Script("kernel", OPEN_UNFILTERED)
    with netns_pair.wire() as net, taker(net.server, "far") as sock:
        net.server.ip(
            f"address add {SERVER4}/24 dev far",
            f"neigh replace {CLIENT4} lladdr {CLIENT_MAC.hex(':')} dev far",
        )
        script(sock.fileno())
        with net.server.udp(SERVER4, 7) as seven, net.to_server(7) as client:
            assert is_taken(client, seven)
            net.server.ip("rule add to 192.0.2.0/24 table 100")
            after_a_tick()
            assert not is_taken(client, seven)
        close(script)


def test_unfiltered_senders_apart(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """Many senders, every second one blackholed: each is treated by its own route."""
    Script("kernel", OPEN_UNFILTERED)(far.fileno())
    network = CLIENT4.rsplit(".", 1)[0]
    holes = [f"{network}.{k}" for k in range(101, 141)]
    net.client.ip(*(f"address add {address}/24 dev near" for address in holes))
    net.server.ip(*(f"route add blackhole {address}/32" for address in holes[::2]))
    after_a_tick()
    try:
        for _ in range(3):
            for address in holes:
                with net.client.udp(address) as sock:
                    sock.sendto(address.encode(), (SERVER4, 7))
        seen = []
        while select.select([seven], [], [], 1)[0]:
            seen.append(seven.recv(100).decode())
        assert sorted(seen) == sorted(holes[::2] * 3)
    finally:
        net.server.ip(*(f"route del blackhole {address}/32" for address in holes[::2]))
        net.client.ip(*(f"address del {address}/24 dev near" for address in holes))


@pytest.mark.parametrize("direction", [INGRESS, EGRESS])
def test_unfiltered_in_a_control_group(net: Wire, seven: socket.socket, direction: int) -> None:
    """A packet program of the cgroup, such as systemd's IPAddressDeny=, must see them."""
    script = Script("kernel", OPEN_UNFILTERED)
    with control_group() as group, taker(net.server, "far") as sock, net.to_server(7) as client:
        script(sock.fileno())
        assert is_taken(client, seven)
        # A CGROUP_SKB program that passes everything.
        with attached(group, SKB, direction, 1):
            after_a_tick()
            assert not is_taken(client, seven)
        after_a_tick()
        assert is_taken(client, seven)
        close(script)


def test_takes_in_one_way_or_the_other(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """The last call's mode applies."""
    script = Script(
        "kernel",
        f"function run(fd, heed) if heed == 1 then {UNFILTERED} else {TAKE} end return 0 end",
    )
    begin, end = FILTERS["input"]
    net.server.run(begin.split())
    after_a_tick()
    try:
        with net.to_server(7) as client:
            for heed in (0, 1, 0):
                script(far.fileno(), heed)
                assert is_taken(client, seven) == (not heed)
    finally:
        net.server.run(end.split())
    wrong = Script("kernel", OPEN.replace("true", '"all"'))
    assert 'true or "unfiltered" expected' in wrong.fails(far.fileno())


KINDS = {
    "bridge": ("link add name bridge type bridge", "link set far master bridge", "link del bridge"),
    "macvlan": ("link add link far name other type macvlan", "", "link del other"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_device_is_taken(net: Wire, far: socket.socket, kind: str) -> None:
    """E.g. by a bridge: that is an error, and the device keeps working, also for later scripts."""
    make, join, remove = KINDS[kind]
    script = Script("kernel", OPEN)
    net.server.ip(make)
    if join:
        net.server.ip(join)
    assert BUSY in script.fails(far.fileno())
    net.server.ip(remove)
    assert script(far.fileno()) == 0
    assert not is_free(net.server, "far")


def test_one_script_a_device(net: Wire, far: socket.socket) -> None:
    """The first script gets it; its other sockets, and other scripts, must wait."""
    first, second = Script("kernel", OPEN), Script("kernel", OPEN)
    with taker(net.server, "far", 8) as other:
        assert first(far.fileno()) == first(far.fileno()) == 0
        assert BUSY in first.fails(other.fileno())
        for sock in (far, other):
            assert BUSY in second.fails(sock.fileno())
        assert first(far.fileno()) == 0
        close(first)
        assert second(other.fileno()) == 0


# -- Lives ------------------------------------------------------------------------


def test_given_back(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """On request, or at the end of the script, the stack gets all frames again."""
    script = Script(
        "kernel", "function run(fd, take) net.frames(fd, false, take == 1) return 0 end"
    )
    with net.to_server(7) as client:
        for _ in range(3):
            script(far.fileno(), 1)
            assert is_taken(client, seven)
            script(far.fileno(), 0)
            assert not is_taken(client, seven)
        script(far.fileno(), 1)
        close(script)
        assert not is_taken(client, seven)
    assert is_free(net.server, "far")
    # Frames taken before stay in the socket.
    assert [frame[42:] for frame in drain(far)] == [b"whose?"] * 3


DEATHS = {
    **frames_harness.ENDS,
    "wall": "port:receive(1, -1)",
    "loop-in-c": "local s = ('a'):rep(30) s:find(('a?'):rep(30) .. ('a'):rep(30) .. 'b')",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", DEATHS)
def test_script_dies(net: Wire, far: socket.socket, seven: socket.socket, how: str) -> None:
    """The script dies holding frames, with more in the queue and more to come."""
    source = f"""
    function run(fd)
      local port = {TAKE}
      local n = port:receive(2, 30000, 2, 1000000)
      local at, len = port[1]:udp()
      port[1]:reply(len)
      {DEATHS[how]}
      return 0
    end"""
    with net.to_server(7) as client:
        pid = os.fork()
        if not pid:
            script = Script("kernel", source, wall_limit_ns=10**9, **frames_harness.limits(how))
            script.library.call(script.fd, far.fileno())
            os._exit(0)
        assert eventually(lambda: is_taken(client, seven))
        for _ in range(6):
            client.send(bytes(300))
        os.waitpid(pid, 0)
        assert not is_taken(client, seven)
    drain(far)
    assert memory(far)["rmem"] == memory(far)["wmem"] == 0
    assert is_free(net.server, "far")


def sleeper(sock: socket.socket) -> int:
    """A process that waits for frames for ever."""
    pid = os.fork()
    if not pid:
        script = Script("kernel", RECEIVE)
        script.library.call(script.fd, sock.fileno(), 64, -1)
        os._exit(1)
    return pid


def test_killed_while_it_waits(net: Wire, far: socket.socket) -> None:
    pid = sleeper(far)
    assert eventually(lambda: not is_free(net.server, "far"))
    os.kill(pid, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert eventually(lambda: is_free(net.server, "far"))


def test_fork(net: Wire, far: socket.socket) -> None:
    """A child with the script's descriptor keeps the script alive, and no longer."""
    script = Script("kernel", OPEN)
    script(far.fileno())
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    close(script)
    assert not is_free(net.server, "far")
    os.close(reading)
    os.close(writing)
    os.waitpid(pid, 0)
    assert eventually(lambda: is_free(net.server, "far"))


@pytest.mark.parametrize("queue", [0, 5])
def test_socket_closed(net: Wire, seven: socket.socket, queue: int) -> None:
    """The stack gets its frames at once; the device is free after the next call."""
    script = Script("kernel", f"function run(fd) if fd >= 0 then {TAKE} end return 0 end")
    sock = taker(net.server, "far")
    script(sock.fileno())
    with net.to_server(7) as client:
        for _ in range(queue):
            client.send(bytes(300))
        assert eventually(lambda: queue == 0 or memory(sock)["rmem"] > 0)
        sock.close()
        assert not is_taken(client, seven)
        assert not is_free(net.server, "far")
        script(-1)
        assert is_free(net.server, "far")
        assert not is_taken(client, seven)


def test_socket_is_anothers_too(net: Wire, far: socket.socket, seven: socket.socket) -> None:
    """Passed to another process, the socket lives on, and takes frames until the script ends."""
    script = Script("kernel", OPEN)
    ours, theirs = socket.socketpair()
    sock = taker(net.server, "far")
    script(sock.fileno())
    socket.send_fds(ours, [b"+"], [sock.fileno()])
    sock.close()
    with net.to_server(7) as client:
        assert is_taken(client, seven)
        _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
        with socket.socket(fileno=fds[0]) as passed:
            assert passed.recv(100)[42:] == b"whose?"
            # Here the descriptor has another number, so the script finds no port.
            assert script.fails(987)
            assert is_taken(client, seven)
            close(script)
            assert not is_taken(client, seven)
            assert passed.recv(100)[42:] == b"whose?"
    ours.close()
    theirs.close()


def test_descriptor_becomes_another(net: Wire, far: socket.socket, pair: None) -> None:
    """The port follows the descriptor: to another socket, and to another device."""
    script = Script("kernel", OPEN)
    with taker(net.server, "one") as one, taker(net.server, "far", 8) as other:
        fd = os.dup(far.fileno())
        script(fd)
        os.dup2(other.fileno(), fd)
        script(fd)
        assert not is_free(net.server, "far")
        os.dup2(one.fileno(), fd)
        script(fd)
        assert is_free(net.server, "far")
        assert not is_free(net.server, "one")
        with net.server.inside():
            one.bind(("two", 0))
        script(fd)
        assert is_free(net.server, "one")
        assert not is_free(net.server, "two")
        os.close(fd)


GOES = {
    "deleted": "link del one",
    "moved": "link set one netns {}",
    "down": "link set one down",
}
WAITS = f"""
local DOWN = -{errno.ENETDOWN}
function run(fd)
  local port, downs, n = {TAKE}, 0
  repeat
    n = port:receive(1, downs == 0 and 10000 or 1000)
    if n == DOWN then downs = downs + 1 end
  until n ~= DOWN
  return downs > 0 and n or 1000
end
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", GOES)
def test_device_goes(mode: str, net: Wire, pair: None, how: str) -> None:
    """A waiting script gets an error. It can continue if the device comes up again."""
    waits, echo = Script(mode, WAITS), Script(mode, ECHO)
    results: list[int] = []
    with taker(net.server, "one") as one, net.server.packet("two") as two:
        call = threading.Thread(target=lambda: results.append(waits(one.fileno())))
        call.start()
        assert eventually(lambda: not is_free(net.server, "one"))
        time.sleep(0.2)
        net.server.ip(GOES[how].format(net.client.pid))
        call.join(20)
        assert results == [0 if how == "down" else -errno.ENXIO], results
        if how == "down":
            net.server.ip("link set one up")
            # Others must wait for the device while this script has it.
            assert BUSY in echo.fails(one.fileno(), 7, 0, 0)
            two.send(one.getsockname()[4] + GOOD[6:])
            assert waits(one.fileno()) == 1000
        else:
            assert "not bound to a device" in waits.fails(one.fileno())
        if how == "moved":
            assert is_free(net.client, "one")


@pytest.mark.parametrize("how", ["closed", "called"])
def test_namespace_goes(how: str) -> None:
    """The socket keeps its namespace until the script ends or is called next."""
    lonely = Wire()  # Its processes must not inherit the script's descriptors.
    script = Script("kernel", f"function run(fd) if fd >= 0 then {TAKE} end return 0 end")
    sock = taker(lonely.server, "far")
    script(sock.fileno())
    os.close(lonely.server.fd)
    os.kill(lonely.server.pid, signal.SIGKILL)
    os.waitpid(lonely.server.pid, 0)
    sock.close()
    time.sleep(0.5)
    assert "near" in lonely.client.ip("-br link")
    if how == "called":
        script(-1)
    else:
        close(script)
    # The other end of the pair disappears with the namespace.
    assert eventually(lambda: "near" not in lonely.client.ip("-br link"))
    lonely.client.close()


class Storm:
    """Frames for some seconds, while takers start and stop."""

    def __init__(self, server: Namespace) -> None:
        self.server, self.end, self.sent = server, time.monotonic() + 4, 0
        work = (self.flood, self.come_and_go, self.come_and_go)
        self.threads = [threading.Thread(target=one) for one in work]
        for thread in self.threads:
            thread.start()

    def goes_on(self) -> bool:
        return time.monotonic() < self.end

    def flood(self) -> None:
        with self.server.packet("two") as two:
            while self.goes_on():
                try:
                    two.send(b"\xff" * 6 + GOOD[6:])
                    self.sent += 1
                except OSError:
                    time.sleep(0.01)

    def come_and_go(self) -> None:
        """Another script may have the device, or it is gone."""
        while self.goes_on():
            script = Script("kernel", RECEIVE)
            try:
                with taker(self.server, "one") as sock:
                    for _ in range(3):
                        script.library.call(script.fd, sock.fileno(), 64, 5)
            except OSError:
                time.sleep(0.01)
            close(script)


@pytest.mark.long
def test_storm(net: Wire, pair: None) -> None:
    """The device goes down and disappears during the storm."""
    storm = Storm(net.server)
    while storm.goes_on():
        net.server.ip("link set one down")
        net.server.ip("link set one up")
        time.sleep(0.2)
        net.server.ip(f"link set one netns {net.client.pid}")
        net.client.ip(f"link set one netns {net.server.pid}")
        net.server.ip("link set one up")
    for thread in storm.threads:
        thread.join(30)
    assert storm.sent > 100
    assert is_free(net.server, "one")
