# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The math functions that scripts call, with and without the CPU's fused multiply-add."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "unit" / "math"
OBJECTS = ROOT / "build" / "luajit" / "user"


def check(tmp_path: Path, name: str, *more: str | Path) -> None:
    program = tmp_path / name
    source = SOURCES / f"{name}.c"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-o", program, source, *more, "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout


def test_plain_and_fused_are_equal(tmp_path: Path) -> None:
    parts = [*OBJECTS.glob("plain_*.o"), *OBJECTS.glob("fused_*.o"), OBJECTS / "shim_math.o"]
    assert len(parts) == 31
    check(tmp_path, "equal", *parts)


def test_registers_are_kept(tmp_path: Path) -> None:
    check(tmp_path, "registers", "-mno-red-zone", "-Wno-missing-prototypes")
