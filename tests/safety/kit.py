# SPDX-License-Identifier: GPL-2.0
"""Where the safety kit is, and what is built of it: in its repository, or by itself."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
# By itself it has its tests below it, and next to them what they need of the repository.
ALONE = (HERE.parent / "safety.mk").exists()
KIT = HERE.parent if ALONE else HERE.parents[1] / "safety"
SHARED = HERE if ALONE else HERE.parents[1] / "vm"


def built() -> Path:
    if named := os.environ.get("SAFETY_BUILT"):
        return Path(named)
    top = HERE.parents[1] / "build"
    return top / f"safety-{os.environ.get('SYSCRIPT_GUEST')}"
