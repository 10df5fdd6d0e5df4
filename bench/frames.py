#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure a UDP server on frames of a device, compared with recvmmsg(2) and sendmmsg(2).

Over a veth pair the same client sends requests to both, and its work is included; also with sleeps
in between. A tap stands for a network card: frames through its descriptor cost the server nothing,
so the figures are the server's alone, with its part of the kernel; also for memcached, which sleeps
in between. bench/everyone.py measures users who may open only the confined engine's device. With
--icount the guest counts instructions instead of time: the same in every boot.
"""

from __future__ import annotations

import sys
from typing import Any

import results

STEPS = 50
WIRES = {
    "veth": ("a veth pair, client included", 0.72, 0.66),
    "veth_sleeping": ("the same, client and server asleep in between", 0.72, 0.66),
    "device": ("a tap, server only", 0.56, 0.49),
    "memcached": ("a tap, memcached", 0.68, 0.60),
    "worker": ("the same, memcached's worker alone", 0.68, 0.60),
}
# Frames that the script's filter takes from the device before its stack.
TAKEN = {
    "rx_veth": ("veth", "a veth pair, client included: taken from the stack", 0.66, 0.58),
    "rx_device": ("device", "a tap, server only: taken from the stack", 0.44, 0.35),
}
COMPARED = "mmsg", "frames"
# Variants that not every wire offers.
BESIDE = {
    "packet_rings": "AF_PACKET's rings",
    "packet_blocks": "its blocks (V3)",
    "xdp": "AF_XDP, copied",
    "io_uring": "io_uring",
}
# On these, the cost of writing frames to the tap is subtracted.
TAPS = "device", "memcached", "client"


def cost(found: dict[str, float], wire: str, way: str) -> float:
    """The cost of a request, without passing it to a device."""
    return found[f"{wire} {way}"] - (found["device nothing"] if wire in TAPS else 0)


def ratio(ways: dict[str, list[float]], way: str) -> dict[str, float]:
    """Round by round, the ratio to recvmmsg(2) and sendmmsg(2)."""
    pairs = zip(ways[way], ways["mmsg"], strict=True)
    return results.summary([cost / mmsg for cost, mmsg in pairs])


def by_wire(seen: list[dict[str, float]]) -> dict[str, dict[str, list[float]]]:
    """For each wire and way the cost of a request in each round."""
    return {
        wire: {
            way: [cost(found, wire, way) for found in seen]
            for way in (*COMPARED, "taken", *BESIDE)
            if f"{wire} {way}" in seen[0]
        }
        for wire in WIRES
    }


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount" if icount else "--fair"]
    raw = results.in_guest(options, ["build/bench/frames", str(rounds), str(STEPS)])
    seen = raw.pop("rounds")
    wires = by_wire(seen)
    per_request: dict[str, Any] = {
        wire: {way: results.summary(costs) for way, costs in ways.items()}
        for wire, ways in wires.items()
    }
    per_request["client"] = results.summary([cost(found, "client", "nothing") for found in seen])
    found = {wire: ratio(ways, "frames") for wire, ways in wires.items()}
    found |= {name: ratio(wires[on], "taken") for name, (on, *_) in TAKEN.items()}
    return {**raw, "per_request": per_request, **found}


def median(result: dict[str, Any], wire: str, way: str) -> str:
    found = result["per_request"][wire].get(way)
    return f"{found['median']:.0f}" if found else ""


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"{rounds} rounds", result)
    unit = "ns" if result["clock"] == "time" else "instructions"
    compared = {name: (name, "frames", *of) for name, of in WIRES.items()}
    compared |= {name: (wire, "taken", *of) for name, (wire, *of) in TAKEN.items()}
    rows = []
    for name, (wire, way, what, at_most, aim) in compared.items():
        costs = [median(result, wire, one) for one in ("mmsg", way)]
        found = result[name]["median"]
        bounds = [f"{at_most:g}", f"{aim:g}", results.verdict(found, at_most, aim)]
        rows.append([what, *costs, f"{found:.3f}", *bounds])
    head = ["recvmmsg, sendmmsg", "frames", "ratio", "at most", "aim", ""]
    results.show([f"a GET of 64 bytes, {unit}, over", *head], rows)
    floor = result["per_request"]["client"]["median"]
    print(f"\nThe client's own work, with nothing at all for a server: {floor:.0f} of those.")
    print("Blocks are without the time in which all wait for a block's end, of up to 1 ms.")
    print("AF_XDP as root: an ordinary user may not load its program.\n")
    rows = [
        [what, *(median(result, wire, way) for way in BESIDE)] for wire, (what, *_) in WIRES.items()
    ]
    results.show(["beside them, over", *BESIDE.values()], rows)


if __name__ == "__main__":
    sys.exit(results.Measurement("frames", 20, 5, measure, show).main(__doc__))
