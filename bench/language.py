#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Compare the engine with the distribution's luajit on programs without system calls.

Both run as processes on this machine and differ only in the engine: ours has the module's
mathematics, memory management, strings and safe points.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import geometric_mean

from results import machine, show, summary, verdict, write

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [ROOT / "build" / "syscript", "run", "--backend", "user", "--memory-limit", "16M"]
LIMITS = ["--time-limit", "10s"]
# Upper bounds relative to stock LuaJIT: for each program, and for the mean.
AT_MOST, MEAN_AT_MOST = 3.0, 1.5
SECONDS = 0.3

BEFORE = "local print = function() end\n"
AFTER = "\nlocal once = run\nfunction run(n) for _ = 1, n do once() end end\n"


def cpu_time(command: list[str | Path]) -> float:
    """CPU time of a process, in seconds."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return used() - before


class Program:
    """A file of tests/lua, run repeatedly."""

    def __init__(self, source: Path, place: Path) -> None:
        self.name = source.stem.removeprefix("bench_")
        text = BEFORE + source.read_text() + AFTER
        self.ours, self.stocks = place / f"{self.name}.lua", place / f"{self.name}_stock.lua"
        self.ours.write_text(text)
        self.stocks.write_text(f"{text}run(tonumber(arg[1]))\n")

    def times(self, rounds: int) -> tuple[float, float]:
        """Times of this engine and of stock LuaJIT for `rounds` runs, without the start."""
        ours: list[str | Path] = [*COMMAND, *LIMITS, self.ours]
        stocks: list[str | Path] = ["luajit", self.stocks]
        pairs = [
            cpu_time([*command, str(rounds)]) - cpu_time([*command, "0"])
            for command in (ours, stocks)
        ]
        return max(pairs[0], 1e-3), max(pairs[1], 1e-3)

    def rounds(self) -> int:
        """The number of rounds for which stock LuaJIT takes SECONDS."""
        rounds = 1
        while (took := self.times(rounds)[1]) < SECONDS / 4:
            rounds *= 4
        return max(1, round(rounds * SECONDS / took))

    def ratios(self, samples: int) -> list[float]:
        rounds = self.rounds()
        pairs = [self.times(rounds) for _ in range(samples)]
        return [ours / stocks for ours, stocks in pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("programs", nargs="*", help="all of tests/lua/bench_*.lua by default")
    args = parser.parse_args()
    if not shutil.which("luajit"):
        sys.exit("luajit is not installed: apt install luajit")
    names = args.programs or sorted(p.stem for p in (ROOT / "tests" / "lua").glob("bench_*.lua"))
    ratios = {}
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            print(f"{name} ...", file=sys.stderr, flush=True)
            program = Program(ROOT / "tests" / "lua" / f"{name}.lua", Path(place))
            ratios[program.name] = summary(program.ratios(args.samples))
    medians = {name: found["median"] for name, found in ratios.items()}
    mean = geometric_mean(medians.values())
    worst = max(medians.values())
    print(f"\nCPU time over that of luajit, {machine()}; median of {args.samples}\n")
    rows = [[name, f"{value:.2f}", verdict(value, AT_MOST)] for name, value in medians.items()]
    show(["program", "over luajit", f"at most {AT_MOST:g}"], rows)
    print(f"\ngeometric mean {mean:.2f} ({verdict(mean, MEAN_AT_MOST)} {MEAN_AT_MOST:g})")
    write(args.output, {"machine": machine(), "mean": mean, "programs": ratios})
    return int(worst > AT_MOST or mean > MEAN_AT_MOST)


if __name__ == "__main__":
    sys.exit(main())
