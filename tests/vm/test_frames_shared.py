# SPDX-License-Identifier: GPL-2.0
"""net.frames: others who hold a frame, and who is charged for it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import frames_harness
import netns_pair
import pytest
from frames_harness import (
    BURST,
    ECHO,
    ETHTOOL_SGRO,
    ETHTOOL_STSO,
    HOLD,
    IN_KERNEL,
    Script,
    queued,
    set_feature,
    set_filter,
)
from netns_pair import (
    CLIENT4,
    SERVER4,
    Wire,
    drain,
    frame4,
    memory,
)

# Engines and modes times kinds of frames: in the gate each test runs a third of its cases.
pytestmark = pytest.mark.sample(3, spread=True)

closed_scripts = frames_harness.closed_scripts
mode = frames_harness.mode
kernel = frames_harness.kernel
net = frames_harness.net
far = frames_harness.far
near = frames_harness.near

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
