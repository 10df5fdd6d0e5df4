# SPDX-License-Identifier: GPL-2.0
"""The clock of an emulated guest, by which all time limits in it are tested."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest


def test_runs_as_fast_as_the_machines() -> None:
    """Calibrated by itself, it would run up to 4 times as fast when the machine is busy."""
    told = re.search(r"tsc_early_khz=(\d+)", Path("/proc/cmdline").read_text())
    if not told:
        pytest.skip("not emulated, or not on x86-64")
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    detected = re.search(r"tsc: Detected (\d+)\.(\d{3}) MHz", log)
    assert detected and int(detected[1] + detected[2]) == int(told[1])
    refined = re.search(r"tsc: Refined TSC clocksource calibration: (\d+)\.", log)
    assert not refined or abs(int(refined[1]) * 1000 - int(told[1])) < int(told[1]) / 100
