# SPDX-License-Identifier: GPL-2.0
"""Modules that call programs: all features of examples/embedding/template.c."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import programs as p
import pytest
from confined import insn as i
from runner import COMMAND
from test_programs import in_own_namespace

# Built next to the syscript.ko that is loaded.
MODULE = Path(os.environ.get("SYSCRIPT_MODULE", "")).parent / "template" / "template.ko"
PARAMETERS = Path("/sys/module/template/parameters")
TWICE = (
    i.load(1, 1, 0, 8) + i.movi(2, 2) + i.outside(i.FUNCTION) + i.EXIT
)  # of the view's first word


@pytest.fixture(autouse=True)
def template() -> Iterator[None]:
    subprocess.run(["insmod", MODULE], check=True)
    yield
    for program in p.programs():
        p.unload(program.name)
    subprocess.run(["rmmod", "template"], check=True)


def load(code: bytes = TWICE, **options) -> tuple[int, str]:
    options = {"subsystem": "template", "where": "", "copies": 0} | options
    return p.load(p.image([code]), **options)


def call(number: int) -> int:
    (PARAMETERS / "number").write_text(str(number))
    return int((PARAMETERS / "result").read_text())


def test_calls_and_defaults() -> None:
    assert call(21) == 7  # there is no program
    assert load(functions=("template_times",)) == (0, "")
    assert [call(n) for n in (21, 0, 500)] == [42, 0, 1000]
    assert call(501) == 7  # outside the permitted results
    (listed,) = p.programs()
    assert (listed.subsystem, listed.machine, listed.calls, listed.errors) == ("template", 1, 4, 1)
    assert listed.error == "returns 1002, which is not in 0 .. 1000"
    assert load(functions=("template_times",), name="other")[0] == -errno.EBUSY
    assert load(i.movi(0, 3) + i.EXIT) == (0, "") and call(1) == 3
    assert load(i.movi(0, 3) + i.EXIT, copies=1)[0] == -errno.EINVAL
    assert load(i.jump(-1) + i.EXIT) == (0, "") and call(1) == 7


def test_command() -> None:
    twice = p.compiled("twice")
    command = [COMMAND, "load", "twice", twice, "--for", "template"]
    subprocess.run(command, check=True)
    assert call(4) == 8


def test_modules_stay_while_they_are_used() -> None:
    def goes() -> bool:
        return not subprocess.run(["rmmod", "template"], capture_output=True).returncode

    assert load(functions=("template_times",)) == (0, "")
    assert not goes()
    assert p.unload() == 0
    # A program of another subsystem that has only the library's function.
    assert p.load(p.image([p.verdict(1)]), functions=("template_times",)) == (0, "")
    assert not goes()
    assert p.unload() == 0
    assert goes()
    assert load() == (-errno.ENOENT, "no subsystem template")
    subprocess.run(["insmod", MODULE], check=True)


def test_who_may_have_functions() -> None:
    """Namespace owners have no capability over the machine, so they get no functions of it."""
    result = in_own_namespace("""
image = p.image([p.verdict(1)])
result["library"] = p.load(image, functions=("template_times",))
result["embedding"] = p.load(image, subsystem="template", where="")
result["unknown"] = p.load(image, functions=("template_plus",))
""")
    needs = "template_times needs capability 21 over the machine"
    assert result["library"] == [-errno.EPERM, needs]
    needs = "loading programs for template needs CAP_SYS_ADMIN"
    assert result["embedding"] == [-errno.EPERM, needs]
    assert result["unknown"] == [-errno.EINVAL, "netfilter has no function template_plus"]
    assert not p.programs()
