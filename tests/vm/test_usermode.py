# SPDX-License-Identifier: GPL-2.0
"""Work that the kernel leaves for a task's return to user mode is done in a run, too.

So its cgroup's CPU limit applies, and work does not accumulate.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confined import insn as i
from confined.kernel import Arena, lib, register
from runner import SLOWDOWN, account
from tracing import one_cpu

CGROUPS = Path("/sys/fs/cgroup")
# µs of CPU time in each period: a twentieth of a CPU.
QUOTA, PERIOD = 5000, 100_000
# Share of a CPU that may be used; without a limit it is 1. The first period is not throttled, and
# ticks, at which the limit is seen, are as late as the host's other work makes them.
SHARE_MAX = 0.3
SECONDS = 4
# From SIGKILL to the end of the process. One that owes CPU time must wait for it.
DEATH = 30 * SLOWDOWN
PROGRAM = Path(__file__).resolve().parent / "denied.py"
SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
# Objects of this size that the rest of the guest may allocate meanwhile.
NOISE = 3000

LSEEK = i.SYSCALL + 8
LUA = {
    "script code": b"function run() while true do end end",
    "calls": b"function run() while true do syscall.lseek(-1, 0, 0) end end",
    "naps": b"function run() local t = util.buffer(16) util.poke(t + 8, 'i8', 100000)"
    b" while true do for i = 1, 20000 do syscall.lseek(-1, 0, 0) end"
    b" syscall.nanosleep(t, 0) end end",
}


def call_lua(source: bytes) -> None:
    fd, text = lib.register(source, wall_limit_ns=2**64 - 1)
    assert fd >= 0, text
    lib.call(fd)


def call_compound() -> None:
    loop = [i.movi(1, -1) + i.outside(LSEEK) + i.jump(-3) + i.EXIT]
    with Arena() as arena:
        lib.call(register(loop, arena, wall_limit_ns=2**64 - 1))


HOGS: dict[str, Callable[[], None]] = {
    **{name: lambda source=source: call_lua(source) for name, source in LUA.items()},
    "compound": call_compound,
}


@pytest.fixture
def throttled() -> Iterator[Path]:
    """A cgroup limited to a twentieth of a CPU."""
    (CGROUPS / "cgroup.subtree_control").write_text("+cpu")
    group = CGROUPS / "throttled"
    group.mkdir()
    with one_cpu():
        (group / "cpu.max").write_text(f"{QUOTA} {PERIOD}")
    yield group
    (group / "cgroup.kill").write_text("1")
    deadline = time.monotonic() + 120
    while "populated 1" in (group / "cgroup.events").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    group.rmdir()


def used(group: Path) -> float:
    """Seconds of CPU time."""
    (usage,) = re.findall(r"usage_usec (\d+)", (group / "cpu.stat").read_text())
    return int(usage) / 1e6


def start_in(group: Path, run: Callable[[], None]) -> int:
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            (group / "cgroup.procs").write_text("0")
            run()
        os._exit(1)
    return child


def kill_soon(child: int) -> None:
    """SIGKILL, and the process's end."""
    process = os.pidfd_open(child)
    poll = select.poll()
    poll.register(process, select.POLLIN)
    os.kill(child, signal.SIGKILL)
    ended = poll.poll(DEATH * 1000)
    os.close(process)
    assert ended, f"not gone {DEATH} s after SIGKILL"


@pytest.mark.parametrize("hog", HOGS)
def test_cpu_limit_of_a_cgroup(hog: str, throttled: Path) -> None:
    """A run is throttled as well, so it has no CPU debt when it is killed."""
    child = start_in(throttled, HOGS[hog])
    time.sleep(1)
    before, since = used(throttled), time.monotonic()
    time.sleep(SECONDS)
    share = (used(throttled) - before) / (time.monotonic() - since)
    print(f"{hog}: {share:.1%} of a CPU")
    assert os.waitpid(child, os.WNOHANG) == (0, 0), "the run has ended by itself"
    assert 0 < share < SHARE_MAX
    kill_soon(child)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.fixture
def restricted() -> Iterator[None]:
    if not SCOPE.exists():
        pytest.skip("a kernel without yama")
    before = SCOPE.read_text()
    SCOPE.write_text("1")
    yield
    SCOPE.write_text(before)


def small_objects() -> int:
    """The number of objects in the slabs of 64-byte work items."""
    slabs = re.findall(r"^kmalloc-(?:rnd-\d+-)?64 +(\d+)", Path("/proc/slabinfo").read_text(), re.M)
    assert slabs
    return sum(map(int, slabs))


def test_denied_attaches_leave_nothing(restricted) -> None:
    """Each item of work is done before the next one, so there are never many."""
    options = {"stdout": subprocess.PIPE, "text": True, **account("member")}
    with subprocess.Popen([sys.executable, str(PROGRAM)], **options) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        before = small_objects()
        time.sleep(SECONDS)
        calls = sum(info.syscalls for info in lib.scripts() if info.pid == child)
        more = small_objects() - before
        print(f"{calls} calls, {more} objects more")
        kill_soon(child)
        assert parent.stdout.read() == ""
        # The calls went on to the end: no run was allowed to stop, or stopped by itself.
        assert calls > 2 * NOISE
        assert more < NOISE
