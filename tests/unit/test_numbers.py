# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Lua's numbers on the confined engine, natively, compared with the machine's doubles."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "lib" / "lua-runtime"
SOFTFLOAT = "vendor/softfloat-sys/berkeley-softfloat-3/source"
# The sources of a release, or those fetched.
SOURCE = next(p / SOFTFLOAT for p in (ROOT, ROOT / "build") if (p / SOFTFLOAT).exists())
OBJECTS = ROOT / "build" / "luajit" / "user"


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("numbers") / "numbers"
    paths = (RUNTIME / "softfloat", RUNTIME, ROOT / "build" / "gen")
    quoted = [word for path in paths for word in ("-iquote", path)]
    system = [f"-I{path}" for path in (SOURCE / "include", SOURCE / "8086-SSE", SOURCE)]
    source = ROOT / "tests" / "confined" / "numbers.c"
    core_math = [*OBJECTS.glob("plain_*.o"), OBJECTS / "shim_math.o"]
    # -fwrapv as for the runtime; its compiler builtins stay.
    command = ["gcc", "-O2", "-w", "-fwrapv", "-o", program, *quoted, *system, source]
    subprocess.run([*command, *core_math, "-lm"], check=True)
    return program


def check(program: Path, rounds: int, seed: int) -> None:
    command = [program, str(rounds), hex(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}"


def test_numbers(numbers: Path) -> None:
    """Representation, arithmetic, functions, text: edge cases and two million random numbers."""
    check(numbers, 2_000_000, 0x139408DCBBF7A44)


@pytest.mark.long
def test_other_numbers(numbers: Path) -> None:
    check(numbers, 50_000_000, int.from_bytes(os.urandom(8)))
