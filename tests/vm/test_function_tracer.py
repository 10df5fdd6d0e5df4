# SPDX-License-Identifier: GPL-2.0
"""The kernel's function tracers together with scripts, which leave functions in unusual ways."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from library import BUILD, Library
from tracing import functions_traced, kprobes, mounted, one_cpu


@pytest.fixture
def tracefs() -> Path:
    return mounted("function_graph")


def test_graph_of_killed_threads(as_user: Callable) -> None:
    """A filter's KILL_THREAD leaves functions without returning; their callers return."""
    functions = ["ksys_lseek", "__x64_sys_lseek", "__seccomp_filter", "__secure_computing"]
    with functions_traced("function_graph", *functions) as trace:
        done = as_user([BUILD / "tests" / "vm" / "test_seccomp", "deaths"])
        assert done.returncode == 0, done.stdout
        seen = trace.read_text()
    assert "ksys_lseek" in seen and "__seccomp_filter" in seen


@pytest.mark.long
def test_kretprobes_of_killed_threads(tracefs: Path, as_user: Callable) -> None:
    """The same for other users of return hooks: each function returns to its caller."""
    functions = ["ksys_lseek", "__x64_sys_lseek", "__seccomp_filter", "__secure_computing"]
    with kprobes(*(f"r:{name}_returns {name}" for name in functions)):
        done = as_user([BUILD / "tests" / "vm" / "test_seccomp", "deaths"])
        assert done.returncode == 0, done.stdout
        seen = (tracefs / "trace").read_text()
    assert all(f"{name}_returns" in seen for name in functions)


# Loops until it is told to stop, or for ten seconds.
LOOP = b"function run(a) while util.peek(a) == 0 do for i = 1, 1000000 do end end end"
TRIES = 5


def goes_beside_a_run(instance: Path, library: Library) -> bool:
    """Whether the tracer in @instance can be removed while a script loops."""
    told = ctypes.c_int32()
    fd, text = library.register(LOOP, time_limit_ns=10 * 10**9, wall_limit_ns=2**64 - 1)
    assert fd >= 0, text
    with one_cpu():
        (instance / "current_tracer").write_text("function")
    runner = threading.Thread(target=library.call, args=(fd, ctypes.addressof(told)))
    runner.start()
    time.sleep(0.5)
    with one_cpu():
        (instance / "current_tracer").write_text("nop")
    beside = runner.is_alive()
    told.value = 1
    runner.join()
    os.close(fd)
    return beside


def test_tracers_go_beside_a_run(tracefs: Path) -> None:
    """Their trampolines are freed after synchronize_rcu_tasks(), which no run delays.

    On a busy machine that itself may take as long as the run.
    """
    library = Library()
    instance = tracefs / "instances" / "function-test"
    instance.mkdir()
    try:
        (instance / "set_ftrace_filter").write_text("__x64_sys_reboot")
        assert any(goes_beside_a_run(instance, library) for _ in range(TRIES))
    finally:
        instance.rmdir()
