#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure text processing in Lua: both engines, and the distribution's lua5.1 and luajit.

The pieces of bench/text run in turn as processes on this machine, timed; then in a guest whose
clock counts instructions, with the scripts in the kernel. There the CPU time of a process is the
number of its instructions, with the kernel's; it is read after a run that fills caches.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import results

PIECES = ("statsd", "syslog", "http", "csv", "dns", "bytes")
# Users may lock 8 MiB in most distributions, and scripts in the kernel lock memory.
LIMITS = ["--time-limit", "10s", "--memory-limit", "2M"]
# This tree's image; the guest has set one already.
os.environ.setdefault("SYSCRIPT_LUA_IMAGE", str(results.ROOT / "build/lua-runtime/lua.image"))
# Upper bounds of ratios: each piece to luajit, the mean to luajit, and to lua5.1.
AT_MOST, MEAN_AT_MOST, LUA51_AT_MOST = 2.0, 1.3, 0.7
# Our LuaJIT, which has the module's mathematics, memory, strings and safe points, to the plain one.
PORT_AT_MOST = 1.5
SECONDS = 0.15
# Items in a count in the guest, enough to make compiling a small part; and the number of counts.
COUNTED = {"statsd": 40000, "syslog": 40000, "http": 8000, "csv": 2000, "dns": 40000, "bytes": 9000}
COUNTS = 3
# The distribution's, unpacked: installed packages would change what other programs find.
INTERPRETERS = results.ROOT / "build" / "interpreters" / "usr" / "bin"


def engine(name: str, backend: str) -> list[str]:
    return ["build/syscript", "run", "--backend", backend, "--engine", name, *LIMITS]


def ways(backend: str) -> dict[str, list[str]]:
    """Commands that take a script and a number of items."""
    return {
        "lua5.1": [str(INTERPRETERS / "lua5.1")],
        "luajit": [str(INTERPRETERS / "luajit")],
        "luajit -joff": [str(INTERPRETERS / "luajit"), "-joff"],
        "ours, LuaJIT": engine("luajit", backend),
        "ours, confined": engine("confined", backend),
    }


def user_ns() -> int:
    return round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime * 1e9)


def cpu_ns() -> int:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


class Piece:
    """A file of bench/text, with a variant for interpreters that do not call run()."""

    def __init__(self, name: str, place: Path) -> None:
        self.ours = results.ROOT / "bench" / "text" / f"{name}.lua"
        self.stocks = place / f"{name}.lua"
        self.stocks.write_text(f"{self.ours.read_text()}\nprint(run(tonumber(arg[1])))\n")

    def spend(self, way: str, command: list[str], n: int, clock: Callable[[], int]) -> int:
        script = self.ours if way.startswith("ours") else self.stocks
        before = clock()
        subprocess.run(
            [*command, str(script), str(n)],
            cwd=results.ROOT, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return clock() - before

    def cost(self, way: str, command: list[str], n: int, clock: Callable[[], int]) -> float:
        """The cost of an item, without the start."""
        once = self.spend(way, command, 0, clock)
        return max(self.spend(way, command, n, clock) - once, 1) / n


def in_time(samples: int, place: Path) -> dict[str, dict[str, float]]:
    found = {}
    for name in PIECES:
        piece, n = Piece(name, place), 1000
        commands = ways("user")
        while piece.cost("luajit", commands["luajit"], n, user_ns) * n < SECONDS * 1e9:
            n *= 2
        print(f"{name}: {n} items, {samples} times ...", file=sys.stderr, flush=True)
        rounds = [
            {way: piece.cost(way, command, n, user_ns) for way, command in commands.items()}
            for _ in range(samples)
        ]
        found[name] = {way: median(r[way] for r in rounds) for way in commands}
    return found


def count(piece: Piece, way: str, command: list[str], n: int) -> float:
    piece.spend(way, command, 0, cpu_ns)
    return median(piece.cost(way, command, n, cpu_ns) for _ in range(COUNTS))


def counted(place: Path) -> dict[str, dict[str, float]]:
    """In the guest, where a nanosecond is an instruction."""
    commands = ways("kernel")
    return {
        name: {
            way: count(Piece(name, place), way, command, COUNTED[name])
            for way, command in commands.items()
        }
        for name in PIECES
    }


def show(unit: str, found: dict[str, dict[str, float]]) -> None:
    names = [*ways("user")]
    rows = [
        [
            name,
            *(f"{costs[way]:.0f}" for way in names),
            f"{costs['ours, confined'] / costs['luajit']:.2f}",
        ]
        for name, costs in found.items()
    ]
    print()
    results.show([f"{unit} per item", *names, "confined / luajit"], rows)


def over(
    found: dict[str, dict[str, float]], rival: str, ours: str = "ours, confined"
) -> dict[str, float]:
    return {name: costs[ours] / costs[rival] for name, costs in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    parser.add_argument("-o", dest="output", type=Path, help="JSON to write")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--no-guest", action="store_true", help="in time only")
    parser.add_argument("--count", action="store_true", help="count in this guest; prints JSON")
    args = parser.parse_args()
    if not (INTERPRETERS / "luajit").exists():
        sys.exit("no interpreters: run make bench-text")
    with tempfile.TemporaryDirectory() as place:
        if args.count:
            print(json.dumps(counted(Path(place))))
            return 0
        timed = in_time(args.samples, Path(place))
    result: dict[str, Any] = {"machine": results.machine(), "ns": timed}
    show("ns", timed)
    if not args.no_guest:
        command = ["python3", "bench/text.py", "--count"]
        text = results.run_in_guest(["-k", args.kernel, "-u", "--icount"], command)
        result["instructions"] = json.loads(text.splitlines()[-1])
        show("instructions", result["instructions"])
    ratios = over(timed, "luajit")
    mean, lua51 = geometric_mean(ratios.values()), max(over(timed, "lua5.1").values())
    print(
        f"\nover luajit: geometric mean {mean:.2f}, {results.verdict(mean, MEAN_AT_MOST)}"
        f" {MEAN_AT_MOST}; at most {max(ratios.values()):.2f},"
        f" {results.verdict(max(ratios.values()), AT_MOST)} {AT_MOST};"
        f" over lua5.1 at most {lua51:.2f}, {results.verdict(lua51, LUA51_AT_MOST)} {LUA51_AT_MOST}"
    )
    port = geometric_mean(over(timed, "luajit", "ours, LuaJIT").values())
    verdict = results.verdict(port, PORT_AT_MOST)
    print(f"ours, LuaJIT, over luajit: geometric mean {port:.2f}, {verdict} {PORT_AT_MOST}")
    if args.output:
        means = {"geometric_mean": mean, "over_lua51": lua51, "port": port}
        results.write(args.output, {**ratios, **means, **result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
