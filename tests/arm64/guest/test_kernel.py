# SPDX-License-Identifier: GPL-2.0
"""The module in a guest of arm64: what is not the same there. make test-arm64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runner import COMMAND, HANG, PATIENCE, WALL_PATIENCE
from tracing import mounted, one_cpu

RUN = [COMMAND, "run", "--backend", "kernel", "--time-limit", PATIENCE]
RUN += ["--wall-limit", WALL_PATIENCE]
TESTS = Path(__file__).resolve().parents[2]


def run(code: str) -> str:
    done = subprocess.run([*RUN, "-e", code], capture_output=True, text=True, timeout=HANG)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_no_luajit() -> None:
    done = subprocess.run(
        [COMMAND, "run", "--engine", "luajit", "-e", "return 1"], capture_output=True, text=True
    )
    assert "engine luajit is for x86-64 only" in done.stderr


# Calls that arm64 lacks, by name and by a variable: made by newer ones, also where these take
# structures that the old ones did not.
OLD = """
local path, call = "/etc/passwd", "access"
local fd = syscall.open(path, const.O_RDONLY)
local st = util.types.stat.new()
print(fd >= 0, syscall[call](path, 4), syscall.access("/missing", 0), syscall.stat(path, st))
print(syscall.dup2(fd, 99), syscall.dup2(99, 99), syscall.close(99), syscall.dup2(99, 99))
print(syscall.poll(0, 0, 0), syscall.poll(0, 0, 20), syscall.rmdir("/tmp/missing"))
print(syscall.alarm(100), syscall.alarm(0), syscall.alarm(0), syscall.getpgrp() > 0)
return st.st_size
"""


def test_old_calls() -> None:
    assert run(OLD).splitlines() == [
        "true\t0\t-2\t0",
        "99\t99\t0\t-9",
        "0\t0\t-2",
        "0\t100\t0\ttrue",
        str(Path("/etc/passwd").stat().st_size),
    ]


FILTERED = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import seccomp
filter = seccomp.Filter(seccomp.ALLOW)
assert filter.rule(seccomp.error(5), "getppid")
# The first argument is where filters look for it: in orig_x0.
assert filter.rule(seccomp.error(6), "dup", seccomp.Condition(0, "EQ", 77))
assert filter.rule(seccomp.error(7), "openat", seccomp.Condition(2, "EQ", 0))
filter.load()
import os
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_filters_see_calls() -> None:
    code = """
    local path = "/etc/passwd"
    local fd = syscall.open(path, const.O_WRONLY)
    return syscall.getppid(), syscall.dup(77), syscall.dup(78), syscall.open(path, 0), fd >= 0 and 1
    """
    command = [sys.executable, "-c", FILTERED, str(TESTS), *map(str, RUN), "-e", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    assert (done.returncode, done.stdout) == (0, "-5\t-6\t-9\t-7\t1\n"), done


def test_tracepoints_see_calls() -> None:
    """The newer call, its first argument and its result."""
    place = mounted("nop")
    events = [place / "events/syscalls" / name for name in ("sys_enter_dup", "sys_exit_dup")]
    (place / "trace").write_text("")
    with one_cpu():
        for event in events:
            (event / "enable").write_text("1")
    try:
        run("print(syscall.dup(88))")
        lines = (place / "trace").read_text().splitlines()
    finally:
        with one_cpu():
            for event in events:
                (event / "enable").write_text("0")
    shown = [line.split(": ", 1)[1] for line in lines if "syscript" in line and "dup" in line]
    # Newer kernels show hexadecimal arguments with their 0x.
    assert {"sys_dup(fildes: 58)", "sys_dup(fildes: 0x58)"} & set(shown), shown
    assert "sys_dup -> 0xfffffffffffffff7" in shown, shown


def test_interrupts_at_each_depth() -> None:
    """Linux ends itself if an interrupt finds bit 14 of the stack pointer set: return addresses of
    scripts are on another stack, whatever its address."""
    code = """
    local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
    local function busy(n)
      local sum = 0
      for i = 1, 30000 do sum = sum + i end
      if n == 0 then return sum end
      return busy(n - 1) + 0
    end
    local total = 0
    for n = 1, 200, 7 do total = total + deep(n) + (busy(n) > 0 and 1 or 0) end
    return total
    """
    expected = sum(n + 1 for n in range(1, 201, 7))
    assert run(code) == f"{expected}\n"


def test_all_cpus_run_new_code() -> None:
    """Different code at the same place, on CPUs that have just executed the old one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    for n in range(20):
        command = ["taskset", "-c", str(cpus[n % 2]), *map(str, RUN), "-e", f"return {n} * 3"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
        assert (done.returncode, done.stdout) == (0, f"{n * 3}\n"), done
