# SPDX-License-Identifier: GPL-2.0
"""The amount of work: `make test-attack FRAMES=1000000 ATTACK_TIME=7200`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--frames", type=int, default=0, help="end at so many; 0: any number")
    parser.addoption("--attack-time", type=float, default=60, help="seconds of each attack")
    parser.addoption("--seed", type=int, default=0, help="of what is random; 0: any")
