# SPDX-License-Identifier: GPL-2.0
"""Directories with attributes on file systems of every kind, compared with plain calls."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import fuse_dirs
import pytest
from file_systems import MADE, load, mounted, on_image, overlay, run, tmpfs
from runner import SLOWDOWN, account

BUILD = Path(__file__).resolve().parents[2] / "build"
DIRCHECK = BUILD / "tests" / "vm" / "dircheck"
MANY = 100_000 // SLOWDOWN
# Of many blocks.
ENOUGH = 2000 // SLOWDOWN
SOME = 300
# For a file system that asks a server process about each file.
FEW = 50
STORM_SECONDS = 3
# From SIGKILL to the end of the process, on a busy emulated machine.
DEATH = 60 * SLOWDOWN
KERNEL = {"SYSCRIPT_BACKEND": "kernel"}


def dircheck(*arguments: str | Path, member: bool = False, env: dict[str, str] = KERNEL) -> str:
    command = [str(word) for word in (DIRCHECK, *arguments)]
    options = account("member" if member else "root")
    done = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ext4(at: Path, files: int = ENOUGH) -> AbstractContextManager[Path]:
    size = f"{64 + files // 250}M"
    return on_image("ext4", size, "mkfs.ext4", "-q", "-N", str(2 * files))(at)


@contextmanager
def layers(at: Path) -> Iterator[Path]:
    """Entries of both layers, entries of one only, and deleted ones."""

    def fill_lower(lower: Path) -> None:
        fill(lower, SOME)
        (lower / "dir").mkdir()

    with overlay(at, fill_lower):
        for i in range(0, SOME, 3):
            (at / f"file-{i}").unlink()
        for i in range(1, SOME, 3):
            (at / f"file-{i}").write_text("changed")
        (at / "new").mkdir()
        (at / "dir" / "new").touch()
        yield at


FILE_SYSTEMS: dict[str, Callable] = {
    "tmpfs": tmpfs,
    "ext4": ext4,
    "overlay": layers,
    "fuse": MADE["fuse-ext4"],
}


def fill(path: Path, n: int) -> None:
    for i in range(n):
        os.close(os.open(path / f"file-{i}", os.O_CREAT | os.O_WRONLY, 0o640))


def reachable(at: Path) -> Path:
    """For the member."""
    for path in (at, *at.parents):
        if path.owner() == "root" and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    return at


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return reachable(tmp_path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", FILE_SYSTEMS)
def test_same_entries(kind: str, place: Path) -> None:
    with FILE_SYSTEMS[kind](place / kind) as top:
        directory = top / "some"
        directory.mkdir()
        some = FEW if kind == "fuse" else SOME
        fill(directory, some)
        (directory / "link").symlink_to("file-1")
        os.mknod(directory / "device", 0o20600, os.makedev(1, 3))
        for path in (top, directory):
            dircheck("stable", path)
            dircheck("stable", path, member=True)
        # Drop the caches, as after a mount.
        Path("/proc/sys/vm/drop_caches").write_text("2")
        dircheck("stable", directory, some + 2)


@pytest.mark.parametrize("count", [ENOUGH, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", [pytest.param("tmpfs", marks=pytest.mark.long), "ext4"])
def test_many_entries(kind: str, count: int, place: Path) -> None:
    made = tmpfs(place / kind) if kind == "tmpfs" else ext4(place / kind, count)
    with made as top:
        directory = top / "many"
        directory.mkdir()
        fill(directory, count)
        dircheck("stable", directory, count)


@pytest.fixture(scope="module", params=["plain", pytest.param("plus", marks=pytest.mark.long)])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """Directories split into replies in all ways by their server, with attributes or without."""
    load("fuse")
    top = tmp_path_factory.mktemp("served")
    reachable(top)
    with fuse_dirs.served(top / "top", request.param) as at:
        yield at


def plain_walk(top: Path) -> list[str]:
    """The result of a walk by plain calls, and the number of directories with errors.

    Entries whose type the directory gives are not looked up.
    """
    found: list[str] = []
    errors = 0

    def walk(below: str) -> None:
        nonlocal errors
        try:
            for entry in os.scandir(top / below):
                found.append(f"{below}{entry.name}")
                if entry.is_dir(follow_symlinks=False):
                    walk(f"{below}{entry.name}/")
        except OSError:
            errors += 1

    walk("")
    return [*sorted(found), f"errors: {errors}"]


# Both engines call the same readers of directories.
@pytest.mark.parametrize("engine", [pytest.param("luajit", marks=pytest.mark.long), "confined"])
@pytest.mark.parametrize("backend", ["kernel", pytest.param("user", marks=pytest.mark.long)])
def test_replies(backend: str, engine: str, served: Path) -> None:
    """A directory ends only where its server says so; a name ends at its first zero.

    That holds even if it makes the name ".." or empty.
    """
    image = str(BUILD / "lua-runtime" / "lua.image")
    env = {
        "SYSCRIPT_BACKEND": backend,
        "SYSCRIPT_ENGINE": engine,
        "SYSCRIPT_LUA_IMAGE": image,
    }
    dircheck("replies", served, env=env)
    *found, errors = dircheck("walk", served, env=env).splitlines()
    assert [*sorted(found), errors] == plain_walk(served)


@pytest.mark.parametrize(
    "path", ["/proc", "/proc/self", "/proc/self/task", "/proc/1", "/sys", "/dev"]
)
def test_pseudo(path: str) -> None:
    dircheck("changing", path)
    dircheck("changing", path, member=True)


@pytest.mark.parametrize("path", ["/proc/sys/fs", "/sys/kernel", "/sys/class"])
def test_pseudo_stable(path: str) -> None:
    dircheck("stable", path)


def test_9p() -> None:
    """The guest's root, and the repository, which is mounted with another cache mode."""
    for path in ("/usr/lib/python3.11", BUILD.parent / "kernel"):
        dircheck("stable", path, member=True)


def test_mount_points(place: Path) -> None:
    with ExitStack() as stack:
        top = stack.enter_context(tmpfs(place / "top"))
        fill(top, 5)
        for name in ("a", "b", "c", "locked"):
            (top / name).mkdir()
        stack.enter_context(tmpfs(top / "a"))
        stack.enter_context(tmpfs(top / "a"))
        stack.enter_context(mounted("proc", top / "b"))
        run("mount", "--bind", "/etc", top / "c")
        stack.callback(run, "umount", top / "c")
        run("mount", "--bind", "/etc/hostname", top / "file-3")
        stack.callback(run, "umount", top / "file-3")
        (top / "locked").chmod(0)
        for path in (top, top / "a", top / "c"):
            dircheck("stable", path)
            dircheck("stable", path, member=True)


def test_automount(place: Path) -> None:
    """A directory's automount points are listed without mounting them; mounted ones are seen."""
    with mounted("debugfs", place / "debug") as top:
        tracing = top / "tracing"
        if tracing not in top.iterdir():
            pytest.skip("no tracefs that is mounted in debugfs on demand")
        dircheck("stable", top)
        assert not tracing.is_mount()
        assert list(tracing.iterdir())
        assert tracing.is_mount()
        try:
            dircheck("stable", top)
        finally:
            run("umount", tracing)


# A file-serving process takes a minute where other file systems take seconds.
SLOW = pytest.param("fuse", marks=pytest.mark.long)
STORMS = [SLOW if kind == "fuse" else kind for kind in FILE_SYSTEMS]


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", STORMS)
def test_storm(kind: str, place: Path) -> None:
    with FILE_SYSTEMS[kind](place / kind) as top:
        directory = top / "storm"
        directory.mkdir(mode=0o777)
        directory.chmod(0o777)
        dircheck("storm", directory, str(STORM_SECONDS), member=True)


def test_races(place: Path) -> None:
    with tmpfs(place / "races") as top:
        fill(top, 2000)
        out = dircheck("races", top, str(STORM_SECONDS), member=True)
        assert "refused" in out


def test_killed(place: Path) -> None:
    with tmpfs(place / "killed") as top:
        fill(top, 5000)
        for _ in range(2):
            command = [DIRCHECK, "endless", top]
            options = account("member")
            child = subprocess.Popen(
                command, env={**os.environ, **KERNEL}, stdout=subprocess.PIPE, **options
            )
            assert child.stdout and child.stdout.readline() == b"at work\n"
            time.sleep(0.2)
            child.kill()
            assert child.wait(DEATH) == -signal.SIGKILL
            child.stdout.close()
