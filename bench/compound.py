#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure compounds, compared with the same source compiled plainly and with scripts.

A ratio compares the compound with the plain loop of the same round; all rounds of a program are
made in one boot. With --icount the guest counts instructions instead of time: these figures decide.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import results


class Bound(NamedTuple):
    """The upper bound of a ratio, and its target."""

    at_most: float
    aim: float


BOUNDS = {
    "empty_call_over_getppid": Bound(2.4, 2.2),
    "inner.getppid": Bound(0.40, 0.30),
    "inner.lseek": Bound(0.55, 0.45),
    "inner.epoll_wait0": Bound(0.55, 0.45),
    "inner.read1": Bound(0.70, 0.60),
    "inner.write1": Bound(0.70, 0.60),
    "inner.recv_eagain": Bound(0.75, 0.65),
    "open_read_close": Bound(0.85, 0.75),
    "udp_over_mmsg": Bound(0.92, 0.85),
    "db_app": Bound(0.70, 0.50),
}
# Probes of bench/inner and of bench/compound, by their names here.
INNER = {
    "inner.getppid": "getppid",
    "inner.lseek": "lseek",
    "inner.epoll_wait0": "epoll_wait_0",
    "inner.read1": "read1_zero",
    "inner.write1": "write1_null",
    "inner.recv_eagain": "recvfrom_eagain",
}
APPS = {"open_read_close": "open_read_close", "db_app": "database"}
# The servers of bench/udp; a step is a batch of requests.
UDP = {
    "epoll_mmsg": "plain",
    "io_uring": "io_uring",
    "combined": "script",
    "compound": "compound",
}
UDP_STEPS = 20
WAYS = ("plain", "io_uring", "script", "compound")


def ratios(rounds: list[dict], name: str, way: str, plain: str) -> dict[str, Any]:
    return results.summary([r[name][way] / r[name][plain] for r in rounds])


def summed(rounds: list[dict], ways: dict[str, str]) -> dict[str, Any]:
    """For each loop its cost in each variant, and the ratio to plain; @ways maps names."""
    plain, *others = ways
    return {
        name: {ways[way]: results.summary([r[name][way] for r in rounds]) for way in ways}
        | {f"{ways[way]}_over_plain": ratios(rounds, name, way, plain) for way in others}
        for name in rounds[0]
    }


def udp_rounds(options: list[str], rounds: int) -> list[dict]:
    command = ["build/bench/udp", str(rounds), str(UDP_STEPS), *UDP]
    found = results.in_guest(options, [*results.IN_KERNEL, *command])["rounds"]
    return [{"udp_request": one} for one in found]


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "-u", "--icount" if icount else "--fair"]
    only = ["only", *INNER.values(), "empty"]
    raw = results.in_guest(options, [*results.IN_KERNEL, "build/bench/inner", str(rounds), *only])
    inner = raw.pop("rounds")
    command = [*results.IN_KERNEL, "build/bench/compound", str(rounds)]
    apps = results.in_guest(options, command)["rounds"]
    udp = udp_rounds(options, rounds)
    ways = {"outside": "plain", "inside_jit": "script", "inside_compound": "compound"}
    found = {
        key: ratios(inner, name, "inside_compound", "outside") for key, name in INNER.items()
    } | {key: ratios(apps, name, "compound", "plain") for key, name in APPS.items()}
    found["udp_over_mmsg"] = ratios(udp, "udp_request", "compound", "epoll_mmsg")
    found["empty_call_over_getppid"] = results.summary(
        [r["empty"]["inside_compound"] / r["getppid"]["outside"] for r in inner]
    )
    return {
        **raw,
        **found,
        "calls": summed(inner, ways),
        "applications": summed(apps, {"plain": "plain", "compound": "compound"}) | summed(udp, UDP),
    }


def cost(found: dict[str, Any], way: str) -> str:
    return f"{found[way]['median']:.0f}" if way in found else ""


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    rows = []
    for name, found in (result["calls"] | result["applications"]).items():
        ratio = f"{found['compound_over_plain']['median']:.3f}"
        rows.append([name, *(cost(found, way) for way in WAYS), ratio])
    unit = "ns" if result["clock"] == "time" else "instructions"
    results.show([f"{unit} per step", *WAYS, "ratio"], rows)
    print()
    rows = []
    for name, bound in BOUNDS.items():
        found = result[name]
        spread = f"{found['min']:.3f} .. {found['max']:.3f}"
        verdict = results.verdict(found["median"], *bound)
        rows.append(
            [name, f"{found['median']:.3f}", spread, f"{bound.at_most:g}", f"{bound.aim:g}"]
            + [verdict]
        )
    results.show(["compound / plain", "median", "min .. max", "at most", "aim", ""], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("compound", 15, 5, measure, show).main(__doc__))
