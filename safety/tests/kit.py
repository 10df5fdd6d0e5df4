# SPDX-License-Identifier: GPL-2.0
"""Paths of the safety kit and its builds, in the repository or standalone."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
KIT = HERE.parent
REPOSITORY = HERE.parents[1]
# A standalone kit has the repository's test helpers next to its tests.
ALONE = (HERE / "kernlog.py").exists()
SHARED = HERE if ALONE else REPOSITORY / "vm"


def built() -> Path:
    if named := os.environ.get("SAFETY_BUILT"):
        return Path(named)
    top = REPOSITORY / "build"
    return top / f"safety-{os.environ.get('SYSCRIPT_GUEST')}"
