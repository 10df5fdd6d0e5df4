# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript.d.lua, for editors: it declares exactly what exists."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
DEFINITIONS = ROOT / "build" / "gen" / "syscript.d.lua"
KINDS = re.findall(
    r'^SYSCALL(?:_OLD)?\((\w+), "(\w*)"', (ROOT / "core/syscalls.def").read_text(), re.MULTILINE
)


@pytest.fixture(scope="module")
def text() -> str:
    subprocess.run(["make", "-s", "build/gen/syscript.d.lua"], cwd=ROOT, check=True)
    return DEFINITIONS.read_text()


def lua(code: str) -> str:
    command = [SYSCRIPT, "run", "--backend", "user", "--time-limit", "2s", "-e", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_is_lua(text: str) -> None:
    done = subprocess.run([SYSCRIPT, "check", "-"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("library", ["util", "net", "fs"])
def test_members(text: str, library: str) -> None:
    said = set(re.findall(rf"^function {library}\.(\w+)\(", text, re.MULTILINE))
    said |= set(re.findall(rf"^{library}\.(\w+) = ", text, re.MULTILINE))
    load = "local _ = util.types, util.struct " if library == "util" else ""
    there = lua(f"{load} for name in pairs({library}) do print(name) end").split()
    assert said == set(there)


def test_columns(text: str) -> None:
    block = text[text.index("@class syscript.columns") :]
    columns = re.findall(r"^---@field (\w+)\?", block[: block.index("\n\n")], re.MULTILINE)
    source = (ROOT / "core/fs/columns.h").read_text()
    fields = re.findall(r"^\t_\((\w+), ", source, re.MULTILINE)
    assert set(columns) == {*fields, "name", "dirname"}
    tables = ", ".join(f"{name} = {{}}" for name in columns)
    assert int(lua(f"local n = fs.entries(-1, {{ {tables} }}) return n")) == -9


def test_system_calls(text: str) -> None:
    for name, kinds in KINDS:
        declaration = re.search(rf"^function syscall\.{name}\((.*)\) end$", text, re.MULTILINE)
        assert declaration, name
        arguments = [word for word in declaration[1].split(", ") if word]
        assert len(arguments) == len(kinds)
        for argument, kind in zip(arguments, kinds, strict=True):
            optional = "?" if kind.isupper() or kind == "l" else ""
            lines = text[: declaration.start()].rsplit("\n\n", 1)[1]
            assert f"---@param {argument}{optional} " in lines
    assert "---@deprecated Not for scripts: the child" in text


def test_constants(text: str) -> None:
    values = dict(re.findall(r"^const\.(\w+) = (-?\d+)$", text, re.MULTILINE))
    assert len(values) > 1500
    names = ["O_CREAT", "AT_FDCWD", "EPOLLIN"]
    code = "return " + ", ".join(f"const.{name}" for name in names)
    assert lua(code).split() == [values[name] for name in names]
