# SPDX-License-Identifier: GPL-2.0
"""Storms of accounts against accounts; tests/vm/test_accounts.py has a sample of each."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.accounts import (
    ARENA,
    FIRST_UID,
    SMALL,
    Account,
    Channel,
    accounts,
    hold_all_code,
    hold_code,
    pins_held,
    preemption,
    register,
)
from confined.kernel import Arena, lib
from runner import SLOWDOWN

SECONDS = 8 * SLOWDOWN
# Before the fix, others waited 3 to 9 seconds for a lock.
LATE = 1.5 * SLOWDOWN


def told(account: Account, word: object = 1) -> list:
    account.say(word)
    return account.hear()


# -- Locks: an attacker who gets next to no time of a CPU ----------------------------------


def last_in_line(channel: Channel, act: Callable[[], object]) -> None:
    """At the lowest priority, on a CPU that another process of the same user occupies."""
    os.sched_setaffinity(0, {0})
    busy = os.fork()
    if not busy:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(120 * SLOWDOWN)
        while True:
            pass
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        channel.say("on")
        while True:
            act()
    finally:
        os.kill(busy, signal.SIGKILL)


def registers(channel: Channel) -> None:
    """Long images that differ in their last instruction; some stay."""
    arena = Arena()
    images = [i.Image([i.mov(1, 0) * 60_000 + i.movi(0, n) + i.EXIT]).pack() for n in range(6)]
    kept = [register(image, arena, memory=2 << 20) for image in images[:4]]
    assert all(fd >= 0 for fd, _ in kept), kept

    def act() -> None:
        for image in images:
            fd, _ = register(image, arena, memory=2 << 20)
            if fd >= 0:
                os.close(fd)

    last_in_line(channel, act)


def lists(channel: Channel) -> None:
    last_in_line(channel, lambda: list(lib.scripts()))


def closes(channel: Channel) -> None:
    """Large arenas, and many of them."""

    def act() -> None:
        with Arena(4 << 20) as arena:
            image = i.Image([i.EXIT], shift=22, stack_end=0x8000).pack()
            fd, _ = register(image, arena)
            if fd >= 0:
                os.close(fd)

    last_in_line(channel, act)


def works(channel: Channel) -> None:
    """Registers, lists, runs and closes; reports the longest time of each."""
    os.sched_setaffinity(0, {os.cpu_count() - 1})
    with Arena() as arena:
        while (seconds := channel.hear()) is not None:
            longest, rounds = [0.0] * 4, 0
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                image = i.Image([i.movi(0, rounds) + i.EXIT]).pack()
                times = [time.monotonic()]
                fd, text = register(image, arena)
                times.append(time.monotonic())
                assert fd >= 0, text
                list(lib.scripts())
                times.append(time.monotonic())
                assert lib.call(fd) == (1, rounds)
                times.append(time.monotonic())
                os.close(fd)
                times.append(time.monotonic())
                took = [b - a for a, b in zip(times, times[1:], strict=False)]
                longest = [max(pair) for pair in zip(longest, took, strict=True)]
                rounds += 1
            channel.say([rounds, *longest])


@contextmanager
def in_a_group(attackers: list[Account]) -> Iterator[None]:
    """Ends the processes that they started, too."""
    try:
        yield
    finally:
        for each in attackers:
            each.end()
        for entry in Path("/proc").glob("[0-9]*/status"):
            try:
                uid = int(entry.read_text().partition("Uid:")[2].split()[0])
                if FIRST_UID <= uid < FIRST_UID + 100:
                    os.kill(int(entry.parent.name), signal.SIGKILL)
            except (OSError, ValueError, IndexError):
                continue


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU")
@pytest.mark.parametrize("attack", [registers, lists, closes])
def test_nobody_waits_for_the_last_in_line(attack: Callable[[Channel], None]) -> None:
    """A task preempted in the kernel and never scheduled again blocks no other account."""
    with preemption("full") as full:
        if not full:
            pytest.skip("a kernel that does not preempt itself")
        attackers = [Account(FIRST_UID + n, attack) for n in range(2)]
        with in_a_group(attackers), Account(FIRST_UID + 99, works) as victim:
            for each in attackers:
                assert each.hear() == "on"
            rounds, *longest = told(victim, SECONDS)
        assert rounds > 20 and max(longest) < LATE, (rounds, longest)


# -- Room, memory --------------------------------------------------------------------------


def test_many_accounts_take_all_code() -> None:
    """Eight hogs, then the greatest number of accounts: each gets its guaranteed share."""
    with accounts(7, hold_all_code) as hogs:
        held = [told(hog) for hog in hogs]
        assert held == sorted(held, reverse=True) and held[-1] >= 104
        with accounts(40, hold_code) as others:
            for n, each in enumerate(others[7:]):
                assert [told(each, pages)[0] for pages in (8, 4, 2, 1, 1)] == [0] * 5, n
            assert told(others[7], 128)[0] == 0
            with Account(FIRST_UID + 90, hold_code) as one_too_many:
                assert told(one_too_many, 16)[0] == -errno.ENOBUFS
            others[20].end()
            with Account(FIRST_UID + 91, hold_code) as instead:
                assert told(instead, 16)[0] == 0
    assert not list(lib.scripts())


def storm(channel: Channel) -> None:
    """Registers, runs and closes with everything it may have."""
    arenas = [Arena(ARENA << n) for n in range(4)]
    images = [
        i.Image([i.movi(0, n) + i.EXIT], shift=16 + n, stack_end=0x8000).pack() for n in range(4)
    ]
    channel.say("on")
    while True:
        fds = [register(image, arena)[0] for image, arena in zip(images, arenas, strict=True)]
        for n, fd in enumerate(fds):
            if fd >= 0:
                assert lib.call(fd) == (1, n)
                os.close(fd)


def test_killed_processes_leave_nothing() -> None:
    before = pins_held()
    for n in range(10 * SECONDS):
        with accounts(3, storm) as users:
            for user in users:
                assert user.hear() == "on"
            time.sleep(0.003 * (n % 11))
    assert not list(lib.scripts())
    assert pins_held() == before
    with Account(FIRST_UID, hold_code) as user:
        assert told(user, 128)[0] == 0


def test_all_register_the_same() -> None:
    """Processes of an account share code and wait for each other, while some are killed."""

    def body(channel: Channel) -> None:
        image = i.Image([i.mov(1, 0) * 20_000 + i.movi(0, 7) + i.EXIT]).pack()
        arena, done = Arena(), 0
        channel.say("on")
        while True:
            fd, text = register(image, arena)
            assert fd >= 0, text
            assert lib.call(fd) == (1, 7)
            os.close(fd)
            done += 1
            channel.say(done)

    for n in range(2 * SECONDS):
        users = [Account(FIRST_UID, body) for _ in range(4)]
        try:
            for user in users:
                assert user.hear() == "on"
            users[n % 4].end()
            for user in users:
                assert not user.pid or user.hear() == 1
        finally:
            for user in users:
                user.end()
    assert not list(lib.scripts())
    with Account(FIRST_UID, hold_code) as user, Arena() as arena:
        assert told(user, 128)[0] == 0
        fd, text = register(SMALL, arena)
        assert lib.call(fd) == (1, 7), text
        os.close(fd)
