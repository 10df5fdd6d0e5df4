# SPDX-License-Identifier: GPL-2.0 OR MIT
"""consolidate measure in a process: the predicted sign equals the measured one, or is open.

Counted in instructions: times would depend on what else the machine does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "consolidate/tests/unit"))

from traces import Writer  # noqa: E402

from consolidate.cost import measure  # noqa: E402
from consolidate.cost.measure import Measured, Place  # noqa: E402
from consolidate.report import report  # noqa: E402

STAT = "{st_mode=S_IFREG|0644, st_size=12, ...}"


def opened(writer: Writer, path: str, flags: str = "O_RDONLY") -> int:
    fd = writer.random.randrange(3, 60)
    writer.call(f'openat(AT_FDCWD, "{path}", {flags})', fd)
    return fd


def open_close(writer: Writer, i: int) -> None:
    writer.call(f"close({opened(writer, f'/o/{i}')})", 0)


def open_stat_close(writer: Writer, i: int) -> None:
    fd = opened(writer, f"/s/{i}")
    writer.call(f"fstat({fd}, {STAT})", 0)
    writer.call(f"close({fd})", 0)


def read_once(writer: Writer, i: int) -> None:
    fd = opened(writer, f"/r/{i}")
    writer.call(f'read({fd}, "{i}"..., 512)', 40)
    writer.call(f"close({fd})", 0)


def write_new(writer: Writer, i: int) -> None:
    fd = opened(writer, f"/w/{i}", "O_WRONLY|O_CREAT|O_TRUNC, 0644")
    writer.call(f'write({fd}, "{i}"..., 100)', 100)
    writer.call(f"close({fd})", 0)


def stat_open_close(writer: Writer, i: int) -> None:
    writer.call(f'newfstatat(AT_FDCWD, "/t/{i}", {STAT}, 0)', 0)
    writer.call(f"close({opened(writer, f'/t/{i}')})", 0)


def open_seek_read(writer: Writer, i: int) -> None:
    fd = opened(writer, f"/u/{i}")
    writer.call(f"lseek({fd}, 8, SEEK_SET)", 8)
    writer.call(f'read({fd}, "{i}"..., 512)', 40)
    writer.call(f"close({fd})", 0)


def open_pread(writer: Writer, i: int) -> None:
    fd = opened(writer, f"/p/{i}")
    writer.call(f'pread64({fd}, "{i}"..., 512, 0)', 40)
    writer.call(f"close({fd})", 0)


def seek_read(writer: Writer, i: int) -> None:
    writer.call(f"lseek(7, {512 * i}, SEEK_SET)", 512 * i)
    writer.call(f'read(7, "{i}"..., 512)', 512)


def seek_write(writer: Writer, i: int) -> None:
    writer.call(f"lseek(8, {512 * i}, SEEK_SET)", 512 * i)
    writer.call(f'write(8, "{i}"..., 512)', 512)


def list_one(writer: Writer, i: int) -> None:
    writer.list_directory(f"/l/{i}", ["a", "b", "c"])


def read_to_end(writer: Writer, i: int) -> None:
    writer.read_file(f"/e/{i}")


SEQUENCES: list[Callable[[Writer, int], None]] = [
    *(open_close, open_stat_close, read_once, write_new, stat_open_close),
    *(open_seek_read, open_pread, seek_read, seek_write, list_one, read_to_end),
]


def wrong(measured: list[Measured]) -> list[Measured]:
    """Candidates whose predicted sign differs from the measured one."""
    return [
        one
        for one in measured
        if (one.predicts() == "gain" and one.saved.high < 0)
        or (one.predicts() == "loss" and one.saved.low > 0)
    ]


@pytest.mark.boot
@pytest.mark.long
def test_signs_of_sequences(tmp_path: Path) -> None:
    """Each is a phase of the program."""
    writer = Writer(3)
    for sequence in SEQUENCES:
        for i in range(60):
            sequence(writer, i)
        writer.noise(5)
    found, _ = report.make([writer.write(tmp_path / "t")], None, 20, 0.02, None)
    place = Place("user", os.environ.get("KREL", "6.1"), icount=True, rounds=3)
    done = measure.measure(found.candidates, "t", place)
    assert len(done) >= 10
    assert wrong(done) == []
    # Where the library has no script, each call costs more, and the prediction says so.
    assert [one.predicts() for one in done if one.name is None].count("loss") >= 3
