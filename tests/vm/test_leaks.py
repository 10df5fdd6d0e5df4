# SPDX-License-Identifier: GPL-2.0
"""Storms of scripts, after which all counters are back to their initial values."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from footprint import SETTLE, Footprint
from library import Library
from runner import KERNEL, PATIENCE, SLOWDOWN, Mode, Run, account

BUILD = Path(__file__).resolve().parents[2] / "build"
STORM = BUILD / "tests" / "vm" / "storm"
# Seconds for one script, with others next to it.
SCRIPT_TIME = 120 * SLOWDOWN

WORK = """
local n = 0
function run(rounds)
	local t, s = {}, ""
	for i = 1, rounds do
		t[i % 50 + 1] = { i, tostring(i) }
		s = (s .. i):sub(-40)
		n = n + syscall.getppid() % 2
	end
	return #s
end
"""

FLOAT = """
function run(rounds)
	local x, y = 0.5, 0
	for i = 1, rounds do
		x = 3.9 * x * (1 - x)
		y = y + math.sqrt(x) * math.sin(i) - math.floor(x * 7) / 3
		if i % 50 == 0 then syscall.sched_yield() end
	end
	return math.floor(x * 2 ^ 40), math.floor(y * 2 ^ 30)
end
"""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """A first storm fills the caches of the kernel and of the module."""
    subprocess.run([STORM, "--seconds", "2"], check=True, **account("member"))


@pytest.fixture(autouse=True)
def given_back() -> Iterator[None]:
    """References, scripts and the kernel's memory are back where they were."""
    before = Footprint.now()
    yield
    leaked = before.leaked()
    assert not leaked, leaked


def run_script(mode: Mode, source: str, *args: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        mode.command(Path("-"), "--time-limit", PATIENCE, args=list(args)),
        **account("member"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin
    child.stdin.write(source)
    child.stdin.close()
    child.stdin = None
    return child


def test_storm(as_user: Run) -> None:
    """Threads register, call and close as fast as they can, on all CPUs."""
    done = as_user([STORM, "--seconds", "2"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_storm_killed() -> None:
    """The same, repeatedly killed in the middle."""
    for _ in range(4):
        child = subprocess.Popen(
            [STORM, "--seconds", "60"],
            **account("member"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        time.sleep(random.uniform(0.3, 1.5))
        assert child.poll() is None, child.communicate()
        child.kill()
        child.communicate(timeout=SETTLE)
        assert child.returncode == -signal.SIGKILL


@pytest.mark.long
def test_limits_storm(as_user: Run) -> None:
    """Dozens of scripts end at their limits."""
    loop = "function run() while true do end end"
    bomb = "function run() local t = {} while true do t[#t + 1] = {} end end"
    for source, options in ((loop, ["--time-limit", "5"]), (bomb, [])):
        for mode in KERNEL:
            for _ in range(6):
                done = as_user(mode.command(Path("-"), *options), input=source)
                assert done.returncode == 1, done
                assert "limit" in done.stderr


@pytest.fixture
def large_share() -> Iterator[None]:
    """Memory alone bounds this user's scripts."""
    parameters = Path("/sys/module/syscript/parameters")
    wanted = {"max_scripts": "65536", "max_memory": str(64 << 20)}
    before = {name: (parameters / name).read_text() for name in wanted}
    for name, value in wanted.items():
        (parameters / name).write_text(value)
    yield
    for name, value in before.items():
        (parameters / name).write_text(value)


def fill(library: Library) -> int:
    """Fills the user's share with scripts of 0.5 MiB, and frees all; returns their number."""
    source = b"local s = ('x'):rep(500000) function run() return #s end"
    fds = []
    while (found := library.register(source, 2 << 20))[0] >= 0:
        fds.append(found[0])
        assert len(fds) < 4096, "no end to the share"
    assert found[0] == -errno.EDQUOT, found
    # Scripts registered before the share was full still run.
    assert [library.call(fd) for fd in fds] == [(1, 500000)] * len(fds)
    for fd in fds:
        os.close(fd)
    return len(fds)


def test_share(large_share: None, as_user: Run) -> None:
    """After a storm, as many scripts fit as before."""
    library = Library()
    first = fill(library)
    assert first > 4
    assert fill(library) == first
    done = as_user([STORM, "--seconds", "2"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert fill(library) == first


def test_parallel() -> None:
    """Scripts in parallel on both CPUs give the same results as alone."""
    alone = run_script(KERNEL[1], FLOAT, "3000")
    expected, stderr = alone.communicate(timeout=SCRIPT_TIME)
    assert alone.returncode == 0, stderr
    children = [run_script(KERNEL[i % 2], FLOAT, "3000") for i in range(6)]
    for child in children:
        stdout, stderr = child.communicate(timeout=SCRIPT_TIME)
        assert (child.returncode, stdout, stderr) == (0, expected, "")


def test_floating_point_neighbours() -> None:
    """Floating-point registers of processes and of scripts do not mix."""
    neighbours = [
        subprocess.Popen(
            [STORM, "--floats", "--seconds", "2"],
            **account("member"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(3)
    ]
    results = set()
    while any(child.poll() is None for child in neighbours):
        child = run_script(random.choice(KERNEL), FLOAT, "20000")
        stdout, stderr = child.communicate(timeout=SCRIPT_TIME)
        assert child.returncode == 0, stderr
        results.add(stdout)
    for child in neighbours:
        text, _ = child.communicate()
        assert child.returncode == 0, text
    assert len(results) == 1, results
