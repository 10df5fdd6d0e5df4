# SPDX-License-Identifier: GPL-2.0
"""From a module's source to the line of its fault: safety/try."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from kit import ALONE, HERE, KIT, SHARED
from modules_in_guest import MODULES, is_loaded


def headers() -> Path:
    release = os.uname().release
    if ALONE:
        return Path(os.environ.get("KDIR", f"/lib/modules/{release}/build"))
    return SHARED.parent / "build" / "kernels" / release / "headers"


def tried(tool: str, source: Path, *command: str) -> str:
    """The module was built before: building is slow on an emulated machine."""
    if not (MODULES / f"{source.name}+{tool}").exists():
        pytest.skip(f"{source.name} is not built with {tool}")
    environment = {"KDIR": str(headers()), "OUT": str(MODULES), "TRY": str(MODULES)}
    done = subprocess.run(
        [SHARED / "alone", KIT / "try", "-n", tool, source, *command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not is_loaded(tool)
    return done.stdout


@pytest.mark.planted
@pytest.mark.parametrize(
    ("tool", "module", "command", "what", "where"),
    [
        ("kefence", "leaky", "true", "leak: the module goes, an object of 100 bytes", "leaky.c:10"),
        (
            *("evmon", "planted_locks", "echo -n mutex_twice >/sys/kernel/debug/planted_locks"),
            "mutex: released, but not held: &c->mutex",
            "owners.c:",
        ),
    ],
)
def test_line_of_the_fault(tool, module, command, what, where) -> None:
    shown = tried(tool, HERE / "modules" / module, "sh", "-c", command)
    assert what in shown and where in shown


def test_usage() -> None:
    done = subprocess.run([KIT / "try"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("usage: try [-n] TOOL DIRECTORY")
