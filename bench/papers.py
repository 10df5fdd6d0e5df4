#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Run the rows of docs/papers.md, and print them with the figures of today.

A page that holds two papers against this tree is worth what a reader can repeat of it. So each row
ends with its evidence: a test, a command, or the reason why there is neither. Tests of all rows run
together, those of tests/vm in one guest. A bench's result is put into words by a function of this
file, in the same words as on the page, so that the page's figures can be compared with today's, and
replaced by them (--write).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import results

sys.path.insert(0, str(Path(__file__).resolve().parent / "memcached"))

import report

Json = dict[str, Any]

PAGE = results.ROOT / "docs/papers.md"
LOG = results.ROOT / "build/papers.log"
PYTEST = "build/venv/bin/pytest"
# Columns of a row.
TITLE, _, PAPER, OURS, RUN = range(5)
EVIDENCE = re.compile(r"`([^`]+)`$")
TEST = re.compile(r"(?:\w+/)?tests/")
OUTCOME = re.compile(r"^((?:\w+/)?tests/\S+?(?:::.+?)?) (PASSED|FAILED|ERROR|SKIPPED)", re.M)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Differences of figures that count as the same: of ratios, relative to the larger one; of per cent.
# The benches here make few rounds.
SAME_RATIO, SAME_PER_CENT = 0.05, 5


class Bench(NamedTuple):
    """A bench whose result is put into words."""

    result: str
    args: str = ""
    quick: bool = True


# The paper's Figures 3 and 4 at their ends only: more sizes are in docs/figures.md.
ENDS = "--sizes 16 1024 --rounds 1 -o build/bench/papers-memcached.json"
BENCHES = {
    "make bench-udp-icount": Bench("papers-udp.json", "--loops -o build/bench/papers-udp.json"),
    "make bench-connections-icount": Bench("connections-icount.json"),
    "make bench-compound-icount": Bench("compound-icount.json"),
    "make bench-memcached-sizes-icount": Bench("papers-memcached.json", ENDS),
    "make bench-memcached-icount": Bench("memcached-icount.json", quick=False),
    "make bench-memcached-facebook-icount": Bench("memcached-facebook-icount.json", quick=False),
    "make bench-readdirplus-icount": Bench("readdirplus-icount.json", quick=False),
}


def ratio(costs: Json, ours: str, over: str) -> str:
    return f"{costs[ours]['median'] / costs[over]['median']:.2f}"


def figure1(result: Json) -> str:
    costs = result["icount"]["per_request"]
    same = ratio(costs, "figure1", "recvfrom_sendmsg")
    joined = ratio(costs, "combined", "epoll_recvfrom_sendmsg")
    return f"over plain calls {same} of the instructions; `exchange.lua` {joined}"


def connections(result: Json) -> str:
    accept, wait = (
        f"{result['ratios'][f'accept {name}']['median']:.2f}"
        for name in ("accept_batch", "wait_accept")
    )
    return (
        f"`accept_batch.lua` {accept}, `wait_accept.lua` {wait} of plain calls"
        " ([page](design/batches.md#connections))"
    )


def database(result: Json) -> str:
    costs = result["applications"]
    at_random, in_order, sqlite = (
        ratio(costs[name], "compound", "plain")
        for name in ("database", "database_sequential", "select")
    )
    return (
        f"records at random {at_random} of the instructions, in order {in_order};"
        f" calls of a SELECT of SQLite {sqlite}, and not worth a patch"
        " ([why](../apps/docs/programs.md#sqlite))"
    )


def change(result: Json, modelled: Callable, mode: str, size: int) -> str:
    """A mode's figure over the unchanged server's, in per cent."""
    values = [mean(modelled(result, name, (size, 128))) for name in (mode, "off")]
    return f"{100 * (values[0] / values[1] - 1):+.0f} %"


def throughput(result: Json) -> str:
    small, large = (change(result, report.per_second, "syscript", size) for size in (16, 1024))
    return f"modelled, {small} with 16 bytes, {large} with 1,024 ([table](figures.md#memcached))"


def interpreted(result: Json) -> str:
    small = change(result, report.per_second, "syscript_interp", 16)
    return f"modelled, {small} with 16 bytes"


def response(result: Json) -> str:
    modes = ("syscript", "syscript_interp")
    small, slow = (change(result, report.response_us, mode, 16) for mode in modes)
    waits = result["waits"]["v16_w128"]["syscript"]
    return (
        f"modelled, {small}, interpreted {slow};"
        f" of it in the socket's buffer {100 * waits['wait'] / waits['response']:.0f} %"
    )


def of_a_get(result: Json, ours: str, over: str) -> str:
    """The ratio of a GET's instructions in two modes, of a bench with one case."""
    (case,) = report.cases(result)
    mine, other = (
        median(report.of_runs(result, mode, case, "cpu_us_per_get")) for mode in (ours, over)
    )
    return f"{mine / other:.2f}"


def wait_and_receive(result: Json) -> str:
    with_wait, without = (of_a_get(result, mode, "mmsg") for mode in ("syscript_wait", "syscript"))
    return f"{with_wait} of recvmmsg's instructions; {without} with the event loop's own wait"


def facebook(result: Json) -> str:
    return (
        f"50 keys: script {of_a_get(result, 'syscript', 'off')} of one packet a call,"
        f" {of_a_get(result, 'syscript', 'mmsg')} of `recvmmsg` and `sendmmsg`;"
        f" frames {of_a_get(result, 'frames', 'mmsg')}"
    )


def readdirplus(result: Json) -> str:
    def over(system: str, sizes: Sequence[int], mode: str) -> str:
        files = result["files"][system]
        found = [
            files[str(n)][way][mode] / files[str(n)]["plain"][mode]
            for n in sizes
            for way in ("luajit", "confined")
        ]
        return f"{min(found):.2f} to {max(found):.2f}"

    modes = ("elapsed", "system", "user")
    many = ", ".join(f"{mode} {over('tmpfs', (100, 1000, 10000, 100000), mode)}" for mode in modes)
    few = ", ".join(over("tmpfs", (10,), mode) for mode in modes)
    ext4 = over("ext4", (10, 100, 1000, 10000, 100000), "elapsed")
    return (
        f"from 100 files on {many}; of ten {few}; ext4 elapsed {ext4}"
        " ([table](figures.md#reading-a-directory-with-attributes))"
    )


# The words of a row, by the beginning of its title.
WORDS: dict[str, Callable[[Json], str]] = {
    "Figure 1: receive UDP packets": figure1,
    "other combinations:": connections,
    "memcached, GETs over UDP": throughput,
    "the same with the interpreter": interpreted,
    "response time": response,
    "wait and receive in one call": wait_and_receive,
    "Facebook's load": facebook,
    "readdirplus, 10 to 100,000": readdirplus,
    "database access patterns": database,
}


class Row(NamedTuple):
    """A row of the page."""

    cells: tuple[str, ...]

    @property
    def evidence(self) -> str:
        """The command or the test that shows it, or "" if it has a reason instead."""
        found = EVIDENCE.search(self.cells[RUN])
        return found[1] if found else ""

    @property
    def is_test(self) -> bool:
        return TEST.match(self.evidence) is not None

    @property
    def words(self) -> Callable[[Json], str] | None:
        for begin, words in WORDS.items():
            if self.cells[TITLE].startswith(begin):
                return words
        return None

    def line(self) -> str:
        return re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(self.cells)} |")


def rows_of(page: str) -> list[Row]:
    """The rows with evidence: not those of related work."""
    found = []
    for line in page.splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("| ") and len(cells) == RUN + 1 and cells[TITLE] != "the paper":
            found.append(Row(cells))
    return found


def run(command: list[str], log: Any) -> tuple[bool, str]:
    """Whether a command succeeds, and its output."""
    print(f"papers: {' '.join(command)}", file=sys.stderr, flush=True)
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=results.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    log.write(f"{' '.join(command)}\n{done.stdout}\nstatus {done.returncode}\n\n")
    log.flush()
    print(f"papers: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return done.returncode == 0, done.stdout


def in_guest(test: str) -> bool:
    """C programs of the library's tests run in both places: in a guest with the module."""
    return "tests/vm/" in test or test.partition("::")[0].endswith(".c")


def run_tests(tests: list[str], kernel: str, log: Any) -> dict[str, str]:
    """The outcome of each test."""
    outcomes: dict[str, str] = {}
    for guest in (False, True):
        chosen = sorted({test for test in tests if in_guest(test) == guest})
        if chosen:
            place = ["vm/guest", "-k", kernel, "-m", "--"] if guest else []
            _, output = run([*place, PYTEST, "-v", *chosen], log)
            outcomes |= dict(OUTCOME.findall(output))
    return outcomes


def verdict(test: str, outcomes: dict[str, str]) -> str:
    """Of a row's test: each of its cases must have passed, or have been skipped."""
    seen = [
        outcome
        for name, outcome in outcomes.items()
        if name == test or name.startswith((f"{test}::", f"{test}["))
    ]
    passed = seen.count("PASSED")
    if not passed or {"FAILED", "ERROR"} & set(seen):
        return "FAILED" if seen else "DID NOT RUN"
    return f"{passed} passed"


def run_bench(command: str, bench: Bench, kernel: str, log: Any) -> Json | None:
    path = results.ROOT / "build/bench" / bench.result
    path.unlink(missing_ok=True)
    run([*command.split(), "-s", f"KREL={kernel}", f"BENCH_ARGS={bench.args}"], log)
    return json.loads(path.read_text()) if path.exists() else None


def same(one: str, other: str) -> bool:
    """Two cells with the same words, and with nearly the same figures."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False

    def near(a: str, b: str) -> bool:
        most = SAME_RATIO * max(float(a), float(b)) if "." in a else SAME_PER_CENT
        return abs(float(a) - float(b)) <= most

    return all(map(near, NUMBER.findall(one), NUMBER.findall(other)))


class Today:
    """Runs the rows' tests and commands, each command once."""

    def __init__(self, rows: list[Row], all_of_them: bool, kernel: str, log: Any) -> None:
        self.all_of_them, self.kernel, self.log = all_of_them, kernel, log
        self.outcomes = run_tests([row.evidence for row in rows if row.is_test], kernel, log)
        self.results: dict[str, Json | None] = {}
        self.texts = {row: self.text(row) for row in rows}

    def text(self, row: Row) -> str:
        command = row.evidence
        if row.is_test:
            return verdict(command, self.outcomes)
        if not command:
            return row.cells[RUN]
        bench = BENCHES.get(command)
        if not self.all_of_them and not (bench and bench.quick):
            return f"not run: {command}"
        if bench and row.words:
            result = self.result(command, bench)
            return row.words(result) if result else "FAILED"
        done, _ = run([*command.split(), f"KREL={self.kernel}"], self.log)
        return "done" if done else "FAILED"

    def result(self, command: str, bench: Bench) -> Json | None:
        if command not in self.results:
            self.results[command] = run_bench(command, bench, self.kernel, self.log)
        return self.results[command]


def short(cell: str) -> str:
    """A cell without links, for a terminal."""
    text = re.sub(r" ?\(\[[^]]*\]\([^)]*\)\)", "", cell)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def show(rows: list[Row], seen: dict[Row, str]) -> None:
    for row in rows:
        print(cut(short(row.cells[TITLE]), 100))
        if row.cells[PAPER]:
            print(f"    the paper  {short(row.cells[PAPER])}")
        if row.cells[OURS]:
            print(f"    the page   {short(row.cells[OURS])}")
        print(f"    today      {short(seen[row])}", end="")
        print(
            "  CHANGED" if has_figures(row, seen) and not same(row.cells[OURS], seen[row]) else ""
        )


def has_figures(row: Row, seen: dict[Row, str]) -> bool:
    return bool(row.words) and not seen[row].startswith(("not run", "FAILED"))


def written(page: str, seen: dict[Row, str]) -> str:
    """The page with the figures of today."""
    for row in seen:
        if has_figures(row, seen):
            cells = (*row.cells[:OURS], seen[row], row.cells[RUN])
            page = page.replace(row.line(), Row(cells).line())
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    parser.add_argument("--all", action="store_true", help="slow benches, too")
    parser.add_argument("--only", default="", help="rows with this text")
    parser.add_argument("--write", action="store_true", help="put the figures into the page")
    args = parser.parse_args()
    page = PAGE.read_text()
    rows = [row for row in rows_of(page) if args.only in row.line()]
    if not rows:
        print(f"papers: no row has the text {args.only}", file=sys.stderr)
        return 2
    with LOG.open("w") as log:
        seen = Today(rows, args.all, args.kernel, log).texts
    show(rows, seen)
    if args.write:
        PAGE.write_text(written(page, seen))
    failed = sum(text in ("FAILED", "DID NOT RUN") for text in seen.values())
    print(f"\n{len(rows)} rows, {failed} failed; their output is in {LOG.name}, in build/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
