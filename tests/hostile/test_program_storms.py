# SPDX-License-Identifier: GPL-2.0
"""Netfilter programs of namespace owners, against the machine and their neighbours."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import program_attacks as attacks
import program_judges as judges
import programs as p
import pytest
from runner import SLOWDOWN, account

CGROUP = Path("/sys/fs/cgroup/programs")
MIB = 1 << 20
# Time to be notified of a namespace's end, which the kernel may delay.
PATIENCE = 60 * SLOWDOWN


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Namespaces and their programs end; no share is smaller than before."""
    yield
    until = time.monotonic() + PATIENCE
    while p.references() and time.monotonic() < until:
        time.sleep(0.2)
    assert p.references() == 0
    for user in ("outsider", "member"):
        done = subprocess.run(
            judges.command("shares", 0, 0), **account(user), capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        assert json.loads(done.stdout)["loaded"] == attacks.SHARE


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    seed = request.config.getoption("--seed") or int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    return seed


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    return request.config.getoption("--attack-time")


def test_shared_packets(seed: int) -> None:
    judges.judge_shared(judges.end(judges.begin("shared", 0, seed)))


def test_queue(seed: int, seconds: float) -> None:
    assert judges.end(judges.begin("queue", seconds / 10, seed), seconds)["rounds"]


def test_all_at_once(seed: int, seconds: float) -> None:
    """Storms, and disappearing namespaces; meanwhile a neighbour counts its packets."""
    hostile = [judges.begin(name, seconds, seed) for name in ("storm", "vanish")]
    neighbour = judges.begin("counted", seconds, seed, "member")
    judges.judge_neighbour(judges.end(neighbour, seconds))
    storm, vanish = (judges.end(process, seconds) for process in hostile)
    assert storm["loads"] and storm["sent"] and not storm["left"]
    assert vanish["rounds"] and not vanish["left"]


def test_memory_is_the_loaders(seed: int) -> None:
    """Its cgroup is charged, even after the process ended, and at the limit nothing is loaded."""
    (CGROUP.parent / "cgroup.subtree_control").write_text("+memory")
    CGROUP.mkdir()
    used = lambda: int((CGROUP / "memory.current").read_text())  # noqa: E731
    try:
        with subprocess.Popen(
            judges.command("hoard", 0, seed),
            **account("outsider"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as hoarder:  # fmt: skip
            ask = lambda word: (hoarder.stdin.write(word + "\n"), hoarder.stdin.flush())  # noqa: E731
            assert hoarder.stdout.readline() == "begin\n"
            (CGROUP / "cgroup.procs").write_text(str(hoarder.pid))
            before = used()
            ask("load")
            assert json.loads(hoarder.stdout.readline()) == [0] * 8
            after = used()
            assert 8 * MIB <= after - before <= 12 * MIB, (before, after)
            ask("unload")
            assert json.loads(hoarder.stdout.readline()) == [0] * 8
            assert used() < before + MIB
            (CGROUP / "memory.max").write_text(str(used() + 4 * MIB))
            ask("load")
            told = hoarder.stdout.readline()
            # Refused, or killed by the cgroup's own OOM killer: no other cgroup is charged.
            assert not told or 0 < sum(map(bool, json.loads(told)))
            hoarder.stdin.close()
        assert "oom_kill" in (CGROUP / "memory.events").read_text()
    finally:
        until = time.monotonic() + PATIENCE
        while "populated 1" in (CGROUP / "cgroup.events").read_text() and time.monotonic() < until:
            time.sleep(0.1)
        CGROUP.rmdir()
