# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Run a bench's program in the guest as a user who may open only the confined engine's device."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import results

USER = 1000
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
# The user's own namespaces, without becoming root there. One process has a script for each wire,
# more than any server has; it exits before what it measures.
IN_NAMESPACES = [
    *("prlimit", "--memlock=67108864:67108864", "--rtprio=1:1", *AS_USER),
    *("unshare", "-Un", "--map-current-user", "--keep-caps"),
]
LUAJIT = Path("/dev/syscript-luajit")
TUN = Path("/dev/net/tun")


def in_namespaces(*command: object) -> list[dict[str, float]]:
    done = subprocess.run(
        [*IN_NAMESPACES, *map(str, command)],
        cwd=results.ROOT,
        env={**os.environ, "SYSCRIPT_BACKEND": "kernel"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)["rounds"]


def make_tun() -> None:
    subprocess.run(["modprobe", "tun"], check=True)
    TUN.chmod(0o666)


@contextlib.contextmanager
def confined_alone() -> Iterator[None]:
    """The user may open the confined engine's device only; other architectures have no other."""
    if not LUAJIT.exists():
        yield
        return
    mode = LUAJIT.stat().st_mode
    LUAJIT.chmod(0o600)
    try:
        yield
    finally:
        LUAJIT.chmod(mode)
