# SPDX-License-Identifier: GPL-2.0
"""Kefence with less memory than a module's objects need: which objects are guarded."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from modules_in_guest import path_of
from test_kefence import do, guarded, settings

SITES = Path("/sys/kernel/debug/kefence/sites")
POOL = Path("/sys/kernel/debug/kefence/pool")
# Allocators at places that the module has not used before.
NEW = ["kzalloc", "kcalloc", "kmalloc_node"]
# The smallest pool: 2 MiB, in slots of two pages.
CHUNK, SLOTS = 512, 255


@pytest.fixture
def scarce(load) -> Callable[..., None]:
    """scarce(): a pool of so many pages, with settings for the module."""

    def scarce(pages: int = CHUNK, **values: object) -> None:
        load("kefence", budget=pages)
        load("planted+kefence")
        if values:
            settings(**values)

    return scarce


def count(steps: str) -> int:
    """How many of the allocations were guarded."""
    return guarded(lambda: do(steps))[1]


def guarded_at(allocator: str) -> int:
    """How many of this allocator's objects were guarded."""
    return int(
        re.search(rf"\talloc_{allocator}\+\S+ \[planted\]\t\d+\t(\d+)", SITES.read_text())[1]
    )


def grow_to(pages: int) -> None:
    """Grow the pool with small objects: allocations do not wait for another task to enlarge it."""
    for _ in range(20):
        do("many kmalloc 900")
        if f"\npages\t{pages}\n" in POOL.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(POOL.read_text())


def test_the_least_budget_guards(scarce) -> None:
    scarce()
    assert guarded(lambda: do("many kmalloc 20")) == (20, 20)


def test_all_while_it_lasts(scarce) -> None:
    scarce(policy="all")
    assert count("many kmalloc 400") == SLOTS
    # All slots are used, then free again.
    assert count("many kmalloc 255; alloc kzalloc 96; next") == SLOTS
    assert count("alloc kzalloc 96; next") == 1


def test_new_places_first(scarce) -> None:
    scarce(policy="rate")
    # However long the objects of the busy place live.
    new = "; ".join(f"alloc {a} 96; next" for a in NEW)
    do(f"many kmalloc 900; {new}")
    assert [guarded_at(a) for a in NEW] == [1, 1, 1]
    # The busy place cannot use the last eighth.
    assert SLOTS * 3 // 4 < guarded_at("kmalloc") < SLOTS * 7 // 8 + 2


def test_new_places_within_a_modules_budget(scarce) -> None:
    scarce(4 * CHUNK, policy="rate", budget=160)
    do("many kmalloc 400; alloc kzalloc 96; next")
    assert guarded_at("kzalloc") == 1
    assert 60 <= guarded_at("kmalloc") <= 71


def test_by_size(scarce) -> None:
    scarce(policy="all", sizes="200-300")
    assert count("many kmalloc 400; alloc kmalloc 250; next") == 1


def test_by_cache(scarce) -> None:
    scarce(policy="all", caches="planted_c*")
    assert count("many kmalloc 400; alloc cache_ctor 0; free cache_ctor") == 1


def test_large_objects_next_to_many_small_ones(scarce) -> None:
    scarce(4 * CHUNK, policy="all")
    grow_to(3 * CHUNK)
    assert count("many kmalloc 900") == 3 * SLOTS
    assert count("many kmalloc 900; alloc kmalloc 20000; next") == 3 * SLOTS + 1


def test_a_budget_that_guards_nothing_is_refused(kernel_log) -> None:
    done = subprocess.run(
        ["insmod", path_of("kefence"), f"budget={CHUNK - 1}"], capture_output=True, text=True
    )
    assert "Invalid parameters" in done.stderr
    assert re.search(r"budget=511: .* 512 pages are the least", kernel_log.read())
