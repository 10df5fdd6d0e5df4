# SPDX-License-Identifier: GPL-2.0
"""KGCC's pairs: at compile time, resources taken and not released on some path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from in_compiler import compiled
from kit import KIT

KERNEL_RULES = KIT / "kgcc" / "kernel.rules"
SOURCE = (Path(__file__).parent / "rules" / "paths.c").read_text()
OWN_RULE = "pair thing_begin(result) if nonzero: thing_finish(argument 1);"


def marked(text: str) -> list[int]:
    lines = SOURCE.splitlines()
    return [number for number, line in enumerate(lines, 1) if f"/* {text} */" in line]


def reports(messages: str) -> dict[int, list[int]]:
    """By the line that acquires: the lines of the path to the exit."""
    found: dict[int, list[int]] = {}
    for line in messages.splitlines():
        if match := re.match(r"test\.c:(\d+):\d+: warning: what .* is not given back", line):
            found[int(match[1])] = steps = []
        elif match := re.match(r"test\.c:(\d+):\d+: note: ", line):
            steps.append(int(match[1]))
    return found


def test_each_way_out(tmp_path: Path) -> None:
    (tmp_path / "own.rules").write_text(OWN_RULE)
    done = compiled(
        SOURCE, tmp_path, "rules-only", f"rules={KERNEL_RULES}", f"rules={tmp_path / 'own.rules'}"
    )
    assert done.returncode == 0, done.stderr
    found = reports(done.stderr)
    assert list(found) == marked("kept"), done.stderr
    assert [steps[-1] for steps in found.values()] == marked("out"), done.stderr


def test_without_pairs_nothing_is_said(tmp_path: Path) -> None:
    done = compiled(SOURCE, tmp_path, "rules-only")
    assert done.returncode == 0 and reports(done.stderr) == {}


def test_no_code_comes_of_it(tmp_path: Path) -> None:
    with_pairs = compiled(SOURCE, tmp_path, "rules-only", f"rules={KERNEL_RULES}")
    assert with_pairs.stdout == compiled(SOURCE, tmp_path, "rules-only").stdout


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("pair a(result) b: c;", "1:16: expected ':', not 'b'"),
        ("pair a(3): c;", "1:8: expected 'argument' or 'result', not '3'"),
        ("pair a(argument x): c;", "1:17: expected the number of an argument, from 1, not 'x'"),
        ("pair a if maybe: c;", "1:11: expected 'zero' or 'nonzero', not 'maybe'"),
        ("pair a: c(result);", "1:11: expected 'argument', not 'result'"),
        ("pair a: ;", "1:9: expected the name of a function, not ';'"),
    ],
)
def test_mistakes(rule: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "bad.rules").write_text(rule)
    done = compiled(SOURCE, tmp_path, "rules-only", f"rules={tmp_path / 'bad.rules'}")
    assert done.returncode == 1
    assert f"bad.rules:{error}" in done.stderr
