# SPDX-License-Identifier: GPL-2.0
"""The engine for a script that requests none, by user and by features."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from runner import COMMAND, PATIENCE

LIMITS = ["--time-limit", PATIENCE]
ENGINE = "tostring(print):find('builtin') and 'luajit' or 'confined'"
CONFINED = Path("/dev/syscript")


@pytest.fixture
def nobodys() -> Iterator[None]:
    """No device is open to other users."""
    mode = CONFINED.stat().st_mode & 0o777
    CONFINED.chmod(0o600)
    yield
    CONFINED.chmod(mode)


def run(who: Callable, *words: str, **options):
    return who([COMMAND, "run", *LIMITS, *words], **options)


def choice(who: Callable, *words: str) -> tuple[str, str]:
    done = run(who, "--info", *words, "-e", f"print({ENGINE})")
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"backend (\w+), .*\n", done.stderr)
    assert found, done.stderr
    return done.stdout.strip(), found[1]


def test_member(as_user) -> None:
    assert choice(as_user) == ("luajit", "kernel")
    assert choice(as_user, "--engine", "confined") == ("confined", "kernel")
    assert choice(as_user, "--backend", "user") == ("luajit", "user")


def test_outsider(as_outsider) -> None:
    """For a user who may open only /dev/syscript."""
    assert choice(as_outsider) == ("confined", "kernel")
    assert choice(as_outsider, "--backend", "kernel") == ("confined", "kernel")
    assert choice(as_outsider, "--engine", "luajit") == ("luajit", "user")
    assert choice(as_outsider, "--only", "read,util") == ("confined", "kernel")


def test_nobody(as_outsider, nobodys) -> None:
    """Without a device scripts run in the process; a required kernel is an error naming both."""
    assert choice(as_outsider) == ("luajit", "user")
    assert choice(as_outsider, "--engine", "confined") == ("confined", "user")
    done = run(as_outsider, "--backend", "kernel", "-e", "")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "syscript: LuaJIT's engine: /dev/syscript-luajit may not be opened: "
    )
    assert f"; the confined engine: {CONFINED} may not be opened: " in done.stderr


def test_without_the_runtime(as_outsider) -> None:
    done = run(as_outsider, "-e", f"print({ENGINE})", env={"SYSCRIPT_LUA_IMAGE": "/none"})
    assert (done.returncode, done.stdout) == (0, "luajit\n"), done.stderr
    assert "there is no /none" in done.stderr


def test_planted_runtime(as_outsider, as_user) -> None:
    """A program in a private directory below another user's, who plants a runtime there."""
    private = "set -e; install -d -m 777 /tmp/shared; install -d -m 755 /tmp/shared/bin"
    assert as_user(["sh", "-c", private]).returncode == 0
    plant = "install -d /tmp/shared/lib/syscript; cp /run/lua.image /tmp/shared/{}/lua.image"
    for place in ("", "lib/syscript", "bin"):
        assert as_user(["sh", "-c", plant.format(place)]).returncode == 0
    program = Path("/tmp/shared/bin/program")
    shutil.copy(COMMAND, program)
    try:
        for named in ("", "/tmp/shared/lib/syscript/lua.image"):
            done = as_outsider(
                [program, "run", *LIMITS, "-e", f"print({ENGINE})"],
                env={"SYSCRIPT_LUA_IMAGE": named},
            )
            assert (done.returncode, done.stdout) == (0, "luajit\n"), done.stderr
            wanted = f"{named}: others than root and this user" if named else "there is no "
            assert wanted in done.stderr
    finally:
        shutil.rmtree("/tmp/shared")


# Features that the confined engine lacks, with LuaJIT's results.
LEFT = {
    "take it": "const n = 5 return n",
}


@pytest.mark.parametrize("what", LEFT)
def test_goes_to_the_engine_that_has_it(what: str, as_outsider) -> None:
    done = run(as_outsider, "-e", LEFT[what])
    assert done.returncode == 0 and done.stdout == "5\n", done.stderr
    assert re.match(r"syscript: runs in this process: .*the confined engine .*", done.stderr)
    assert what in done.stderr


def test_yields_across_pcall_stay(as_outsider) -> None:
    code = "return coroutine.wrap(function() pcall(coroutine.yield, 7) end)()"
    done = run(as_outsider, "--info", "-e", code)
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert done.stderr.startswith("backend kernel, ")


def test_nothing_runs_twice(as_outsider, tmp_path: Path) -> None:
    """A script that has begun to run never moves to another engine."""
    note = tmp_path / "note"
    note.touch()
    note.chmod(0o666)
    for parent in list(note.parents)[:3]:
        with contextlib.suppress(PermissionError):
            parent.chmod(0o755)
    append = (
        f"local fd = syscall.open('{note}', const.O_WRONLY + const.O_APPEND)"
        " syscall.write(fd, 'x') "
    )
    done = run(as_outsider, "-", input=f"{append} load('const n = 1')() function run() end")
    assert done.returncode == 1, done.stderr
    assert note.read_text() == "x"


def test_errors_of_the_source_are_luajits(as_outsider, as_user) -> None:
    errors = {run(who, "-e", "goto nowhere").stderr for who in (as_outsider, as_user)}
    assert errors == {"-e:1: undefined label 'nowhere'\n"}


def test_too_little_memory(as_outsider) -> None:
    parameter = Path("/sys/module/syscript/parameters/max_arenas")
    before = parameter.read_text()
    parameter.write_text("65536")
    try:
        done = as_outsider([COMMAND, "run", *LIMITS, "-e", f"print({ENGINE})"])
    finally:
        parameter.write_text(before)
    assert (done.returncode, done.stdout) == (0, "luajit\n")
    assert done.stderr.startswith("syscript: runs in this process: no memory for the stack: ")
