# SPDX-License-Identifier: GPL-2.0
"""Kefence: faults that end in an oops, or are reported at unload. One boot each."""

from __future__ import annotations

import os
import re

import kernels
import pytest
from kernels import BUILD, ROOT

pytestmark = pytest.mark.boot

KERNEL = os.environ.get("KREL", "6.1")
BUILT = (BUILD / f"safety-{kernels.release_of(KERNEL)}").relative_to(ROOT)

LOAD = f"""
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
vm/alone insmod {BUILT}/kefence/kefence.ko settings="*:action=%s" || exit 99
vm/alone insmod {BUILT}/planted+kefence/planted.ko || exit 99
"""


@pytest.fixture
def run(guest):
    """run(action, script): in a guest of its own, with both modules loaded."""

    def run(action: str, script: str):
        return guest("-k", KERNEL, "--planted", "--", "sh", "-c", LOAD % action + script)

    return run


def order(steps: str, context: str = "task") -> str:
    return f"echo '{context}: {steps}' >/sys/kernel/debug/planted; "


def log(done) -> str:
    """The whole log of a guest that died."""
    directory = re.search(r"^guest: see (.*)$", done.stderr, re.MULTILINE)[1]
    return (ROOT / directory / "kernel.log").read_text()


OOPS = "unable to handle page fault"


@pytest.mark.parametrize("context", ["task", "hardirq"])
def test_crash_is_an_oops(run, context: str) -> None:
    done = run("crash", order("alloc kmalloc 96; read 96", context))
    assert done.returncode == 126
    assert "kefence: violation: overrun by 1 byte: read" in log(done)
    assert OOPS in log(done)
    assert "RIP: 0010:access_read" in log(done)


def test_crash_at_a_double_free(run) -> None:
    done = run("crash", order("alloc kmalloc 96; free kfree; free kfree"))
    assert done.returncode == 126
    assert "kefence: violation: double free" in log(done)
    assert "kernel BUG at" in log(done)


def test_who_runs_on_is_stopped(run) -> None:
    """A loop, which cannot be cut short as a string instruction can, reaches the next object."""
    done = run("kill", order("alloc kmalloc 96; next; " * 3 + "first; loop 0 30000"))
    assert done.returncode == 126
    assert "it runs on into the next object, at access_loop" in log(done)
    assert OOPS in log(done)


def test_leaks_are_told_when_the_module_goes(run) -> None:
    script = order("alloc kmalloc 96; alloc cache 88; alloc kmalloc 60; free kfree")
    # Leaks of an earlier instance are not reported again.
    again = f"vm/alone rmmod planted && vm/alone insmod {BUILT}/planted+kefence/planted.ko && "
    script += again + "vm/alone rmmod planted && vm/alone rmmod kefence && "
    script += "dmesg | grep kefence: >&2"
    done = run("write", script)
    # kmem_cache_destroy() also finds the object if it lies in one of the cache's slabs.
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("leak: the module goes, an object of 96 bytes stays") == 1
    assert "leak: cache planted is destroyed with 1 object in it" in done.stderr
    assert "at alloc_kmalloc+" in done.stderr
    assert "object of 60" not in done.stderr
    assert "pages stay in use" in done.stderr


def test_not_with_ftrace_switched_off(guest) -> None:
    script = f"echo 0 >/proc/sys/kernel/ftrace_enabled; insmod {BUILT}/kefence/kefence.ko"
    done = guest("-k", KERNEL, "--", "sh", "-c", f"{script}; dmesg | tail -3 >&2")
    assert "is ftrace off" in done.stderr


def test_ftrace_cannot_be_switched_off_under_it(run) -> None:
    script = "echo 0 >/proc/sys/kernel/ftrace_enabled; "
    done = run("write", script + order("alloc kmalloc 96; read 96") + "dmesg | tail -30 >&2")
    assert done.returncode == 0, done.stderr
    assert "overrun by 1 byte" in done.stderr
