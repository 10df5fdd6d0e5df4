# SPDX-License-Identifier: GPL-2.0
"""The pages on the papers: the commands that they name exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, LONG_IN_GUESTS, ROOT

sys.path.insert(0, str(ROOT / "bench"))

import papers  # noqa: E402

PAGES = [ROOT / "docs/papers.md", ROOT / "safety/docs/papers.md"]
PAGE = "\n".join(page.read_text() for page in PAGES)
ROWS = [
    line
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| the paper |")
]
COMMANDS = sorted({found for row in ROWS for found in re.findall(r"`([^`]+)` \|$", row)})
COMMANDS = [command for command in COMMANDS if not papers.TEST.match(command)]
NAMED = sorted(set(re.findall(r"`(make [\w-]+|man [\w/.-]+)`", PAGE)) | set(COMMANDS))


def goals() -> set[str]:
    """Targets of all makefiles, read as text, because make runs some recipes even with -n."""
    # Templates make some targets, but each public target has a line of help.
    found = set(re.findall(r"^##\+?([\w-]+) ", (ROOT / "Makefile").read_text(), re.M))
    for file in (ROOT / "Makefile", *ROOT.glob("**/*.mk")):
        if BUILD not in file.parents:
            for line in re.findall(r"^([^\s#:=][^:=]*):(?!=)(.*)$", file.read_text(), re.M):
                found.update(line[0].split())
                found.update(line[1].split() if line[0] == ".PHONY" else [])
    return found


GOALS = goals()


@pytest.mark.parametrize("command", NAMED)
def test_commands_exist(command: str) -> None:
    what, name, *rest = command.split()
    if what == "make":
        assert name in GOALS
    elif what == "man":
        # A page of the safety kit is next to its manual.
        assert any((base / name).exists() for base in (ROOT, ROOT / "safety"))
    else:
        assert what == "build/syscript", command
        help_text = subprocess.run([ROOT / what, name, "--help"], capture_output=True, text=True)
        assert help_text.stdout.startswith(f"Usage: syscript {name}"), rest


# Why a row has no command.
REASON = re.compile(r"^not (built|for confinement|measured): .")
EVIDENCE = papers.rows_of((ROOT / "docs/papers.md").read_text())


def title(row: papers.Row) -> str:
    return row.cells[papers.TITLE][:30]


@pytest.mark.parametrize("row", EVIDENCE, ids=title)
def test_each_row_has_a_test_a_command_or_a_reason(row: papers.Row) -> None:
    what = row.cells[papers.RUN]
    assert row.is_test or row.evidence.startswith(("make ", "build/")) or REASON.match(what), what


def test_each_row_of_the_kit_has_a_command_or_a_reason() -> None:
    for row in ROWS:
        if row.count("|") == 5:
            assert re.search(r"`[^`]+` \|$", row) or "| not built: " in row, row


def gate_test(name: str, path: Path) -> bool:
    """Whether a module has a test of this name, which `make test` runs."""
    tree = ast.parse(path.read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    marks = [ast.unparse(mark) for mark in functions[name].decorator_list] + [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return not any("mark.long" in mark or "mark.boot" in mark for mark in marks)


@pytest.mark.parametrize("row", [row for row in EVIDENCE if row.is_test], ids=title)
def test_tests_of_rows_are_of_the_gate(row: papers.Row) -> None:
    file, _, name = row.evidence.partition("::")
    path = ROOT / file
    if path.suffix == ".c":
        assert LONG_IN_GUESTS not in path.read_text()
    else:
        assert gate_test(name.partition("[")[0], path)


def test_figures_are_ours() -> None:
    """Figures are what a command writes, and never the paper's own."""
    for row in EVIDENCE:
        ours = papers.short(row.cells[papers.OURS])
        if papers.NUMBER.search(ours):
            assert row.evidence.startswith("make "), row
            assert ours != papers.short(row.cells[papers.PAPER])


@pytest.mark.parametrize("begin", papers.WORDS)
def test_words_are_of_one_row_and_its_bench(begin: str) -> None:
    (row,) = [row for row in EVIDENCE if row.cells[papers.TITLE].startswith(begin)]
    assert row.evidence in papers.BENCHES


def costs(**medians: float) -> dict[str, Any]:
    return {name: {"median": median} for name, median in medians.items()}


MEMCACHED = {
    "runs": [
        {"mode": mode, "value_size": size, "outstanding": 128, "cpu_us_per_get": cost}
        for size in (16, 1024)
        for mode, cost in (("off", 16.0), ("syscript_interp", 15.0), ("syscript", 14.0))
    ],
    "mode_switches_per_get": {
        f"v{size}_w128": {"off": 3.0, "syscript_interp": 0.1, "syscript": 0.1}
        for size in (16, 1024)
    },
    "waits": {"v16_w128": {"syscript": {"wait": 80.0, "response": 100.0}}},
}
KEYS = {
    "sizes": [64],
    "outstanding": [16],
    "runs": [
        {"mode": mode, "value_size": 64, "outstanding": 16, "cpu_us_per_get": cost}
        for mode, cost in {
            "off": 16.0, "mmsg": 15.0, "syscript": 14.0, "syscript_wait": 13.0, "frames": 16.0
        }.items()
    ],
}  # fmt: skip
WAYS = {
    way: {"elapsed": cost, "system": cost, "user": cost}
    for way, cost in (("plain", 100.0), ("luajit", 41.0), ("confined", 43.0))
}
SIZES = {str(10**n): WAYS for n in range(1, 6)}
RESULTS = {
    "make bench-udp-icount": {
        "icount": {
            "per_request": costs(
                figure1=99, recvfrom_sendmsg=100, combined=82, epoll_recvfrom_sendmsg=100
            )
        }
    },
    "make bench-connections-icount": {
        "ratios": costs(**{"accept accept_batch": 0.96, "accept wait_accept": 0.99})
    },
    "make bench-compound-icount": {
        "applications": {
            name: costs(plain=100, compound=80)
            for name in ("database", "database_sequential", "select")
        }
    },
    "make bench-memcached-sizes-icount": MEMCACHED,
    "make bench-memcached-icount": KEYS,
    "make bench-memcached-facebook-icount": KEYS,
    "make bench-readdirplus-icount": {"files": {"tmpfs": SIZES, "ext4": SIZES}},
}


@pytest.mark.parametrize("row", [row for row in EVIDENCE if row.words], ids=title)
def test_cells_have_the_words_of_results(row: papers.Row) -> None:
    """So what the page says is what `make papers --write` has written, but for the figures."""
    text = row.words(RESULTS[row.evidence])
    shape = re.compile(r"[-+]?\d+(\.\d+)?")
    assert shape.sub("#", text) == shape.sub("#", row.cells[papers.OURS])


def test_only_figures_that_differ_are_changed() -> None:
    assert papers.same("over plain calls 0.99 of it", "over plain calls 1.00 of it")
    assert papers.same("+44 %", "+45 %")
    assert not papers.same("+44 %", "+50 %")
    assert not papers.same("0.82", "0.90")
    assert not papers.same("a 0.82", "b 0.82")


def test_verdicts() -> None:
    seen = {
        "tests/vm/test_a.py::test_one[1]": "PASSED",
        "tests/vm/test_a.py::test_one[2]": "SKIPPED",
        "tests/vm/test_a.py::test_one_more": "FAILED",
        "tests/vm/test_b.c::member": "FAILED",
    }
    assert papers.verdict("tests/vm/test_a.py::test_one", seen) == "1 passed"
    assert papers.verdict("tests/vm/test_b.c", seen) == "FAILED"
    assert papers.verdict("tests/vm/test_c.c", seen) == "DID NOT RUN"


def test_page_gets_the_figures() -> None:
    page = (ROOT / "docs/papers.md").read_text()
    row = next(row for row in EVIDENCE if row.words is papers.figure1)
    text = papers.figure1(RESULTS["make bench-udp-icount"]).replace("0.82", "0.12")
    (new,) = [line for line in papers.written(page, {row: text}).splitlines() if line not in page]
    assert "`exchange.lua` 0.12 | `make bench-udp-icount` |" in new


def test_the_table_is_read() -> None:
    assert len(EVIDENCE) > 35
    assert len(ROWS) > 60
    assert len(COMMANDS) > 15
