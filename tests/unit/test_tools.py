# SPDX-License-Identifier: GPL-2.0
"""Programs under the tools of docs/debuggers.md: results are right, and no tool complains."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SOURCE = Path(__file__).parent / "tool_program.c"
CLANG = shutil.which("clang") or next(
    (str(path) for path in sorted(Path("/usr/lib").glob("llvm-*/bin/clang"))), None
)
USER = 2


def compiled(place: Path, compiler: str | None, *flags: str) -> Path:
    program = place / "program"
    library = [f"-L{BUILD}", "-lsyscript", f"-Wl,-rpath,{BUILD}", "-lpthread"]
    command = [compiler or "", "-g", f"-I{BUILD}/include", *flags, "-o", program, SOURCE, *library]
    if not compiler or subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"{compiler or 'clang'} has no {' '.join(flags)} here")
    return program


def run(engine: str, *command: str | Path, **env: str) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, "SYSCRIPT_ENGINE": engine, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, f"done in {USER}\n"), done.stderr
    # Lua's interpreter tests in this way whether memory may be read.
    told = [line for line in done.stderr.splitlines() if "unknown 'how' field -1" not in line]
    assert not told, done.stderr


@pytest.mark.parametrize("engine", ["luajit", "confined"])
@pytest.mark.parametrize("tool", ["thread", "memory", "address", "undefined"])
def test_sanitizer(tool: str, engine: str, tmp_path: Path) -> None:
    """ThreadSanitizer and MemorySanitizer put their shadow where LuaJIT's memory normally is."""
    compiler = CLANG if tool == "memory" else "gcc"
    program = compiled(tmp_path, compiler, f"-fsanitize={tool}")
    run(engine, program, *(["x"] if tool == "memory" else []), SYSCRIPT_BACKEND="user")


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")
@pytest.mark.parametrize("engine", ["luajit", pytest.param("confined", marks=pytest.mark.long)])
def test_valgrind(engine: str, tmp_path: Path) -> None:
    """In the process, where valgrind sees a script's writes."""
    program = compiled(tmp_path, "gcc")
    run(engine, "valgrind", "-q", "--error-exitcode=9", program, SYSCRIPT_BACKEND="auto")
