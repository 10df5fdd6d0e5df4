# SPDX-License-Identifier: GPL-2.0
"""Programs that threads, files and timers call (uapi/syscript_events.h)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import programs as p
import pytest
from confined import insn as i
from runner import SLOWDOWN

# A program's calls leave no other trace here, so it fails when it sees what it looks for.
SEEN = i.movi(0, -1) + i.EXIT
NOT_SEEN = i.movi(0, 0) + i.EXIT
CALLED, GONE = 0, 2  # SYSCRIPT_PROGRAM_*


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for program in p.programs():
        p.unload(program.name)


def load(subsystem: str, where: str, code: bytes, **options) -> tuple[int, str]:
    options = {"errors_max": 1 << 30, "copies": 0} | options
    return p.load(p.image([code]), subsystem=subsystem, where=where, **options)


def looks_for(*fields: tuple[int, int, int]) -> bytes:
    """A program that fails if all these fields of its view have the given values."""
    checks = [i.load(2, 1, at, size) + i.imm64(3, value) for at, size, value in fields]
    after = len(NOT_SEEN) // 8
    code = SEEN
    for check in reversed(checks):
        code = check + i.jump_if("ne", 2, 3, len(code) // 8) + code
    assert after == 2
    return code + NOT_SEEN


def errors(name: str = "filter") -> int:
    return next(x for x in p.programs() if x.name == name).errors


def calls(name: str = "filter") -> int:
    return next(x for x in p.programs() if x.name == name).calls


def state(name: str = "filter") -> int:
    return next(x for x in p.programs() if x.name == name).state


def comes(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10 * SLOWDOWN
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def named(text: str, at: int, size: int = 8) -> tuple[int, int, int]:
    return at, size, int.from_bytes(text.encode().ljust(size, b"\0")[:size], "little")


def test_threads_begin_and_end() -> None:
    """A process with a certain number forks, executes another program, and ends."""
    me = os.getpid()
    assert load("threads", "fork", looks_for((8, 4, me)), name="fork") == (0, "")
    assert load("threads", "exec", looks_for((8, 4, me), named("true", 32)), name="exec") == (0, "")
    assert load("threads", "exit", looks_for((8, 4, me), named("true", 32)), name="exit") == (0, "")
    for _ in range(3):
        subprocess.run(["true"], check=True)
    subprocess.run(["false"], check=False)
    assert errors("fork") == 4
    assert (errors("exec"), errors("exit")) == (3, 3)
    assert calls("exec") >= 4


def test_kills_what_is_not_to_run() -> None:
    """The executed program is killed before its first instruction; other processes continue."""
    kills = i.load(2, 1, 32, 8) + i.imm64(3, named("forbid", 0)[2])
    kills += i.jump_if("ne", 2, 3, 2) + i.movi(0, 1) + i.EXIT + NOT_SEEN
    assert load("threads", "exec", kills) == (0, "")
    forbidden = Path("/tmp/forbid")
    forbidden.write_bytes(Path("/bin/true").read_bytes())
    forbidden.chmod(0o755)
    assert subprocess.run([forbidden], check=False).returncode == -signal.SIGKILL
    assert subprocess.run(["true"], check=False).returncode == 0
    assert errors() == 0
    # The first process of a namespace is not killed, as it also survives its own SIGKILL.
    inner = f"exec -a first {forbidden}"
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "bash", "-c", inner], check=False, capture_output=True
    )
    assert done.returncode == 0
    assert p.unload() == 0
    assert subprocess.run([forbidden], check=False).returncode == 0


@pytest.mark.long
def test_threads_that_storm(tmp_path: Path) -> None:
    """A looping program, replaced and unloaded while processes run on all CPUs."""
    body = "for k in $(seq 30); do true & /bin/true; done; wait"
    storms = [subprocess.Popen(["sh", "-c", body]) for _ in range(2)]
    n = 0
    while any(s.poll() is None for s in storms):
        for when in ("fork", "exec", "exit"):
            code = i.jump(-1) + i.EXIT if n % 2 else NOT_SEEN
            assert load("threads", when, code, name=when, errors_max=50) == (0, "")
        n += 1
        if n % 3 == 0:
            assert p.unload("exec") == 0
    assert all(s.returncode == 0 for s in storms)
    assert n > 1 and sum(x.calls for x in p.programs()) > 0


def test_files(tmp_path: Path) -> None:
    """Files created, written and deleted in a directory, with names."""
    made = looks_for((0, 4, 0x100), named("new", 24), (4, 4, os.getpid()))
    written = looks_for((0, 4, 2), named("new", 24))
    deleted = looks_for((0, 4, 0x200), named("new", 24))
    for name, code in (("made", made), ("written", written), ("deleted", deleted)):
        assert load("files", str(tmp_path), code, name=name) == (0, "")
    for _ in range(2):
        (tmp_path / "new").write_text("x")
        (tmp_path / "other").write_text("x")
        (tmp_path / "new").unlink()
    assert [errors(name) for name in ("made", "written", "deleted")] == [2, 2, 2]
    calls_before = calls("made")
    (tmp_path.parent / "outside").write_text("x")
    assert calls("made") == calls_before
    assert p.unload("made") == 0
    assert load("files", str(tmp_path / "other"), looks_for((0, 4, 2)), name="made") == (0, "")
    (tmp_path / "other").write_text("y")
    assert errors("made") == 2  # cut off, and written


def test_files_that_vanish(tmp_path: Path) -> None:
    """The file system is unmounted under the program; and a storm of loading and unloading."""
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    assert load("files", str(place), NOT_SEEN) == (0, "")
    (place / "a").write_text("x")
    assert calls() >= 3
    subprocess.run(["umount", place], check=True)
    (place / "a").write_text("x")
    assert state() == GONE
    assert p.unload() == 0
    body = f"for k in $(seq 15); do echo x >{place}/f$$-$k; rm {place}/f$$-$k; done"
    storms = [subprocess.Popen(["sh", "-c", body]) for _ in range(2)]
    n = 0
    while any(s.poll() is None for s in storms):
        n += 1
        assert load("files", str(place), i.jump(-1) + i.EXIT, errors_max=20) == (0, "")
        if n % 2:
            assert p.unload() == 0
    assert all(s.returncode == 0 for s in storms)


def test_files_that_come_again(tmp_path: Path) -> None:
    """A program's file is deleted, which ends its events; loading it again works."""
    file = tmp_path / "file"
    file.write_text("x")
    assert load("files", str(file), NOT_SEEN) == (0, "")
    with file.open() as held:
        file.unlink()
        assert state() == CALLED  # its inode still exists
        os.fstat(held.fileno())
    assert comes(lambda: state() == GONE)
    err, text = load("files", str(file), NOT_SEEN)
    assert err == -errno.ENOENT and str(file) in text
    assert state() == GONE
    file.write_text("x")
    before = calls()
    assert load("files", str(file), NOT_SEEN) == (0, "")
    file.read_text()
    assert state() == CALLED and calls() > before
    file.unlink()
    assert comes(lambda: state() == GONE)
    assert load("files", str(file), NOT_SEEN)[0] == -errno.ENOENT
    assert p.unload() == 0  # attached nowhere


def test_timer() -> None:
    """The timer ticks as often as requested, then as the program says, and stops with it."""
    assert load("timer", "20", NOT_SEEN) == (0, "")
    assert comes(lambda: calls() >= 5)
    assert p.unload() == 0
    # The first call postpones the next one by an hour; a failing program keeps its interval.
    assert load("timer", "10", i.imm64(0, 3600000) + i.EXIT, name="once") == (0, "")
    assert load("timer", "10", SEEN, name="fails") == (0, "")
    assert comes(lambda: calls("fails") >= 20)
    assert calls("once") == 1
    assert errors("fails") >= 20
    assert p.unload("once") == 0


@pytest.mark.parametrize(
    ("subsystem", "where"),
    [
        ("threads", ""),
        ("threads", "start"),
        ("files", "relative"),
        ("files", "/nowhere/at/all"),
        ("timer", ""),
        ("timer", "9"),
        ("timer", "3600001"),
        ("timer", "ten"),
    ],
)
def test_places_that_are_none(subsystem: str, where: str) -> None:
    error, text = load(subsystem, where, NOT_SEEN)
    assert error in (-errno.EINVAL, -errno.ENOENT) and text
    assert not p.programs()
