# SPDX-License-Identifier: GPL-2.0
"""A sample of make fuzz-engines: scripts behave the same on every engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).resolve().parents[1] / "fuzz" / "engine_fuzz.py"


def fuzz(tmp_path: Path, programs: int, seed: int) -> None:
    command = [sys.executable, FUZZER, "--programs", str(programs), "--seed", str(seed)]
    command += ["--seconds", "3600", "--keep", str(tmp_path), "--state", str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_random_programs(tmp_path: Path) -> None:
    """A second run goes on after the programs of the first one, with its seed."""
    fuzz(tmp_path, 50, 28)
    before = json.loads((tmp_path / "state").read_text())
    fuzz(tmp_path, before["done"] + 1, 29)
    after = json.loads((tmp_path / "state").read_text())
    assert (after["seed"], after["made"]) == (28, 2 * before["made"])
    assert before["done"] < after["done"] <= after["made"]


@pytest.mark.long
def test_other_programs(tmp_path: Path) -> None:
    fuzz(tmp_path, 10_000, int.from_bytes(os.urandom(4)))
