# SPDX-License-Identifier: GPL-2.0
"""The commands in README and tutorial work as printed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from documents import blocks, put_files

# Commands of the README that need a machine of their own, and the tests that run them.
ELSEWHERE = {
    "sudo apt-get install git make": "make test-newcomer",
    "git clone ADDRESS": "make test-newcomer",
    "cd syscript": "make test-newcomer",
    "make demo": "make test-newcomer",
    "make test": "this is a part of it",
    "sudo make install": "make test-deb",
    "sudo apt-get install dkms linux-headers-amd64": "make test-deb",
    "sudo dkms install syscript/0.1.0": "make test-deb",
    "sudo modprobe syscript": "the guest tests load it",
    "sudo make install-luajit": "make test-deb",
    "sudo dkms install syscript-luajit/0.1.0": "make test-deb",
    "sudo modprobe syscript_luajit": "the guest tests load it",
    'sudo usermod -aG syscript "$USER"': "make test-deb",
    "sudo apt-get install ./build/deb/*.deb": "make test-deb",
    "make deb": "make test-deb",
    "sudo make uninstall": "make test-deb",
}


def shell(script: str, place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), **more}
    environment.pop("MAKEFLAGS", None)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


# If the tutorial's batch.c gets no script, it makes plain calls and says why: here because of an
# unknown backend, or because all descriptors are in use.
WITHOUT_A_SCRIPT = """
SYSCRIPT_BACKEND=none ./batch notes/* /no/such/file notes/1 >batch.txt 2>said.txt
cmp plain.txt batch.txt
grep '^without a script: unknown backend' said.txt
prlimit --nofile=4 ./batch notes/* /no/such/file notes/1 >batch.txt 2>said.txt
cmp plain.txt batch.txt
grep '^without a script: too many open files' said.txt
"""


def test_tutorial(tmp_path: Path) -> None:
    document = ROOT / "docs/tutorial.md"
    put_files(document, tmp_path)
    commands = [text for kind, text in blocks(document) if kind == "sh"]
    assert len(commands) >= 10
    first, *rest = commands
    # After the first block the reader changes to a directory of their own.
    script = f'cd "{ROOT}"\n{first}cd "{tmp_path}"\nset -x\n'
    script += "\n".join([*rest, WITHOUT_A_SCRIPT])
    done = shell(script, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "-2\nENOENT\n" in done.stdout
    assert "bad argument #1 to 'close'" in done.stderr
    # The report as quoted in the text.
    told = " ".join(done.stdout.split())
    assert re.search(
        r"\[openat read close\]\* .*?; 200 times in lines: 600 calls would be 2 ", told
    )
    assert "with read_many.lua" in done.stdout


def test_tutorial_errors(tmp_path: Path) -> None:
    """The last programs report that a directory is one, with and without a script."""
    put_files(ROOT / "docs/tutorial.md", tmp_path)
    flags = f"-I{ROOT}/build/include {ROOT}/build/libsyscript.a -lm -lpthread"
    (tmp_path / "file").write_text("text\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    assert (
        shell(f"cc -o sizes sizes.c; cc -o sizes_batch sizes_batch.c {flags}", tmp_path).stderr
        == ""
    )
    for name in ("none", "file", "loop", "empty", f"{'x' * 300}"):
        done = [
            shell(f'./{program} empty "{name}"', tmp_path) for program in ("sizes", "sizes_batch")
        ]
        assert done[0].stderr == done[1].stderr and done[0].returncode == done[1].returncode
        assert done[0].stdout == done[1].stdout
        assert (done[0].returncode == 0) == (name == "empty")


def test_readme_examples(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    put_files(readme, tmp_path)
    (tmp_path / "pc").mkdir()
    flags = f"-I{ROOT}/build/include {ROOT}/build/libsyscript.a -lm -lpthread"
    stand_in = tmp_path / "pc/pkg-config"
    stand_in.write_text(f"#!/bin/sh\necho '{flags}'\n")
    stand_in.chmod(0o755)
    compile_it = re.search(r"^/\* (cc .*) \*/$", (tmp_path / "slurp.c").read_text(), re.M)
    run_it = re.search(r"`(syscript run slurp\.lua [^`]*)`", readme.read_text())
    path = f"{tmp_path}/pc:{ROOT}/build:{os.environ['PATH']}"
    done = shell(f"{compile_it[1]}\n./a.out\n{run_it[1]}\n", tmp_path, PATH=path)
    assert done.returncode == 0, done.stderr
    name = Path("/etc/hostname").read_text()
    assert done.stdout.startswith(name)
    assert done.stdout.count(name.strip()) == 2


# The README program's message for a script that is missing, not Lua, has an error, or returns a
# system call's result; the script is None if missing.
README_ERRORS = {
    None: "slurp.lua: No such file or directory",
    "function run(": "slurp.lua:1: ",
    "x = 1": "slurp.lua: no function named run",
    "function run() return {} end": "result 1",
    "function run() local a = nil + 1 end": "attempt to perform arithmetic on a nil value",
    "function run() return -errno.ENOENT end": "No such file or directory",
}


@pytest.mark.parametrize("script", README_ERRORS)
def test_readme_errors(tmp_path: Path, script: str | None) -> None:
    put_files(ROOT / "README.md", tmp_path)
    flags = f"-I{ROOT}/build/include {ROOT}/build/libsyscript.a -lm -lpthread"
    if script is None:
        (tmp_path / "slurp.lua").unlink()
    else:
        (tmp_path / "slurp.lua").write_text(script)
    done = shell(f"cc slurp.c {flags} && ./a.out", tmp_path)
    assert done.returncode == 1
    assert README_ERRORS[script] in done.stderr
    assert "/dev/syscript" not in done.stderr and "see syscript_error" not in done.stderr


def commands_of(text: str) -> list[str]:
    lines = [line.partition("  #")[0].strip() for line in text.splitlines()]
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


README_COMMANDS = [
    command
    for kind, text in blocks(ROOT / "README.md")
    if kind in ("", "sh")
    for command in commands_of(text)
]


@pytest.mark.parametrize("command", README_COMMANDS)
def test_readme_commands(command: str, tmp_path: Path) -> None:
    goals = re.match(r"(?:sudo )?make ((?:[\w-]+ ?)+)$", command)
    if goals:
        dry = subprocess.run(["make", "-n", *goals[1].split()], cwd=ROOT, capture_output=True)
        assert b"No rule to make target" not in dry.stderr
    if command in ELSEWHERE:
        return
    here = command.replace("/usr/local/share/syscript/scripts", str(ROOT / "scripts"))
    where = ROOT if command.startswith(("make", "build/")) else tmp_path
    done = shell(f'cd "{where}"\n{here}', tmp_path, PATH=f"{ROOT}/build:{os.environ['PATH']}")
    # It reports that the module is not loaded, which is true here.
    assert done.returncode == 0 or command == "syscript doctor", done.stderr


def test_no_command_is_left_to_a_test_that_is_gone() -> None:
    text = (ROOT / "README.md").read_text()
    assert all(command in text for command in ELSEWHERE)


def test_readme_is_short() -> None:
    """The part that a newcomer reads before deciding."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
