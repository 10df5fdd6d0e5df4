# SPDX-License-Identifier: GPL-2.0
"""racewatch: planted races (modules/planted_races) are reported, and the same done right is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import KIT
from modules_in_guest import path_of

PLANTED = Path("/sys/kernel/debug/planted_races")
RACEWATCH = KIT / "racewatch" / "racewatch"
DEBUG = Path("/sys/kernel/debug/racewatch")
# Seconds that a race may take to be found, and that a sound case runs.
RACE, SOUND = 30, 2

# The functions of which a report names one, or two; None: the second is not built with the tool.
RACES: dict[str, tuple[str, str | None]] = {
    "counter": ("counter_up", "counter_up"),
    "flag": ("flag_set", "flag_read"),
    "marked_reader": ("counter_up", "count_read_marked"),
    "pointer": ("node_replace", "node_read"),
    "unlocked_read": ("total_locked", "total_unlocked_read"),
    "two_locks": ("total_locked", "total_other_lock"),
    "checked_early": ("ready_checked_early", "ready_undone"),
    "read_lock": ("total_read_locked", "total_read_locked"),
    "atomic_plain": ("atomic_read_plain", None),
    "bits": ("bits_plain", None),
    "bitfield": ("bitfield_a", "bitfield_b"),
    "list": ("list_change", "list_walk"),
    "by_kernel": ("text_read", None),
    "hardirq": ("count_with_lock_only", "on_hrtimer"),
    "softirq": ("total_with_lock_only", "on_timer"),
    "structure": ("pair_copy", "pair_change"),
    "seqcount": ("seqcount_change", "seqcount_ignored"),
    "unaligned": ("wide_change", "wide_read"),
    "reference": ("refs_drop", "refs_drop"),
    "ring": ("ring_put", "ring_take"),
    "others_counter": ("own_up", "own_sum"),
    "cleared": ("text_write_marked", None),
}
SOUNDS = [
    *("mutex", "irq", "flag", "atomic", "hand_over", "seqcount", "rcu", "annotated"),
    *("neighbours", "bit_lock", "rwlock", "own"),
]


@pytest.fixture
def planted(load) -> Iterator[None]:
    load("racewatch")
    (DEBUG / "settings").write_text("* sample=200 delay=200\n")
    load("planted_races+racewatch")
    yield
    PLANTED.write_text("stop")


def until(kernel_log, pattern: str) -> str:
    """The log, once it has the pattern; fails if it does not get it."""
    ends = time.monotonic() + RACE
    while not re.search(pattern, text := kernel_log.read()):
        assert time.monotonic() < ends, text or "nothing was reported"
        time.sleep(0.05)
    return text


@pytest.mark.planted
@pytest.mark.parametrize("name", RACES)
def test_races_are_reported(name: str, planted, kernel_log) -> None:
    one, other = RACES[name]
    PLANTED.write_text(name)
    if other:
        # Either of the two may have waited.
        text = until(kernel_log, rf"and at ({one}|{other})\+")
        assert re.search(r"racewatch: violation: data race: .* and .* \[\d+\]", text)
    else:
        text = until(kernel_log, r"its value changed from 0x[0-9a-f]+ to 0x[0-9a-f]+")
        assert re.search(r"and a change that no check saw \[\d+\]", text)
    until(kernel_log, rf" at {one}\+")


def test_all_cases_are_known(planted) -> None:
    names = PLANTED.read_text().split()
    assert names == [*RACES, *(f"sound_{name}" for name in SOUNDS)]


@pytest.mark.parametrize("name", SOUNDS)
def test_sound_code_is_not_reported(name: str, planted, kernel_log) -> None:
    before = waited()
    PLANTED.write_text(f"sound_{name}")
    time.sleep(SOUND)
    PLANTED.write_text("stop")
    assert "violation" not in kernel_log.read()
    # "flag" and "atomic" have marked accesses only.
    assert waited() > before or name in ("flag", "atomic")


def waited() -> int:
    return int(re.match(r"accesses that waited\t(\d+)", (DEBUG / "status").read_text())[1])


@pytest.mark.planted
def test_reports_have_files_and_lines(planted, kernel_log, tmp_path) -> None:
    PLANTED.write_text("flag")
    until(kernel_log, r"and at flag_")
    PLANTED.write_text("stop")
    log = tmp_path / "log"
    log.write_text(kernel_log.read())
    command = [sys.executable, RACEWATCH, "report", "--json", log]
    command += ["-m", path_of("planted_races+racewatch").parent]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    # A report before it may have one place.
    report = next(r for r in found if any("and at flag_" in p["text"] for p in r["places"]))
    places = [place for place in report["places"] if "at flag_" in place["text"]]
    lines = [line for place in places for line in place["lines"]]
    assert len(places) == 2
    assert all(re.search(r"planted_races\.c:\d+$", line) for line in lines) and lines


@pytest.mark.planted
def test_the_first_of_two_places_is_told_once(planted, kernel_log) -> None:
    PLANTED.write_text("flag")
    until(kernel_log, r"and at flag_")
    time.sleep(SOUND)
    first = len(re.findall("violation", kernel_log.read()))
    (DEBUG / "settings").write_text("planted_races reports=all\n")
    time.sleep(SOUND)
    PLANTED.write_text("stop")
    assert first <= 4 < len(re.findall("violation", kernel_log.read()))


def test_none_waits_where_it_is_off(planted, kernel_log) -> None:
    (DEBUG / "settings").write_text("planted_races state=off\n")
    before = waited()
    PLANTED.write_text("counter")
    time.sleep(SOUND)
    PLANTED.write_text("stop")
    assert waited() == before
    assert "violation" not in kernel_log.read()


@pytest.mark.parametrize(
    "text", ["* sample=0", "* delay=10001", "* sample", "* speed=1", "* state=maybe"]
)
def test_bad_settings_change_nothing(text: str, planted) -> None:
    before = (DEBUG / "settings").read_text()
    done = subprocess.run(
        [sys.executable, RACEWATCH, "settings", *text.split()], capture_output=True
    )
    assert done.returncode == 1 and b"is refused" in done.stderr and b"racewatch(8)" in done.stderr
    assert (DEBUG / "settings").read_text() == before


def test_others_cannot_read_it(planted, as_outsider) -> None:
    assert as_outsider(["cat", DEBUG / "status"]).returncode
    assert as_outsider(["sh", "-c", f"echo stop >{PLANTED}"]).returncode


def test_the_tool_stays_while_it_is_used(planted) -> None:
    assert subprocess.run(["rmmod", "racewatch"], capture_output=True).returncode
    assert DEBUG.exists()
