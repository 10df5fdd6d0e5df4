# SPDX-License-Identifier: GPL-2.0
"""Modules from the kernel's own source, built here, work unchanged."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import reiserfs
from conftest import MODULES
from ecryptfs import mounted
from exercise import exercise
from kit import KIT

TEXT = "nothing but the truth\n" * 1000


def test_ecryptfs(load, tmp_path: Path) -> None:
    load("ecryptfs")
    lower = tmp_path / "lower"
    with mounted(lower, tmp_path / "upper") as upper:
        (upper / "file").write_text(TEXT)
        assert (upper / "file").read_text() == TEXT
    assert TEXT.encode() not in (lower / "file").read_bytes()
    with mounted(lower, tmp_path / "upper") as upper:
        assert (upper / "file").read_text() == TEXT


@pytest.mark.parametrize("tool", ["", "kgcc"])
def test_ecryptfs_works(tool: str, load, tmp_path: Path) -> None:
    if tool:
        load(tool)
    load("+".join(["ecryptfs", tool]).rstrip("+"))
    with mounted(tmp_path / "lower", tmp_path / "upper") as upper:
        exercise(upper)


@pytest.mark.parametrize("tool", ["", "kgcc"])
def test_reiserfs_works(tool: str, load, tmp_path: Path) -> None:
    if tool:
        load(tool)
    load("+".join(["reiserfs", tool]).rstrip("+"))
    with reiserfs.mounted(tmp_path / "image", tmp_path / "mounted") as top:
        exercise(top)
        os.setxattr(top, "user.name", b"value" * 40)
        assert os.getxattr(top, "user.name") == b"value" * 40


@pytest.mark.parametrize("module", ["ecryptfs", "reiserfs"])
def test_most_checks_look_nothing_up(module: str) -> None:
    """Many checks are eliminated; many others compare with an earlier lookup."""
    stats = MODULES / f"{module}+kgcc" / "checks"
    if not stats.exists():
        pytest.skip(f"there is no {stats.name}")
    kgcc = KIT / "kgcc" / "kgcc"
    done = subprocess.run([kgcc, "removed", "--json", stats], capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert found["removed"] > 0.4
    assert found["emitted"] - found["compared"] < 0.4 * found["naive"]
