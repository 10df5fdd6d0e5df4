#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure memcached's modes of serving GETs over UDP, in one boot of a guest.

With --short, what `make demo` shows: three modes, one size, one table. With --icount, the worker's
instructions per GET, the same in every boot: on one CPU, since an icount guest has one clock for
all CPUs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import report
import results
import rounds
from server import ServerError

# s of overhead per run, under emulation; and to start all servers.
OVERHEAD, START = 2, 120
SHORT = {
    "modes": ["off", "mmsg", "syscript"],
    "sizes": [64],
    "outstanding": [16],
    "rounds": 9,
    "seconds": 1.0,
}
ICOUNT = {"sizes": [64], "outstanding": [16], "rounds": 2, "seconds": 0.5}
PRESSURE = Path("/proc/pressure/cpu")
BASES = ("off", "mmsg")
RATIOS = ("throughput", "response_mean")


def command(args: argparse.Namespace) -> list[str]:
    """The command to run in the guest."""
    words = ["bench/memcached/rounds.py", "--memcached", str(args.memcached)]
    for name in ("modes", "sizes", "outstanding"):
        words += [f"--{name}", *map(str, getattr(args, name))]
    for name in ("keys_per_get", "threads", "rounds", "seconds", "batch", "hold"):
        words += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    return [*words, *["--seccomp"] * args.seccomp, *["--buffers"] * args.buffers]


def timeout(args: argparse.Namespace) -> float:
    """Seconds after which the guest counts as hung."""
    runs = args.rounds * len(args.modes) * len(args.sizes) * len(args.outstanding)
    return START + 2 * runs * (args.seconds + OVERHEAD)


def waited() -> float | None:
    """s during which tasks on this machine waited for a CPU."""
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("=")[2]) / 1e6


def measure(args: argparse.Namespace) -> dict[str, Any]:
    began, before = time.monotonic(), waited()
    if args.here:
        result = {"machine": results.machine(), **rounds.measure(args)}
    else:
        clock = ["--icount", "--cpus", "1"] if args.icount else ["--fair"]
        slower = 5 if args.icount else 1
        options = ["-k", args.kernel, *clock, "--timeout", f"{slower * timeout(args):.0f}"]
        result = results.in_guest(options, command(args))
    if before is not None and (after := waited()) is not None:
        result["cpu_pressure"] = (after - before) / (time.monotonic() - began)
    return result


def ratio(result: dict[str, Any], case: tuple[int, int], mode: str, base: str, of: str) -> Any:
    """Over all rounds; a sample is a ratio within a round."""
    value = {
        (run["round"], run["mode"]): run[of]
        for run in result["runs"]
        if (run["value_size"], run["outstanding"]) == case
    }
    samples = [value[n, mode] / value[n, base] for n in range(result["rounds"])]
    return results.summary(samples)


def ratios(result: dict[str, Any]) -> dict[str, Any]:
    """By case, then MODE_over_BASE, then quantity."""
    found: dict[str, Any] = {}
    for size in result["sizes"]:
        for outstanding in result["outstanding"]:
            found[f"v{size}_w{outstanding}"] = {
                f"{mode}_over_{base}": {
                    of: ratio(result, (size, outstanding), mode, base, of) for of in RATIOS
                }
                for base in BASES
                for mode in result["modes"]
                if base in result["modes"] and mode != base
            }
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    parser.add_argument("-o", dest="output", type=Path, help="JSON to write")
    parser.add_argument("--here", action="store_true", help="on this machine, in no guest")
    parser.add_argument("--short", action="store_true", help="a minute's worth, and one table")
    parser.add_argument("--icount", action="store_true", help="count instructions, on one CPU")
    rounds.add_options(parser)
    chosen = parser.parse_args()
    if chosen.icount:
        parser.set_defaults(**ICOUNT)
    elif chosen.short:
        parser.set_defaults(**SHORT)
    # Included to show that it is forbidden.
    if chosen.short and chosen.seccomp:
        parser.set_defaults(modes=["off", "mmsg", "io_uring", "syscript"])
    return parser.parse_args()


def main() -> int:
    args = parse()
    try:
        result = measure(args)
    except (results.MeasureError, ServerError) as error:
        print(f"memcached: {error}", file=sys.stderr)
        return 1
    result["ratios"] = ratios(result)
    result["clock"] = "one ns per instruction" if args.icount else "time"
    if args.icount:
        report.show_instructions(result)
        if args.buffers:
            report.show_paper(result)
    elif args.short:
        report.show_short(result)
    else:
        report.show(result)
    if args.output:
        results.write(args.output, result)
        if not args.icount:
            report.write(result, args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
