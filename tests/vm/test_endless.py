# SPDX-License-Identifier: GPL-2.0
"""An endless loop ends at its limit, or by SIGKILL, within 50 ms, counted in instructions.

On a busy machine even the emulating processes are late. So `make test-long` measures delays in a
guest whose time is the number of instructions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from endless import ENDS, LOOPS
from runner import HANG, PATIENCE, account, confined_lua

MS = 1_000_000
IN_TIME = 50 * MS
SAMPLES = 2
PROGRAM = Path(__file__).resolve().parent / "endless.py"
# print()'s output is read when the script has ended.
LUA = "syscall.write(1, 'on\\n', 3) while true do end"
LUA_ENDS = {"time limit": ["--time-limit", "1s"], "SIGKILL": ["--time-limit", PATIENCE]}


@pytest.mark.sample(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_compound(loop: str, end: str, as_outsider) -> None:
    done = as_outsider([sys.executable, PROGRAM, SAMPLES, end, loop])
    assert not done.returncode, done.stderr
    assert len(json.loads(done.stdout)) == SAMPLES


@pytest.mark.parametrize("end", LUA_ENDS)
def test_lua(end: str) -> None:
    command = [*confined_lua("kernel"), *LUA_ENDS[end], "-e", LUA]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **account("outsider"), **pipes) as child:
        assert child.stdout.readline() == b"on\n"
        if end == "SIGKILL":
            child.kill()
        _, stderr = child.communicate(timeout=HANG)
    assert child.returncode == (-signal.SIGKILL if end == "SIGKILL" else 1), stderr
    assert end == "SIGKILL" or b"over the time limit" in stderr


@pytest.mark.boot
@pytest.mark.long
@pytest.mark.parametrize("end", ENDS)
def test_counted(end: str, guest) -> None:
    kernel = os.environ.get("KREL", "6.1")
    python = PROGRAM.parents[2] / "build" / "venv" / "bin" / "python"
    command = [str(word) for word in (python, PROGRAM, 5, end, *LOOPS)]
    done = guest("-k", kernel, "-m", "-u", "--icount", "--", *command)
    assert not done.returncode, done.stdout + done.stderr
    late = [json.loads(line) for line in done.stdout.splitlines()]
    print(f"{end}, ms:", [[round(ns / MS, 2) for ns in samples] for samples in late])
    assert len(late) == len(LOOPS)
    assert all(max(samples) < IN_TIME for samples in late), late
