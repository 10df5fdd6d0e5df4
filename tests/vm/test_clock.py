# SPDX-License-Identifier: GPL-2.0
"""No script runs unwatched: LuaJIT's clock.c, and watchdog.c when the clock is made to fail.

tests/clock/faults.c plants the faults. Script code that no tick sees would hang its CPU; the
watchdog ends it and logs that.
"""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kernlog import KernelLog
from library import Library
from runner import SLOWDOWN

# Built next to the syscript.ko that is loaded.
MODULE = Path(os.environ.get("SYSCRIPT_MODULE", "")).parent / "faults" / "faults.ko"
PARAMETERS = Path("/sys/module/faults/parameters")
ONLINE = Path("/sys/devices/system/cpu/cpu1/online")
UNWATCHED = "was not watched on CPU"
MS = 1_000_000
LIMIT = 50 * MS
NOJIT = 1  # SYSCRIPT_NOJIT
FOREVER = b"function run() while true do end end"
CALLS = b"function run() while true do syscall.getppid() end end"
# Calls that take about 10 us each, then no more calls.
LATE = b"""
local buf = util.buffer(65536)
function run(fd, n)
  for i = 1, n do syscall.pread64(fd, buf, 65536, 0) end
  while true do end
end
"""

needs_two = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two CPUs")


def set_fault(name: str, value: int) -> None:
    (PARAMETERS / name).write_text(str(value))


@pytest.fixture
def faults() -> Iterator[Callable[[str, int], None]]:
    """faults(name, value): plants a fault; all are removed after the test."""
    subprocess.run(["insmod", MODULE], check=True)
    yield set_fault
    subprocess.run(["rmmod", "faults"], check=True)


@pytest.fixture
def on_last_cpu() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)


def registered(source: bytes, flags: int = 0, limit: int = LIMIT) -> tuple[Library, int]:
    """A script with a short time limit, which a busy machine may exceed while it is registered."""
    library = Library()
    while True:
        fd, text = library.register(source, flags=flags, time_limit_ns=limit)
        if fd != -errno.ETIME:
            assert fd >= 0, text
            return library, fd


def ends(library: Library, fd: int, *args: int) -> float:
    """Seconds until an endless script exceeds its time limit."""
    begin = time.monotonic()
    assert library.call(fd, *args)[0] == -errno.ETIME, library.error(fd)
    took = time.monotonic() - begin
    os.close(fd)
    return took


def test_ticks_on_the_way_in(
    faults: Callable[[str, int], None], kernel_log: KernelLog, on_last_cpu: None
) -> None:
    """A tick comes before each entry, and would stop the clock."""
    faults("hasty", 1)
    faults("window_us", 2500)
    for flags in (0, NOJIT) * 3:
        ends(*registered(FOREVER, flags))
    assert UNWATCHED not in kernel_log.read()


@pytest.mark.parametrize("flags", [0, NOJIT])
@pytest.mark.parametrize(
    ("fault", "source", "limit_ms", "taken_ms", "least"),
    [("stolen_us", FOREVER, 100, 60, 0.75), ("leaving_us", CALLS, 150, 120, 0.6)],
    ids=["ticks", "the end"],
)
def test_what_others_take_is_not_charged(
    faults: Callable[[str, int], None],
    fault: str,
    source: bytes,
    limit_ms: int,
    taken_ms: int,
    least: float,
    flags: int,
) -> None:
    """Like interrupts or a hypervisor: of the time between two ticks, or after the last, they take
    `taken_ms`. Charged for that, the script would end before `least` seconds.
    """
    script = registered(source, flags, limit_ms * MS)
    faults(fault, taken_ms * 1000)
    assert ends(*script) > least


def test_clock_off_in_a_system_call(
    faults: Callable[[str, int], None], kernel_log: KernelLog, on_last_cpu: None
) -> None:
    """The clock may stop at any tick during a call; returning from the call restarts it."""
    faults("hasty", 1)
    with Path("/dev/zero").open("rb") as zero:
        for n in range(1, 120, 4):
            ends(*registered(LATE), zero.fileno(), n)
    assert UNWATCHED not in kernel_log.read()


@pytest.mark.planted
@pytest.mark.parametrize("flags", [0, NOJIT])
def test_watchdog(
    faults: Callable[[str, int], None], kernel_log: KernelLog, on_last_cpu: None, flags: int
) -> None:
    """A script invisible to the clock ends nevertheless, and the clock ends later ones."""
    Path("/dev/kmsg").write_text("<6>test: a fault is planted\n")
    # Planted before the clock has seen the script.
    faults("blind", 1)
    library, fd = registered(FOREVER, flags)
    begin = time.monotonic()
    assert library.call(fd)[0] == -errno.ETIME
    took = time.monotonic() - begin
    faults("blind", 0)
    assert UNWATCHED in kernel_log.read()
    Path("/dev/kmsg").write_text("<6>test: no fault is planted\n")
    assert took > 0.2
    assert library.call(fd)[0] == -errno.ENOTRECOVERABLE
    os.close(fd)

    reports = kernel_log.read().count(UNWATCHED)
    ends(*registered(FOREVER, flags))
    assert kernel_log.read().count(UNWATCHED) == reports


@needs_two
@pytest.mark.skipif(not ONLINE.exists(), reason="CPU 1 cannot go offline")
def test_cpus_that_come_back(kernel_log: KernelLog) -> None:
    """CPUs that went offline with an armed clock."""
    library = Library()
    fd, text = library.register(b"function run() end")
    assert fd >= 0, text
    try:
        for _ in range(3):
            os.sched_setaffinity(0, {1})
            library.call(fd)
            os.sched_setaffinity(0, {0})
            ONLINE.write_text("0")
            ONLINE.write_text("1")
            os.sched_setaffinity(0, {1})
            library.call(fd)
            ends(*registered(FOREVER))
    finally:
        ONLINE.write_text("1")
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    os.close(fd)
    assert UNWATCHED not in kernel_log.read()


def timers() -> str:
    found = Path("/proc/timer_list").read_text()
    return "\n".join(line for line in found.splitlines() if "[syscript" in line)


def test_timers_go_off() -> None:
    """Without scripts there is no cost, on idle CPUs either."""
    library = Library()
    fd, text = library.register(b"function run() end")
    assert fd >= 0, text
    deadline = time.monotonic() + 10 * SLOWDOWN
    found = ""
    # On a busy machine they may be off before they are looked for.
    while not ("clock_tick" in found and "watchdog_looks" in found):
        assert time.monotonic() < deadline, found
        library.call(fd)
        found = timers()
    deadline = time.monotonic() + 10 * SLOWDOWN
    while timers():
        assert time.monotonic() < deadline, timers()
        time.sleep(0.3)
    os.close(fd)
