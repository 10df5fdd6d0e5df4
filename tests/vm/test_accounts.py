# SPDX-License-Identifier: GPL-2.0
"""An account's limits are checked before anything is allocated.

tests/hostile/test_account_storms.py has the same as storms, for longer.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import threading
import time
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
    code_of,
    faults_for_all,
    hold_all_code,
    hold_arenas,
    hold_code,
    hold_huge,
    interrupts,
    keep_busy,
    may_lock,
    pinned,
    pins_held,
    register,
    register_slowly,
)
from confined.kernel import Arena, lib
from runner import SLOWDOWN, account, in_namespace

TESTS = Path(__file__).resolve().parents[1]
HOGS = 3
TOO_MUCH = "the shared memory is more than may be locked: raise RLIMIT_MEMLOCK (ulimit -l)"
PRELUDE = f"""
import json, os, sys
sys.path.insert(0, {str(TESTS)!r})
from confined.accounts import *
"""


def told(account: Account, word: object = 1) -> list:
    account.say(word)
    return account.hear()


# -- Locked memory -----------------------------------------------------------------------


def test_locked_memory_is_a_users() -> None:
    """All processes of a user share one limit; other users have their own."""
    limit = 3 * ARENA
    with (
        Account(FIRST_UID, hold_arenas, limit) as first,
        Account(FIRST_UID, hold_arenas, limit) as second,
        Account(FIRST_UID + 1, hold_arenas, limit) as other,
    ):
        assert told(first) == [0, "", ARENA]
        assert told(first) == [0, "", 2 * ARENA]
        assert told(second) == [0, "", ARENA]
        refused = [-errno.ENOMEM, f"{TOO_MUCH} from 192 to 256 KiB"]
        assert told(second) == [*refused, ARENA]
        assert told(first) == [*refused, 2 * ARENA]
        assert told(other) == [0, "", ARENA]
        first.end()
        assert told(second) == [0, "", 2 * ARENA]
        assert told(second) == [0, "", 3 * ARENA]
    assert not list(lib.scripts())


def test_all_of_a_huge_page_counts() -> None:
    """A huge page stays charged while any part of it is pinned."""
    with Account(FIRST_UID, hold_huge, 4 << 20) as first:
        assert first.hear() == [0, "", 2 << 20, True]
    with Account(FIRST_UID, hold_huge, 1 << 20) as second:
        assert second.hear() == [-errno.ENOMEM, f"{TOO_MUCH} from 1024 to 2048 KiB", 0, True]
    assert not list(lib.scripts())


AFTER_EXEC = """
may_lock(2 * ARENA)
arena = Arena()
print(json.dumps([register(SMALL, arena)[0] < 0, register(SMALL, Arena())[0], pinned()]))
"""
BEFORE_EXEC = """
may_lock(2 * ARENA)
arena = Arena()
fd, text = register(SMALL, arena)
os.set_inheritable(fd, True)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""


def test_exec_does_not_begin_at_nothing() -> None:
    """Memory held by an open descriptor still counts, and is listed."""
    command = [sys.executable, "-c", PRELUDE + BEFORE_EXEC, PRELUDE + AFTER_EXEC]
    done = subprocess.run(
        command, **account("outsider"), capture_output=True, text=True, timeout=60 * SLOWDOWN
    )
    assert json.loads(done.stdout or "0") == [False, -errno.ENOMEM, ARENA], done.stderr


IN_NAMESPACE = """
assert not libc.unshare(0x10000000)
print(flush=True)
sys.stdin.readline()
may_lock(2 * ARENA)
first, second = Arena(), Arena()
kept = register(SMALL, first)
if not os.fork():
    os.setresuid(1, 1, 1)
    last = Arena()
    print(json.dumps([register(SMALL, second)[0] < 0, register(SMALL, last)[0]]), flush=True)
    os._exit(0)
os.wait()
"""


def test_ids_of_a_namespace_are_one_user() -> None:
    output = in_namespace([sys.executable, "-c", PRELUDE + IN_NAMESPACE], "outsider")
    assert json.loads(output) == [False, -errno.ENOMEM]


def test_nothing_is_got_before_it_is_paid() -> None:
    size = 128 << 20
    with faults_for_all(), Account(FIRST_UID, register_slowly, size, ARENA) as poor:
        before = poor.hear()
        result, text, after = poor.hear()
        assert result == -errno.ENOMEM and TOO_MUCH in text
        assert after - before < 4 << 20


def test_what_is_under_way_counts() -> None:
    size = 128 << 20
    with (
        faults_for_all(),
        Account(FIRST_UID, register_slowly, size, size + ARENA) as slow,
        Account(FIRST_UID, hold_arenas, size + ARENA) as other,
    ):
        assert told(other) == [0, "", ARENA]
        slow.hear()
        end = time.monotonic() + 20 * SLOWDOWN
        while pinned(slow.pid) != size:
            assert time.monotonic() < end, pinned(slow.pid)
        assert told(other)[0] == -errno.ENOMEM
        slow.end()
        assert told(other) == [0, "", 2 * ARENA]
    assert not list(lib.scripts())


def sweep(channel: Channel) -> None:
    """Each limit of locked memory and of the script, in small steps."""
    for limit in range(0, 3 * ARENA + 1, 4096):
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, 3 * ARENA))
        arenas = [Arena() for _ in range(3)]
        fds = [register(SMALL, arena)[0] for arena in arenas]
        held = sum(fd >= 0 for fd in fds)
        channel.say([limit, held, pinned()])
        for fd in fds:
            if fd >= 0:
                os.close(fd)
        for arena in arenas:
            arena.__exit__()
    arena, image = Arena(), i.Image([i.mov(1, 0) * 12_000 + i.EXIT], native=0x8000).pack()
    for limit in range(64 << 10, 320 << 10, 4096):
        fd, _ = register(image, arena, memory=limit)
        held = next(lib.scripts()).memory if fd >= 0 else 0
        channel.say(["memory", limit, min(fd, 0), held])
        if fd >= 0:
            os.close(fd)
    channel.say([pinned()])


def test_limits_at_every_value() -> None:
    with Account(FIRST_UID, sweep) as poor:
        for limit in range(0, 3 * ARENA + 1, 4096):
            held = limit // ARENA
            assert poor.hear() == [limit, held, held * ARENA]
        seen = []
        while len(line := poor.hear()) > 1:
            _, limit, result, held = line
            assert result in (0, -errno.ENOBUFS) and held <= limit, line
            seen.append(result)
        assert line == [0]
    # Refused up to some value and never above it.
    assert seen == sorted(seen) and {0, -errno.ENOBUFS} == set(seen)
    assert not list(lib.scripts())


def test_threads_share_what_is_under_way() -> None:
    """Two threads register in one arena, with a limit that just suffices."""

    def body(channel: Channel) -> None:
        may_lock(ARENA)
        arena, results = Arena(), []
        for n in range(40):
            images = [i.Image([i.movi(0, 2 * n + k) + i.EXIT]).pack() for k in (0, 1)]
            threads = [
                threading.Thread(target=lambda image=image: results.append(register(image, arena)))
                for image in images
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for fd, text in results:
                assert fd >= 0, text
                os.close(fd)
            results.clear()
        channel.say("done")

    with Account(FIRST_UID, body) as user:
        assert user.hear() == "done"


def test_pins_are_all_released() -> None:
    """Processes are killed while they register, run and close."""

    def body(channel: Channel) -> None:
        channel.say("on")
        while True:
            with Arena(1 << 20) as arena:
                image = i.Image([i.EXIT], shift=20, stack_end=0x8000).pack()
                fd, text = register(image, arena)
                assert fd >= 0, text
                lib.call(fd)
                os.close(fd)

    before = pins_held()
    for n in range(12):
        with Account(FIRST_UID, body) as user:
            assert user.hear() == "on"
            time.sleep(0.01 * (n % 7))
    assert not list(lib.scripts())
    assert pins_held() == before


# -- Room for machine code -----------------------------------------------------------------


def test_code_has_room_for_others() -> None:
    """Accounts take all code memory they can get; a later one still has a slot of each kind."""
    with accounts(HOGS, hold_all_code) as hogs:
        held = [told(hog) for hog in hogs]
        # Half of the pool and of the rest each time, and both slots; a page or two may be lost on
        # the kernel's calling path.
        for got, most in zip(held, (464, 304, 224), strict=True):
            assert most - 4 <= got <= most + 4, held
        with Account(FIRST_UID + HOGS, hold_code) as last:
            assert [told(last, pages)[0] for pages in (128, 8, 4, 2, 1, 1)] == [0] * 6
            full = told(last, 80)
            assert full[0] == -errno.ENOBUFS and "they may have now" in full[1]
    assert not list(lib.scripts())
    with Account(FIRST_UID, hold_code) as alone:
        assert told(alone, 200)[0] == 0
        assert told(alone, 200)[0] == -errno.ENOBUFS


def test_code_of_a_higher_limit() -> None:
    """A program generates the code itself if the copy it waits for exceeds its limit."""

    def body(channel: Channel, memory: int) -> None:
        with Arena() as arena:
            channel.say("ready")
            channel.hear()
            channel.say(list(register(code_of(200), arena, memory=memory)))
            channel.hear()

    with Account(FIRST_UID, body, 1 << 20) as poor, Account(FIRST_UID, body, 4 << 20) as rich:
        assert poor.hear() == rich.hear() == "ready"
        poor.say(1)
        rich.say(1)
        assert poor.hear()[0] == -errno.ENOBUFS
        fd, text = rich.hear()
        assert fd >= 0, text


@pytest.mark.skipif(os.cpu_count() == 1, reason="one CPU")
def test_new_code_disturbs_no_other_cpu() -> None:
    """Only CPUs where the process may run are interrupted, not one running another process."""
    many = 300

    def body(channel: Channel) -> None:
        arena = Arena()
        kept = register(SMALL, arena)[0]
        before = interrupts(1)
        for n in range(many):
            image = i.Image([i.movi(0, n) + i.EXIT]).pack()
            os.close(register(image, arena)[0])
        channel.say(interrupts(1) - before)
        os.close(kept)

    cpus = os.sched_getaffinity(0)
    with Account(FIRST_UID, keep_busy, 1) as other:
        assert other.hear() == "on"
        os.sched_setaffinity(0, {0})
        try:
            user = Account(FIRST_UID + 1, body)
        finally:
            os.sched_setaffinity(0, cpus)
        with user:
            assert user.hear() < many // 3


def test_new_code_on_all_cpus() -> None:
    """Threads on all CPUs run code that one of them has just registered."""

    def body(channel: Channel) -> None:
        arena, now = Arena(), [0, 0]
        wrong: list[object] = []
        stop = threading.Event()

        def run() -> None:
            while not stop.is_set():
                fd, value = now
                if fd and lib.call(fd) != (1, value) and now[1] == value:
                    wrong.append(value)

        threads = [threading.Thread(target=run) for _ in range(os.cpu_count() or 1)]
        for thread in threads:
            thread.start()
        for n in range(1, 80):
            fd, text = register(i.Image([i.movi(0, n) + i.EXIT]).pack(), arena)
            assert fd >= 0, text
            before, now = now, [fd, n]
            time.sleep(0.002)
            if before[0]:
                os.close(before[0])
        stop.set()
        for thread in threads:
            thread.join()
        channel.say(wrong)

    with Account(FIRST_UID, body) as user:
        assert user.hear() == []
