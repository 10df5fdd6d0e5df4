# SPDX-License-Identifier: GPL-2.0
"""Lets the kernel patch its text, as it does for tracers, without hanging an emulated CPU.

A tracer, or a cgroup's CPU limit, is switched on by patching functions that every CPU executes all
the time, such as the scheduler's, over breakpoints. QEMU's emulator (7.2 and 10.0) invalidates its
translation of an instruction before it stores the new one: another CPU that translates the
instruction between the two keeps the old one. If that is the breakpoint, which the kernel has just
removed, the CPU executes it for ever: the kernel's handler finds none at that address and returns
to it. So text that is in use is patched while one CPU is online, as by vm/alone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TRACEFS = Path("/sys/kernel/tracing")
CPUS = Path("/sys/devices/system/cpu")


@contextlib.contextmanager
def one_cpu() -> Iterator[None]:
    """Takes emulated CPUs but the first offline; tasks bound to one of them lose that binding."""
    others = []
    # Tests of ordinary users, and outside of guests, cause no patching of the kernel's text.
    in_guest = "SYSCRIPT_GUEST" in os.environ and os.geteuid() == 0
    if in_guest and "QEMU TCG" in Path("/proc/cpuinfo").read_text():
        others = [path for path in CPUS.glob("cpu[1-9]*/online") if path.read_text() == "1\n"]
    for path in others:
        path.write_text("0")
    try:
        yield
    finally:
        for path in others:
            path.write_text("1")


def mounted(tracer: str = "") -> Path:
    """Where tracefs is mounted; skips the test in a kernel without it or without @tracer."""
    if not (TRACEFS / "events").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False)
    tracers = TRACEFS / "available_tracers"
    if not tracers.exists() or (tracer and tracer not in tracers.read_text().split()):
        pytest.skip(f"this kernel has no {tracer or 'function'} tracer")
    return TRACEFS


@contextlib.contextmanager
def functions_traced(tracer: str, *functions: str) -> Iterator[Path]:
    """Traces calls of @functions by @tracer; yields the file with the trace."""
    place = mounted(tracer)
    (place / "trace").write_text("")
    (place / "set_ftrace_filter").write_text("\n".join(functions))
    # With an empty filter all functions would be traced.
    assert functions[0] in (place / "set_ftrace_filter").read_text()
    with one_cpu():
        (place / "current_tracer").write_text(tracer)
    try:
        yield place / "trace"
    finally:
        with one_cpu():
            (place / "current_tracer").write_text("nop")
        (place / "set_ftrace_filter").write_text("")


@contextlib.contextmanager
def kprobes(*definitions: str) -> Iterator[Callable[[], None]]:
    """Records the events of @definitions, lines of kprobe_events; yields what ends that."""
    events = mounted() / "kprobe_events"
    enable = TRACEFS / "events" / "kprobes" / "enable"
    if not events.exists():
        pytest.skip("this kernel has no events of kprobes")

    def set_enabled(value: str) -> None:
        with one_cpu():
            enable.write_text(value)

    events.write_text("\n".join(definitions) + "\n")
    try:
        (TRACEFS / "trace").write_text("")
        set_enabled("1")
        yield lambda: set_enabled("0")
    finally:
        set_enabled("0")
        events.write_text("")
