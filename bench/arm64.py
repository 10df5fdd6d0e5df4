#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Count what scripts cost in the kernel of an emulated arm64 machine.

Compared with plain calls of the same process: single calls, the entry of a script, and open, read
and close in a loop, "orc" (bench/inner); attributes of 1,000 files (bench/files). Compared as user
1000, who may open the confined engine's device only: du on 20,000 files, and a GET by a script on
frames of a tap (bench/everyone_parts.py). c_kernels compares plain C as compounds with gcc -O2
(bench/confined_c). code_bytes is the machine code of Lua's runtime, compared with x86-64's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import geometric_mean, median
from typing import Any

import everyone_parts
import ordinary_user
import results
import walks

TESTS = results.ROOT / "tests"
# Upper bounds: instructions, or ratios.
BOUNDS = {
    "getppid": 0.27,
    "fstat": 0.80,
    "geometric_mean": 0.72,
    "entry": 1150.0,
    "readdirplus_1000": 0.42,
    "du": 0.52,
    "orc": 0.88,
    "c_kernels": 1.5,
    "frames_device": 0.48,
    "code_bytes": 1.1,
}
# Each writes JSON.
IN_GUEST = (
    "build/bench/inner {}",
    "build/bench/inner {} only orc",
    "SYSCRIPT_ENGINE=confined build/bench/files {} /tmp 'readdirplus.n1000 '",
    "COSY_ENGINE=kernel build/bench/confined_c",
)
# Run by root, who switches to the user.
AS_USER = "python3 bench/arm64.py --here {}"
REMOTE = "qemu-aarch64 build/arm64/tests/confined/remote"


def ratio(of: dict[str, float]) -> float:
    return of["inside_confined"] / of["outside"]


def calls(raw: dict[str, Any]) -> dict[str, Any]:
    seen = raw["rounds"]
    each = {name: median(ratio(r[name]) for r in seen) for name in seen[0] if name != "empty"}
    return {
        "kernel": raw["kernel"],
        "accel": raw["accel"],
        "machine": results.machine(),
        "calls": {
            name: {
                way: median(r[name][way] for r in seen) for way in ("outside", "inside_confined")
            }
            for name in seen[0]
        },
        "getppid": each["getppid"],
        "fstat": each["fstat"],
        "geometric_mean": geometric_mean(each.values()),
        "entry": median(r["empty"]["inside_confined"] for r in seen),
    }


def readdirplus(raw: dict[str, Any]) -> float:
    (seen,) = raw["rounds"].values()
    script, plain = (f"readdirplus.n1000 {way}" for way in ("script", "plain"))
    return median(row[script][0] / row[plain][0] for row in seen)


def c_kernels(raw: dict[str, Any]) -> float:
    return geometric_mean(of["confined"] / of["plain"] for of in raw["kernels"].values())


def here(rounds: int) -> everyone_parts.Samples:
    """In the guest, as root."""
    with ordinary_user.confined_alone():
        everyone_parts.copy_programs()
        everyone_parts.TREES.mkdir()
        everyone_parts.make_flat()
        found = {"du": everyone_parts.patched(walks.CASES["du"].command, rounds)}
        return found | everyone_parts.served(rounds, {"device": ["frames"]})


def code_of(build: str, settings: dict[str, str]) -> int:
    """The bytes of machine code of the runtime's image."""
    command = [sys.executable, TESTS / "confined" / "code_size.py"]
    image = results.ROOT / build / "lua-runtime" / "lua.image"
    done = subprocess.run(
        [*command, image],
        cwd=results.ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout)


def measure(kernel: str, icount: bool, rounds: int) -> dict[str, Any]:
    options = ["-k", kernel, "--icount" if icount else "--fair"]
    script = " && echo , && ".join(command.format(rounds) for command in IN_GUEST)
    text = results.run_in_guest([*options, "-u"], ["sh", "-c", script])
    inner, orc, files, kernels = json.loads(f"[{text}]")
    samples = results.run_in_guest([*options, "--memory", "2G"], AS_USER.format(rounds).split())
    found = calls(inner)
    found |= {name: median(values) for name, values in json.loads(samples).items()}
    found["c_kernels"] = c_kernels(kernels)
    found["orc"] = median(ratio(r["orc"]) for r in orc["rounds"])
    found["readdirplus_1000"] = readdirplus(files)
    found["code_bytes"] = code_of("build/arm64", {"CONFINED_REMOTE": REMOTE}) / code_of("build", {})
    return {**found, "bounds": BOUNDS}


def show(result: dict[str, Any], rounds: int) -> None:
    results.headline(f"arm64, {rounds} rounds", result)
    rows = []
    for name, bound in BOUNDS.items():
        value = result[name]
        rows.append([name, f"{value:,.3f}", f"{bound:,g}", results.verdict(value, bound)])
    results.show(["", "now", "at most", ""], rows)
    rows = [
        [name, f"{ratio(of):.3f}", f"{of['outside']:,.0f}", f"{of['inside_confined']:,.0f}"]
        for name, of in result["calls"].items()
    ]
    print()
    results.show(["call", "ratio", "outside", "inside"], rows)


def main(argv: list[str]) -> int:
    if argv[:1] == ["--here"]:
        print(json.dumps(here(int(argv[1]))))
        return 0
    return results.Measurement("arm64", 5, 2, measure, show).main(__doc__, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
