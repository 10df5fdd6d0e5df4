# SPDX-License-Identifier: GPL-2.0
"""What scripts gain for a user who may open nothing but the confined engine's device.

`make bench-everyone-icount` counts instructions, and has the bounds.  Here a part of it is
measured in time, on a machine that may be busy, which only ever makes it longer: so the
shortest of several are compared, and what is held is less than what is counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import everyone_parts
import frames
import ordinary_user

ROUNDS = 100
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becomes the user")


def test_frames() -> None:
    """Counted: 0.5 of recvmmsg(2) and sendmmsg(2) over a device.

    Compared is the least of single steps: a busy host disturbs many, but not all.
    """
    with ordinary_user.confined_alone():
        rows = everyone_parts.served_rounds(ROUNDS, 1, {"device": ["frames"]})
    least = {name: min(row[name] for row in rows) for name in rows[0]}
    ours, theirs = (frames.cost(least, "device", way) for way in ("frames", "mmsg"))
    assert ours / theirs < 0.75, rows


def test_a_bench_that_dies_leaves_no_process() -> None:
    """One that is left would hold the pipe, and the reader would wait for ever."""
    done = subprocess.run(
        [*ordinary_user.IN_NAMESPACES, "build/bench/frames", "1", "1", "veth", "none"],
        cwd=everyone_parts.results.ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "frames: no none over veth\n"
