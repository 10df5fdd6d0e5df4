# SPDX-License-Identifier: GPL-2.0
"""What scripts gain for a user who may open nothing but the confined engine's device.

`make bench-everyone-icount` counts instructions, and has the bounds.  Here a part of it is
measured in time, on a machine that may be busy, which only ever makes it longer: so the
shortest of several are compared, and what is held is less than what is counted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import everyone_parts

ROUNDS = 3
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becomes the user")


def test_frames() -> None:
    """Counted: 0.5 of recvmmsg(2) and sendmmsg(2) over a device."""
    with everyone_parts.confined_alone():
        found = everyone_parts.served(ROUNDS, {"device": ["frames"]})
    assert min(found["frames_device"]) < 0.75, found
