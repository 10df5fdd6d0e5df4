# SPDX-License-Identifier: GPL-2.0
"""A sample of tests/hostile/test_program_storms.py, which has the same for as long as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program_judges as judges
import pytest

SECONDS = 3


def test_shared_packets() -> None:
    """Packets whose bytes are a packet socket's, or a file's, as well."""
    judges.judge_shared(judges.end(judges.begin("shared", 0, 1)))


@pytest.mark.long
def test_storm() -> None:
    """Programs come and go under packets; a neighbour's program misses none of its own."""
    storm = judges.begin("storm", SECONDS, 1)
    neighbour = judges.begin("counted", SECONDS, 1, "member")
    judges.judge_neighbour(judges.end(neighbour, SECONDS))
    seen = judges.end(storm, SECONDS)
    assert seen["loads"] and not seen["left"]
