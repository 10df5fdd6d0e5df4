# SPDX-License-Identifier: GPL-2.0
"""Where the safety kit is, and what is built of it: in its repository, or by itself."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
KIT = HERE.parent
REPOSITORY = HERE.parents[1]
# By itself it has next to its tests what they need of the repository.
ALONE = (HERE / "kernlog.py").exists()
SHARED = HERE if ALONE else REPOSITORY / "vm"


def built() -> Path:
    if named := os.environ.get("SAFETY_BUILT"):
        return Path(named)
    top = REPOSITORY / "build"
    return top / f"safety-{os.environ.get('SYSCRIPT_GUEST')}"
