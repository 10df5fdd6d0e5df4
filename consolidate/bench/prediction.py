#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure the accuracy of consolidate's predictions for sequences with a library script.

Synthetic traces contain each sequence in small and large batches. The candidates are replayed by
plain calls and by the library's script, in one boot, and the saving is compared with the prediction
of that boot's cost model. The sizes differ from those used for calibration. The error is the ratio
of predicted to measured saving, minus 1; the larger one of the two sizes counts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import results  # noqa: E402

from consolidate.cost import measure  # noqa: E402
from consolidate.cost.measure import Measured, Place  # noqa: E402
from consolidate.errors import ConsolidateError  # noqa: E402
from consolidate.mine import encoded_trace  # noqa: E402
from consolidate.mine.candidate import Candidate  # noqa: E402
from consolidate.report import report  # noqa: E402

SMALL, LARGE = 15, 250
TIMES = 12
AT_MOST = 0.25
STAT = "{st_mode=S_IFREG|0644, st_size=3000, ...}"

Calls = list[tuple[str, int]]


def read_file(i: int) -> Calls:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7),
        (f'read(7, "{i}"..., 4096)', 3000),
        ('read(7, "", 4096)', 0),
        ("close(7)", 0),
    ]


def write_file(i: int) -> Calls:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_WRONLY|O_CREAT|O_TRUNC, 0644)', 7),
        (f'write(7, "{i}"..., 3000)', 3000),
        ("close(7)", 0),
    ]


def look_into(i: int) -> Calls:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7),
        (f"fstat(7, {STAT})", 0),
        ("close(7)", 0),
    ]


def open_and_keep(i: int) -> Calls:
    return [
        (f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7 + i),
        (f'newfstatat({7 + i}, "", {STAT}, AT_EMPTY_PATH)', 0),
    ]


def stat_file(i: int) -> Calls:
    return [(f'newfstatat(AT_FDCWD, "/data/{i}", {STAT}, 0)', 0)]


def list_directory(i: int, entries: int) -> Calls:
    names = [f"entry{k}" for k in range(entries)]
    listed = ", ".join(f'{{d_ino=1, d_type=DT_REG, d_name="{name}"}}' for name in names)
    calls = [(f'openat(AT_FDCWD, "/data/{i}", O_RDONLY|O_DIRECTORY)', 7)]
    calls += [(f"getdents64(7, [{listed}], 32768)", 32 * entries)]
    calls += [(f'newfstatat(7, "{name}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0) for name in names]
    return [*calls, ("getdents64(7, [], 32768)", 0), ("close(7)", 0)]


class Sequence(NamedTuple):
    """A sequence with a library script: a directory, or a number of files in a row."""

    script: str
    one: Callable[[int], Calls] | None
    size: int

    def batch(self, i: int) -> Calls:
        if self.one is None:
            return list_directory(i, self.size)
        return [call for k in range(self.size) for call in self.one(i * self.size + k)]

    def trace(self) -> str:
        """Batches separated by pauses."""
        now, lines = 1795176158.0, []
        for i in range(TIMES):
            now += 1.0
            for call, result in self.batch(i):
                now += 0.00003
                lines.append(f"100 {now:.6f} {call} = {result} <0.000009>")
        return "\n".join(lines) + "\n"

    def candidate(self, number: int, place: Path) -> Candidate:
        path = place / str(number)
        path.write_text(self.trace())
        found, _ = report.make([path], None, 20, encoded_trace.GAP)
        (one,) = found.candidates
        one.number = number
        return one


SEQUENCES = [
    Sequence("open_read_close", read_file, 1),
    *(
        Sequence(script, one, size)
        for script, one in (
            ("read_many", read_file),
            ("open_write_close", write_file),
            ("open_fstat", look_into),
            ("open_fstat", open_and_keep),
            ("stat_many", stat_file),
            ("readdirplus", None),
        )
        for size in (SMALL, LARGE)
    ),
]


def measured(place: Place, written: bool) -> list[Measured]:
    with tempfile.TemporaryDirectory() as directory:
        found = [one.candidate(i, Path(directory)) for i, one in enumerate(SEQUENCES, 1)]
        done = measure.measure(found, "the benchmark", place, written)
    for one, result in zip(SEQUENCES, done, strict=True):
        if not written and result.name != one.script:
            raise ConsolidateError(f"{one.script} was not taken for one, but for {result.name}")
    return done


def errors(done: list[Measured]) -> dict[str, float]:
    """The largest error of each script."""
    found: dict[str, float] = {}
    for one, result in zip(SEQUENCES, done, strict=True):
        found[one.script] = max(found.get(one.script, 0.0), result.error(), key=abs)
    return found


def show(done: list[Measured]) -> None:
    rows = []
    for one, result in zip(SEQUENCES, done, strict=True):
        numbers = [result.plain, result.script, result.saved.middle, result.predicted.middle]
        error = result.error()
        verdict = "within" if abs(error) <= AT_MOST else "OVER"
        rows.append(
            [one.script, str(one.size), *(f"{x:.0f}" for x in numbers), f"{error:+.0%}", verdict]
        )
    header = ["ns each", "of", "plain", "script", "saved", "predicted", "error", ""]
    results.show(header, rows)


def details(done: list[Measured]) -> list[dict[str, Any]]:
    return [
        {"script": one.script, "size": one.size, **measure.as_json(result)}
        for one, result in zip(SEQUENCES, done, strict=True)
    ]


def main() -> int:
    parser = results.parser(__doc__)
    parser.add_argument("--icount", action="store_true", help="count instructions")
    parser.add_argument("--here", action="store_true", help="in no guest, in the user backend")
    parser.add_argument(
        "--written", action="store_true", help="the scripts that consolidate writes instead"
    )
    args = parser.parse_args()
    rounds = measure.ICOUNT_ROUNDS if args.icount else measure.ROUNDS
    backend, guest = ("user", None) if args.here else ("kernel", args.kernel)
    place = Place(backend, guest, args.icount, rounds)
    try:
        done = measured(place, args.written)
    except ConsolidateError as error:
        print(f"prediction: {error}", file=sys.stderr)
        return 1
    first = done[0].costs
    head = {"machine": first.machine, "kernel": first.kernel, "accel": first.accel}
    which = "scripts that consolidate writes" if args.written else "the library's scripts"
    results.headline(f"saved by {which}", head)
    show(done)
    if first.accel == "tcg":
        print(f"\n{results.EMULATED}")
    results.write(
        args.output,
        {
            **head,
            "backend": first.backend,
            "clock": "one ns per instruction" if args.icount else "time",
            "prediction_error": errors(done),
            "sequences": details(done),
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
