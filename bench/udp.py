#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the cost per request of a UDP server's loop, in a guest.

The loop is built on each interface to the kernel, interleaved in one boot; once in time (emulation
with fair settings) and once in instructions (icount: the same in every boot, but a mode switch
looks cheaper than it is). Then whole servers that parse text: scripts of examples/text on the
confined engine, compared with C programs.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import results

RIVAL = "epoll_mmsg"
# Servers and their rivals. recv_batch.lua and send_batch.lua are Figure 1 of the paper.
PAIRS = [("combined", RIVAL), ("figure1", "mmsg"), ("compound", RIVAL)]

WHAT = {
    "recvfrom_sendmsg": "recvfrom, sendmsg",
    "epoll_recvfrom_sendmsg": "epoll_wait, recvfrom, sendmsg",
    "mmsg": "recvmmsg, sendmmsg",
    "epoll_mmsg": "epoll_wait, recvmmsg, sendmmsg",
    "io_uring": "io_uring, multishot",
    "figure1_interp": "recv_batch.lua, send_batch.lua, interpreted",
    "figure1": "recv_batch.lua, send_batch.lua, compiled",
    "script_mmsg": "a script's sendmmsg, recvmmsg",
    "two_calls": "exchange.lua, a call to receive, one to send",
    "combined_interp": "exchange.lua, one call, interpreted",
    "combined": "exchange.lua, one call, compiled",
    "compound": "a compound: recvmmsg, sendmmsg",
    "library": "syscript_recv_batch, syscript_send_batch",
    "library_exchange": "syscript_exchange",
    "echo_mmsg": "echo: epoll_wait, recvmmsg, sendmmsg",
    "library_echo": "echo: syscript_echo",
}


# Servers that parse text, in text_server.c: the script, and the C program.
TEXT_PAIRS = {
    "statsd": "statsd_mmsg",
    "syslog": "syslog_mmsg",
    "dns": "dns_mmsg",
    "http": "http_epoll",
}
TEXT_AT_MOST = 1.0
TEXT_ROUNDS, TEXT_STEPS = 3, 100
# Once a second the sums of this many names are written, while this many messages arrive.
NAMES, RATE = 200, 10_000


class Clock(NamedTuple):
    name: str
    option: str
    unit: str
    rounds: int
    steps: int
    bounds: tuple[tuple[float, float], ...]  # upper bound and target for each of PAIRS


CLOCKS = [
    Clock("tcg", "--fair", "ns", 30, 20, ((0.85, 0.85), (1.0, 0.95), (0.92, 0.85))),
    Clock("icount", "--icount", "instructions", 5, 20, ((0.90, 0.90), (1.0, 0.95), (0.92, 0.85))),
]


def measure(kernel: str, clock: Clock, rounds: int | None) -> dict[str, Any]:
    command = [*results.IN_KERNEL, "build/bench/udp"]
    command += [str(rounds or clock.rounds), str(clock.steps)]
    raw = results.in_guest(["-k", kernel, "-u", clock.option], command)
    seen = raw.pop("rounds")
    per_request = {name: results.summary([r[name] for r in seen]) for name in seen[0]}
    ratios = {name: results.summary([r[name] / r[RIVAL] for r in seen]) for name in seen[0]}
    pairs = {
        f"{ours}_over_{theirs}": results.summary([r[ours] / r[theirs] for r in seen])
        for ours, theirs in PAIRS
    }
    return {**raw, "unit": clock.unit, "per_request": per_request, f"over_{RIVAL}": ratios, **pairs}


def show(clock: Clock, found: dict[str, Any]) -> None:
    rows = []
    for name, cost in found["per_request"].items():
        ratio = found[f"over_{RIVAL}"][name]
        spread = f"{ratio['min']:.2f} .. {ratio['max']:.2f}"
        rows.append([WHAT[name], f"{cost['median']:.0f}", f"{ratio['median']:.2f}", spread])
    results.show([f"{found['unit']} per request", "median", f"/ {RIVAL}", "min .. max"], rows)
    print()
    for (ours, theirs), (at_most, aim) in zip(PAIRS, clock.bounds, strict=True):
        ratio = found[f"{ours}_over_{theirs}"]["median"]
        verdict = results.verdict(ratio, at_most, aim)
        print(f"{ours} / {theirs}: {ratio:.3f}, at most {at_most:g}, aim {aim:g}: {verdict}")
    print()


def per_message(costs: dict[str, float], server: str) -> float:
    """Including the message's share of writing sums, whose cost is per name."""
    return costs[server] + costs.get(f"{server}_flush", 0.0) * NAMES / RATE


def measure_text(kernel: str, clock: Clock) -> dict[str, Any]:
    command = ["env", "SYSCRIPT_ENGINE=confined", "build/bench/text_load"]
    command += [str(TEXT_ROUNDS), str(TEXT_STEPS)]
    raw = results.in_guest(["-k", kernel, "-u", clock.option], command)
    seen = raw.pop("rounds")
    costs = {name: results.summary([r[name] for r in seen]) for name in seen[0]}
    ratios = {
        ours: results.summary([per_message(r, ours) / per_message(r, theirs) for r in seen])
        for ours, theirs in TEXT_PAIRS.items()
    }
    return {**raw, "unit": clock.unit, "costs": costs, "ratios": ratios}


def show_text(found: dict[str, Any]) -> None:
    rows = []
    for ours, theirs in TEXT_PAIRS.items():
        costs = [found["costs"][name]["median"] for name in (ours, theirs)]
        ratio = found["ratios"][ours]["median"]
        rows.append(
            [ours, *(f"{cost:.0f}" for cost in costs), f"{ratio:.2f}"]
            + [results.verdict(ratio, TEXT_AT_MOST)]
        )
    results.show([f"{found['unit']} per message", "script", "C", "script / C", ""], rows)
    print()


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, help="how many")
    parser.add_argument("--clock", choices=[c.name for c in CLOCKS], help="only this one")
    parser.add_argument("--loops", action="store_true", help="no servers that parse text")
    args = parser.parse_args()
    result: dict[str, Any] = {}
    try:
        for clock in CLOCKS:
            if args.clock in (None, clock.name):
                found = measure(args.kernel, clock, args.rounds)
                results.headline(f"{clock.name}", found)
                show(clock, found)
                result[clock.name] = found
                for ours, theirs in PAIRS:
                    key = f"{ours}_over_{theirs}"
                    result[f"{key}_{clock.name}"] = found[key]
                if args.loops:
                    continue
                text = measure_text(args.kernel, clock)
                results.headline(f"text, {clock.name}", text)
                show_text(text)
                result[f"text_{clock.name}"] = text
                result |= {name: ratio["median"] for name, ratio in text["ratios"].items()}
    except results.MeasureError as error:
        print(f"udp: {error}", file=sys.stderr)
        return 1
    print(results.EMULATED)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
