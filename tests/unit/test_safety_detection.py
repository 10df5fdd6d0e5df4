# SPDX-License-Identifier: GPL-2.0
"""The table of planted faults agrees with the source."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

PLANTS = Path(__file__).resolve().parents[2] / "safety" / "tests" / "plants"
sys.path.insert(0, str(PLANTS))

from detection import left  # noqa: E402
from inside import PATTERNS, RUNS, reports_in  # noqa: E402
from plants_page import FOUND, MISSED, each, page, read_each  # noqa: E402
from plants_table import functions, is_of, plants  # noqa: E402


def test_enough_of_them() -> None:
    assert sum(not plant.is_sound for plant in plants()) >= 150
    assert sum(plant.is_sound for plant in plants()) >= 30
    assert len({plant.name for plant in plants()}) == len(plants())
    assert {tool for plant in plants() for tool in plant.tools} == {"kgcc", "evmon", "kefence"}


def test_each_has_a_function() -> None:
    names = {name for _, _, name in functions()}
    assert {plant.name for plant in plants()} <= names


def test_reports_are_told_apart() -> None:
    (first, second) = (plant for plant in plants() if plant.name in ("leak_kmalloc", "leak_array"))
    assert is_of(first, "allocated at leak_kmalloc+0x12/0x40 [plants]")
    assert not is_of(second, "allocated at leak_kmalloc+0x12/0x40 [plants]")
    (file, line, _) = next(row for row in functions() if row[2] == "leak_array")
    assert is_of(second, f"allocated at {file}:{line}") and not is_of(first, f"at {file}:{line}")


def test_page_has_what_was_found_and_what_was_missed() -> None:
    results = {plant.name: {} for plant in plants()}
    results["heap_read"] = {"kgcc": "a report", "stock": "an oops"}
    results["sound_list"] = {"evmon": "a report"}
    rows = read_each(each(results))
    assert list(rows) == [plant.name for plant in plants()]
    assert rows["heap_read"]["KGCC"] == rows["heap_read"]["no tool"] == FOUND
    assert rows["heap_write"]["KGCC"] == MISSED and rows["heap_write"]["no tool"] == ""
    assert "KASAN" not in rows["heap_read"]
    text = page(results, "6.1")
    (evmon,) = re.findall(r"^\| evmon \| \d+ \|.*", text, re.MULTILINE)
    assert evmon.endswith("| `sound_list` |")


def test_a_run_goes_on_after_what_ended_its_guest(tmp_path: Path) -> None:
    results = tmp_path / "results"
    names = [plant.name for plant in plants()]
    assert left(results) == names
    lines = [{"name": name, "reports": {}, "end": ""} for name in names if name != "leak_list"]
    lines.append({"name": "leak_list", "reports": {}, "end": "guest"})
    results.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    # Leaks are judged together, at the end; the plant that ended the guest is not repeated.
    again = [plant.name for plant in plants() if plant.is_leak or plant.is_sound]
    assert left(results) == [name for name in again if name != "leak_list"]
    with results.open("a") as file:
        print('{"leaks": true}', file=file)
    assert left(results) == []


def test_reports_are_known() -> None:
    for column, text in {
        "kgcc": "kgcc: violation: overrun by 1 byte: read of 1 byte, object of 13 bytes [3]",
        "kasan": "BUG: KASAN: slab-out-of-bounds in heap_read+0x1/0x2 [plants]",
        "stock": "WARNING: CPU: 0 PID: 9 at lib/refcount.c:25 refcount_warn_saturate+0x1/0x2",
    }.items():
        assert re.search(PATTERNS[column], text)
    assert not re.search(PATTERNS["stock"], "plants: heap_read")


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("kasan", "BUG: KASAN: use-after-free in freed+0x1/0x2 [plants]"),
        ("lockdep", "WARNING: possible circular locking dependency detected"),
        ("lockdep", "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected"),
        ("lockdep", "WARNING: lock held when returning to user space!"),
        ("lockdep", "WARNING: suspicious RCU usage"),
        ("lockdep", "BUG: spinlock bad magic on CPU#1, python/93"),
        ("lockdep", "INFO: trying to register non-static key."),
        (
            "lockdep",
            "DEBUG_LOCKS_WARN_ON(lock->magic != lock)\n"
            "WARNING: CPU: 1 PID: 9 at kernel/locking/mutex.c:582 __mutex_lock+0x1/0x2",
        ),
        ("sleep", "BUG: sleeping function called from invalid context at mm/slab.h:1"),
        ("others", "WARNING: CPU: 0 PID: 9 at lib/refcount.c:25 refcount_warn_saturate+0x1/0x2"),
        ("others", "ODEBUG: activate active (active state 0) object type: timer_list"),
    ],
)
def test_a_report_of_the_debug_kernel_counts_once(column: str, text: str) -> None:
    assert list(reports_in(RUNS["debug"][2], f"{text}\n at abba+0x1/0x2 [plants]")) == [column]


def test_lockdep_counts_only_for_plants() -> None:
    text = "WARNING: bad unlock balance detected!\n"
    assert reports_in(RUNS["debug"][2], f"{text} at v9fs_open+0x1/0x2") == {}
    # Lockdep's report about being switched on again does not count.
    text = "WARNING: CPU: 0 PID: 87 at ct_irq_enter+0x20/0x30\n abba+0x1/0x2 [plants]"
    assert reports_in(RUNS["debug"][2], text) == {}
