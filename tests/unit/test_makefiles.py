# SPDX-License-Identifier: GPL-2.0
"""The dependencies that the makefiles state."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

ASSIGNED = re.compile(r"^(?:export |override |private )*(\w+)\s*[:?+]?=", re.MULTILINE)


def test_prerequisites_are_defined_before_they_are_named() -> None:
    """A prerequisite named before its variable is defined would silently be missing."""
    command = ["make", "-n", "--warn-undefined-variables", "clean"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    undefined = set(re.findall(r"undefined variable '(\w+)'", done.stderr))
    assert "DESTDIR" in undefined
    files = [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]
    defined = {name for file in files for name in ASSIGNED.findall(file.read_text())}
    assert undefined & defined == set()


def test_tools_for_users_install_no_guest(tmp_path: Path) -> None:
    """Users' goals install neither a guest nor test tools: as little as possible."""
    goals = ["lib", "cli", "consolidate", "cosy", "lua-runtime", "examples"]
    given = [f"BUILD={tmp_path}", f"VENDOR={ROOT / 'build/vendor'}", "VENDOR_READY="]
    # -k: LuaJIT's part compiles its patched sources, which are missing here.
    command = ["make", "-nk", *given, *goals]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    groups = set(re.findall(r"^tools/deps ?(\S*)", done.stdout, re.MULTILINE))
    assert groups == {"clang", "consolidate"}
    # Even with -n, make remakes included files.
    assert [path.name for path in tmp_path.glob("deps/*")] == ["build+consolidate.ready"]
    assert list(tmp_path.glob("config*.mk")) == []


def test_demo_builds_what_it_shows(tmp_path: Path) -> None:
    """In a tree where nothing is built yet."""
    given = [f"BUILD={tmp_path}", f"VENDOR={ROOT / 'build/vendor'}", "VENDOR_READY="]
    command = ["make", "-nk", *given, "demo-parts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for name in ("lua-runtime/lua.image", "walks/coreutils-ahead"):
        assert f"{tmp_path}/{name}" in done.stdout, name


def test_flags_of_the_command_line_replace_none_of_ours(tmp_path: Path) -> None:
    """Debian's packaging sets CFLAGS, and a user may."""
    goal = f"{tmp_path}/lib/lua_image.o"
    command = ["make", "-n", "V=1", f"BUILD={tmp_path}", "CFLAGS=-O1", "LIBDIR=/given", goal]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    (compiled,) = re.findall(r".* -c -o .*lua_image\.o .*", done.stdout)
    assert " -O1 " in compiled and "LIBDIR='\"/given\"'" in compiled


def test_groups_of_packages_are_listed() -> None:
    """Groups that makefiles request from tools/deps are listed in its head, and have packages."""
    deps = (ROOT / "tools" / "deps").read_text()
    head = deps[: deps.index("set -eu")]
    listed = set(re.findall(r"[\w-]+(?=,|:\n)|(?<=^#   )[\w-]+(?=  )", head, re.MULTILINE))
    named = ["build vendor kernel guest tests"]
    for file in [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]:
        text = file.read_text()
        named += re.findall(r"^\t.*tools/deps ([\w-]+)", text, re.MULTILINE)
        named += re.findall(r"deps/([\w-]+)\.ready|$", text)
        named += re.findall(r"_GROUPS := ([\w -]+)", text)
    groups = set(" ".join(named).split())
    assert groups - listed == set()
    for group in groups:
        assert f"\n\t{group}) " in deps or f"\n\t{group})\n" in deps, group


def test_flags_of_single_files_name_a_source() -> None:
    """Kbuild ignores CFLAGS_NAME.o without a NAME, as after a file was renamed."""
    flags = re.compile(r"^[AC]FLAGS_(?:REMOVE_)?(?:\$\((\w+)\)/)?([\w/]+)\.o ", re.MULTILINE)
    found = []
    for kbuild in (path for path in ROOT.glob("*/**/Kbuild") if "build" not in path.parts):
        text = kbuild.read_text()
        for variable, name in flags.findall(text):
            place = kbuild.parent
            if variable:
                place = ROOT / re.search(rf"^{variable} := (.*)$", text, re.MULTILINE)[1]
            found.append(name)
            assert list(place.glob(f"{name}.[cS]")), f"{kbuild}: {name}.o"
    assert len(found) >= 3


@pytest.mark.parametrize("long", ["", "--long"])
def test_part_that_boots_guests_has_tests(long: str) -> None:
    """Without one, collecting all tests is for nothing."""
    command = ["make", "-s", "--eval", "show: ; @echo $(VM_PARTS)", "show"]
    done = subprocess.run([*command, f"LONG={long}"], cwd=ROOT, capture_output=True, text=True)
    parts = done.stdout.split()
    boots = []  # the lines after the marks of tests that boot: those of the gate have no other
    for place in ("tests/vm", "consolidate/tests/vm", "apps/tests/vm"):
        for file in (ROOT / place).glob("*.py"):
            boots += re.findall(r"^@pytest\.mark\.boot\n(.*)$", file.read_text(), re.MULTILINE)
    gate = [line for line in boots if not line.startswith("@pytest.mark.long")]
    assert parts[:2] == ["part-guest-1", "part-guest-2"]
    assert len(parts[2:]) == bool(boots if long else gate)


def test_modules_that_makefiles_run_exist() -> None:
    """Also those of goals that no test makes."""
    named = []
    for file in [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]:
        named += re.findall(r"-m (\w+(?:\.\w+)+)", file.read_text())
    assert "consolidate.cost.default_costs" in named
    for name in named:
        assert (ROOT / name.replace(".", "/")).with_suffix(".py").exists(), name


@pytest.fixture
def open_path() -> Iterator[Path]:
    """Other users may go there: each pytest that starts closes the parents of its tmp_path."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def bare_tree(place: Path) -> Path:
    """A tree as an ordinary user has it, with nothing installed; a directory for commands."""
    for name in ("tools", "vm", "third_party"):
        shutil.copytree(ROOT / name, place / name)
    shutil.copy(ROOT / "requirements.txt", place)
    commands = place / "bin"
    commands.mkdir()
    write_command(commands / "dpkg-query", "")
    return commands


def write_command(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def give_to_user(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        os.lchown(path, 1000, 1000)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
@pytest.mark.parametrize("answer", ["y", "n"])
def test_terminal_is_asked_once(open_path: Path, answer: str) -> None:
    commands = bare_tree(open_path)
    write_command(commands / "sudo", '[ "$1" = -v ] || exec "$@"')
    write_command(commands / "apt-get", f'echo noise; echo "$*" >>{open_path}/installed')
    give_to_user(open_path)
    pid, terminal = pty.fork()
    if not pid:
        os.setgroups([])
        os.setgid(1000)
        os.setuid(1000)
        os.chdir(open_path)
        os.environ.pop("PROGRESS", None)
        os.environ |= {"PATH": f"{commands}:/usr/bin:/bin", "TERM": "xterm"}
        os.execv("tools/deps", ["deps", "csmith", "shell"])
    text = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            if b"[y/N]" in chunk:
                os.write(terminal, answer.encode() + b"\n")
            text += chunk
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert text.count(b"[y/N]") == 1 and b"noise" not in text
    assert b"csmith" in text and b"shellcheck" in text
    installed = open_path / "installed"
    if answer == "y":
        assert status == 0
        assert installed.read_text().splitlines()[0] == "update"
        assert " csmith " in installed.read_text()
    else:
        assert status == 1 and not installed.exists()
    assert not (open_path / "build/log/asking").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_what_needs_root_is_one_command(open_path: Path) -> None:
    """Without a terminal to ask on, the command is printed once, and nothing else is done."""
    bare_tree(open_path)
    give_to_user(open_path)
    done = subprocess.run(
        ["tools/deps", "kernel", "guest", "csmith"],
        cwd=open_path,
        user=1000,
        group=1000,
        extra_groups=[],
        env={"PATH": f"{open_path}/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    command = "apt-get update && apt-get install -y --no-install-recommends "
    assert line.startswith(f"deps: run this as root, then make again: {command}")
    assert "csmith" in line and "qemu-system-x86" in line and "patchelf" in line
    assert not (open_path / "build/venv-guest").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
@pytest.mark.parametrize("goals", ["cli", "lib consolidate", "dist"])
def test_nothing_is_compiled_before_there_is_a_compiler(open_path: Path, goals: str) -> None:
    """Missing tools are asked for before any rule starts, however many could."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(
        f"tar -c --null -T - | tar -x -C {open_path}",
        cwd=ROOT,
        input=listed.stdout,
        shell=True,
        check=True,
    )
    commands = open_path / "bin"
    commands.mkdir()
    for path in Path("/usr/bin").iterdir():
        if not re.match(r"cc|gcc|g\+\+|ld|cargo|dpkg-query", path.name):
            (commands / path.name).symlink_to(path)
    write_command(commands / "dpkg-query", "")
    give_to_user(open_path)
    done = subprocess.run(
        ["make", *goals.split()],
        cwd=open_path,
        user=1000,
        group=1000,
        extra_groups=[],
        env={"PATH": str(commands)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert done.returncode == 2
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("deps:")]
    assert "run this as root, then make again" in told and " gcc " in told
    assert ("strace" in told) == ("consolidate" in goals)
    assert not {path.name for path in (open_path / "build").iterdir()} - {"deps", "log"}
