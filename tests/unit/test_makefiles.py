# SPDX-License-Identifier: GPL-2.0
"""The dependencies that the makefiles state."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

ASSIGNED = re.compile(r"^(?:export |override |private )*(\w+)\s*[:?+]?=", re.MULTILINE)


def test_prerequisites_are_defined_before_they_are_named() -> None:
    """A variable that a later makefile defines is no prerequisite, and none misses it."""
    command = ["make", "-n", "--warn-undefined-variables", "clean"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    undefined = set(re.findall(r"undefined variable '(\w+)'", done.stderr))
    assert "DESTDIR" in undefined
    files = [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]
    defined = {name for file in files for name in ASSIGNED.findall(file.read_text())}
    assert undefined & defined == set()


def test_tools_for_users_install_no_guest(tmp_path: Path) -> None:
    """Nor what tests need: a newcomer is asked for as little as possible."""
    goals = ["lib", "cli", "consolidate", "cosy", "lua-runtime", "examples"]
    given = [f"BUILD={tmp_path}", f"VENDOR={ROOT / 'build/vendor'}", "VENDOR_READY="]
    # -k: LuaJIT's part compiles what it has patched, and here that is not there.
    command = ["make", "-nk", *given, *goals]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    groups = set(re.findall(r"^tools/deps ?(\S*)", done.stdout, re.MULTILINE))
    assert groups == {"build", "clang", "consolidate"}
    # Make remakes what it includes even where it only says what it would do.
    assert list(tmp_path.glob("config*.mk")) == []


def test_demo_builds_what_it_shows(tmp_path: Path) -> None:
    """Where nothing is built yet: elsewhere all of it may be there."""
    given = [f"BUILD={tmp_path}", f"VENDOR={ROOT / 'build/vendor'}", "VENDOR_READY="]
    command = ["make", "-nk", *given, "demo-parts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for name in ("lua-runtime/lua.image", "walks/coreutils-ahead"):
        assert f"{tmp_path}/{name}" in done.stdout, name


def test_flags_of_the_command_line_replace_none_of_ours(tmp_path: Path) -> None:
    """Debian's packages give CFLAGS, and a user may."""
    goal = f"{tmp_path}/lib/lua_image.o"
    command = ["make", "-n", "V=1", f"BUILD={tmp_path}", "CFLAGS=-O1", "LIBDIR=/given", goal]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    (compiled,) = re.findall(r".* -c -o .*lua_image\.o .*", done.stdout)
    assert " -O1 " in compiled and "LIBDIR='\"/given\"'" in compiled


def test_groups_of_packages_are_listed() -> None:
    """What makefiles ask tools/deps for is in its head, and has packages."""
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


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_what_needs_root_is_one_command(tmp_path: Path) -> None:
    """Without a terminal to ask on: named once, and nothing else is done."""
    for name in ("tools", "vm", "third_party"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    nothing_installed = tmp_path / "bin" / "dpkg-query"
    nothing_installed.parent.mkdir()
    nothing_installed.write_text("#!/bin/sh\n")
    nothing_installed.chmod(0o755)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 1000, 1000)
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o755)
    done = subprocess.run(
        ["tools/deps", "kernel", "guest", "csmith"],
        cwd=tmp_path,
        user=1000,
        group=1000,
        extra_groups=[],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
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
    assert not (tmp_path / "build/venv-guest").exists()
