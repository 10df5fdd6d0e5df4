# SPDX-License-Identifier: GPL-2.0 OR MIT
"""rsync and ninja that read ahead (apps/rsync, apps/ninja) behave like the plain ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from compounds import BUILD
from walks import AHEAD, WALKS, calls, failing, run

sys.path.insert(0, str(BUILD.parent / "bench"))

import ninja_build  # noqa: E402

pytest_plugins = ["trees"]

# -- Both, and the programs of test_walks.py --------------------------------------------


ONE_CALL = ["du -s .", "find . -size +3", "rsync -r .", "ninja -C build"]
SEVERAL_CALLS = ["ls -lR", "rsync -rX ."]
# On tmpfs, 9p, FUSE, and what is not known.
PAYS = {
    0x01021994: ONE_CALL + SEVERAL_CALLS,
    0x01021997: [],
    0x65735546: SEVERAL_CALLS,
    0x12345678: [],
}


@pytest.mark.parametrize("kind", PAYS)
def test_reads_ahead_where_it_pays(
    tree: Path, tmp_path: Path, unreliable: Path, of_type: Path, kind: int
) -> None:
    ninja_build.make_build(tree / "build", sources=330, headers=250, each=5)
    env = failing(unreliable, tmp_path, 100)
    env |= {"LD_PRELOAD": str(of_type), "KIND": str(kind)}
    del env["SYSCRIPT_AHEAD"]
    for command in ONE_CALL + SEVERAL_CALLS:
        (tmp_path / "count").unlink(missing_ok=True)
        assert run("ahead", *command.split(), cwd=tree, **env)[0] == 0
        assert (tmp_path / "count").exists() == (command in PAYS[kind]), command


# -- rsync -------------------------------------------------------------------------------

RSYNC = [
    ["-ain"],
    ["-aHAXin"],
    ["-aAXin", "--chmod=go-r"],
    ["-rLin"],
    ["-ain", "--copy-unsafe-links"],
    ["-ain", "--copy-dirlinks"],
    ["-acin"],
    ["-aixn", "--exclude=file1*"],
    ["-an", "--stats"],
    ["-r", "--list-only"],
    ["-a", "--list-only", "--no-inc-recursive"],
    ["-din"],
]


def rsync(way: str, options: list[str], tree: Path, **env: str) -> tuple[int, str, str]:
    """The results of a run into an empty directory, without anything that varies in time."""
    shutil.rmtree(tree.parent / "to", ignore_errors=True)
    (tree.parent / "to").mkdir()
    os.utime(tree.parent / "to", (1, 1))
    to = [] if "--list-only" in options else ["../to/"]
    status, out, err = run(way, "rsync", *options, "./", *to, cwd=tree, **env)
    return status, re.sub(r"(?m)^(File list .* time|sent|total size|Total bytes).*$", "", out), err


@pytest.mark.parametrize("library", ["there", "missing"])
@pytest.mark.parametrize("options", RSYNC, ids=" ".join)
def test_rsync_lists_the_same(tree: Path, options: list[str], library: str) -> None:
    env = AHEAD if library == "there" else {"SYSCRIPT_AHEAD": "always"}
    plain = rsync("plain", options, tree)
    assert len(plain[1].splitlines()) > 10
    assert rsync("ahead", options, tree, **env) == plain


def attributes(tree: Path) -> dict[str, tuple[object, ...]]:
    seen = {}
    for path in sorted(tree.rglob("*")):
        st = path.lstat()
        what = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        names = os.listxattr(path, follow_symlinks=False)
        values = [(name, os.getxattr(path, name, follow_symlinks=False)) for name in names]
        name = str(path.relative_to(tree))
        seen[name] = (st.st_mode, st.st_uid, int(st.st_mtime), what, values)
    return seen


def test_rsync_copies_the_same(tree: Path) -> None:
    for options in (["-a", "-AX"], ["-aHAX", "--delete"]):
        assert rsync("ahead", options, tree, **AHEAD)[0] == 0
        copied = attributes(tree.parent / "to")
        assert copied == attributes(tree)


@pytest.mark.parametrize("good_calls", [0, 1, 2, 5, 100000])
def test_rsync_with_a_library_that_fails(tree: Path, unreliable: Path, good_calls: int) -> None:
    env = failing(unreliable, tree.parent, good_calls)
    assert rsync("ahead", ["-ain"], tree, **env) == rsync("plain", ["-ain"], tree)
    assert 0 < calls(tree.parent) <= min(good_calls + 1, 100)


def test_rsync_looks_again_after_a_second(tmp_path: Path, unreliable: Path) -> None:
    """Attributes read ahead are out of date when it reaches the files."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("old")
    env = failing(unreliable, tmp_path, 100) | {"AFTER": "sleep 1.1; echo longer >file"}
    _, out, _ = run("ahead", "rsync", "-r", "--list-only", "./", cwd=tree, **env)
    assert re.search(r"^-\S+ +7 .* file$", out, re.MULTILINE), out
    assert calls(tmp_path) > 0


def test_rsync_as_a_daemon_loads_nothing(tree: Path, unreliable: Path) -> None:
    """A daemon changes its root to a directory where other users may have put a library."""
    config = tree.parent / "rsyncd.conf"
    config.write_text(f"[tree]\npath = {tree}\nuse chroot = no\nuid = {os.geteuid()}\n")
    env = failing(unreliable, tree.parent, 100)
    program = WALKS / "ahead" / "rsync"
    env["RSYNC_CONNECT_PROG"] = f"{program} --config={config} --daemon"
    status, out, err = run("ahead", "rsync", "-r", "localhost::tree", cwd=tree, **env)
    assert (status, err) == (0, "") and len(out.splitlines()) > 1000
    assert not (tree.parent / "count").exists()


def test_rsync_of_few_files_loads_nothing(tree: Path, unreliable: Path) -> None:
    env = failing(unreliable, tree.parent, 100)
    del env["SYSCRIPT_AHEAD"]
    run("ahead", "rsync", "-ain", "dir20", "../to", cwd=tree, **env)
    assert not (tree.parent / "count").exists()


# -- ninja -------------------------------------------------------------------------------


@pytest.fixture
def build(tmp_path: Path) -> Path:
    ninja_build.make_build(tmp_path / "build", sources=300, headers=250, each=5)
    return tmp_path / "build"


def touch(path: Path) -> None:
    path.touch()


def make_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def link_elsewhere(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def at_the_epoch(path: Path) -> None:
    os.utime(path, (0, 0))


def make_directory_a_file(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_text("no directory")


CHANGES: list[tuple[Callable[[Path], None], str]] = [
    (touch, "include/1/header240.h"),
    (Path.unlink, "include/0/header3.h"),
    (Path.unlink, "obj/2/file299.o"),
    (Path.unlink, "src/0/file0.c"),
    (make_loop, "include/0/header7.h"),
    (link_elsewhere, "src/1/file150.c"),
    (at_the_epoch, "src/1/file150.c"),
    (at_the_epoch, "obj/1/file150.o"),
    (make_directory_a_file, "src/2/file299.c"),
]
# Changes that must not trigger a build: an older file, or another name for it.
HARMLESS = (at_the_epoch, link_elsewhere)


def ninja(way: str, build: Path, *targets: str, **env: str) -> tuple[int, str, str]:
    return run(way, "ninja", "-n", "-v", "-d", "explain", *targets, cwd=build, **env)


def test_ninja_with_nothing_to_do(build: Path) -> None:
    assert ninja("plain", build) == (0, "ninja: no work to do.\n", "")
    assert ninja("ahead", build, **AHEAD) == (0, "ninja: no work to do.\n", "")


@pytest.mark.parametrize("targets", [[], ["obj/1/file150.o"]], ids=["all", "one"])
@pytest.mark.parametrize(
    ("change", "name"), CHANGES, ids=lambda what: getattr(what, "__name__", what)
)
def test_ninja_sees_changes(
    build: Path, change: Callable[[Path], None], name: str, targets: list[str]
) -> None:
    change(build / name)
    plain = ninja("plain", build, *targets)
    assert targets or plain != (0, "ninja: no work to do.\n", "") or change in HARMLESS
    assert ninja("ahead", build, *targets, **AHEAD) == plain


@pytest.mark.parametrize("good_calls", [0, 1, 100])
def test_ninja_with_a_library_that_fails(
    build: Path, tmp_path: Path, unreliable: Path, good_calls: int
) -> None:
    (build / "include/1/header240.h").touch()
    env = failing(unreliable, tmp_path, good_calls)
    assert ninja("ahead", build, **env) == ninja("plain", build)
    assert calls(tmp_path) > 0


def looked_at(way: str, build: Path, *targets: str, **env: str) -> int:
    """How many files it checks one by one."""
    _, out, _ = run(way, "ninja", "-d", "stats", *targets, cwd=build, **env)
    found = re.search(r"node stat\s+(\d+)", out)
    return int(found.group(1)) if found else 0


def test_ninja_looks_ahead_at_what_it_needs(build: Path) -> None:
    """For a full build it checks all files; for a target only those it depends on."""
    assert looked_at("plain", build) == 850
    assert looked_at("ahead", build, **AHEAD) == 0
    # The object, the source and five headers are missing.
    shutil.rmtree(build / "include")
    assert looked_at("plain", build, "obj/1/file150.o") == 7
    assert looked_at("ahead", build, "obj/1/file150.o", **AHEAD) == 0


def test_ninja_of_few_files_loads_nothing(build: Path, tmp_path: Path, unreliable: Path) -> None:
    env = failing(unreliable, tmp_path, 100)
    del env["SYSCRIPT_AHEAD"]
    ninja("ahead", build, "obj/1/file150.o", **env)
    assert not (tmp_path / "count").exists()


def test_ninja_builds(build: Path) -> None:
    """While it builds, earlier lookups are not reused."""
    (build / "src/0/file1.c").write_text("int one(void) { return 1; }\n")
    (build / "obj/0/file1.o").unlink()
    done = subprocess.run(
        [WALKS / "ahead" / "ninja"], cwd=build, env={**os.environ, **AHEAD}, capture_output=True
    )
    assert done.returncode == 0, done.stdout
    assert (build / "obj/0/file1.o").exists()
    assert ninja("ahead", build, **AHEAD)[1] == "ninja: no work to do.\n"
