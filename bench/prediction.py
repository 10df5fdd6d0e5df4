#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure how well consolidate predicts, for the sequences that the library has scripts for.

A trace with each of them in batches of 100 is made up, its candidates are replayed by
plain calls and by the script that consolidate writes, in one boot, and the saving is put
beside what the prices of that boot predict.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import results

sys.path.insert(0, str(results.ROOT))

from consolidate import measure, report, streams  # noqa: E402
from consolidate.errors import ConsolidateError  # noqa: E402
from consolidate.measure import Place  # noqa: E402

BATCH, BATCHES = 100, 3
STAT = "{st_mode=S_IFREG|0644, st_size=1024, ...}"


def open_read_close(i: int) -> list[tuple[str, int]]:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7),
        (f'read(7, "{i}"..., 4096)', 1024),
        ('read(7, "", 4096)', 0),
        ("close(7)", 0),
    ]


def open_fstat(i: int) -> list[tuple[str, int]]:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7),
        (f"fstat(7, {STAT})", 0),
        ("close(7)", 0),
    ]


def stat_many(i: int) -> list[tuple[str, int]]:
    return [(f'newfstatat(AT_FDCWD, "/data/{i}", {STAT}, 0)', 0)]


def readdirplus(i: int) -> list[tuple[str, int]]:
    names = [f"entry{k}" for k in range(BATCH)]
    listed = ", ".join(f'{{d_ino=1, d_type=DT_REG, d_name="{name}"}}' for name in names)
    calls = [(f'openat(AT_FDCWD, "/data/{i}", O_RDONLY|O_DIRECTORY)', 7)]
    calls += [(f"getdents64(7, [{listed}], 32768)", 32 * BATCH)]
    calls += [(f'newfstatat(7, "{name}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0) for name in names]
    return [*calls, ("getdents64(7, [], 32768)", 0), ("close(7)", 0)]


SEQUENCES = {
    "open_read_close": (open_read_close, BATCH),
    "open_fstat": (open_fstat, BATCH),
    "stat_many": (stat_many, BATCH),
    "readdirplus": (readdirplus, 1),
}


def trace(sequence: str) -> str:
    """Batches, with a pause between them that ends each."""
    make, count = SEQUENCES[sequence]
    now, lines = 1795176158.0, []
    for i in range(BATCHES * 4):
        now += 1.0
        for k in range(count):
            for call, result in make(i * count + k):
                now += 0.00003
                lines.append(f"100 {now:.6f} {call} = {result} <0.000009>")
    return "\n".join(lines) + "\n"


def candidate(sequence: str, number: int, place: Path):
    path = place / sequence
    path.write_text(trace(sequence))
    (one,) = report.make([path], None, 20, streams.GAP).candidates
    one.number = number
    return one


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", dest="kernel", default="6.1", help="the guest's kernel")
    parser.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    parser.add_argument("--here", action="store_true", help="in no guest, in the user backend")
    args = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as place:
            found = [candidate(name, i, Path(place)) for i, name in enumerate(SEQUENCES, 1)]
            where = Place("user", None) if args.here else Place("kernel", args.kernel)
            measured = measure.measure(found, "the benchmark", where, written=True)
    except ConsolidateError as error:
        print(f"prediction: {error}", file=sys.stderr)
        return 1
    rows, made = [], {}
    for name, result in zip(SEQUENCES, measured, strict=True):
        made[name] = measure.as_json(result)
        of_script = result.predicted_script / result.script - 1
        made[name]["script_time_error"] = of_script
        numbers = [result.plain, result.script, result.saved.middle, result.predicted.middle]
        rows.append([name, *(f"{x:.0f}" for x in numbers), f"{of_script:+.0%}"])
    first = measured[0].prices
    head = {"machine": first.machine, "kernel": first.kernel, "accel": first.accel}
    results.headline(f"batches of {BATCH}", head)
    header = ["ns each", "plain", "script", "saved", "predicted", "script's time, predicted"]
    results.show(header, rows)
    if first.accel == "tcg":
        print(f"\n{results.EMULATED}")
    results.write(args.output, {**head, "backend": first.backend, "prediction_error": made})
    return 0


if __name__ == "__main__":
    sys.exit(main())
