# SPDX-License-Identifier: GPL-2.0
"""Kernel resources that users of programs and scripts share, and cannot block for each other."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import programs as p
import pytest
from confined import insn as i
from confined.kernel import ENGINE, Arena, lib
from runner import SLOWDOWN, account
from test_function_tracer import tracefs  # noqa: F401
from test_programs import TESTS, in_own_namespace
from tracing import kprobes

ACCEPTS = p.image([p.verdict(1)])
LOADS = 100
# An address at which a process has nothing.
NOWHERE = 4096
# CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_SYS_ADMIN.
OURS = (12, 14, 21)


@contextmanager
def traced(tracefs: Path, event: str, *functions: str) -> Iterator[list[str]]:  # noqa: F811
    """A line for each call of these functions, with @event's arguments."""
    lines: list[str] = []
    with kprobes(*(f"p:{name}_called {name} {event}" for name in functions)) as stop:
        yield lines
        stop()
        # For a test that fails: how many calls the kernel has seen, and has not recorded.
        print((tracefs / "kprobe_profile").read_text())
        for stats in sorted(tracefs.glob("per_cpu/*/stats")):
            print(stats.parent.name, stats.read_text().split("\n"))
        lines += [x for x in (tracefs / "trace").read_text().splitlines() if "_called: " in x]


# -- Locks that all users share --------------------------------------------------------------

REFUSED = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import programs as p
image = p.image([p.verdict(1)])
for _ in range({LOADS}):
    assert p.load(image)[0] == -1
    assert p.load(image, subsystem="nothing")[0] == -2
    assert not p.programs()
    assert p.unload() == -1
"""


def test_refusals_take_no_lock(tracefs: Path) -> None:  # noqa: F811
    """A caller without permission takes no lock."""
    caller = "caller=+0($stack):symbol"
    with traced(tracefs, caller, "mutex_lock", "mutex_lock_killable") as calls:
        subprocess.run([sys.executable, "-c", REFUSED], **account("outsider"), check=True)
    assert calls
    # The module's own cleanup of idle code is no process's call.
    assert not [line for line in calls if "[syscript]" in line and "kworker" not in line]


IDLE = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
import programs as p
print(flush=True)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.sched_setaffinity(0, [0])
image = p.image([p.verdict(1)])
while True:
    p.load(image)
"""
# Runs whenever possible, and keeps the CPU for a while.
HOG = """
import os, time
print(flush=True)
os.sched_setaffinity(0, [0])
while True:
    time.sleep(0.0005)
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
"""
PREEMPT = Path("/sys/kernel/debug/sched/preempt")


@pytest.mark.long
def test_nobody_holds_up_others() -> None:
    """An ordinary user's tasks are starved in the middle of a LOAD: root's loads still succeed.

    With full preemption, which may stop a task anywhere.
    """
    if not PREEMPT.exists():
        pytest.skip("this kernel does not choose its preemption")
    chosen = PREEMPT.read_text().split("(")[1].split(")")[0]
    PREEMPT.write_text("full")
    attackers = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, **account("outsider")
        )
        for code in [IDLE] * 8 + [HOG] * 6
    ]
    took = 0.0
    try:
        # Fourteen interpreters that start together hold up everything on an emulated machine.
        for attacker in attackers:
            attacker.stdout.readline()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            since = time.monotonic()
            assert p.load(ACCEPTS) == (0, "")
            took = max(took, time.monotonic() - since)
            p.unload()
    finally:
        PREEMPT.write_text(chosen)
        for attacker in attackers:
            attacker.kill()
        # Those that get no CPU beside others do not end before these.
        for attacker in attackers:
            attacker.wait()
    assert took < 1.5 * SLOWDOWN


@contextmanager
def silent_files(at: Path) -> Iterator[Path]:
    """A file system whose server never replies."""
    at.mkdir(exist_ok=True)
    if not Path("/sys/module/fuse").exists():
        subprocess.run(["modprobe", "fuse"], check=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    os.set_inheritable(fd, True)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"silent", str(at).encode(), b"fuse", 0, options.encode()) == 0
    try:
        yield at
    finally:
        os.close(fd)
        subprocess.run(["umount", "-l", at], check=True)


STUCK = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
import programs as p
print(flush=True)
p.load(p.image([p.verdict(0)]), name="stuck", subsystem="files", where=sys.argv[1], copies=0)
"""


def sleeps_in(pid: int, function: str) -> bool:
    with suppress(OSError):
        return function in Path(f"/proc/{pid}/stack").read_text()
    return False


def until(condition, seconds: float = 30 * SLOWDOWN) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_a_path_that_hangs_holds_up_its_name_only() -> None:
    """Other names can be loaded, listed and unloaded; and waiting tasks can be killed."""
    with silent_files(Path("/tmp/silent")) as directory:  # places are short
        command = [sys.executable, "-c", STUCK, directory / "x"]
        stuck = subprocess.Popen(command, stdout=subprocess.PIPE)
        stuck.stdout.readline()
        assert until(lambda: sleeps_in(stuck.pid, "kern_path"))
        second = subprocess.Popen(command, stdout=subprocess.PIPE)
        second.stdout.readline()
        results: list = []

        def use_others() -> None:
            timer = {"name": "other", "subsystem": "timer", "where": "1000", "copies": 0}
            results.append(p.load(p.image([p.verdict(0)]), **timer))
            results.append([program.name for program in p.programs()])
            results.append(p.unload("other"))

        thread = threading.Thread(target=use_others)
        thread.start()
        thread.join(30 * SLOWDOWN)
        seen = list(results)
        for process in (second, stuck):
            process.send_signal(signal.SIGKILL)
            process.wait(30 * SLOWDOWN)
        thread.join()
    assert seen == [(0, ""), ["other"], 0]
    assert not p.programs()


# -- Other CPUs ------------------------------------------------------------------------------


@contextmanager
def on_all_cpus() -> Iterator[None]:
    """A thread of this process on each CPU but the first, which runs the caller."""
    stop = False
    threads = []
    before = os.sched_getaffinity(0)

    def run(cpu: int) -> None:
        os.sched_setaffinity(0, [cpu])
        while not stop:
            pass

    for cpu in sorted(before)[1:]:
        threads.append(threading.Thread(target=run, args=(cpu,)))
        threads[-1].start()
    os.sched_setaffinity(0, [min(before)])
    try:
        yield
    finally:
        stop = True
        for thread in threads:
            thread.join()
        os.sched_setaffinity(0, before)


def test_failing_loads_interrupt_no_other_cpu(tracefs: Path) -> None:  # noqa: F811
    with traced(tracefs, "", "sync_this_cpu") as calls:
        for _ in range(LOADS):
            assert p.load(ACCEPTS, data=b"x", data_at=NOWHERE)[0] == -errno.EFAULT
    assert not calls
    with traced(tracefs, "", "sync_this_cpu") as calls:
        assert p.load(ACCEPTS) == (0, "")
        assert p.load(ACCEPTS, name="same") == (0, "")
        assert p.unload() == p.unload("same") == 0
    assert len(calls) == os.cpu_count()


def test_known_code_interrupts_no_other_cpu(tracefs: Path) -> None:  # noqa: F811
    """A process repeatedly registers the same code, or invalid code."""
    good = i.Image([i.movi(0, 7) + i.EXIT]).pack()
    with Arena() as arena:
        with traced(tracefs, "", "sync_this_cpu") as calls, on_all_cpus():
            fd, text = lib.register(good, engine=ENGINE, **arena.shared())
            assert fd >= 0, text
            first = len(calls)
            for _ in range(LOADS):
                again, text = lib.register(good, engine=ENGINE, **arena.shared())
                assert again >= 0, text
                os.close(again)
            for k in range(LOADS):
                bad = i.Image([i.movi(0, k + 100) + i.EXIT]).pack()
                nowhere = {"shared": 1 << 32, "shared_len": arena.size}
                assert lib.register(bad, engine=ENGINE, **nowhere)[0] == -errno.EFAULT
            os.close(fd)
        assert not first
        assert 1 <= len(calls) <= os.cpu_count()


# -- Small things ----------------------------------------------------------------------------


def test_questions_are_no_refusals(tracefs: Path) -> None:  # noqa: F811
    """Optional capabilities are tested without audit records when listing and registering."""
    body = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import programs as p
from confined import insn as i
from confined.kernel import ENGINE, Arena, lib
p.programs()
with Arena() as arena:
    image = i.Image([i.movi(0, 7) + i.EXIT]).pack()
    assert lib.register(image, engine=ENGINE, **arena.shared())[0] >= 0
"""
    # cap_capable(cred, namespace, cap, options): CAP_OPT_NOAUDIT is bit 1.
    with traced(tracefs, "cap=%dx:u32 options=%cx:u32", "cap_capable") as calls:
        subprocess.run([sys.executable, "-c", body], **account("outsider"), check=True)
    asked = [re.search(r"cap=(\d+) options=(\d+)", line).groups() for line in calls]
    assert asked
    assert not [cap for cap, options in asked if int(cap) in OURS and not int(options) & 2]


NOTICED = """
for k in range({n}):
    assert p.load(p.image([p.verdict(4)]), name="{name}", errors_max=1) == (0, "")
    arrives(4000, n=3)
    assert one("{name}").state == 1
    p.unload("{name}")
"""


def test_nobody_uses_up_the_notices_of_others() -> None:
    with Path("/dev/kmsg").open("rb", buffering=0) as log:
        os.set_blocking(log.fileno(), False)
        os.lseek(log.fileno(), 0, os.SEEK_END)
        in_own_namespace(NOTICED.format(n=25, name="loud"))
        in_own_namespace(NOTICED.format(n=1, name="quiet"), user="member")
        lines = []
        with suppress(BlockingIOError):
            while True:
                lines.append(os.read(log.fileno(), 8192).decode())
    assert 5 <= sum("its name: loud" in line for line in lines) < 25
    assert sum("its name: quiet" in line for line in lines) == 1


def test_all_of_a_program_counts() -> None:
    """The source's lines, and the program itself, count against its memory limit."""
    assert p.load(ACCEPTS) == (0, "")
    (bare,) = p.programs()
    assert p.load(ACCEPTS, lines=bytes(60000)) == (0, "")
    (lined,) = p.programs()
    assert lined.memory == bare.memory + 60000
    limit = lined.memory - 2048
    assert p.load(ACCEPTS, memory=limit) == (0, "")
    error, text = p.load(ACCEPTS, memory=limit, lines=bytes(60000))
    assert error == -errno.ENOBUFS and "over the" in text
    assert p.unload() == 0
