# SPDX-License-Identifier: GPL-2.0
"""memcached with scripts serves whoever starts it, in the kernel where it may."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "memcached"))

from server import SAYS_USER, SCRIPTED, UDPLOAD, Server  # noqa: E402


@pytest.mark.parametrize("mode", SCRIPTED)
@pytest.mark.parametrize(
    ("account", "backend", "says"), [("member", "kernel", []), ("outsider", "user", [SAYS_USER])]
)
def test_served(mode: str, account: str, backend: str, says: list[str]) -> None:
    """One who may not use the device is told once, not once for each of the workers."""
    with Server(mode, options=("-t", "3"), account=account) as server:
        command = [UDPLOAD, "--quiet", "--keys", "100", "--requests", "3000", str(server.port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said, complaints = server.batching(), server.complaints()
    assert done.returncode == 0, done.stderr
    load = json.loads(done.stdout)
    assert load["get"]["answered"] > 2500
    assert (load["wrong"], load["misses"], load["duplicate"]) == (0, 0, 0)
    assert said["udp_batch_backend"] == backend
    assert int(said["udp_batch_received"]) >= load["get"]["answered"]
    assert [line[: len(SAYS_USER)] for line in complaints] == says
