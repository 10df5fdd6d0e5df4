# SPDX-License-Identifier: GPL-2.0
"""Many small scripts of one user, of Lua on the confined engine."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from conftest import ROOT

PROGRAM = ROOT / "tests" / "confined" / "small_scripts.py"
OUTSIDER = "setpriv --reuid=outsider --regid=outsider --init-groups --"
KERNEL = 1
MOST_KIB = 92  # measured: 88
GROUP = """
cd /sys/fs/cgroup
echo +memory > cgroup.subtree_control
mkdir many
echo $$ > many/cgroup.procs
"""
RAISED = """
cd /sys/module/syscript/parameters
echo 1100 > max_scripts
echo $((2 << 30)) > max_memory
echo $((2 << 30)) > max_arenas
"""


@pytest.mark.boot
@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "before", "limits"),
    [
        (256, "", "--memlock=65536:65536 --nofile=1024"),
        (1000, RAISED, "--memlock=65536:65536 --nofile=8192"),
    ],
    ids=["default", "raised"],
)
def test_many_small_scripts(guest: Callable, n: int, before: str, limits: str) -> None:
    """All run in the kernel, whatever the limit of locked memory, and each takes little."""
    kernel = os.environ.get("KREL", "6.1")
    run = f"prlimit {limits} {OUTSIDER} {ROOT}/build/venv/bin/python3 {PROGRAM} {n} {KERNEL}"
    done = guest(
        *("-k", kernel, "-m", "--memory", "3G", "--timeout", "900", "--"),
        *("sh", "-ec", f"{before}\n{GROUP}\n{run}"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    there, kib = map(int, done.stdout.split())
    assert there == n
    assert kib <= MOST_KIB, kib
