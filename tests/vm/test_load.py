# SPDX-License-Identifier: GPL-2.0
"""The module is loaded and removed again and again on a busy machine.

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

MODULE = BUILD / f"kernel-{os.environ.get('SYSCRIPT_GUEST')}" / "syscript.ko"
DEVICE = Path("/dev/syscript")
CPUS = Path("/sys/devices/system/cpu")
LOADS = 25


@pytest.fixture
def one_cpu() -> Iterator[None]:
    """The other CPUs are offline.

    Loading and removing patch the scheduler's code (preempt_notifier_inc()), with a
    breakpoint in the place of what changes. QEMU before 8.1 may translate the same code
    for another CPU meanwhile and keep the breakpoint for good, of which the guest dies.
    """
    switches = list(CPUS.glob("cpu[0-9]*/online"))
    for switch in switches:
        switch.write_text("0")
    yield
    for switch in switches:
        switch.write_text("1")


@pytest.fixture
def busy() -> Iterator[None]:
    """As many processes that never sleep as there are CPUs."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_loads_on_a_busy_machine(one_cpu: None, busy: None) -> None:
    before = DEVICE.stat()
    for _ in range(LOADS):
        subprocess.run(["rmmod", "syscript"], check=True)
        subprocess.run(["insmod", MODULE], check=True)
    os.chown(DEVICE, before.st_uid, before.st_gid)
    DEVICE.chmod(before.st_mode & 0o7777)

    library = Library()
    fd, text = library.register(b"function run() return 7 end", 0)
    assert fd >= 0, text
    assert library.call(fd) == (1, 7)
    os.close(fd)
