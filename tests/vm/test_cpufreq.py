# SPDX-License-Identifier: GPL-2.0
"""The governor `syscript`, with the frequencies and the thermal zone of tests/cpufreq."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import programs as p
import pytest
from confined import insn as i
from runner import COMMAND, SLOWDOWN

MODULE = Path(os.environ.get("SYSCRIPT_MODULE", "")).parent / "fakefreq" / "fakefreq.ko"
POLICY = Path("/sys/devices/system/cpu/cpufreq/policy0")
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
TEMPERATURE = Path("/sys/module/fakefreq/parameters/temperature")
THROTTLE_LUA = str(p.ROOT / "examples" / "cpufreq" / "throttle.lua")
SLOW, MIDDLE, FAST = 800000, 1600000, 2400000


def govern(by: str) -> None:
    for path in POLICY.parent.glob("policy*/scaling_governor"):
        with contextlib.suppress(OSError):  # of a CPU that is off
            path.write_text(by)


@pytest.fixture(autouse=True)
def governed() -> Iterator[None]:
    clock = CLOCK.read_text()
    subprocess.run(["insmod", MODULE], check=True)
    TEMPERATURE.write_text("40000")
    govern("syscript")
    # Keep the tests' own work off CPU 0.
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    yield
    os.sched_setaffinity(0, cpus)
    for program in p.programs():
        p.unload(program.name)
    govern("performance")
    subprocess.run(["rmmod", "fakefreq"], check=True)
    # Later tests rely on it: traces and time limits, for example.
    assert CLOCK.read_text() == clock


def frequency() -> int:
    return int((POLICY / "scaling_cur_freq").read_text())


def comes(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10 * SLOWDOWN
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def load(code: bytes, where: str = "", **options) -> tuple[int, str]:
    return p.load(p.image([code]), where=where, subsystem="cpufreq", copies=0, **options)


def returns(number: int, **options) -> tuple[int, str]:
    return load(i.imm64(0, number) + i.EXIT, **options)


def test_frequencies_and_limits() -> None:
    for number in (FAST, MIDDLE, SLOW, MIDDLE + 1):
        assert returns(number) == (0, "")
        assert comes(lambda: frequency() == min(FAST, -(-number // SLOW) * SLOW)), number  # noqa: B023
    (POLICY / "scaling_max_freq").write_text(str(MIDDLE))
    assert comes(lambda: frequency() == MIDDLE)
    (POLICY / "scaling_max_freq").write_text(str(FAST))
    assert comes(lambda: frequency() == FAST)
    assert not p.programs()[0].errors


@pytest.mark.parametrize("file", [p.compiled("throttle"), THROTTLE_LUA], ids=["c", "lua"])
def test_throttle(file: str) -> None:
    """The example: slow while idle or hot, fast while busy."""
    command = [COMMAND, "load", "throttle", file, "--for", "cpufreq"]
    subprocess.run([*command, "--at", "fakefreq"], check=True)
    assert comes(lambda: frequency() == SLOW)
    busy = subprocess.Popen(["taskset", "1", "sh", "-c", "while :; do :; done"])
    try:
        assert comes(lambda: frequency() == FAST)
        TEMPERATURE.write_text("85000")
        assert comes(lambda: frequency() == SLOW)
        TEMPERATURE.write_text("75000")
        time.sleep(0.3)
        assert frequency() == SLOW
        TEMPERATURE.write_text("60000")
        assert comes(lambda: frequency() == FAST)
    finally:
        busy.kill()
        busy.wait()
    assert comes(lambda: frequency() == SLOW)
    (listed,) = p.programs()
    assert (listed.where, listed.errors) == ("fakefreq", 0) and listed.calls > 10


def test_errors_take_the_default() -> None:
    """The governor falls back to the load, or to a given frequency; then the program is off."""
    assert returns(-1) == (0, "")
    busy = subprocess.Popen(["taskset", "1", "sh", "-c", "while :; do :; done"])
    assert comes(lambda: frequency() == FAST)
    busy.kill()
    busy.wait()
    assert comes(lambda: frequency() == SLOW)
    spins = load(i.jump(-1) + i.EXIT, flags=p.FALLBACK, fallback=MIDDLE, errors_max=2)
    assert spins == (0, "")
    assert comes(lambda: frequency() == MIDDLE)
    assert comes(lambda: p.programs()[0].state == 1)
    assert p.programs()[0].error == "insn 0: over its budget"
    assert comes(lambda: frequency() == MIDDLE)
    assert p.unload() == 0
    assert comes(lambda: frequency() == SLOW)


def test_refusals() -> None:
    error, text = returns(SLOW, where="nowhere")
    assert (error, text) == (-errno.EINVAL, "no thermal zone 'nowhere', or several")
    assert returns(SLOW) == (0, "")
    error, text = returns(SLOW, name="other")
    assert (error, text) == (-errno.EBUSY, "cpufreq has a program: unload it")


def test_governor_goes_under_load() -> None:
    """Programs, governors and a CPU are added and removed meanwhile."""
    end = time.monotonic() + 3
    cpu1 = Path("/sys/devices/system/cpu/cpu1/online")
    n = 0
    os.sched_setaffinity(0, {0})
    while time.monotonic() < end or n <= 3:
        n += 1
        assert returns(FAST if n % 2 else SLOW) == (0, "")
        govern("performance" if n % 2 else "syscript")
        if n % 5 == 0 and cpu1.exists():
            cpu1.write_text("0" if n % 10 else "1")
        if n % 3 == 0:
            p.unload()
    if cpu1.exists():
        cpu1.write_text("1")
    govern("syscript")
    assert POLICY.joinpath("scaling_governor").read_text() == "syscript\n"
