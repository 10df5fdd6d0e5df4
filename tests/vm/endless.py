# SPDX-License-Identifier: GPL-2.0
"""Measures how late endless compounds end, from an ordinary process: test_endless.py.

usage: endless.py SAMPLES END LOOP...: prints JSON: for each run the ns from the event that ends it
to its end
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import insn as i
from confined.kernel import Arena, lib, register

# So short that the first poll of the clock ends it: later polls might come soon after a limit by
# chance, however rare they are.
LIMIT = 1_000_000
RUNNING = 1  # SYSCRIPT_STATE_RUNNING
LSEEK, GETPPID = i.SYSCALL + 8, i.SYSCALL + 110

COUNT = [i.movi(1, 10) + i.alui("sub", 1, 1) + i.jump_ifi("ne", 1, 0, -2) + i.EXIT]
LOOPS = {
    "loop": [i.jump(-1) + i.EXIT],
    "calls": [i.call(2) + i.jump(-2) + i.EXIT, i.call(1) + i.EXIT, *COUNT],
    "lseek": [i.movi(1, -1) + i.outside(LSEEK) + i.jump(-3) + i.EXIT],
    "getppid": [i.outside(GETPPID) + i.jump(-2) + i.EXIT],
}


def running() -> bool:
    return any(info.state == RUNNING for info in lib.scripts())


def time_limit(loop: list[bytes], arena: Arena) -> int:
    """A limit on the time in its own code, without system calls."""
    fd = register(loop, arena, time_limit_ns=LIMIT)
    since = time.monotonic_ns()
    assert lib.call(fd)[0] == -errno.ETIME
    late = time.monotonic_ns() - since - LIMIT
    (info,) = lib.scripts()
    os.close(fd)
    return info.run_time - LIMIT if info.syscalls else late


def wall_limit(loop: list[bytes], arena: Arena) -> int:
    fd = register(loop, arena, wall_limit_ns=LIMIT)
    since = time.monotonic_ns()
    assert lib.call(fd)[0] == -errno.ETIMEDOUT
    late = time.monotonic_ns() - since - LIMIT
    os.close(fd)
    return late


def sigkill(loop: list[bytes], arena: Arena) -> int:
    """Time from SIGKILL to the end of the process, not just of the run."""
    child = os.fork()
    if not child:
        lib.call(register(loop, arena))
        os._exit(1)
    while not running():
        time.sleep(0.001)
    process = os.pidfd_open(child)
    poll = select.poll()
    poll.register(process, select.POLLIN)
    since = time.monotonic_ns()
    os.kill(child, signal.SIGKILL)
    assert poll.poll(60_000)
    late = time.monotonic_ns() - since
    os.close(process)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return late


ENDS: dict[str, Callable[[list[bytes], Arena], int]] = {
    "time limit": time_limit,
    "wall-clock limit": wall_limit,
    "SIGKILL": sigkill,
}


def main(samples: str, end: str, *loops: str) -> None:
    for loop in loops:
        with Arena() as arena:
            print(json.dumps([ENDS[end](LOOPS[loop], arena) for _ in range(int(samples))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
