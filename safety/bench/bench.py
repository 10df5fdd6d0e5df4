#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure what the tools of the safety kit cost a module of the kernel's own source.

eCryptfs over a tmpfs and ReiserFS in a file there, by a loop device, from the kernel's
own source, unmodified and built with each tool. A ratio compares a run with the tool to the plain
run of the same round; all rounds are made in one boot, on one CPU. With --icount the guest counts
instructions instead of time, those of all tasks. System time is then the total minus the workload's
user instructions, which are counted once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("bench", "vm")]

import counted  # noqa: E402
import results  # noqa: E402
from kernels import release_of  # noqa: E402

INSIDE = ["build/venv/bin/python3", "safety/bench/inside.py"]


class Ratio(NamedTuple):
    """What is measured, its upper bound and its target; 0: only shown."""

    what: str
    workload: str
    variant: str
    at_most: float = 0
    aim: float = 0
    of: str = "elapsed"
    file_system: str = "ecryptfs"

    def sample(self, variant: str) -> str:
        return f"{self.file_system} {self.workload} {variant}"


RATIOS = {
    "kefence.compile": Ratio("Kefence, compile", "compile", "kefence", 1.014, 1.005),
    "kefence.mix": Ratio("Kefence, file mix", "mix", "kefence"),
    "evmon.off": Ratio("events, no one listens, file mix", "mix", "evmon_off"),
    "evmon.compile": Ratio("dispatcher and ring, compile", "compile", "evmon"),
    "evmon.mix": Ratio("dispatcher and ring, file mix", "mix", "evmon", 1.025, 1.013),
    "evmon.records": Ratio("the same, a record for each event, file mix", "mix", "records"),
    "evmon.monitors": Ratio("that, and three monitors, file mix", "mix", "monitors"),
    "evmon.reader": Ratio("dispatcher, ring and reader, file mix", "mix", "reader"),
    "evmon.logger": Ratio("dispatcher, ring and logger, file mix", "mix", "logger", 1.15, 1.05),
    "kgcc.compile.elapsed": Ratio("KGCC, compile", "compile", "kgcc", 1.10, 1.05),
    "kgcc.compile.system": Ratio("KGCC, compile", "compile", "kgcc", 1.15, 1.08, "system"),
    "kgcc.mix.elapsed": Ratio("KGCC, file mix", "mix", "kgcc", 1.5, 1.2),
    "kgcc.mix.system": Ratio("KGCC, file mix", "mix", "kgcc", 2.5, 1.6, "system"),
    "kgcc.off.elapsed": Ratio("KGCC, proven sites off, compile", "compile", "kgcc_off"),
    "kgcc.off.system": Ratio(
        "KGCC, proven sites off, compile", "compile", "kgcc_off", 1.03, 1.01, "system"
    ),
}
# The same measurements over the second file system, where it has them.
ON_REISERFS = (
    *("kefence.compile", "kefence.mix", "evmon.compile", "evmon.mix"),
    *("kgcc.compile.elapsed", "kgcc.compile.system", "kgcc.mix.elapsed", "kgcc.mix.system"),
)
RATIOS |= {
    f"reiserfs.{name}": RATIOS[name]._replace(file_system="reiserfs") for name in ON_REISERFS
}
# ReiserFS emits three times as many events per second, so eCryptfs's bound does not apply.
RATIOS["reiserfs.evmon.mix"] = RATIOS["reiserfs.evmon.mix"]._replace(at_most=0, aim=0)
# Nearly all time of the mix is in ReiserFS's own code: the bound of system time applies.
RATIOS["reiserfs.kgcc.mix.elapsed"] = RATIOS["reiserfs.kgcc.mix.elapsed"]._replace(at_most=2.5)
COUNTED = ("objects", "guarded", "pages at most", "bytes each", "events", "lost", "sites", "on")
COUNTED += ("shadow KiB",)
# A section of a loadable module: its size and flags.
SECTION = re.compile(r"^ *\[ *\d+\] \S+ +\w+ +\w+ \w+ (\w+) \w+ +(\w*A\w*) ", re.MULTILINE)


def ratio(seen: list[dict[str, Any]], key: Ratio) -> dict[str, Any]:
    tool, plain = key.sample(key.variant), key.sample("plain")
    return results.summary([r[tool][key.of] / r[plain][key.of] for r in seen])


def sizes(module: Path) -> dict[str, int]:
    """Bytes of its code, and of everything else that it has in memory."""
    command = ["readelf", "-SW", module]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {"text": 0, "data": 0}
    for size, flags in SECTION.findall(text):
        found["text" if "X" in flags else "data"] += int(size, 16)
    return found


def growth(kernel: str) -> dict[str, dict[str, dict[str, int]]]:
    """How much KGCC enlarges each file system's code."""
    built = ROOT / "build" / f"safety-{release_of(kernel)}"
    names = {name: f"{name}/{name}.ko" for name in ("ecryptfs", "reiserfs")}
    return {
        name: {"plain": sizes(built / path), "kgcc": sizes(built / path.replace("/", "+kgcc/", 1))}
        for name, path in names.items()
        if (built / path).exists()
    }


def as_counted(seen: list[dict[str, Any]], user: dict[str, float]) -> None:
    """An icount guest's clock skips idle time and has too few ticks to tell system time."""
    for name, sample in ((name, sample) for found in seen for name, sample in found.items()):
        sample["elapsed"] = sample["cpu"]
        sample["system"] = sample["cpu"] - user[name.split()[1]]


def user_seconds(kernel: str) -> dict[str, float]:
    """User time of each workload's processes, whichever file system and tool is below."""
    workloads = sorted({key.workload for key in RATIOS.values()})
    return {w: counted.user_instructions(kernel, "ecryptfs", w, "plain") / 1e9 for w in workloads}


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--timeout", "3600", "--icount" if icount else "--fair"]
    # One CPU: on a second one a logger would appear to cost nothing.
    options += ["--cpus", "1"]
    raw = results.in_guest(options, [*INSIDE, "rounds", str(rounds)], module=False)
    seen = raw["rounds"]
    if icount:
        raw["user"] = user_seconds(kernel)
        as_counted(seen, raw["user"])
    raw["growth"] = growth(kernel)
    there = {n: k for n, k in RATIOS.items() if k.file_system not in raw["absent"]}
    return {**raw, **{name: ratio(seen, key) for name, key in there.items()}}


def meanwhile(result: dict[str, Any], key: Ratio) -> str:
    """What the tool counted during the measurement."""
    last = result["rounds"][-1][key.sample(key.variant)]
    return ", ".join(f"{last[name]} {name}" for name in COUNTED if name in last)


def show_growth(found: dict[str, dict[str, dict[str, int]]]) -> None:
    rows = []
    for name, builds in found.items():
        for what in ("text", "data"):
            plain, kgcc = builds["plain"][what], builds["kgcc"][what]
            rows.append([f"{name}, {what}", str(plain), str(kgcc), f"{kgcc / plain:.2f}"])
        plain, kgcc = (sum(builds[build].values()) for build in ("plain", "kgcc"))
        rows.append([f"{name}, both", str(plain), str(kgcc), f"{kgcc / plain:.2f}"])
    results.show(["bytes of", "plain", "KGCC", "ratio"], rows)


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    rows = []
    for name, key in RATIOS.items():
        if name not in result:
            continue
        found = result[name]
        row = [f"{key.what}, {key.file_system}", key.of, f"{found['median']:.3f}"]
        row.append(f"{found['min']:.3f} .. {found['max']:.3f}")
        if key.at_most:
            row += [f"{key.at_most:g}", f"{key.aim:g}"]
            row.append(results.verdict(found["median"], key.at_most, key.aim))
        else:
            row += [""] * 3
        rows.append([*row, meanwhile(result, key)])
    head = ["with the tool / without", "of", "median", "min .. max", "at most", "aim", ""]
    results.show([*head, "meanwhile"], rows)
    print()
    show_growth(result["growth"])
    for file_system in result["absent"]:
        print(f"\nThe kernel {result['kernel']} has no {file_system}: not measured.")


if __name__ == "__main__":
    sys.exit(results.Measurement("bench-safety", 3, 2, measure, show).main(__doc__))
