# SPDX-License-Identifier: GPL-2.0
"""An endless loop ends within 50 ms of its limit, or of SIGKILL.

Processes of a busy machine that emulates come late, too, by more than that now and
then: so a quarter of the samples have to be in time.  What took 50 ms by itself never
would be.  All figures: pytest -rP.
"""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from endless import ENDS, LOOPS
from runner import HANG, PATIENCE, SLOWDOWN, account, guest

MS = 1_000_000
IN_TIME = 50 * MS * SLOWDOWN
SAMPLES = 20
PROGRAM = Path(__file__).resolve().parent / "endless.py"
LUA = "print('on') while true do end"
# ms.  The script is called before it says so: what it takes until then counts, too.
LUA_LIMIT = 100


def judge(what: str, samples: list[int]) -> None:
    quarter = statistics.quantiles(samples, n=4)[0]
    figures = (quarter, statistics.median(samples), max(samples))
    print(
        what,
        "ms: a quarter within {:.1f}, half {:.1f}, all {:.1f}".format(*(f / MS for f in figures)),
    )
    assert len(samples) == SAMPLES
    assert quarter < IN_TIME, [round(s / MS, 1) for s in samples]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_compound(loop: str, end: str, as_outsider) -> None:
    done = as_outsider([sys.executable, PROGRAM, end, loop, SAMPLES])
    assert not done.returncode, done.stderr
    judge(f"{loop}, {end}", json.loads(done.stdout))


def lua(*options: str) -> subprocess.Popen[bytes]:
    """Has said that it is in its loop."""
    command = [*guest("kernel"), *options, "-e", LUA]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(command, **account("outsider"), **pipes)
    assert child.stdout and child.stdout.readline() == b"on\n"
    return child


def over_time() -> int:
    with lua("--time-limit", f"{LUA_LIMIT}ms") as child:
        since = time.monotonic_ns()
        assert child.stderr and b"over the time limit" in child.stderr.readline()
        return time.monotonic_ns() - since - LUA_LIMIT * MS


def killed() -> int:
    with lua("--time-limit", PATIENCE) as child:
        process = os.pidfd_open(child.pid)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        time.sleep(0.02)
        since = time.monotonic_ns()
        child.kill()
        assert poll.poll(HANG * 1000)
        late = time.monotonic_ns() - since
        os.close(process)
        assert child.wait(HANG) == -signal.SIGKILL
        return late


@pytest.mark.parametrize("end", (over_time, killed), ids=("time limit", "SIGKILL"))
def test_lua(end) -> None:
    judge(f"Lua, {end.__name__}", [end() for _ in range(SAMPLES)])
