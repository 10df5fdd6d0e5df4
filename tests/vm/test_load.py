# SPDX-License-Identifier: GPL-2.0
"""The modules are repeatedly loaded and removed on a busy machine.

Loading creates two VMs and compares them to find out which words are addresses. Interrupts that ask
a VM to yield change its state: with many other tasks they arrive during the comparison.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from library import BUILD, Library
from runner import SLOWDOWN, account

MODULE = os.environ.get("SYSCRIPT_MODULE", "")
DEVICES = [Path("/dev/syscript"), Path("/dev/syscript-luajit")]
ENGINE = MODULE.replace("syscript.ko", "syscript_luajit.ko")
CONFINED_LUA, LUAJIT = 0x101, 0x100  # SYSCRIPT_LUA_ON_*
ALONE = BUILD.parent / "vm" / "alone"


@contextmanager
def busy() -> Iterator[None]:
    """A process for each CPU that never sleeps."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize("loads", [1, pytest.param(25, marks=pytest.mark.long)])
def test_loads_on_a_busy_machine(loads: int) -> None:
    before = [device.stat() for device in DEVICES]
    again = 'rmmod syscript_luajit syscript && insmod "$0" && insmod "$1" || exit'
    again = f"for _ in $(seq {loads}); do {again}; done"
    with busy():
        subprocess.run([ALONE, "sh", "-c", again, MODULE, ENGINE], check=True)
    for device, was in zip(DEVICES, before, strict=True):
        os.chown(device, was.st_uid, was.st_gid)
        device.chmod(was.st_mode & 0o7777)
    # Like the udev rule: otherwise scripts of later tests would each have a runtime.
    subprocess.run([BUILD / "syscript", "runtime"], check=True)

    library = Library()
    fd, text = library.register(b"function run() return 7 end", 0)
    assert fd >= 0, text
    assert library.call(fd) == (1, 7)
    os.close(fd)


# As the ordinary user, until standard input ends: registers scripts of the engine in argv[1] and
# calls them. Prints a line at the first one; at the end, how many it made, and how many were
# refused because the engine was missing.
CALLER = """
import errno, os, select, sys, time
from library import Library
lib, made, away = Library(), 0, 0
while not select.select([0], [], [], 0)[0]:
    fd, text = lib.register(sys.argv[2].encode(), engine=int(sys.argv[1]))
    if fd < 0:
        assert fd in (-errno.ENOENT, -errno.ENODEV, -errno.EACCES), (fd, text)
        away += 1
        continue
    for n in range(50):
        assert lib.call(fd, n) == (1, n + os.getppid())
    lib.so.syscript_close(fd)
    made += 1
    if made == 1:
        print("ready", flush=True)
    time.sleep(0.05)
print(made, away)
"""
SCRIPT = "function run(n) return n + syscall.getppid() end"


def caller(engine: int) -> subprocess.Popen[str]:
    path = f"import sys; sys.path.insert(0, {str(BUILD.parent / 'tests')!r})\n"
    child = subprocess.Popen(
        [sys.executable, "-c", path + CALLER, str(engine), SCRIPT],
        **account("member"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdout.readline() == "ready\n", child.communicate()
    return child


def replace_engine() -> None:
    """Remove LuaJIT as soon as no script holds it, and load it again."""
    mode, group = DEVICES[1].stat().st_mode & 0o7777, DEVICES[1].stat().st_gid
    # Its callers hold it most of the time.
    again = "until rmmod syscript_luajit 2>/dev/null; do sleep 0.01; done; sleep 0.2"
    subprocess.run(
        [ALONE, "sh", "-c", f'{again}; insmod "$0"', ENGINE], check=True, timeout=120 * SLOWDOWN
    )
    os.chown(DEVICES[1], 0, group)
    DEVICES[1].chmod(mode)


@pytest.mark.parametrize("loads", [2, pytest.param(30, marks=pytest.mark.long)])
def test_engine_comes_and_goes_under_load(loads: int) -> None:
    """Calls of the other engine never notice; LuaJIT's scripts end before it is removed."""
    callers = [caller(engine) for engine in (CONFINED_LUA, LUAJIT) for _ in range(2)]
    try:
        for _ in range(loads):
            replace_engine()
            time.sleep(0.5)
    finally:
        outputs = [child.communicate(timeout=60 * SLOWDOWN) for child in callers]
    assert [child.returncode for child in callers] == [0] * 4, outputs
    counts = [tuple(map(int, out.split())) for out, _ in outputs]
    # The first script was made before the first replacement.
    assert all(made > 1 for made, _ in counts), counts
    assert [away for _, away in counts[:2]] == [0, 0]
    assert all(away for _, away in counts[2:]), counts
