# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Lua in the confined engine, which runs in this process; tests/vm has it in the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from confined import puc
from runner import (
    ATTACKS,
    CONFINED,
    CORPUS_LIMITS,
    GUEST_LIMITS,
    INTEGER_CORPUS,
    INTEGERS,
    USER,
    Attack,
    guest,
    here,
    outcome,
)


def run(*words: str | Path, **options) -> subprocess.CompletedProcess[str]:
    command = [*guest("user"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("script", INTEGER_CORPUS, ids=lambda path: path.stem)
def test_does_as_luajit(script: Path) -> None:
    """Of scripts that need no floating point, nor what LuaJIT adds to Lua 5.1."""
    confined = outcome(here, [*guest("user"), *CORPUS_LIMITS, str(script)])
    assert confined == outcome(here, USER[1].command(script, *CORPUS_LIMITS))
    assert confined.status == 0


# One lowers its priority, and has no limit here but its CPU time: it takes for ever.
MODE = CONFINED["user"]
HOSTILE = [a for a in map(Attack.read, ATTACKS) if a.suits(MODE) and a.path.stem != "scheduling"]


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.path.stem)
def test_attack(attack: Attack) -> None:
    attack.check(here, MODE)


@pytest.mark.parametrize("name", puc.LEFT_OUT)
def test_puc(name: str) -> None:
    done = run(*puc.LIMITS, "-", input=puc.script(name), encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "")


def test_integers() -> None:
    done = run(*GUEST_LIMITS, INTEGERS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_arguments_and_results() -> None:
    done = run("-e", "return ...", "1", "-5", "0x7fffffffffffffff")
    assert done.stdout == "1\t-5\t9223372036854775807\n"
    done = run("-e", "local b, n = ... util.fill(b, 65, n) return n", "out:4K", "3")
    assert done.stdout == "AAA"
    done = run("-e", "print(util.str_in(..., 4)) return true, nil, false", "text")
    assert done.stdout == "text\n1\t0\t0\n"
    assert run("-", input="function run() return 7 end").stdout == "7\n"


ERRORS = {
    "local x\nreturn x.y": "-e:2: attempt to index local 'x' (a nil value)",
    "error({})": "error object is a table value",
    "return 'text'": "result 1 of run is a string, not an integer",
    "return 1 +": "-e:2: unexpected symbol near 'end'",
    "return 1.5": "-e:1: malformed number near '1.5'",
    "syscall.close()": "-e:1: close takes 1 argument, got 0",
    "syscall.clsoe(1)": "-e:1: no system call 'clsoe'",
    "syscall.fork()": "-e:1: scripts cannot call 'fork': ",
    "local s = 'x' while true do s = s .. s end": "-e: over the memory limit of 1024 KiB: raise",
    "local t = {} while true do t[#t + 1] = {} end": "-e: over the memory limit of 1024 KiB",
    "while true do end": "-e: over the time limit: raise it with --time-limit\n",
}


@pytest.mark.parametrize("code", ERRORS)
def test_errors(code: str) -> None:
    done = run("-e", code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(ERRORS[code])


def test_no_function_run(tmp_path: Path) -> None:
    path = tmp_path / "a.lua"
    path.write_text("x = 1")
    assert run(path).stderr.startswith("a.lua: no function named run")


def test_memory_limit_is_exact() -> None:
    """Buffers of arguments are not part of it; a larger limit is a larger arena."""
    code = "local n = 0 while pcall(util.buffer, 65536) do n = n + 1 end return n"
    small, large = (int(run("--memory-limit", size, "-e", code).stdout) for size in ("1M", "8M"))
    assert 8 <= small < 16 and small + 100 <= large < 128
    assert int(run("--memory-limit", "1M", "-e", code, "buf:3M").stdout) == small


def test_usage() -> None:
    done = run("--engine", "frob", "-e", "")
    assert done.returncode == 2 and "engine 'frob' is not luajit or confined" in done.stderr
    assert run("-e", "", *"123456789").returncode == 2


@pytest.mark.parametrize("name", ["net.frames", "fs.entries", "util.pending"])
def test_has_no_batches(name: str) -> None:
    """What only LuaJIT's scripts have is said to be missing, by name."""
    done = run(*GUEST_LIMITS, "-e", f"return {name}(3)")
    assert done.returncode == 1
    assert f"the confined engine has no '{name.split('.')[1]}'" in done.stderr
