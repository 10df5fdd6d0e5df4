# SPDX-License-Identifier: GPL-2.0
"""Sensors on tracepoints see each call of a script once, with arguments and result."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from library import Library
from test_filters import NUMBERS
from tracing import mounted, one_cpu

CALLS = b"""function run(n)
  for i = 1, n do
    syscall.getppid()
    syscall.lseek(-1, i, 2)
    syscall.dup(-i)
  end
end"""
ENDLESS = b"function run() while true do end end"


Register = Callable[..., int]


class Instance:
    """A trace buffer of its own, for this process."""

    def __init__(self) -> None:
        tracefs = mounted()
        if not (tracefs / "events" / "raw_syscalls").exists():
            pytest.skip("this kernel has no tracepoints of system calls")
        self.path = tracefs / "instances" / "syscript-test"
        self.path.mkdir()

    def enable(self, *events: str) -> None:
        for event in events:
            if not (self.path / "events" / event).exists():
                pytest.skip(f"this kernel has no {event}")
            # Not set_event_pid: a probe of the scheduler keeps, per CPU, whether the current thread
            # is ignored, and events were missing on CPUs where it had not started.
            (self.path / "events" / event / "filter").write_text(f"common_pid == {os.getpid()}")
            with one_cpu():
                (self.path / "events" / event / "enable").write_text("1")
        (self.path / "trace").write_text("")

    def lines(self) -> list[str]:
        (self.path / "tracing_on").write_text("0")
        text = (self.path / "trace").read_text()
        return [line for line in text.splitlines() if not line.startswith("#")]

    def remove(self) -> None:
        with one_cpu():
            (self.path / "events" / "enable").write_text("0")
        self.path.rmdir()


@pytest.fixture
def instance() -> Iterator[Instance]:
    made = Instance()
    yield made
    made.remove()


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def registered(library: Library) -> Iterator[Register]:
    """registered(source, **options): the descriptor of a script of this test."""
    fds = []

    def register(source: bytes, **more: int) -> int:
        fd, text = library.register(source, **more)
        assert fd >= 0, text
        fds.append(fd)
        return fd

    yield register
    for fd in fds:
        os.close(fd)


def enters(lines: list[str]) -> list[tuple[int, list[int]]]:
    found = [re.search(r"sys_enter: NR (\d+) \((.*)\)", line) for line in lines]
    return [(int(m[1]), [int(w, 16) for w in m[2].split(", ")]) for m in found if m]


def exits(lines: list[str]) -> list[tuple[int, int]]:
    found = [re.search(r"sys_exit: NR (\d+) = (-?\d+)", line) for line in lines]
    return [(int(m[1]), int(m[2])) for m in found if m]


def test_raw_syscalls(library: Library, registered: Register, instance: Instance) -> None:
    fd = registered(CALLS)
    assert library.call(fd, 100)[0] >= 0
    instance.enable("raw_syscalls")
    assert library.call(fd, 100)[0] >= 0
    lines = instance.lines()
    ours = [NUMBERS[name] for name in ("getppid", "lseek", "dup")]

    called = [call for call in enters(lines) if call[0] in ours]
    # The interpreter's own calls are none of these three, except lseek(2) on files.
    called = [call for call in called if call[0] != ours[1] or call[1][0] == 2**64 - 1]
    assert [number for number, _ in called] == ours * 100
    assert [args[:3] for number, args in called if number == ours[1]] == [
        [2**64 - 1, i, 2] for i in range(1, 101)
    ]
    assert [args[1:] for number, args in called if number == ours[2]] == [[0] * 5] * 100
    returned = exits(lines)
    assert returned.count((ours[0], os.getppid())) == 100
    assert returned.count((ours[2], -9)) == 100


def test_events_of_single_calls(library: Library, registered: Register, instance: Instance) -> None:
    fd = registered(CALLS)
    instance.enable("syscalls/sys_enter_dup", "syscalls/sys_exit_dup")
    assert library.call(fd, 10)[0] >= 0
    lines = instance.lines()
    assert len([line for line in lines if "sys_dup(fildes: " in line]) == 10
    assert len([line for line in lines if "sys_dup -> 0xfffffffffffffff7" in line]) == 10


def test_batches_show_the_calls_they_stand_for(
    library: Library, registered: Register, instance: Instance, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    name = ctypes.create_string_buffer(str(path).encode())
    data = ctypes.create_string_buffer(16)
    files = (ctypes.c_uint64 * 8)(*[ctypes.addressof(name), ctypes.addressof(data), 4, 0] * 2)
    fd = registered(b"function run(files) return fs.read_files(const.AT_FDCWD, files, 2) end")
    instance.enable("raw_syscalls")
    assert library.call(fd, ctypes.addressof(files)) == (1, 2)
    lines = instance.lines()
    assert data.value == b"text"
    address = ctypes.addressof(name)
    opened = [call for call in enters(lines) if call[1][1] == address]
    assert [number for number, _ in opened] == [NUMBERS["openat"]] * 2
    read = [call for call in enters(lines) if call[1][1] == ctypes.addressof(data)]
    assert [number for number, _ in read] == [NUMBERS["read"]] * 2


def test_each_connection_of_a_batch_is_a_call(
    library: Library, registered: Register, instance: Instance
) -> None:
    fds = (ctypes.c_int * 4)()
    address = ctypes.addressof(fds)
    fd = registered(b"function run(fd, fds) return net.accept(fd, fds, 4, const.SOCK_CLOEXEC) end")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setblocking(False)
        for _ in range(3):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        instance.enable("raw_syscalls")
        assert library.call(fd, listener.fileno(), address) == (1, 3)
        lines = instance.lines()
        accepts = [args for number, args in enters(lines) if number == NUMBERS["accept4"]]
        assert accepts == [[listener.fileno(), 0, 0, socket.SOCK_CLOEXEC, 0, 0]] * 4
    assert [fd > 0 for fd in fds] == [True] * 3 + [False]
    for fd in fds[:3]:
        os.close(fd)


def test_off_again(library: Library, registered: Register, instance: Instance) -> None:
    fd = registered(CALLS)
    instance.enable("raw_syscalls")
    assert library.call(fd, 1)[0] >= 0
    (instance.path / "events" / "raw_syscalls" / "enable").write_text("0")
    (instance.path / "trace").write_text("")
    assert library.call(fd, 100)[0] >= 0
    assert enters(instance.lines()) == []


def test_own_events(library: Library, registered: Register, instance: Instance) -> None:
    fd = registered(CALLS)
    endless = registered(ENDLESS, time_limit_ns=100_000_000)
    instance.enable("syscript", "syscalls/sys_enter_dup")
    assert library.call(fd, 2)[0] >= 0
    assert library.call(endless)[0] < 0
    lines = instance.lines()
    kinds = [re.search(r": (call|done|kill|sys_dup)\b", line) for line in lines]
    assert [kind[1] for kind in kinds if kind] == [
        *("call", "sys_dup", "sys_dup", "done"),
        *("call", "done", "kill"),
    ]
    names = [re.search(r"id=(\d+) name=test", line) for line in lines if "name=" in line]
    assert all(names) and len({name[1] for name in names if name}) == 2
