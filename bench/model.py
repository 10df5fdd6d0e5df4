#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Model the cost of scripts in the kernel on this machine, if it cannot load the module.

The time of a request is T = c * instructions + P * mode switches.  The instructions
are counted in a guest (make bench-udp-icount). c and P are fitted to two plain servers, measured
here and now; the other plain servers, to which they were not fitted, show the model's accuracy. The
model gives the cost of a script in the kernel; the same script in the user backend, with a switch
for each of its calls plus one to enter it, is the other end of the interval.

Where the module is loaded, the scripts are measured instead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import results

FITTED = ("recvfrom_sendmsg", "mmsg")
HELD_OUT = ("epoll_recvfrom_sendmsg", "epoll_mmsg", "echo_mmsg", "io_uring")
# A script, and its rival.
RATIOS = (
    ("combined", "epoll_mmsg"),
    ("combined", "epoll_recvfrom_sendmsg"),
    ("library_exchange", "epoll_mmsg"),
    ("figure1", "mmsg"),
    ("figure1", "recvfrom_sendmsg"),
    ("compound", "epoll_mmsg"),
    ("compound", "epoll_recvfrom_sendmsg"),
)
ROUNDS = 1500
# Error beyond which the model counts as wrong: for plain loops, not for io_uring.
AT_MOST = 0.10
DEVICE = Path("/dev/syscript")
COSY_ENGINE = {"user": "native", "kernel": "kernel"}
WEAK = """\
Weak points: instructions were counted on {counted}, times are of {native}. P is what a
call costs beyond its instructions in these loops, not the bare mode switch. Nothing is
known of cache misses and mispredictions of the engine, nor of retpolines in the module;
io_uring's error shows what becomes of a way with other memory traffic."""


class Way(NamedTuple):
    """A server variant: its cost per request."""

    instructions: float
    switches: float
    ns: float  # measured here; for scripts, in the user backend


class Model(NamedTuple):
    c: float  # ns for each instruction
    p: float  # ns for each mode switch

    def ns(self, way: Way) -> float:
        return self.c * way.instructions + self.p * way.switches


def fit(one: Way, other: Way) -> Model:
    """The model that fits both exactly."""
    determinant = one.instructions * other.switches - other.instructions * one.switches
    if not determinant:
        raise results.MeasureError("the ways to fit to differ in nothing")
    c = (one.ns * other.switches - other.ns * one.switches) / determinant
    p = (one.instructions * other.ns - other.instructions * one.ns) / determinant
    if c <= 0 or p <= 0:
        raise results.MeasureError(
            f"no model fits these times (c = {c:.3f} ns, P = {p:.0f} ns): the machine is busy"
        )
    return Model(c, p)


def errors(model: Model, ways: dict[str, Way]) -> dict[str, float]:
    """The model's error for each server that it was not fitted to."""
    return {name: model.ns(ways[name]) / ways[name].ns - 1 for name in HELD_OUT if name in ways}


def interval(model: Model, script: Way, rival: Way) -> tuple[float, float]:
    """A script's ratio to its rival: in the kernel, and in the process plus an entry."""
    in_kernel = model.ns(script) / model.ns(rival)
    in_process = (script.ns + model.p * script.switches) / rival.ns
    return min(in_kernel, in_process), max(in_kernel, in_process)


def native(rounds: int, backend: str) -> dict[str, Any]:
    """The servers on this machine: ns per request, as undisturbed as possible."""
    command = ["build/bench/udp", str(rounds), "1"]
    print(f"measuring here, {backend} backend: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(
        command,
        cwd=results.ROOT,
        env={**os.environ, "SYSCRIPT_BACKEND": backend, "COSY_ENGINE": COSY_ENGINE[backend]},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise results.MeasureError(f"{command[0]} failed, status {done.returncode}")
    raw = json.loads(done.stdout)
    seen = raw.pop("rounds")
    # Other load only adds time: the lower quartile is low and still robust.
    raw["ns"] = {name: quantiles([one[name] for one in seen], n=4)[0] for name in seen[0]}
    return raw


def counted(path: Path) -> dict[str, Any]:
    """The instructions per request, from the guest."""
    try:
        return json.loads(path.read_text())["icount"]
    except (OSError, ValueError, KeyError) as error:
        raise results.MeasureError(
            f"no instruction counts in {path}: run `make bench-udp-icount`"
        ) from error


def ways_of(counts: dict[str, Any], here: dict[str, Any]) -> dict[str, Way]:
    return {
        name: Way(of["median"], here["switches"][name], here["ns"][name])
        for name, of in counts["per_request"].items()
        if name in here["ns"]
    }


def show_ways(model: Model, ways: dict[str, Way]) -> None:
    rows = []
    for name in FITTED + HELD_OUT:
        way = ways[name]
        error = "fitted" if name in FITTED else f"{model.ns(way) / way.ns - 1:+.1%}"
        rows.append(
            [name, f"{way.instructions:.0f}", f"{way.switches:.3g}", f"{way.ns:.0f}"]
            + [f"{model.ns(way):.0f}", error]
        )
    results.show(["a request", "instructions", "switches", "ns", "modelled", "error"], rows)


def show_ratios(found: list[dict[str, Any]], word: str) -> None:
    rows = []
    for one in found:
        low, high = one["interval"]
        ratio = f"{low:.2f}" if low == high else f"{low:.2f} .. {high:.2f}"
        counts = [f"{one[key]:.2f}" for key in ("icount", "confined")]
        rows.append([f"{one['script']} / {one['over']}", *counts, ratio])
    results.show(["ratio", "instructions", "confined", word], rows)


def ratios(
    ways: dict[str, Way],
    confined: dict[str, float],
    interval_of: Callable[[str, str], tuple[float, float]],
) -> list[dict[str, Any]]:
    """confined: the instructions of servers on that engine"""
    return [
        {
            "script": script,
            "over": rival,
            "icount": ways[script].instructions / ways[rival].instructions,
            "confined": confined[script] / ways[rival].instructions,
            "interval": interval_of(script, rival),
        }
        for script, rival in RATIOS
    ]


def show(result: dict[str, Any], model: Model, ways: dict[str, Way], worst: float) -> None:
    results.headline("a UDP server's request", result)
    print(f"T = c * instructions + P * switches: c = {model.c:.3f} ns, P = {model.p:.0f} ns\n")
    show_ways(model, ways)
    print(f"\nPlain loops that it was not fitted to: within {worst:.1%}.", end=" ")
    print("The model holds.\n" if result["holds"] else "THE MODEL DOES NOT HOLD HERE.\n")
    show_ratios(result["ratios"], result["label"])
    native_kernel = f"Linux {result['kernel']}"
    print("\n" + WEAK.format(counted=f"Linux {result['instructions_of']}", native=native_kernel))
    if result["accel"] == "tcg":
        print(results.EMULATED)
    if result["busy"]:
        print("Busy machine: more tasks want its CPUs than it has.")


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--icount", type=Path, required=True, help="of bench-udp-icount")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many")
    args = parser.parse_args()
    try:
        counts = counted(args.icount)
        here = native(args.rounds, "user")
        ways = ways_of(counts, here)
        model = fit(*(ways[name] for name in FITTED))
        in_kernel = native(args.rounds, "kernel") if DEVICE.exists() else None
    except results.MeasureError as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    # Compounds always run there.
    confined = {name: of["median"] for name, of in counts["confined"].items()}
    confined["compound"] = ways["compound"].instructions

    def interval_of(script: str, rival: str) -> tuple[float, float]:
        if in_kernel:
            return (in_kernel["ns"][script] / in_kernel["ns"][rival],) * 2
        return interval(model, ways[script], ways[rival])

    missed = errors(model, ways)
    worst = max(abs(error) for name, error in missed.items() if name != "io_uring")
    result = {
        "machine": results.machine(),
        "kernel": here["kernel"],
        "accel": here["accel"],
        "instructions_of": counts["kernel"],
        "label": "measured" if in_kernel else "modelled",
        "c_ns": model.c,
        "p_ns": model.p,
        "errors": missed,
        "holds": worst <= AT_MOST,
        "ways": {name: way._asdict() for name, way in ways.items()},
        "ratios": ratios(ways, confined, interval_of),
        "busy": os.getloadavg()[0] > (os.cpu_count() or 1),
    }
    show(result, model, ways, worst)
    results.write(args.output, result)
    return 0 if result["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
