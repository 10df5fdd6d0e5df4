# SPDX-License-Identifier: GPL-2.0
"""Many small scripts of one user, of Lua on the confined engine."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from conftest import ROOT

PROGRAM = ROOT / "tests" / "confined" / "small_scripts.py"
OUTSIDER = "setpriv --reuid=outsider --regid=outsider --init-groups --"
# KiB of a script: 36 of Lua's memory, the runtime's data, some stack; in the kernel all of
# its arena, which is pinned.
HELD, PINNED = 256, 1100
AUTO, KERNEL = 0, 1
RAISED = """
cd /sys/module/syscript/parameters
echo 1100 > max_scripts
echo $((2 << 30)) > max_memory
"""


@pytest.mark.boot
@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "backend", "before", "limits", "inside"),
    [
        # Those that fit into a user's share are in the kernel, the others in the process.
        (256, AUTO, "", "--memlock=8388608 --nofile=1024", range(4, 64)),
        (1000, KERNEL, RAISED, "--memlock=unlimited --nofile=8192", [1000]),
    ],
    ids=["default", "raised"],
)
def test_many_small_scripts(
    guest: Callable, n: int, backend: int, before: str, limits: str, inside: range
) -> None:
    kernel = os.environ.get("KREL", "6.1")
    run = f"prlimit {limits} {OUTSIDER} {ROOT}/build/venv/bin/python3 {PROGRAM} {n} {backend}"
    done = guest(
        *("-k", kernel, "-m", "--memory", "3G", "--timeout", "900", "--"),
        *("sh", "-ec", f"{before}\n{run}"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    there, kib = map(int, done.stdout.split())
    assert there in inside
    assert kib * n <= PINNED * there + HELD * (n - there)
