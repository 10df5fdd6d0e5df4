# SPDX-License-Identifier: GPL-2.0
"""net.frames: frames that outlive a call, and whole servers."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time

import frames_harness
import netns_pair
import pytest
import seccomp
from frames_harness import (
    ENDS,
    GOOD,
    KEEP,
    ROOT,
    SCRIPTS,
    SIZE,
    STATES,
    AsUser,
    Call,
    Script,
    Slots,
    limits,
    queued,
    spare,
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

# -- Frames that outlive a call -------------------------------------------------


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
        script = Script(kernel, source, **limits(how))
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
