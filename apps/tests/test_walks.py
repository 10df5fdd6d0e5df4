# SPDX-License-Identifier: GPL-2.0 OR MIT
"""du, ls, chmod, chown and find that read ahead (apps/fts) find what the plain ones find."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import fuse_dirs
import pytest
from compounds import BUILD
from walks import AHEAD, WALKS, calls, failing, run

pytest_plugins = ["trees"]

FIND = ("find", ".", "-newer", "file3", "-printf", "%p %s %m %n %i %T@ %y\\n")
LS = ("ls", "-lR", ".")
# Attributes of statx(2).
STATX_MODE, STATX_ATIME, STATX_SIZE = 0x2, 0x20, 0x200
COMMANDS = [
    ("du", "-a", "."),
    ("du", "-s", ".", "many"),
    ("du", "-abx", "."),
    ("du", "--inodes", "."),
    ("du", "-L", "dir10", "to-dir"),
    ("du", "-l", "."),
    ("du", "-S", "--time", "."),
    ("du", "-a", "--exclude=file1*", "."),
    ("du", "-a", "nowhere", "."),
    ("du", "empty", "many"),
    ("find", "empty", "-size", "+3"),
    ("chmod", "-Rc", "u+x,g-w", "."),
    ("chmod", "-Rv", "go=", "."),
    ("chown", "-Rv", "--from=root", "root", "."),
    ("chgrp", "-Rc", "1", "."),
    LS,
    ("ls", "-laRsi", "."),
    ("ls", "-lUd", ".", "many"),
    ("ls", "-lUZ", "many", "."),
    ("ls", "-lLR", "."),
    ("ls", "-Rtr", "."),
    ("ls", "-lR", "--time=birth", "."),
    ("ls", "-RFn", "--color=always", "nowhere", "."),
    ("find", ".", "-size", "+3"),
    FIND,
    ("find", ".", "-depth", "-ls"),
    ("find", ".", "-links", "2"),
    ("find", ".", "-type", "f", "-size", "-2", "-maxdepth", "2"),
    ("find", ".", "-name", "file*", "-size", "+9"),
    ("find", ".", "-size", "+9", "-name", "file1*", "-delete"),
    ("find", ".", "-size", "+9", "-exec", "chmod", "0", "{}", ";", "-printf", "%p %m\\n"),
    ("find", "-L", ".", "-size", "+1"),
    ("find", ".", "-empty", "-mindepth", "2"),
    ("find", ".", "(", "-size", "0", "-o", "-perm", "-4000", ")", "-prune", "-o", "-print"),
    ("find", ".", "!", "-size", "1", "-xdev"),
]


def attributes(tree: Path) -> dict[str, tuple[int, ...]]:
    """Attributes without directory sizes, which depend on the order of creation."""
    seen = {str(p.relative_to(tree)): p.lstat() for p in tree.rglob("*")}
    return {
        name: (st.st_mode, st.st_uid, st.st_gid, 0 if stat.S_ISDIR(st.st_mode) else st.st_size)
        for name, st in seen.items()
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Directories whose server splits replies in all possible ways."""
    if os.geteuid():
        pytest.skip("only root mounts")
    with fuse_dirs.served(tmp_path_factory.mktemp("served") / "top") as at:
        yield at


@pytest.mark.parametrize("shape", fuse_dirs.SHAPES)
@pytest.mark.parametrize(
    "command", [("du", "-a"), ("find", "-size", "-9"), ("ls", "-lR"), ("ls", "-laR")], ids=" ".join
)
def test_same_replies(served: Path, command: tuple[str, ...], shape: str) -> None:
    assert run("ahead", *command, cwd=served / shape, **AHEAD) == run(
        "plain", *command, cwd=served / shape
    )


@pytest.mark.parametrize("library", ["there", "missing"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_same(tree: Path, command: tuple[str, ...], library: str) -> None:
    """Both run on the same files; the first run's changes are undone before the second."""
    env = AHEAD if library == "there" else {"SYSCRIPT_AHEAD": "always"}
    saved = tree.parent / "saved"
    subprocess.run(["cp", "-a", tree, saved], check=True)
    plain, plain_after = run("plain", *command, cwd=tree), attributes(tree)
    if attributes(saved) != plain_after or command[0] in ("chmod", "chown", "chgrp"):
        # In place: the order within directories must not change.
        subprocess.run(["cp", "-a", "--remove-destination", f"{saved}/.", tree], check=True)
        again = run("plain", *command, cwd=tree)
        subprocess.run(["cp", "-a", "--remove-destination", f"{saved}/.", tree], check=True)
        ahead = run("ahead", *command, cwd=tree, **env)
        assert sorted(ahead[1].splitlines()) == sorted(again[1].splitlines())
        assert ahead[::2] == again[::2]
    else:
        assert run("ahead", *command, cwd=tree, **env) == plain
    assert attributes(tree) == plain_after


@pytest.mark.parametrize("good_calls", [0, 1, 2, 3, 5, 100000])
@pytest.mark.parametrize("command", [COMMANDS[0], FIND, LS], ids=lambda command: command[0])
def test_library_that_fails(
    tree: Path, unreliable: Path, good_calls: int, command: tuple[str, ...]
) -> None:
    """Failing in the middle of a directory, nothing is missed or found twice."""
    env = failing(unreliable, tree.parent, good_calls)
    assert run("ahead", *command, cwd=tree, **env) == run("plain", *command, cwd=tree)
    # The good library was called a few times for 2,000 files.
    assert 0 < calls(tree.parent) <= min(good_calls + 1, 100)


@pytest.mark.parametrize("unknown", [STATX_ATIME, STATX_SIZE, STATX_MODE], ids=hex)
@pytest.mark.parametrize("command", [COMMANDS[0], FIND, LS], ids=lambda command: command[0])
def test_attributes_that_a_file_system_does_not_know(
    tree: Path, unreliable: Path, unknown: int, command: tuple[str, ...]
) -> None:
    """Access times may be missing; otherwise du and find read no further directory ahead."""
    env = failing(unreliable, tree.parent, 100000)
    plain = run("plain", *command, cwd=tree)
    assert run("ahead", *command, cwd=tree, **env) == plain
    usual = calls(tree.parent)
    assert run("ahead", *command, cwd=tree, **env, UNKNOWN=str(unknown)) == plain
    assert calls(tree.parent) == (usual if unknown == STATX_ATIME or command == LS else 1)


def test_few_files_load_nothing(tree: Path, unreliable: Path) -> None:
    count = tree.parent / "count"
    env = {"LD_LIBRARY_PATH": str(unreliable), "GOOD_CALLS": "0", "COUNT": str(count)}
    run("ahead", "du", "-s", "dir20", cwd=tree, **env)
    assert not count.exists()
    run("ahead", "du", "-s", ".", cwd=tree, **env)
    assert count.exists()


def test_ls_reads_on_in_the_middle(tree: Path, unreliable: Path) -> None:
    """From the 600th entry of a directory on, none is missed or listed twice."""
    count = tree.parent / "count"
    env = {
        "LD_LIBRARY_PATH": str(unreliable),
        "REAL": str(BUILD / "libsyscript.so.0"),
        "GOOD_CALLS": "100",
        "COUNT": str(count),
    }
    command = ["ls", "-lUR", "many", "dir20", "."]
    assert run("ahead", *command, cwd=tree, **env) == run("plain", *command, cwd=tree)
    assert int(count.read_text()) > 10


def test_ls_of_paths_that_are_too_long(tmp_path: Path) -> None:
    """Attributes read together with their directory need no path."""
    names = ["d" * 100] * 40 + ["f" * 100]
    place = os.open(tmp_path, os.O_PATH)
    for name in names:
        os.mkdir(name, dir_fd=place)
        below = os.open(name, os.O_PATH, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    plain = run("plain", "ls", "-lR", ".", cwd=tmp_path)
    ahead = run("ahead", "ls", "-lR", ".", cwd=tmp_path, **AHEAD)
    assert plain[2].count("File name too long") == 2 and f" {names[-1]}\n" in plain[1]
    assert ahead[2].count("File name too long") == 1 and f" {names[-1]}\n" in ahead[1]
    assert re.search(f"^drwx.* {names[-1]}$", ahead[1], re.MULTILINE)


@pytest.mark.parametrize(
    "command",
    [
        ("du", "-a", "."),
        ("find", ".", "-size", "+1", "-print"),
        ("chmod", "-Rv", "a+x", "."),
        ("ls", "-lU", "."),
        ("rsync", "-r", "--list-only", "./"),
    ],
    ids=lambda command: command[0],
)
def test_names_that_are_too_long_for_dirent(
    tmp_path: Path, long_names: tuple[Path, int], command: tuple[str, ...]
) -> None:
    """Names as long as vfat and FUSE allow are not cut, and overwrite nothing."""
    library, length = long_names
    top = tmp_path / "tree"
    top.mkdir()
    env = {**AHEAD, "LD_LIBRARY_PATH": str(library)}
    status, out, err = run("ahead", *command, cwd=top, **env)
    assert status in (0, 1, 23)
    found = re.findall("x{250,}", out + err)
    # For a path longer than PATH_MAX, rsync prints nothing.
    assert set(map(len, found)) == {length} or (command[0], length) == ("rsync", 4095)


@pytest.mark.parametrize("what", ["changed", "removed"])
def test_what_others_do_meanwhile_is_seen(tmp_path: Path, what: str) -> None:
    """After a second the rest of a directory is read again."""
    top = tmp_path / "tree"
    # One of the files comes after the directory in any order.
    for name in ("first", "long", "last"):
        if name == "long":
            (top / name).mkdir(parents=True)
            for n in range(3000):
                (top / name / f"{n} {'x' * 40}").touch()
        else:
            top.mkdir(exist_ok=True)
            (top / name).write_text("old")
    walk = subprocess.Popen(
        ["find", "tree", "-size", "-9", "-printf", "%p %s\n"],
        executable=WALKS / "ahead" / "find",
        cwd=tmp_path,
        env={**os.environ, **AHEAD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # It blocks on the full pipe, within the directory or at its end.
    time.sleep(1.5)
    for name in ("first", "last"):
        (top / name).write_text("new and longer") if what == "changed" else (top / name).unlink()
    out, err = walk.communicate(timeout=60)
    lines = out.splitlines()
    assert len([line for line in lines if "/long/" in line]) == 3000
    found = [line for line in lines if line.startswith(("tree/first", "tree/last"))]
    if what == "changed":
        assert any(line.endswith(" 14") for line in found)
    else:
        assert len(found) < 2 and "No such file" in err


SHARED = [(0o755, "self", False), (0o775, "self", True), (0o757, "self", True)]
SHARED += [(0o755, "another", True)]


@pytest.mark.parametrize("program", ["chmod", "chown", "du"])
@pytest.mark.parametrize(("mode", "owner", "shared"), SHARED)
def test_who_acts_looks_ahead_where_no_one_else_can(
    tmp_path: Path, unreliable: Path, program: str, mode: int, owner: str, shared: bool
) -> None:
    """Users who may write there could replace a file that was read ahead by a link."""
    top, victim, count = (tmp_path / name for name in ("tree", "victim", "count"))
    top.mkdir()
    for n in range(20):
        (top / f"{n}").touch(mode=0o600)
    victim.touch(mode=0o600)
    top.chmod(mode)
    if owner == "another":
        if os.geteuid():
            pytest.skip("as root only: another's directory")
        os.chown(top, 1, 1)
    me = str(os.geteuid())
    options = {"chmod": ["a+r"], "chown": [f"--from={me}", me], "du": ["-a"]}[program]
    env = {
        **AHEAD,
        "LD_LIBRARY_PATH": str(unreliable),
        "REAL": str(BUILD / "libsyscript.so.0"),
        "GOOD_CALLS": "100",
        "COUNT": str(count),
        "AFTER": "cd tree && ln -sf ../victim 3 && ln -sf ../victim 15" if shared else "",
    }
    recursive = [] if program == "du" else ["-R"]
    assert run("ahead", program, *recursive, *options, "tree", cwd=tmp_path, **env)[0] == 0
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    # Without a directory of the user's own the library is not even loaded.
    looked = count.exists() and count.read_text() != "0"
    assert looked == (not shared or program == "du")


def deep(top: Path) -> None:
    """Nested directories, which a walk keeps open at the same time."""
    for level in range(12):
        top.mkdir()
        for n in range(3):
            (top / f"file{level}{n}").write_text("text")
        top = top / f"sub{level}"


FEW = [("du", "-a", "tree"), ("find", "tree", "-size", "-3"), ("ls", "-lR", "tree")]
FEW += [("chmod", "-Rv", "u+w", "tree"), ("find", "tree", "-ls")]


@pytest.mark.parametrize("command", FEW, ids=" ".join)
def test_few_descriptors(tmp_path: Path, command: tuple[str, ...]) -> None:
    """However few descriptors are left: under a limit, or under a higher one partly used.

    With scripts that take two descriptors each, and three.
    """
    deep(tmp_path / "tree")
    for limit, taken in [*((n, 0) for n in range(4, 20)), *((100, n) for n in range(72, 96))]:
        taking = "".join(f"exec {fd}</dev/null; " for fd in range(99, 99 - taken, -1))
        shell = f'{taking}ulimit -n {limit}; exec -a "$0" "$@"'

        def found(way: str, shell: str = shell, **env: str) -> tuple[int, str, str]:
            program = str(WALKS / way / command[0])
            done = subprocess.run(
                ["bash", "-c", shell, command[0], program, *command[1:]],
                cwd=tmp_path,
                env={**os.environ, "LC_ALL": "C", **env},
                capture_output=True,
                text=True,
            )
            return done.returncode, done.stdout, done.stderr

        plain = found("plain")
        for engine in ("luajit", "confined"):
            ahead = found("ahead", **AHEAD, SYSCRIPT_ENGINE=engine, SYSCRIPT_BACKEND="auto")
            assert ahead == plain, (limit, taken, engine)


PLANTED = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void run(void) { fclose(fopen(getenv("PLANTED"), "w")); }
int syscript_probe(int backend) { return -1; }
"""


@pytest.mark.parametrize(
    "command",
    [("rsync", "-r", "--list-only", "tree/"), ("find", "tree", "-size", "+1"), ("ls", "-l")],
    ids=lambda command: command[0],
)
def test_planted_library(tmp_path: Path, command: tuple[str, ...]) -> None:
    """A library planted in a world-writable directory that the program enters."""
    top = tmp_path / "tree"
    (top / "lib").mkdir(parents=True)
    source, loaded = tmp_path / "planted.c", tmp_path / "loaded"
    source.write_text(PLANTED)
    for place in (top, top / "lib", tmp_path):
        library = place / "libsyscript.so.0"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    env = {"SYSCRIPT_AHEAD": "always", "PLANTED": str(loaded)}
    for path in ("", ":", ".", "lib", "::lib", f"{tmp_path / 'nowhere'}:", "$ORIGIN", "./lib;"):
        where = top if command[0] == "ls" else tmp_path
        run("ahead", *command, cwd=where, **env, LD_LIBRARY_PATH=path)
        assert not loaded.exists(), path
    # A library that others can write to.
    (top / "libsyscript.so.0").chmod(0o775)
    run("ahead", *command, cwd=tmp_path, **env, LD_LIBRARY_PATH=str(top))
    assert not loaded.exists()
    (top / "libsyscript.so.0").chmod(0o755)
    run("ahead", *command, cwd=tmp_path, **env, LD_LIBRARY_PATH=f"nowhere:{top}")
    assert loaded.exists()


def test_unreadable_directory() -> None:
    if os.geteuid():
        pytest.skip("as root only: for another account")
    seen = []
    # Not below pytest's directory, which only root can enter.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        for part in ("open", "secret"):
            place = Path(name, part)
            place.mkdir(mode=0o755 if part == "open" else 0o700)
            for n in range(10):
                (place / f"{n}").write_text(part)
        for way, env in (("plain", {}), ("ahead", AHEAD)):
            program = str(WALKS / way / "du")
            done = subprocess.run(
                ["setpriv", "--reuid=65534", "--clear-groups", program, "-a", name],
                env={**os.environ, "LC_ALL": "C", **env},
                capture_output=True,
                text=True,
            )
            seen.append((done.returncode, done.stdout, done.stderr.replace(program, "du")))
    assert seen[0] == seen[1]
    assert seen[0][0] == 1 and "cannot read directory" in seen[0][2]
