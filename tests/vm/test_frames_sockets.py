# SPDX-License-Identifier: GPL-2.0
"""net.frames: sockets and devices that come and go, and waiting for frames."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable

import frames_harness
import netns_pair
import pytest
from frames_harness import (
    BURST,
    ECHO,
    ENDS,
    ETHTOOL_SGRO,
    ETHTOOL_STSO,
    GOOD,
    STATES,
    Script,
    limits,
    queued,
    repeat,
    set_feature,
    set_filter,
    spare,
)
from netns_pair import (
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
            script = Script(kernel, source, **limits(how))
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
