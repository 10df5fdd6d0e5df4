#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Compare a UDP echo by io_uring's BPF loop with scripts of the confined engine, in instructions.

The loop needs CAP_BPF and CAP_PERFMON and Linux 7.1 or later, so all run as root, in one boot.
"""

from __future__ import annotations

import sys
from typing import Any

import results

ROUNDS, STEPS = 5, 20
RIVAL = "echo_mmsg"
WHAT = {
    RIVAL: "echo: epoll_wait, recvmmsg, sendmmsg",
    "uring_loop": "echo: io_uring's BPF loop",
    "library_echo": "echo: syscript_echo, 8 messages a batch",
    "combined": "replies made in between: exchange.lua",
    "io_uring": "the same: io_uring, multishot",
}


def measure(kernel: str, rounds: int) -> dict[str, Any]:
    command = ["env", "SYSCRIPT_ENGINE=confined", "build/bench/udp_loop", str(rounds), str(STEPS)]
    raw = results.in_guest(["-k", kernel, "--icount"], [*command, *WHAT])
    seen = raw.pop("rounds")
    costs = {name: results.summary([one[name] for one in seen]) for name in WHAT}
    ratios = {name: results.summary([one[name] / one[RIVAL] for one in seen]) for name in WHAT}
    return {**raw, "per_request": costs, "ratios": ratios}


def show(result: dict[str, Any], _: int) -> None:
    rows = []
    for name, cost in result["per_request"].items():
        ratio = result["ratios"][name]
        spread = f"{ratio['min']:.2f} .. {ratio['max']:.2f}"
        rows.append([WHAT[name], f"{cost['median']:,.0f}", f"{ratio['median']:.2f}", spread])
    results.show(["instructions a request", "median", "/ mmsg", "min .. max"], rows)


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many")
    args = parser.parse_args()
    try:
        result = measure(args.kernel, args.rounds)
    except results.MeasureError as error:
        print(f"uring_loop: {error}", file=sys.stderr)
        return 1
    show(result, 0)
    results.write(args.output, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
