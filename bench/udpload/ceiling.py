#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure how many requests udpload can send, with a reflector in place of a server.

Busy is the share of the time in which it had something to receive or to send; at 100 % the
generator itself would limit a measurement, at the rate in the last column.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import results

PROGRAMS = results.ROOT / "build" / "bench" / "udpload"
SIZES = (64, 1024)
OUTSTANDING = (16, 128, 1024)
REFLECTOR_CPU, LOAD_CPU = "0", "1"


def load(size: int, outstanding: int, seconds: float) -> dict:
    """One run of the generator against its own reflector."""
    command = [PROGRAMS / "reflector", "--cpu", REFLECTOR_CPU, "--value-size", str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reflector:
        assert reflector.stdout
        with closing(reflector.stdout):
            port = reflector.stdout.readline().strip()
            options = ["--cpu", LOAD_CPU, "--value-size", str(size), "--seconds", str(seconds)]
            options += ["--outstanding", str(outstanding), "--ratio", "1:0", "--quiet"]
            done = subprocess.run(
                [PROGRAMS / "udpload", *options, port], stdout=subprocess.PIPE, check=False
            )
        reflector.terminate()
    if done.returncode:
        raise results.MeasureError(f"udpload failed, status {done.returncode}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2, help="of one run")
    args = parser.parse_args()
    rows = []
    try:
        for size in SIZES:
            for outstanding in OUTSTANDING:
                seen = load(size, outstanding, args.seconds)
                rate, busy = seen["get"]["per_s"], seen["busy"]
                cells = [f"{rate:.0f}", f"{busy:.0%}", f"{rate / busy:.0f}"]
                rows.append([f"{size} bytes, {outstanding} out", *cells])
    except results.MeasureError as error:
        print(f"ceiling: {error}", file=sys.stderr)
        return 1
    results.headline("GETs of udpload", {**seen, "machine": results.machine()})
    results.show(["", "GET/s", "busy", "GET/s if always busy"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
