# SPDX-License-Identifier: GPL-2.0
"""libkernevents from Python, and the command evmon."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit import KIT
from planted_locks import do, line_of, load_with

sys.path.append(str(KIT / "evmon" / "lib"))

import kernevents  # noqa: E402

EVMON = KIT / "evmon" / "evmon"
PLACES = Path("/sys/kernel/debug/evmon/places")
TRACE = Path("/sys/kernel/tracing/instances/test-violations")


def types() -> list[str]:
    text = (KIT / "evmon" / "events.def").read_text()
    return re.findall(r"^EVENT\((\w+),", text, re.MULTILINE)


def test_numbers_of_types_are_the_same_everywhere() -> None:
    assert kernevents.USER == types().index("USER")


def test_events_in_bulk(load) -> None:
    load("evmon")
    load("planted_locks+evmon")
    do("sound")
    with kernevents.Kernevents("test", percent=1) as events:
        do("sound")
        found = list(events.read(timeout=1))
        places = {event.place: events.place(event) for event in found}
        assert events.lost == 0
    assert {place.module for place in places.values()} == {"planted_locks"}
    counts = Counter(types()[min(event.type, kernevents.USER)] for event in found)
    # The loop runs three times, see the source.
    assert counts["SPIN_ACQUIRE"] == counts["SPIN_RELEASE"] - 3 == 12
    assert counts["MUTEX_ACQUIRE"] == counts["MUTEX_RELEASE"] == 12
    assert (counts["REF_INIT"], counts["REF_INC"], counts["REF_DEC"]) == (6, 9, 15)
    assert counts["USER"] == 3
    taken = types().index("MUTEX_ACQUIRE")
    waited = [event.value for event in found if event.type == taken]
    assert max(waited) < 10**9, "ns; 0 of those that only tried"
    user = next(event for event in found if event.type == kernevents.USER + 7)
    assert places[user.place].name == "a"
    assert places[user.place].file == "sound.c"
    times = [event.time for event in found]
    assert times == sorted(times), "one process on one CPU, or two of them in turn"
    assert {event.pid for event in found} == {os.getpid()}


@contextlib.contextmanager
def cpu_off() -> Iterator[Path]:
    """Set it offline before the module is loaded, see vm/alone."""
    cpu = Path("/sys/devices/system/cpu/cpu1/online")
    if not cpu.exists():
        pytest.skip("no CPU that can be off")
    cpu.write_text("0")
    try:
        yield cpu
    finally:
        cpu.write_text("1")


def test_a_cpu_that_is_off(load) -> None:
    """The other CPUs' events arrive, its own once it is online; waiting for them does not spin."""
    load("evmon")
    load("planted_locks+evmon")
    with cpu_off() as cpu, kernevents.Kernevents("test", percent=1) as events:
        do("sound")
        assert {event.cpu for event in events.read(timeout=1)} == {0}
        began, used = time.monotonic(), time.process_time()
        assert not list(events.read(timeout=3))
        assert time.monotonic() - began > 2.5
        assert time.process_time() - used < 1
        cpu.write_text("1")
        os.sched_setaffinity(0, {1})
        do("sound")
        os.sched_setaffinity(0, {0, 1})
        assert {event.cpu for event in events.read(timeout=5)} == {1}


def test_more_events_than_fit_at_once(load) -> None:
    load("evmon")
    load("planted_locks+evmon")
    with kernevents.Kernevents("test", percent=1, count=10) as events:
        do("sound 2")
        found = []
        while more := list(events.read(timeout=0.5)):
            assert len(more) <= 10
            found += more
    assert sum(event.type == kernevents.USER + 7 for event in found) == 6


def test_lost_events_are_counted(load) -> None:
    load("evmon")
    load("planted_locks+evmon")
    with kernevents.Kernevents("test", buffer_kib=8, percent=1) as events:
        do("sound 200")
        while list(events.read(timeout=0.5)):
            pass
        assert events.lost > 0


def test_filter(load) -> None:
    load("evmon")
    load("planted_locks+evmon")
    number = kernevents.USER + 7
    with kernevents.Kernevents("test", percent=1, filter=f"type == {number}") as events:
        do("sound")
        assert [event.type for event in events.read(timeout=1)] == [number] * 3
    with pytest.raises(OSError, match="Invalid argument"):
        kernevents.Kernevents("test", filter="nonsense == 1")


def test_without_the_module() -> None:
    with pytest.raises(FileNotFoundError):
        kernevents.Kernevents("test")


def test_nothing_is_emitted_when_no_one_listens(load) -> None:
    load("evmon")
    load("planted_locks+evmon")
    do("sound")
    assert len(PLACES.read_text().splitlines()) == 1


def evmon(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EVMON, *words], capture_output=True, text=True, check=False)


@contextlib.contextmanager
def watching() -> Iterator[Callable[..., list[dict]]]:
    """A running `evmon watch`; yields its lines, a given number or all up to its end."""
    command = [EVMON, "watch", "planted_locks", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stderr.readline().startswith("watching planted_locks")

        def lines(count: int | None = None) -> list[dict]:
            if count is None:
                process.send_signal(signal.SIGINT)
            found = [json.loads(line) for line in itertools.islice(process.stdout, count)]
            assert count is not None or process.wait() == 0
            return found

        yield lines


@pytest.mark.planted
def test_watch(load) -> None:
    load_with(load, "mutex", "spin")
    with watching() as lines:
        do("mutex_other")
        do("spin_order")
        found = lines(2) + lines()
    # A violation seen more often meanwhile is printed again at the end.
    assert list(dict.fromkeys(line["text"] for line in found)) == [
        "released by another task than took it",
        "order of locks",
    ]
    assert found[0]["here"] == line_of("unlock_mutex", "mutex_unlock").strip()
    assert found[0]["there"] == line_of("mutex_other", "mutex_lock").strip()
    assert found[0]["object"] == "&c->mutex"


@pytest.mark.planted
def test_watch_tells_how_often(load, kernel_log) -> None:
    load_with(load, "mutex")
    do("mutex_other 3")  # before it watches
    with watching() as lines:
        do("mutex_other")
        found = lines(1)
        for _ in range(9):
            do("mutex_other 10")
        found += lines()
    assert {line["text"] for line in found} == {"released by another task than took it"}
    counts = [line["count"] for line in found]
    assert (counts[0], counts[-1]) == (1, 91)
    assert all(after >= 2 * before for before, after in itertools.pairwise(counts[:-1]))
    assert kernel_log.read().count("evmon: violation: ") == 1


@pytest.mark.planted
def test_trace_event_each_time(load) -> None:
    load_with(load, "mutex")
    do("mutex_other")
    TRACE.mkdir()
    try:
        (TRACE / "events/evmon/evmon_violation/enable").write_text("1")
        do("mutex_other 3")
        assert (TRACE / "trace").read_text().count("released by another task") == 3
    finally:
        (TRACE / "events/enable").write_text("0")
        TRACE.rmdir()


def test_command(load) -> None:
    assert "load evmon.ko" in evmon("top").stderr
    load_with(load, "top")
    do("sound 5")
    done = evmon("top", "planted_locks")
    assert re.search(r"^&a->mutex +planted_locks +15 ", done.stdout, re.MULTILINE)
    (hot,) = [h for h in json.loads(evmon("top", "--json").stdout) if h["name"] == "&a->rwsem"]
    assert hot["count"] == 30
    assert evmon("log", "-t", "0.1").returncode == 0
