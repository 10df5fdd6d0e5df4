# SPDX-License-Identifier: GPL-2.0
"""vm/tsc.py."""

from __future__ import annotations

import multiprocessing
import os
import platform
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "vm"))

import tsc  # noqa: E402


def spin() -> None:
    while True:
        pass


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another CPU")
def test_frequency_on_a_busy_machine() -> None:
    idle = tsc.frequency_khz()
    assert idle
    loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(4 * os.cpu_count())]
    for loop in loops:
        loop.start()
    try:
        assert abs(tsc.frequency_khz() - idle) < idle / 1000
    finally:
        for loop in loops:
            loop.kill()
            loop.join()
