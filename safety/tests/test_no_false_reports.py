# SPDX-License-Identifier: GPL-2.0
"""A third party's module under a third party's workload, with each tool."""

from __future__ import annotations

import subprocess
from pathlib import Path

import ecryptfs
import pytest
import reiserfs
from modules_in_guest import rmmod

MONITORS = ["evmon_spin", "evmon_mutex", "evmon_part", "evmon_refs", "evmon_irq", "evmon_top"]
POSTMARK = "set location {}\nset number 50\nset transactions 200\nrun\nquit\n"


@pytest.mark.parametrize("tool", ["kefence", "evmon", "kgcc"])
@pytest.mark.parametrize("file_system", [ecryptfs, reiserfs], ids=lambda module: module.__name__)
def test_under_postmark(file_system, tool: str, load, tmp_path: Path, kernel_log) -> None:
    name = file_system.__name__
    load(tool)
    for monitor in MONITORS if tool == "evmon" else []:
        load(f"evmon/{monitor}", **{"limit_us": 100_000} if monitor == "evmon_irq" else {})
    load(f"{name}+{tool}")
    with file_system.mounted(tmp_path / "lower", tmp_path / "upper") as upper:
        before = set(upper.iterdir())
        done = subprocess.run(
            ["postmark"], input=POSTMARK.format(upper), capture_output=True, text=True, check=True
        )
        assert "deleted" in done.stdout, done.stderr
        assert set(upper.iterdir()) == before
    rmmod(name)
    assert "violation" not in kernel_log.read()
