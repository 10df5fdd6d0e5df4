# SPDX-License-Identifier: GPL-2.0
"""A sample of tests/hostile/test_program_storms.py, which runs the same for any length of time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program_judges as judges
import pytest

SECONDS = 3


@pytest.fixture(scope="module", autouse=True)
def nat() -> None:
    """Attack it, too, where this kernel has it."""
    subprocess.run(["modprobe", "--quiet", "nf_nat"], check=False)


def test_shared_packets() -> None:
    """Packets whose bytes also belong to a packet socket, or to a file."""
    judges.judge_shared(judges.end(judges.begin("shared", 0, 1)))


@pytest.mark.long
def test_storm() -> None:
    """Programs are loaded and unloaded under traffic; a neighbour's program misses no packet."""
    storm = judges.begin("storm", SECONDS, 1)
    neighbour = judges.begin("counted", SECONDS, 1, "member")
    judges.judge_neighbour(judges.end(neighbour, SECONDS))
    seen = judges.end(storm, SECONDS)
    assert seen["loads"] and not seen["left"]
