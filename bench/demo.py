#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Draw the tables and plots of `make demo`, in two guests that count instructions, side by side.

memcached's modes of serving GETs over UDP; du and ls on 20,000 files, plain and reading ahead
(apps/fts). A table and a plot of each, in instructions and in modelled time. Every reply, and every
line of output, is compared.

All run as an ordinary user who may open the confined engine's device only; the rows of LuaJIT, as
a user of its group. On arm64, which has no LuaJIT in the kernel: the other modes, and du.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent / "memcached"))

import report
import results
import rounds
import walks
from server import FRAMES, MEMBER, OUTSIDER, ServerError

MODES = ["off", "mmsg", "io_uring", "confined", "frames_confined", "syscript"]
SIZE, OUTSTANDING, ROUNDS, SECONDS = 64, 16, 1, 0.2
FILES = {
    "du": walks.Case(["du", "-s", "flat"]),
    "ls": walks.Case(["ls", "-lR", "flat"]),
}


class Way(NamedTuple):
    """How such a command is run: by whom, and patched?"""

    label: str
    user: str
    patched: bool


WAYS = {
    "plain": Way("", OUTSIDER, False),
    "ahead": Way(", reading ahead", OUTSIDER, True),
    "luajit": Way(", the same, LuaJIT", MEMBER, True),
}
# arm64 has no LuaJIT in the kernel, and cross-compiled, there is only du.
X86_ONLY = {"syscript", "luajit", "ls"}
IS_ARM64 = platform.machine() == "aarch64"
EVENTS = Path("/sys/kernel/tracing/events")
# getxattr and lgetxattr: a batch replaces them only while no observer counts calls, because an
# observer of the process must see them.
ATTRIBUTES = {8, 9} if IS_ARM64 else {191, 192}


# -- In the guest ------------------------------------------------------------------------


def on_this_machine(names: Iterable[str]) -> list[str]:
    return [name for name in names if not (IS_ARM64 and name in X86_ONLY)]


def memcached(seccomp: bool) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    rounds.add_options(parser)
    # Other options have the bench's defaults.
    given = argparse.Namespace(
        modes=[mode for mode in on_this_machine(MODES) if not (seccomp and mode in FRAMES)],
        sizes=[SIZE],
        outstanding=[OUTSTANDING],
        rounds=ROUNDS,
        seconds=SECONDS,
        seccomp=seccomp,
    )
    return rounds.measure(parser.parse_args([], given))


def run_as(way: Way, case: walks.Case) -> dict[str, float]:
    name = case.command[0]
    program = walks.WALKS / "ahead" / name if way.patched else Path(shutil.which(name) or name)
    return walks.run_program(program, case, user=way.user)


def count_switches(way: Way, case: walks.Case) -> int:
    """System calls that the kernel counts for a process, without those that its scripts make."""
    if not EVENTS.exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", EVENTS.parent], check=True)
    triggers = {
        "raw_syscalls/sys_enter": f'hist:keys=id if comm == "{case.command[0]}"',
        "syscript/call": "disable_hist:raw_syscalls:sys_enter",
        "syscript/done": "enable_hist:raw_syscalls:sys_enter",
    }
    for event, trigger in triggers.items():
        (EVENTS / event / "trigger").write_text(trigger)
    run_as(way, case)
    seen = (EVENTS / "raw_syscalls/sys_enter/hist").read_text()
    for event, trigger in reversed(triggers.items()):
        (EVENTS / event / "trigger").write_text(f"!{trigger}")
    counts = {int(nr): int(hits) for nr, hits in re.findall(r"id: +(\d+) } hitcount: +(\d+)", seen)}
    return sum(n for nr, n in counts.items() if not way.patched or nr not in ATTRIBUTES)


def files(_seccomp: bool) -> dict[str, Any]:
    """Whole processes, plain and patched."""
    found: dict[str, Any] = {}
    ways = {key: WAYS[key] for key in on_this_machine(WAYS)}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.chdir(directory)
        Path().chmod(0o755)
        for number in range(20):
            walks.files(Path(f"flat/{number}"), 1000)
        for name in on_this_machine(FILES):
            case = FILES[name]
            # The counted runs warm up.
            switches = {key: count_switches(way, case) for key, way in ways.items()}
            found[name] = {key: 1000 * run_as(way, case)["cpu"] for key, way in ways.items()}
            found[name]["switches"] = switches
        os.chdir("/")
    return found


PARTS = {"memcached": memcached, "files": files}


# -- Outside -----------------------------------------------------------------------------


def in_guests(kernel: str, seccomp: bool) -> dict[str, Any]:
    """One guest per part: a guest that counts instructions has a single CPU."""
    options = ["-k", kernel, "--icount", "--cpus", "1", "--timeout", "1800"]
    parts = ["memcached"] if seccomp else [*PARTS]

    def measure(part: str) -> dict[str, Any]:
        command = ["python3", "bench/demo.py", "--here", part, *["--seccomp"] * seccomp]
        return results.in_guest(options, command)

    with ThreadPoolExecutor() as pool:
        found = dict(zip(parts, pool.map(measure, parts), strict=True))
    common = {key: found["memcached"][key] for key in ("kernel", "accel", "machine")}
    return {**common, **found}


# -- Tables and plots --------------------------------------------------------------------


class Bar(NamedTuple):
    """A mode, with its instructions and mode switches."""

    name: str
    instructions: float
    switches: float

    @property
    def ns(self) -> float:
        return results.modelled_ns(self.instructions, self.switches)


def memcached_bars(found: dict[str, Any]) -> list[Bar]:
    case = (SIZE, OUTSTANDING)
    switches = found["mode_switches_per_get"][f"v{SIZE}_w{OUTSTANDING}"]
    return [
        Bar(
            report.NAMES[mode],
            1000 * median(report.of_runs(found, mode, case, "cpu_us_per_get")),
            switches[mode],
        )
        for mode in found["modes"]
    ]


def gain(modes: list[str], bars: list[Bar]) -> str:
    """One line: the savings of scripts over recvmmsg and sendmmsg."""
    bar_of = dict(zip(modes, bars, strict=True))
    base = bar_of["mmsg"]
    shares = [
        f"{bar.name}: {bar.instructions / base.instructions:.2f} of the instructions,"
        f" {bar.switches / base.switches:.2f} of the mode switches"
        for mode, bar in bar_of.items()
        if mode in ("confined", "frames_confined")
    ]
    return f"Over recvmmsg and sendmmsg: {'; '.join(shares)}."


def programs_of(found: dict[str, Any]) -> list[str]:
    return [name for name in FILES if name in found]


def files_bars(found: dict[str, Any]) -> list[Bar]:
    bars = []
    for name in programs_of(found):
        seen, command = found[name], " ".join(FILES[name].command[:2])
        bars += [
            Bar(command + WAYS[key].label, seen[key], count)
            for key, count in seen["switches"].items()
        ]
    return bars


def table(bars: list[Bar], base_of: list[Bar], unit: tuple[str, float]) -> None:
    name, scale = unit
    rows = [
        [bar.name, f"{bar.instructions:,.0f}", f"{bar.instructions / base.instructions:.2f}"]
        + [f"{bar.switches:,.2f}" if bar.switches < 100 else f"{bar.switches:,.0f}"]
        + [f"{bar.ns * scale:,.1f}", f"{bar.ns / base.ns:.2f}"]
        for bar, base in zip(bars, base_of, strict=True)
    ]
    results.show(["", "instructions", "ratio", "mode switches", f"modelled {name}", "ratio"], rows)


LABELS, FULL, ROW, TOP = 220, 440, 44, 66
COLOURS = {"instructions": "#3b6fb6", "modelled time": "#d98a2b"}


def picture(linux: str, title: str, bars: list[Bar], base_of: list[Bar]) -> str:
    """Two bars for each mode, relative to its base."""
    width, height = LABELS + FULL + 70, TOP + ROW * len(bars) + 34
    note = (
        f"Linux {linux}, counted; modelled time: {results.INSTRUCTION} ns an instruction,"
        f" {results.SWITCH} ns a mode switch. make demo"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="22" font-weight="bold">{html.escape(title)}</text>',
        f'<text x="10" y="{height - 12}" font-size="11" fill="#555">{html.escape(note)}</text>',
    ]
    for i, (name, colour) in enumerate(COLOURS.items()):
        x = LABELS + 130 * i
        lines.append(f'<rect x="{x}" y="37" width="11" height="11" fill="{colour}"/>')
        lines.append(f'<text x="{x + 17}" y="47">{name}</text>')
    for i, (bar, base) in enumerate(zip(bars, base_of, strict=True)):
        y = TOP + ROW * i
        lines.append(
            f'<text x="{LABELS - 10}" y="{y + 20}" text-anchor="end">{html.escape(bar.name)}</text>'
        )
        shares = (bar.instructions / base.instructions, bar.ns / base.ns)
        for k, (share, colour) in enumerate(zip(shares, COLOURS.values(), strict=True)):
            top, length = y + 2 + 16 * k, FULL * share
            lines.append(
                f'<rect x="{LABELS}" y="{top}" width="{length:.0f}" height="14" fill="{colour}"/>'
            )
            lines.append(
                f'<text x="{LABELS + length + 5:.0f}" y="{top + 12}" font-size="11">'
                f"{share:.2f}</text>"
            )
    return "\n".join([*lines, "</svg>", ""])


def show(result: dict[str, Any], pictures: list[Path]) -> None:
    results.headline("memcached, GETs of 64 bytes over UDP: the worker's, for a GET", result)
    for mode, said in result["memcached"].get("refused", {}).items():
        print(f"The filter forbids {report.NAMES[mode]}: {said}\n")
    bars = memcached_bars(result["memcached"])
    drawn = {"memcached": ("memcached: a GET of 64 bytes over UDP", bars, [bars[0]] * len(bars))}
    table(bars, [bars[0]] * len(bars), ("us", 1e-3))
    print(gain(result["memcached"]["modes"], bars))
    print(
        "Every reply was checked byte by byte. Confined: an ordinary user's, who may open"
        " /dev/syscript alone; LuaJIT: a user's of its group."
    )
    if "files" in result:
        print("\n20,000 files in 20 directories of a tmpfs: whole processes\n")
        bars = files_bars(result["files"])
        programs = programs_of(result["files"])
        ways = len(bars) // len(programs)
        base_of = [bars[i - i % ways] for i in range(len(bars))]
        table(bars, base_of, ("ms", 1e-6))
        named = " and ".join(programs)
        drawn["files"] = (f"20,000 files: {named}, plain and reading ahead", bars, base_of)
    print(
        f"\nModelled: {results.INSTRUCTION} ns an instruction, {results.SWITCH} ns a mode switch;"
        " make model has those of this machine."
    )
    linux = ".".join(result["kernel"].split(".")[:2])
    if result["kernel"].endswith("arm64"):
        linux += " for arm64"
        print("Those are an x86-64 server's: no arm64 processor was measured.")
    for name, what in drawn.items():
        for place in pictures:
            (place / f"demo-{name}.svg").write_text(picture(linux, *what))
            print(f"drawn: {place / f'demo-{name}.svg'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    parser.add_argument("-o", dest="output", type=Path, help="JSON to write")
    parser.add_argument("--here", choices=PARTS, help="in the guest: measure this part")
    parser.add_argument(
        "--seccomp",
        action="store_true",
        help="memcached alone, under the seccomp filter of containers",
    )
    parser.add_argument("--pictures", type=Path, help="a directory to draw to as well")
    args = parser.parse_args()
    if args.here:
        print(json.dumps(PARTS[args.here](args.seccomp)))
        return 0
    try:
        result = in_guests(args.kernel, args.seccomp)
    except (results.MeasureError, ServerError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    places = [args.output.parent] if args.output and not args.seccomp else []
    show(result, [*places, *([args.pictures] if args.pictures else [])])
    if args.output:
        results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
