# SPDX-License-Identifier: GPL-2.0
"""What is installed builds where it is installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def done(*argv: str | Path, cwd: Path = ROOT) -> str:
    ended = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.strip()


def test_dkms_tree_builds_by_itself(tmp_path: Path) -> None:
    """Nothing of the repository is near it: a path that leads there by chance does not."""
    kernel = Path(done("vm/kernels.py", "path", "6.1"))
    done("make", "-s", "install-dkms", f"DESTDIR={tmp_path}")
    (tree,) = (tmp_path / "usr/src").iterdir()
    done("sh", "kernel/build-module", kernel / "headers", "out", "vendor", "gen", cwd=tree)
    assert (tree / "out/syscript.ko").exists()
