# SPDX-License-Identifier: GPL-2.0
"""The modules are loaded and removed again and again on a busy machine.

Loading makes two new VMs and compares them, to know what of one is an address.
Interrupts that ask a VM to give way are no part of a new one: with many other
tasks they come while it is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from library import BUILD, Library

MODULE = os.environ.get("SYSCRIPT_MODULE", "")
DEVICES = [Path("/dev/syscript"), Path("/dev/syscript-luajit")]
ENGINE = MODULE.replace("syscript.ko", "syscript_luajit.ko")
ALONE = BUILD.parent / "vm" / "alone"


@pytest.fixture
def busy() -> Iterator[None]:
    """One process that never sleeps for each CPU."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.mark.parametrize("loads", [1, pytest.param(25, marks=pytest.mark.long)])
def test_loads_on_a_busy_machine(busy: None, loads: int) -> None:
    before = [device.stat() for device in DEVICES]
    again = 'rmmod syscript_luajit syscript && insmod "$0" && insmod "$1" || exit'
    again = f"for _ in $(seq {loads}); do {again}; done"
    subprocess.run([ALONE, "sh", "-c", again, MODULE, ENGINE], check=True)
    for device, was in zip(DEVICES, before, strict=True):
        os.chown(device, was.st_uid, was.st_gid)
        device.chmod(was.st_mode & 0o7777)

    library = Library()
    fd, text = library.register(b"function run() return 7 end", 0)
    assert fd >= 0, text
    assert library.call(fd) == (1, 7)
    os.close(fd)
