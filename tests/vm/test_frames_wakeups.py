# SPDX-License-Identifier: GPL-2.0
"""Wake-ups by frames that are taken: as few as possible, but never too few."""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import frames_harness
import pytest
import test_frames_taken
from frames_harness import Script
from netns_pair import Wire
from test_frames_taken import OPEN, RECEIVE, TAKE, eventually

PATIENCE = 10.0  # of sleeping threads; a lost wake-up lasts as long
F_SETSIG = 10
ENOUGH = f"function run(fd, enough, hold) return {TAKE}:receive(64, -1, enough, hold) end"

closed_scripts = frames_harness.closed_scripts
net = test_frames_taken.net
far = test_frames_taken.far


@pytest.fixture
def first() -> Iterator[None]:
    """Runs everything on one CPU, so that woken tasks wait until this thread sleeps."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.sched_setaffinity(0, before)


class Sleeper(threading.Thread):
    """Makes one sleeping call as an ordinary task."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self.work, self.result, self.took = work, None, 0.0
        self.start()
        assert eventually(self.sleeps)

    def run(self) -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        start = time.monotonic()
        try:
            self.result = self.work()
        finally:
            self.took = time.monotonic() - start

    def sleeps(self) -> bool:
        """Whether it sleeps in the call itself: Python's locks are futexes."""
        if not self.native_id:
            return False
        state = Path(f"/proc/self/task/{self.native_id}/syscall").read_text()
        return state.split()[0] not in ("running", "-1", "202")


def waits_exclusively(sock: socket.socket) -> bytes:
    with select.epoll() as poller:
        poller.register(sock, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        assert poller.poll(PATIENCE)
    return sock.recv(100, socket.MSG_DONTWAIT)


WAITS = {"recv": lambda sock: sock.recv(100), "exclusive": waits_exclusively}


@pytest.mark.parametrize("how", WAITS)
def test_each_takes_one(net: Wire, far: socket.socket, first: None, how: str) -> None:
    """Two threads sleep, two frames arrive at once: the first wake-up must not serve both."""
    script = Script("kernel", OPEN)
    script(far.fileno())
    sleepers = [Sleeper(lambda: WAITS[how](far)) for _ in range(2)]
    with net.to_server(7) as client:
        client.send(b"a")
        client.send(b"b")
    for sleeper in sleepers:
        sleeper.join()
        assert sleeper.took < PATIENCE / 2
    assert {sleeper.result[-1:] for sleeper in sleepers} == {b"a", b"b"}


def test_enough(net: Wire, far: socket.socket, first: None) -> None:
    """A script waiting for several frames sleeps while they come one by one."""
    script = Script("kernel", ENOUGH)
    for _ in range(5):  # a busy machine may take as long
        sleeper = Sleeper(lambda: script(far.fileno(), 16, 1_000_000))
        with net.to_server(7) as client:
            client.send(b"x")
            start = time.monotonic()
            time.sleep(0.05)  # Holds now.
            for _ in range(15):
                client.send(b"x")
        sleeper.join()
        assert sleeper.result == 16
        took = time.monotonic() - start
        if took < 0.9:
            break
    assert took < 0.9


def test_needless(net: Wire, far: socket.socket, first: None) -> None:
    """No wake-up for a frame that joins others, unless one was taken since the last wake-up."""
    script = Script("kernel", RECEIVE)
    script(far.fileno(), 1, 0)
    with select.epoll() as poller, net.to_server(7) as client:
        poller.register(far, select.EPOLLIN | select.EPOLLET)

        def woken(take: Callable[[], object] | None = None) -> bool:
            if take:
                take()
            client.send(b"x")
            return bool(poller.poll(0.1))

        assert [woken() for _ in range(3)] == [True, False, False]
        assert woken(lambda: script(far.fileno(), 1, 0))
        assert not woken()
        assert woken(lambda: far.recv(100))
        assert not woken(lambda: far.recv(100, socket.MSG_PEEK))
        assert woken(lambda: script(far.fileno(), 64, 0))


def test_signals(net: Wire, far: socket.socket) -> None:
    """A signal for each frame, for processes that requested signals."""
    script = Script("kernel", OPEN)
    script(far.fileno())
    number = signal.SIGRTMIN
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    fcntl.fcntl(far, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(far, F_SETSIG, number)
    fcntl.fcntl(far, fcntl.F_SETFL, fcntl.fcntl(far, fcntl.F_GETFL) | os.O_ASYNC)
    with net.to_server(7) as client:
        for _ in range(3):
            client.send(b"x")
    got = [signal.sigtimedwait({number}, PATIENCE) for _ in range(3)]
    fcntl.fcntl(far, fcntl.F_SETFL, fcntl.fcntl(far, fcntl.F_GETFL) & ~os.O_ASYNC)
    signal.pthread_sigmask(signal.SIG_SETMASK, old)
    assert all(got)


class Server(threading.Thread):
    """Takes some frames whenever it is woken."""

    def __init__(self, wait: Callable[[], object], take: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.wait, self.take = wait, take
        self.taken, self.late, self.over = 0, False, False
        self.start()

    def run(self) -> None:
        while not self.over:
            self.late |= not self.wait()
            self.taken += self.take()


def take_one(sock: socket.socket) -> int:
    try:
        return bool(sock.recv(100, socket.MSG_DONTWAIT))
    except BlockingIOError:
        return 0


def test_none_is_lost(net: Wire, far: socket.socket) -> None:
    """Threads poll, each in a different way, and take some frames: none stays in the queue."""
    script, poll = Script("kernel", RECEIVE), select.poll()
    script(far.fileno(), 1, 0)
    epolls = [select.epoll() for _ in range(2)]
    for poller in (poll, *epolls):
        poller.register(far, select.POLLIN)
    servers = [
        Server(lambda: poll.poll(PATIENCE * 1000), lambda: take_one(far)),
        Server(lambda: epolls[0].poll(PATIENCE), lambda: take_one(far)),
        Server(lambda: epolls[1].poll(PATIENCE), lambda: script(far.fileno(), 2, 0)),
    ]
    sent, rng, end = 0, random.Random(1), time.monotonic() + 5
    with net.to_server(7) as client:
        while time.monotonic() < end:
            burst = rng.randrange(1, 9)
            for _ in range(burst):
                client.send(b"x")
            sent += burst
            while sum(server.taken for server in servers) < sent:
                assert not any(server.late for server in servers)
                time.sleep(0)
        for server in servers:
            server.over = True
        while any(server.is_alive() for server in servers):
            client.send(b"x")
            time.sleep(0.01)
    assert all(server.taken for server in servers)
    for poller in epolls:
        poller.close()
