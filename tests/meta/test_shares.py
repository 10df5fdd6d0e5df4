# SPDX-License-Identifier: GPL-2.0
"""tests/sharding.py: runs that share tests run each test once; the gate is a part of all tests."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT
from runner import KERNEL, USER, in_turn

NAMES = [f"test_{name}" for name in ("few", "many", "last")]
# Each test records that it ran; more tests than a chunk; one fails.
MODULE = """
import os, time, pytest
@pytest.fixture(scope="module")
def held():
    held = []
    yield held
    held.append(0)

@pytest.mark.parametrize("number", range({count}))
def test_it(number, request, held):
    assert not held
    time.sleep(0.005)
    out = os.open({log!r}, os.O_WRONLY | os.O_APPEND)
    os.write(out, (request.node.nodeid.rpartition("/")[2] + "\\n").encode())
    assert {name!r} != "test_many" or number != 11
"""
SAMPLE = """
import pytest
@pytest.mark.long
def test_long(): pass

@pytest.mark.sample(3)
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", "xyz")
def test_sample(a, b): pass

@pytest.mark.sample(2)
@pytest.mark.parametrize("a", range(3))
@pytest.mark.parametrize("b", "xy")
def test_two(a, b): pass

@pytest.mark.sample(3)
def test_single(): pass
"""


def command(*arguments: object) -> list[str]:
    # In its own directory, with conftest.py as a plugin.
    words = [sys.executable, "-m", "pytest", "-p", "conftest", *arguments]
    return [str(word) for word in words]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = tmp_path / "log"
    log.touch()
    for place, name in zip(("a", "a", "b"), NAMES, strict=True):
        (tmp_path / place).mkdir(exist_ok=True)
        count = 40 if name == "test_many" else 3
        text = MODULE.format(count=count, log=str(log), name=name)
        (tmp_path / place / f"{name}.py").write_text(text)
    (tmp_path / "shares").mkdir()
    return log


@pytest.mark.parametrize("runs", [1, 3])
def test_all_are_made_once(runs: int, log: Path) -> None:
    shared = command("--share", log.parent / "shares", log.parent / "a", log.parent / "b")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    children = [subprocess.Popen(shared, cwd=ROOT, **pipes) for _ in range(runs)]
    said = [child.communicate(timeout=600)[0] for child in children]
    made = Counter(log.read_text().split())
    counts = {"test_few": 3, "test_many": 40, "test_last": 3}
    assert made == Counter(
        f"{name}.py::test_it[{number}]" for name, count in counts.items() for number in range(count)
    )
    assert sorted(child.returncode for child in children) == [0] * (runs - 1) + [1], said
    passed = [int(n) for text in said for n in re.findall(r"(\d+) passed", text)]
    assert sum(passed) == 45


def test_other_tests_are_not_shared(log: Path) -> None:
    """Runs with different selections of tests do not share any."""
    for place in "ab":
        shared = command("--share", log.parent / "shares", log.parent / place)
        subprocess.run(shared, cwd=ROOT, capture_output=True, timeout=600)
    assert len(log.read_text().split()) == 46


def collected(directory: Path, *options: str) -> list[str]:
    listed = command("--collect-only", "-q", *options, directory)
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, timeout=600)
    return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_gate_has_samples(tmp_path: Path) -> None:
    """Each value of each parameter occurs in the sample."""
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    every = [f"test_sample[{b}-{a}]" for b in "xyz" for a in range(4)]
    two = [f"test_two[{b}-{a}]" for b in "xy" for a in range(3)]
    gate = ["test_sample[x-0]", "test_sample[x-3]", "test_sample[y-2]", "test_sample[z-1]"]
    gate += ["test_single", "test_two[x-0]", "test_two[x-2]", "test_two[y-1]"]
    assert sorted(collected(tmp_path)) == gate
    assert sorted(collected(tmp_path, "--long")) == ["test_long", *every, "test_single", *two]


def test_modes_take_turns() -> None:
    """The gate has each case in one of its modes, and each mode at least once."""
    modes = [*KERNEL, USER[0]]
    cases = [(number, modes if number % 4 else modes[:2]) for number in range(12)]
    params = in_turn(cases, str)
    assert [param.values for param in params] == [(n, mode) for n, own in cases for mode in own]
    gate = [param.values for param in params if not param.marks]
    assert [number for number, _ in gate] == list(range(12))
    assert {mode for _, mode in gate} == set(modes)
    assert all(mark.name == "long" for param in params for mark in param.marks)
