# SPDX-License-Identifier: GPL-2.0
"""The administrator's switches for the library's own scripts, by kind of machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

# Whether the library insists on the kernel: without the module this gives an error instead of a
# script of the user backend.
PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
file = ctypes.create_string_buffer(32)
def asks(call):
    before = set(os.listdir("/proc/self/fd"))
    if call() < 0:
        return True
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in before ^ set(os.listdir("/proc/self/fd"))
             if os.path.islink(f"/proc/self/fd/{fd}")]
    return any("anon_inode:[syscript]" in link for link in links)
print(asks(lambda: library.syscript_stat_many(-100, file, 1, 0, 0)),
      asks(lambda: library.syscript_open_many(-100, file, 1, 0, 0, 0)))
"""


def asks_for_the_kernel(place: Path) -> tuple[bool, ...]:
    """For stat_many, which is in several suites, and open_fstat, which is only in files."""
    env = {**os.environ, "SYSCRIPT_BACKEND": "kernel", "SYSCRIPT_SUITES": str(place)}
    command = [sys.executable, "-SE", "-c", PROGRAM, BUILD / "libsyscript.so"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return tuple(word == "True" for word in done.stdout.split())


def suites(place: Path, *args: str) -> str:
    env = {**os.environ, "SYSCRIPT_SUITES": str(place)}
    command = [BUILD / "syscript", "suites", *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def on(place: Path) -> dict[str, bool]:
    return {one["name"]: one["on"] for one in json.loads(suites(place, "--json"))}


def test_all_are_on(tmp_path: Path) -> None:
    assert set(on(tmp_path / "none").values()) == {True}
    assert asks_for_the_kernel(tmp_path / "none") == (True, True)


@pytest.mark.parametrize("text", ["off", "off\n", "off # until it is tested\n"])
def test_one_is_off(tmp_path: Path, text: str) -> None:
    (tmp_path / "files").write_text(text)
    assert [name for name, is_on in on(tmp_path).items() if not is_on] == ["files"]
    # Scripts that another suite contains stay enabled.
    assert asks_for_the_kernel(tmp_path) == (True, False)


def test_default_is_for_those_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "default").write_text("off\n")
    assert asks_for_the_kernel(tmp_path) == (False, False)
    (tmp_path / "mail").write_text("on\n")
    assert [name for name, is_on in on(tmp_path).items() if is_on] == ["mail"]
    assert asks_for_the_kernel(tmp_path) == (True, False)


@pytest.mark.parametrize("text", ["", "o", "offside", "yes"])
def test_what_is_no_switch_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "files").write_text(text)
    assert on(tmp_path)["files"]


def test_nothing_waits_for_what_a_file_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "files")
    (tmp_path / "web").mkdir()
    assert set(on(tmp_path).values()) == {True}


def test_every_script_of_the_library_is_in_one_and_on_the_page() -> None:
    builtin = re.findall(r"^BUILTIN\((\w+)\)", (ROOT / "lib/batch/builtin.def").read_text(), re.M)
    listed = json.loads(suites(ROOT, "--json"))
    assert {script for one in listed for script in one["scripts"]} == set(builtin)
    page = (ROOT / "docs/suites.md").read_text()
    rows = re.findall(r"^\| `(\w+)\.lua` \|.*\| ([\w, ]+) \|$", page, re.M)
    assert len(rows) == len(builtin)
    for one in listed:
        named = {script for script, suites in rows if one["name"] in suites.split(", ")}
        assert named == set(one["scripts"]), one["name"]
        assert f"\n| `{one['name']}` |" in page
