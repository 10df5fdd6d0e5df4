# SPDX-License-Identifier: GPL-2.0
"""KGCC's rules: their effect on ecryptfs, and the messages for invalid rules."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ecryptfs import mounted
from in_compiler import compiled
from kit import KIT

sys.path.append(str(KIT / "evmon" / "lib"))

import kernevents  # noqa: E402

KGCC = KIT / "kgcc" / "kgcc"
RULES = Path(__file__).parent / "rules" / "ecryptfs.rules"

SOURCE = """
struct counter { int value; unsigned flag : 1; };
struct item { struct counter users; struct item *next; };
int put(struct item *item, int how);
int use(struct item *item)
{
	item->users.value = 1;
	item->users.flag = 0;
	return put(item, 7) + put(item->next, 8);
}
"""


def kgcc(*command: str | Path) -> str:
    return subprocess.run([KGCC, *command], capture_output=True, text=True, check=True).stdout


def line_of(text: str) -> int:
    """The line number of the rule with this text."""
    lines = RULES.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


# -- on ecryptfs -----------------------------------------------------------------------


@pytest.fixture
def upper(load, tmp_path: Path):
    load("kgcc")
    load("ecryptfs+kgcc")
    with mounted(tmp_path / "lower", tmp_path / "upper") as top:
        yield top


def test_rules_that_hold(upper: Path, kernel_log) -> None:
    """test_foreign.py has the other rules: its workload breaks none."""
    (upper / "file").write_bytes(bytes(100_000))
    (upper / "file").unlink()
    assert "kgcc: violation" not in kernel_log.read()
    sites = json.loads(kgcc("top", "--json"))
    places = {site["place"].split(":")[0] for site in sites if site["kind"] == "rule"}
    assert {"crypto.c", "inode.c", "super.c", "keystore.c"} <= places


@pytest.mark.planted
def test_rule_that_is_broken(upper: Path, kernel_log) -> None:
    with (upper / "file").open("wb") as file:
        file.truncate(150_000)
        file.truncate(300_000)
    log = kernel_log.read()
    rule = f"ecryptfs.rules:{line_of('in *truncate*')}"
    text = f"argument 3 < 200000 ({rule}) does not hold: 299999"
    assert re.findall(r"kgcc: violation: rule: (.*) \[\d+\]", log) == [text]
    assert re.search(r"kgcc: \[\d+\] at inode.c:\d+, \w*truncate", log)


def test_events(load, tmp_path: Path) -> None:
    load("evmon")
    load("kgcc")
    load("ecryptfs+evmon+kgcc")
    with (
        mounted(tmp_path / "lower", tmp_path / "upper") as top,
        kernevents.Kernevents("test", percent=1) as events,
    ):
        (top / "file").write_bytes(bytes(5000))
        (top / "file").unlink()
        found = list(events.read(timeout=1))
        places = {event.place: events.place(event) for event in found}
    assert {place.module for place in places.values()} == {"ecryptfs"}
    names = Counter(places[event.place].name for event in found)
    assert names["kmem_cache_free"] and names["ecryptfs_write_lower"]
    sizes = [e for e in found if places[e.place].name == "ecryptfs_crypt_stat.key_size"]
    assert sizes and all(e.value in (16, 24) and e.object for e in sizes)
    assert {e.type for e in sizes} == {kernevents.USER + 7}
    assert {(places[e.place].file, places[e.place].line > 0) for e in sizes} == {("crypto.c", True)}


# -- in the compiler ---------------------------------------------------------------------


def compile_with(rules: str, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (directory / "test.rules").write_text(rules)
    return compiled(SOURCE, directory, *options, "rules=test.rules")


MISTAKES = {
    "load item.next check;": "1:16: expected ':', not 'check'",
    "store item: check;": "1:11: expected '.', not ':'",
    "\n  call put(_, ): check;": "2:15: expected '_', '&' and a member, 'struct', or a number",
    "load item.next: event NOPE;": "1:23: expected an event of evmon(8)'s, in capitals, not 'NOPE'",
    "load item.next in: check;": "1:18: expected the name of a function, not ':'",
    "load item.next: check argument 1;": "1:23: expected 'address', 'value' or a number",
    "call put: check value == 1;": "1:17: expected 'argument', 'result' or a number, not 'value'",
    "load item.next: check value = 1;": "1:29: expected '==', '!=', '<', '<=', '>' or '>='",
    "load item.next: check value < 9999999999;": "1:31: expected a number, not '9999999999'",
    "load item.next: check": "1:22: expected 'address', 'value' or a number, not the end",
    "move item.next: check;": "1:1: expected 'load', 'store', 'address', 'access', 'call'",
    "load item.next: check; store item: check;": "1:34: expected '.', not ':'",
}


@pytest.mark.parametrize("rules", MISTAKES)
def test_mistakes(rules: str, tmp_path: Path) -> None:
    done = compile_with(rules, tmp_path, "events")
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "test.rules" in line]
    assert len(errors) == 1 and f"test.rules:{MISTAKES[rules]}" in errors[0], done.stderr


def test_events_need_evmon(tmp_path: Path) -> None:
    done = compile_with("load item.next: event USER;", tmp_path)
    assert "test.rules:1:23: events need evmon: build with SAFETY=kgcc,evmon" in done.stderr


# A rule, and its number of matches in the source.
MATCHES = {
    "store counter.value": 1,
    "store counter.*": 2,
    "access *.* of int": 1,
    "load item.next": 1,
    "load *.*": 1,
    "address item.*": 0,
    "store item.users": 2,
    "store *.* of struct counter": 2,
    "call put": 2,
    "call put(_, 7)": 1,
    "call put(struct item, _)": 2,
    "call put(struct counter, _)": 0,
    "call put(_)": 0,
    "call *ut in us?": 2,
    "call put in other": 0,
}


@pytest.mark.parametrize("match", MATCHES)
def test_matches(match: str, tmp_path: Path) -> None:
    done = compile_with(f"{match}: event USER;", tmp_path, "events", "rules-only")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("call evmon_event") == MATCHES[match]


def test_only_rules_are_checked(tmp_path: Path) -> None:
    rules = "store counter.value: check; call put: check argument 1 != 0;"
    done = compile_with(rules, tmp_path, "rules-only")
    calls = re.findall(r"call (kgcc_[a-z]+)", done.stdout)
    assert calls == ["kgcc_range", "kgcc_rule", "kgcc_rule"]
