#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the cost per request of a UDP server's loop, in a guest.

The loop is built on each interface to the kernel, interleaved in one boot; once in time (emulation
with fair settings) and once in instructions (icount: the same in every boot, but a mode switch
looks cheaper than it is); scripts then once more on the confined engine. Then whole servers that
parse text: scripts of examples/text, wherever a script may run, compared with C programs.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

import results

RIVAL = "epoll_mmsg"
# Servers that run on LuaJIT, and are measured on the confined engine, too.
SCRIPTS = ("combined", "library_exchange", "figure1")
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


class Server(NamedTuple):
    what: str
    ours: str  # the script's name in the bench's output
    theirs: str  # the C program's


# Of text_server.c.
SERVERS = [
    Server("statsd", "statsd", "statsd_mmsg"),
    Server("syslog", "syslog", "syslog_mmsg"),
    Server("a DNS forwarder", "dns", "dns_mmsg"),
    Server("HTTP", "http", "http_epoll"),
]
# Where scripts run, and the environment that asks for it. The library takes the first that it may.
PLACES = {
    "LuaJIT": "SYSCRIPT_ENGINE=luajit",
    "confined": "SYSCRIPT_ENGINE=confined",
    "user space": "SYSCRIPT_BACKEND=user",
}
SERVERS_AT_MOST = 1.0
# Once a second the sums of this many names are written, while this many messages arrive. So a round
# has as many: after a flush all names are new.
NAMES, RATE, BATCH = 200, 10_000, 16
SERVER_ROUNDS, SERVER_STEPS = 1, RATE // BATCH


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


def run_all(kernel: str, clock: Clock, commands: list[str]) -> list[dict[str, Any]]:
    """The output of programs, one after the other in one guest."""
    shell = ["sh", "-ec", "; echo ,; ".join(commands)]
    options = ["-k", kernel, "-u", clock.option, "--timeout", "1800"]
    text = results.run_in_guest(options, shell)
    return json.loads(f"[{text}]")


def measure(kernel: str, clock: Clock, rounds: int | None) -> dict[str, Any]:
    run = f"{' '.join(results.IN_KERNEL)} %s build/bench/udp {rounds or clock.rounds} {clock.steps}"
    confined = run % PLACES["confined"] + f" {' '.join(SCRIPTS)}"
    raw, on_confined = run_all(kernel, clock, [run % PLACES["LuaJIT"], confined])
    seen = raw.pop("rounds")
    per_request = {name: results.summary([r[name] for r in seen]) for name in seen[0]}
    ratios = {name: results.summary([r[name] / r[RIVAL] for r in seen]) for name in seen[0]}
    pairs = {
        f"{ours}_over_{theirs}": results.summary([r[ours] / r[theirs] for r in seen])
        for ours, theirs in PAIRS
    }
    return {
        "machine": results.machine(),
        **raw,
        "unit": clock.unit,
        "per_request": per_request,
        "confined": {
            name: results.summary([r[name] for r in on_confined["rounds"]]) for name in SCRIPTS
        },
        f"over_{RIVAL}": ratios,
        **pairs,
    }


def show(clock: Clock, found: dict[str, Any]) -> None:
    rows = []
    for name, cost in found["per_request"].items():
        ratio = found[f"over_{RIVAL}"][name]
        spread = f"{ratio['min']:.2f} .. {ratio['max']:.2f}"
        rows.append([WHAT[name], f"{cost['median']:.0f}", f"{ratio['median']:.2f}", spread])
    results.show([f"{found['unit']} per request", "median", f"/ {RIVAL}", "min .. max"], rows)
    print()
    rival = found["per_request"][RIVAL]["median"]
    rows = [
        [WHAT[name], f"{cost['median']:.0f}", f"{cost['median'] / rival:.2f}"]
        for name, cost in found["confined"].items()
    ]
    results.show(["on the confined engine", "median", f"/ {RIVAL}"], rows)
    print()
    for (ours, theirs), (at_most, aim) in zip(PAIRS, clock.bounds, strict=True):
        ratio = found[f"{ours}_over_{theirs}"]["median"]
        verdict = results.verdict(ratio, at_most, aim)
        print(f"{ours} / {theirs}: {ratio:.3f}, at most {at_most:g}, aim {aim:g}: {verdict}")
    print()


def per_message(costs: dict[str, float], server: str) -> float:
    """Including the message's share of writing sums, whose cost is per name."""
    return costs[server] + costs.get(f"{server}_flush", 0.0) * NAMES / RATE


def measure_servers(kernel: str, clock: Clock) -> dict[str, Any]:
    run = f"build/bench/text_load {SERVER_ROUNDS} {SERVER_STEPS}"
    found = run_all(kernel, clock, [f"{asked} {run}" for asked in PLACES.values()])
    costs: dict[str, Any] = {}
    for place, raw in zip(PLACES, found, strict=True):
        costs[place] = {
            name: results.summary([per_message(one, name) for one in raw["rounds"]])
            for server in SERVERS
            for name in (server.ours, server.theirs)
        }
    return {
        "kernel": found[0]["kernel"],
        "accel": found[0]["accel"],
        "machine": results.machine(),
        "unit": clock.unit,
        "costs": costs,
    }


def plain_cost(found: dict[str, Any], server: Server) -> float:
    return found["costs"]["confined"][server.theirs]["median"]


def server_ratio(found: dict[str, Any], server: Server, place: str) -> float:
    """What the script takes there, as a share of the C program."""
    return found["costs"][place][server.ours]["median"] / plain_cost(found, server)


def servers_rows(found: dict[str, Any]) -> list[list[str]]:
    """For each server what the C program takes, and the script in each place as a ratio."""
    return [
        [server.what, f"{plain_cost(found, server):,.0f}"]
        + [f"{server_ratio(found, server, place):.2f}" for place in PLACES]
        for server in SERVERS
    ]


def show_servers(found: dict[str, Any]) -> None:
    rows = [
        [*row, results.verdict(server_ratio(found, server, "confined"), SERVERS_AT_MOST)]
        for row, server in zip(servers_rows(found), SERVERS, strict=True)
    ]
    results.show([f"{found['unit']} per message", "C", *PLACES, ""], rows)
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
                servers = measure_servers(args.kernel, clock)
                results.headline(f"servers, {clock.name}", servers)
                show_servers(servers)
                result[f"servers_{clock.name}"] = servers
                result |= {one.ours: server_ratio(servers, one, "confined") for one in SERVERS}
    except results.MeasureError as error:
        print(f"udp: {error}", file=sys.stderr)
        return 1
    print(results.EMULATED)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
