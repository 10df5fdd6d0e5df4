#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure what the tools of the safety kit cost a module of the kernel's own source.

eCryptfs over a tmpfs and ReiserFS in a file there, from the kernel's own source, as
they are and built with each tool.  A ratio is with the tool over without, of the same
round; all rounds are of one boot, on one CPU.  With --icount the guest counts
instructions instead of time, those of all processes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import results  # noqa: E402


class Ratio(NamedTuple):
    """Of what, and what it has to stay within and should reach; 0: only shown."""

    what: str
    workload: str
    variant: str
    at_most: float = 0
    aim: float = 0
    base: str = "plain"


RATIOS = {
    "kefence.compile": Ratio("Kefence, compile", "compile", "kefence", 1.014, 1.005),
    "kefence.mix": Ratio("Kefence, file mix", "mix", "kefence"),
    "evmon.off": Ratio("events, no one listens, file mix", "mix", "evmon_off"),
    "evmon.mix": Ratio("dispatcher and ring", "mix", "evmon", 1.025, 1.013),
    "evmon.records": Ratio("the same, a record for each event", "mix", "records"),
    "evmon.monitors": Ratio("that, and three monitors", "mix", "monitors"),
    "evmon.logger": Ratio("dispatcher, ring and logger", "mix", "logger", 1.15, 1.05),
    "kgcc.compile": Ratio("KGCC, compile", "compile", "kgcc", 1.10, 1.05),
    "kgcc.mix": Ratio("KGCC, file mix", "mix", "kgcc", 1.5, 1.2),
    "kgcc.off": Ratio("KGCC, proven sites off, compile", "compile", "kgcc_off"),
}
COUNTED = ("objects", "guarded", "events", "lost", "sites", "on")


def ratio(seen: list[dict[str, Any]], key: Ratio, of: str) -> dict[str, Any]:
    tool, plain = f"{key.workload} {key.variant}", f"{key.workload} {key.base}"
    return results.summary([r[tool][of] / r[plain][of] for r in seen])


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--timeout", "3600", "--icount" if icount else "--fair"]
    # One CPU: a logger on another one would cost nothing, and seem to.
    options += ["--cpus", "1"]
    command = ["build/venv/bin/python3", "safety/bench/inside.py", str(rounds)]
    raw = results.in_guest(options, command, module=False)
    seen = raw["rounds"]
    # Linux 6.13 dropped ReiserFS.
    there = {n: k for n, k in RATIOS.items() if f"{k.workload} {k.base}" in seen[0]}
    # Its clock jumps over idle time.
    clock = "cpu" if icount else "elapsed"
    return {
        **raw,
        **{name: ratio(seen, key, clock) for name, key in there.items()},
        **{f"{name}.elapsed": ratio(seen, key, clock) for name, key in there.items()},
        **{f"{name}.system": ratio(seen, key, "system") for name, key in there.items()},
    }


def counted(result: dict[str, Any], key: Ratio) -> str:
    """What the tool did meanwhile."""
    last = result["rounds"][-1][f"{key.workload} {key.variant}"]
    return ", ".join(f"{last[name]} {name}" for name in COUNTED if name in last)


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    rows = []
    for name, key in RATIOS.items():
        if name not in result:
            continue
        found = result[name]
        row = [key.what, f"{found['median']:.3f}", f"{found['min']:.3f} .. {found['max']:.3f}"]
        row.append(f"{result[f'{name}.system']['median']:.3f}")
        if key.at_most:
            row += [f"{key.at_most:g}", f"{key.aim:g}"]
            row.append(results.verdict(found["median"], key.at_most, key.aim))
        else:
            row += [""] * 3
        rows.append([*row, counted(result, key)])
    head = ["with the tool / without", "all", "min .. max", "system", "at most", "aim", ""]
    results.show([*head, "meanwhile"], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("bench-safety", 3, 2, measure, show).main(__doc__))
