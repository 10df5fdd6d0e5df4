# SPDX-License-Identifier: GPL-2.0
"""The table of planted faults is the source's."""

from __future__ import annotations

import sys
from pathlib import Path

PLANTS = Path(__file__).resolve().parents[1] / "safety" / "plants"
sys.path.insert(0, str(PLANTS))

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
