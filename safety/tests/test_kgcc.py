# SPDX-License-Identifier: GPL-2.0
"""KGCC: correct and faulty uses of pointers, on request (modules/pointers)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import KIT

POINTERS = Path("/sys/kernel/debug/pointers")
DEBUG = Path("/sys/kernel/debug/kgcc")
KGCC = KIT / "kgcc" / "kgcc"
SOURCES = Path(__file__).parent / "modules" / "pointers"
SOURCE = SOURCES / "main.c"

# The report that each faulty case causes; "" if the faulty variant is allowed.
CASES = {
    name: report
    for source in (SOURCE, SOURCES / "holes.c", SOURCES / "library.c", SOURCES / "members.c")
    for name, _, report in re.findall(r'\b_\((\w+), (NULL|"(.*)")\)', source.read_text())
}


@pytest.fixture(scope="module", autouse=True)
def modules(load_module) -> None:
    load_module("kgcc")
    load_module("pointers+kgcc")
    settings(reports="all")


def settings(**values: object) -> None:
    pairs = " ".join(f"{key}={value}" for key, value in values.items())
    (DEBUG / "settings").write_text(f"* {pairs}\n")


def do(case: str, how: str) -> None:
    POINTERS.write_text(f"{case} {how}")


@pytest.fixture
def violations(kernel_log) -> Callable[[], list[str]]:
    """violations(): the report headers of this test."""

    def read() -> list[str]:
        return re.findall(r"kgcc: violation: (.*) \[\d+\]", kernel_log.read())

    return read


def test_cases_are_known() -> None:
    listed = dict(line.split("\t") for line in POINTERS.read_text().splitlines())
    assert listed == CASES
    assert len(CASES) > 60


@pytest.mark.parametrize("case", CASES)
def test_right(case: str, violations) -> None:
    do(case, "good")
    assert violations() == []


@pytest.mark.planted
@pytest.mark.parametrize("case", [case for case, report in CASES.items() if report])
def test_wrong(case: str, violations) -> None:
    do(case, "bad")
    reports = violations()
    assert reports and all(re.fullmatch(CASES[case], line) for line in reports), reports


@pytest.mark.planted
def test_lines_of_what_is_inlined(kernel_log) -> None:
    """The report names the inlined line itself, not only the function that it was inlined into."""
    lines = SOURCE.read_text().splitlines()
    texts = ("kfree(given);", "give_back(p);", "(atomic_t *)given);")
    free, caller, read = (
        next(i for i, line in enumerate(lines, 1) if text in line) for text in texts
    )
    do("free_helper", "bad")
    log = kernel_log.read()
    assert f"freed at main.c:{free} < main.c:{caller}\n" in log
    assert f"at main.c:{read} (" in log


@pytest.mark.parametrize("case", [case for case, report in CASES.items() if not report])
def test_peers_come_back(case: str, violations) -> None:
    do(case, "bad")
    assert violations() == []


# -- what follows, and what is switched off -------------------------------------------


def kgcc(*command: str) -> str:
    return subprocess.run([KGCC, *command], capture_output=True, text=True, check=True).stdout


def sites_at(text: str) -> list[dict]:
    """The check sites of the source line that contains a text."""
    lines = SOURCE.read_text().splitlines()
    line = next(i for i, found in enumerate(lines, 1) if text in found)
    sites = [found.split("\t") for found in (DEBUG / "sites").read_text().splitlines()]
    return [
        {"kind": kind, "accesses": int(accesses), "hits": int(hits), "state": state}
        for _, kind, accesses, hits, _, state, place, _ in sites
        if f"main.c:{line}" in place
    ]


def sites_of(case: str) -> list[dict]:
    """The check sites of a case's function; a macro's sites are in the line that uses it."""
    return sites_at(f"HEAP_ACCESS({case},")


@pytest.fixture
def set_back():
    yield
    settings(action="log", after=0, count="off", state="on", reports="all")


@pytest.mark.planted
def test_kill(set_back, violations) -> None:
    settings(action="kill")
    writer = ["sh", "-c", f"echo heap_write1 bad >{POINTERS}; echo survived"]
    done = subprocess.run(writer, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL and not done.stdout
    assert len(violations()) == 1
    do("heap_write1", "good")


@pytest.mark.planted
def test_once(set_back, violations) -> None:
    settings(reports="once")
    for _ in range(3):
        do("heap_loop_break", "bad")
    assert len(violations()) <= 1


@pytest.mark.planted
def test_clean_sites_are_switched_off(set_back, violations) -> None:
    settings(after=50)
    for _ in range(49):
        do("heap_write4", "good")
    time.sleep(0.5)
    assert {site["state"] for site in sites_of("heap_write4")} == {"on"}
    do("heap_write4", "good")
    deadline = time.monotonic() + 20
    while {site["state"] for site in sites_of("heap_write4")} != {"off"}:
        assert time.monotonic() < deadline
    assert {site["state"] for site in sites_of("heap_write8")} == {"on"}
    do("heap_write4", "bad")
    assert violations() == []
    settings(after=0, state="on")
    assert {site["state"] for site in sites_of("heap_write4")} == {"on"}
    do("heap_write4", "bad")
    assert len(violations()) == 1


def test_accesses_at_an_index_are_checked_at_once() -> None:
    assert [site["accesses"] for site in sites_at("READ_ONCE(item[i].key)")] == [2]
    assert not sites_at("READ_ONCE(item[i].value)")


def test_pointers_of_a_loop_are_checked_after_it(set_back) -> None:
    settings(count="on")
    do("peer_deref_found", "good")
    # 16 iterations; the first check may be copied before the loop.
    assert 1 <= sum(site["hits"] for site in sites_at("/* found here */")) <= 2


def test_compared_checks_are_counted(set_back) -> None:
    """Later iterations look nothing up, unless hits are counted."""
    settings(count="on")
    do("heap_loop_break", "good")
    assert sum(site["hits"] for site in sites_at("/* each round */")) == 10


def ns_at(text: str) -> int:
    """Time attributed to a line: from its check to the next one."""
    line = next(i for i, found in enumerate(SOURCE.read_text().splitlines(), 1) if text in found)
    shown = json.loads(kgcc("top", "pointers", "--json"))
    return sum(site["ns"] for site in shown if site["place"] == f"main.c:{line}")


def test_time_from_check_to_check(set_back) -> None:
    """A delay of 2 ms counts for the line before it; a sleep of 20 ms for none."""
    do("timed", "good")
    assert ns_at("/* delayed */") == 0
    settings(count="time")
    do("timed", "good")
    # Time that this process spends outside the kernel must not count for the last line.
    time.sleep(0.1)
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        pass
    do("timed", "good")
    settings(count="off")
    assert ns_at("/* delayed */") >= 3_000_000
    assert ns_at("/* slept */") == 0
    assert ns_at("/* returned */") < 90_000_000
    shown = kgcc("top", "-n", "3", "pointers")
    assert re.search(r"^main\.c:\d+ .* \d+\.\d +\d+\.\d %$", shown, re.MULTILINE)
    before = ns_at("/* delayed */")
    do("timed", "good")
    assert ns_at("/* delayed */") == before


def test_top(set_back) -> None:
    settings(count="on")
    for _ in range(7):
        do("heap_read8", "good")
    assert 7 in [site["hits"] for site in sites_of("heap_read8")]
    shown = json.loads(kgcc("top", "pointers", "--json"))
    assert 7 in [site["hits"] for site in shown if site["kind"] == "read"]
    assert re.match(r"\d+ sites, \d+ on, 0 off; \d+ hits", kgcc("top"))


@pytest.mark.parametrize("line", ["pointers action=bite", "pointers after", "pointers x=1"])
def test_bad_settings(line: str) -> None:
    done = subprocess.run([KGCC, "settings", *line.split()], capture_output=True, text=True)
    assert done.returncode == 1 and "is refused" in done.stderr
