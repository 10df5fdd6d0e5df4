#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure programs that netfilter calls, compared with nftables and eBPF.

Figures are the additional cost of a datagram over the loopback device, compared with an empty path.
With --icount the guest counts instructions instead of time: the same in every boot.
"""

from __future__ import annotations

import sys
from typing import Any

import results

STEPS = 2000
# When counting instructions: less than a timer tick, so that few rounds contain one.
COUNTED_STEPS = 100
NOTHING = "nothing"
# For each variant a description, and its maximum of instructions on Linux 6.1.
WAYS: dict[str, tuple[str, float | None]] = {
    "empty": ("confined, does nothing", 160),
    "confined_accept": ("confined, accepts by port", 310),
    "confined_rate": ("confined, rate of each source, array", 400),
    "confined_rate_other": ("the same, another port's datagram", None),
    "confined_table": ("the same, a table that forgets", None),
    "lua_rate": ("Lua on the confined engine, a table that forgets", 700),
    "lua_rate_other": ("the same, another port's datagram", None),
    "error": ("confined, an error that takes the default", 1500),
    "nftables_accept": ("nftables, accepts by port", None),
    "nftables_rate": ("nftables, rate of each source, dynamic set", None),
    "nftables_rate_other": ("the same, another port's datagram", None),
    "tc_rate": ("eBPF at tc, rate of each source, array", None),
    "tc_rate_other": ("the same, another port's datagram", None),
    "tc_table": ("the same, LRU hash", None),
    "xdp_rate": ("eBPF at generic XDP, array", None),
    "bpf_netfilter_empty": ("eBPF at netfilter, does nothing", None),
}
# Rows that a reader may expect, and why they are missing.
NO_LUAJIT = "LuaJIT runs no programs: docs/design/programs.md, 'LuaJIT is not in this context'"
ABSENT = {"luajit_arguments": NO_LUAJIT, "luajit_view": NO_LUAJIT}
# By how much programs may change a system call in a process's script.
UNCHANGED = 0.01
# Upper bound relative to nftables with the same filter.
RATIO = 0.45


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount" if icount else "--fair"]
    steps = COUNTED_STEPS if icount else STEPS
    raw = results.in_guest(options, ["build/bench/hooks", str(rounds), str(steps)])
    seen = raw.pop("rounds")
    # Every round has the same variants.
    ways = {
        way: results.summary([took[way] - took[NOTHING] for took in seen])
        for way in WAYS
        if way in seen[0]
    }
    base = results.summary([took[NOTHING] for took in seen])
    calls = {
        when: results.summary([took["script"][when] for took in seen]) for when in seen[0]["script"]
    }
    return {**raw, NOTHING: base, **ways, "script_getppid": calls, "absent": ABSENT}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    unit = "ns" if result["clock"] == "time" else "instructions"
    # Bounds are in instructions, on one kernel.
    bounded = unit == "instructions" and result["kernel"].startswith("6.1.")
    rows = []
    for way, (what, at_most) in WAYS.items():
        if way not in result:
            rows.append([what, "none here", "", ""])
            continue
        found = result[way]["median"]
        bound = [f"{at_most:g}", results.verdict(found, at_most)] if at_most and bounded else []
        rows.append([what, f"{found:.0f}", *bound, *[""] * (2 - len(bound))])
    results.show([f"a datagram over lo takes more, {unit}", "", "at most", ""], rows)
    print(f"\nWith nothing on its way it takes {result[NOTHING]['median']:.0f}.")
    calls = {when: took["median"] for when, took in result["script_getppid"].items()}
    most = max(abs(took / calls["without"] - 1) for took in calls.values())
    print(
        f"getppid() of a script takes {calls['without']:.1f} before a program is loaded,"
        f" {calls['loaded']:.1f} with one and {calls['after']:.1f} afterwards"
        f" ({results.verdict(most, UNCHANGED)} {UNCHANGED:.0%})."
    )
    print(f"No rows {' and '.join(ABSENT)}: {NO_LUAJIT}.")
    ratio = result["confined_rate"]["median"] / result["nftables_rate"]["median"]
    print(
        f"The rate filter takes {ratio:.2f} of nftables' ({results.verdict(ratio, RATIO)} {RATIO})."
    )


if __name__ == "__main__":
    sys.exit(results.Measurement("hooks", 15, 5, measure, show).main(__doc__))
