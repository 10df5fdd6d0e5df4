# SPDX-License-Identifier: GPL-2.0
"""docs/design/borrowed.md has a row for each kernel function that the module calls."""

from __future__ import annotations

import fnmatch
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "design" / "borrowed.md"
KERNELS = ("6.1", "6.12", "7.2")
# What only the module for arm64 imports, on any of the kernels.
ARM64 = "arm64"
SOURCES = [
    *(ROOT / "kernel").rglob("*.c"),
    *(ROOT / "core").rglob("*.c"),
    *(ROOT / "engine").rglob("kernel/*.c"),
    *(ROOT / "engine").rglob("arch_code.h"),
]


@dataclass
class Row:
    names: list[str]
    on: list[str]  # empty: all kernels
    by_name: bool


def rows(text: str) -> list[Row]:
    found, by_name = [], False
    for line in text.splitlines():
        if line.startswith("## "):
            by_name = line == "## By name"
        if not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 3 and all(cells), line
        for part in cells[0].split(";"):
            names = re.findall(r"`([^`]+)`", part)
            on = re.sub(r"`[^`]+`", "", part).split()
            assert set(on) <= {*KERNELS, ARM64}, f"more than names and kernels: {part}"
            found.append(Row(names, on, by_name))
    return found


def kernel_of(release: str) -> str:
    """A release's columns: 6.1.0-56-arm64 belongs to 6.1 and arm64, anything after 6.12 to the
    newest."""
    version = ".".join(release.split(".")[:2])
    kernel = version if version in KERNELS else KERNELS[-1]
    return f"{kernel} {ARM64}" if release.endswith(ARM64) else kernel


def symbols(option: str, module: Path) -> set[str]:
    lines = subprocess.run(["nm", "-j", option, module], check=True, capture_output=True, text=True)
    return set(lines.stdout.split())


def imported() -> dict[str, set[str]]:
    """By kernel: undefined symbols of the modules built for it, except each other's."""
    found: dict[str, set[str]] = {}
    # Not for the debug kernel, which adds functions of its sanitizers.
    for core in sorted(ROOT.glob("build/kernel-[0-9]*/syscript.ko")):
        kernel = kernel_of(core.parent.name.removeprefix("kernel-"))
        needed = set().union(*(symbols("-u", m) for m in core.parent.glob("syscript*.ko")))
        found[kernel] = needed - symbols("--defined-only", core)
    return found


def looked_up(text: str) -> set[str]:
    """Names that a source passes to symbols_find(), single or in an array."""
    found = set()
    for argument in re.findall(r"symbols_find\(([^)]*)\)", text):
        if argument.startswith("const char"):
            continue
        literal = re.fullmatch(r'"(\w+)"', argument)
        if literal:
            found.add(literal[1])
            continue
        array = re.fullmatch(r"(\w+)(\[\w+\])?", argument)
        assert array, f"symbols_find({argument}): of what?"
        given = re.search(rf"\b{array[1]}\[\][^=;]*=\s*([^;]*);", text)
        assert given, f"symbols_find({argument}): {array[1]} is no array of names here"
        found |= set(re.findall(r'"(\w+)"', given[1]))
    return found


def covers(name: str, symbol: str) -> bool:
    return fnmatch.fnmatchcase(symbol, name)


def missing(found: list[Row], kernel: str, symbols: set[str]) -> list[str]:
    columns = set(kernel.split())
    names = [n for row in found if not row.on or columns & set(row.on) for n in row.names]
    return sorted(s for s in symbols if not any(covers(name, s) for name in names))


def superfluous(found: list[Row], used: dict[str, set[str]]) -> list[str]:
    """Names that no built module uses; about other kernels nothing is known. arm64's modules
    need few of a kernel's own names."""
    wrong = []
    for row in found:
        own = {k for k in used if ARM64 in k and ARM64 in row.on}
        kernels = own | {k for k in used if ARM64 not in k and (not row.on or k in row.on)}
        if kernels:
            there = set().union(*(used[k] for k in kernels))
            wrong += [n for n in row.names if not any(covers(n, s) for s in there)]
    return wrong


IMPORTS = [row for row in rows(PAGE.read_text()) if not row.by_name]
BY_NAME = [row for row in rows(PAGE.read_text()) if row.by_name]


def test_each_imported_function_has_a_row() -> None:
    used = imported()
    if not used:
        pytest.skip("the module has not been built")
    assert {k: m for k, s in used.items() if (m := missing(IMPORTS, k, s))} == {}
    assert superfluous(IMPORTS, used) == []


def test_each_name_looked_up_has_a_row() -> None:
    names = set().union(*(looked_up(path.read_text()) for path in SOURCES))
    assert len(names) > 10
    assert names == {name for row in BY_NAME for name in row.names}


def test_no_function_has_two_rows() -> None:
    for kernel in (*KERNELS, ARM64):
        names = [n for r in IMPORTS if not r.on or kernel in r.on for n in r.names]
        assert sorted(names) == sorted(set(names))


def test_reader_sees() -> None:
    """The test finds missing and superfluous functions, and ones in another kernel's row."""
    found = rows("| `a` `b_*`; `c` 6.12 7.2 | x | y |\n")
    assert missing(found, "6.1", {"a", "b_1", "c", "d"}) == ["c", "d"]
    assert missing(found, "7.2", {"a", "b_1", "c"}) == []
    assert superfluous(found, {"6.1": {"a"}}) == ["b_*"]
    assert superfluous(found, {"6.12": {"a", "b_2"}}) == ["c"]
    found = rows("| `a` | x | y |\n| `d` arm64 | x | y |\n| `e` 6.1 | x | y |\n")
    assert missing(found, "6.1 arm64", {"a", "d", "e", "f"}) == ["f"]
    assert missing(found, "6.1", {"d"}) == ["d"]
    assert superfluous(found, {"6.1": {"a", "e"}}) == []
    assert superfluous(found, {"6.1": {"a", "e"}, "6.1 arm64": {"a"}}) == ["d"]
    assert looked_up('char n[] = "x"; f(symbols_find(n)); symbols_find("y")') == {"x", "y"}
    with pytest.raises(AssertionError):
        rows("| `a` and others | x | y |")
    with pytest.raises(AssertionError):
        rows("| `a` 5.10 | x | y |")
    with pytest.raises(AssertionError):
        rows("| `a` | | y |")
