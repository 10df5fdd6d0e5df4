# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript measure with the module loaded: its verdict on programs that gain or do not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tracing import one_cpu

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"

# Calls of run(), and system calls in each.
CALLS, INNER = 3, 500
LOOP = f"for i = 1, {INNER} do syscall.getppid() end return 0"


def measured(*args: str | Path) -> dict:
    member = {"SUDO_UID": "1000", "SUDO_GID": "1000"} if os.geteuid() == 0 else {}
    with one_cpu():
        done = subprocess.run(
            [SYSCRIPT, "measure", "--json", "-r", "3", *args],
            capture_output=True,
            text=True,
            env={**os.environ, **member},
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def script(n: int) -> list[str]:
    run = f'"{SYSCRIPT}" run --time-limit 2s -e "{LOOP}" >/dev/null'
    return ["sh", "-c", "; ".join([run] * n)]


@pytest.mark.skipif(os.geteuid() != 0, reason="trace events are root's")
def test_calls_of_scripts_are_no_mode_switches() -> None:
    """Inner calls are reported as trace events, and not counted, for either engine."""
    found = measured(*script(CALLS))
    kernel, user = found["scripts"], found["baseline"]
    assert kernel["script_calls"] == CALLS and user["script_calls"] == 0
    # In the process each counts; in the kernel none does.
    assert user["mode_switches"] - kernel["mode_switches"] > CALLS * INNER * 0.9
    assert found["ratio"]["mode_switches"] < 0.5
    assert found["same_output"] is True


def test_command_without_scripts_makes_no_difference() -> None:
    found = measured("true")
    assert found["scripts"]["script_calls"] in (0, None)
    if found["ratio"]["mode_switches"] is not None:
        assert found["ratio"]["mode_switches"] == 1
