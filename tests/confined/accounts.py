# SPDX-License-Identifier: GPL-2.0
"""Accounts against accounts: processes of untrusted users, started by root."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confined import insn as i
from confined.kernel import Arena, lib, libc

ARENA = 0x10000
FIRST_UID = 70_000
SMALL = i.Image([i.movi(0, 7) + i.EXIT]).pack()


class Channel:
    """Lines of JSON."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.lines = end.makefile("r")

    def say(self, word: object) -> None:
        self.end.sendall(json.dumps(word).encode() + b"\n")

    def hear(self) -> Any:
        return json.loads(self.lines.readline() or "null")


class Account:
    """A user's process that runs body(channel, *args); killed at the end."""

    def __init__(self, uid: int, body: Callable[..., None], *args: object) -> None:
        here, there = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            here.close()
            self.become(uid, body, Channel(there), *args)
        there.close()
        channel = Channel(here)
        self.say, self.hear = channel.say, channel.hear

    @staticmethod
    def become(uid: int, body: Callable[..., None], *args: object) -> None:
        status = 1
        try:
            no_limit = resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (no_limit, no_limit))
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            body(*args)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def __enter__(self) -> Account:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@contextmanager
def accounts(many: int, body: Callable[..., None], *args: object) -> Iterator[list[Account]]:
    """Several users, with a process each."""
    started: list[Account] = []
    try:
        for n in range(many):
            started.append(Account(FIRST_UID + n, body, *args))
        yield started
    finally:
        for each in started:
            each.end()


def may_lock(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (size, size))


def status(name: str, pid: int | str = "self") -> int:
    """A field of /proc/PID/status in bytes, as the administrator sees it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def pinned(pid: int | str = "self") -> int:
    return status("VmPin", pid)


def in_memory() -> int:
    return status("VmRSS")


def code_of(pages: int, number: int = 0) -> bytes:
    """An image whose code takes this many pages, or one less."""
    adds = (pages * 4096 - 600) // 7
    return i.Image([i.movi(0, number) + i.alui("add", 0, 1000) * adds + i.EXIT]).pack()


def register(image: bytes, arena: Arena, **options: int) -> tuple[int, str]:
    return lib.register(image, engine=1, **arena.shared(), **options)


# -- Bodies of processes --------------------------------------------------------------


def hold_arenas(channel: Channel, limit: int) -> None:
    """Creates another arena for each word that it reads."""
    may_lock(limit)
    arenas = []
    while channel.hear() is not None:
        arenas.append(Arena())
        fd, text = register(SMALL, arenas[-1])
        channel.say([min(fd, 0), text, pinned()])


def hold_huge(channel: Channel, limit: int) -> None:
    """Registers an arena in a huge page; reports the result, pinned memory and huge pages."""
    may_lock(limit)
    size = 2 << 20
    place = libc.mmap(None, 2 * size, 3, 0x22, -1, 0)
    address = (place + size - 1) & -size
    libc.madvise(address, size, 14)  # MADV_HUGEPAGE
    ctypes.memset(address, 1, size)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    huge = next(int(line.split()[1]) << 10 for line in lines if line.startswith("AnonHuge"))
    fd, text = lib.register(SMALL, engine=1, shared=address, shared_len=ARENA)
    channel.say([min(fd, 0), text, pinned(), huge >= size])
    channel.hear()


def hold_code(channel: Channel) -> None:
    """For each number of pages that it reads, registers such an image: 0 or -errno."""
    arena, number = Arena(), 0
    while (pages := channel.hear()) is not None:
        number += 1
        image = code_of(pages, number)
        fd, text = register(image, arena, memory=2 * len(image) + (64 << 10))
        channel.say([min(fd, 0), text])


def hold_all_code(channel: Channel) -> None:
    """On each word, takes all code memory, in pieces of all sizes; reports the pages."""
    arena, held, number = Arena(), 0, 0
    channel.hear()
    for pages in (200, 128, 96, 64, 32, 16, 8, 4, 2, 1):
        while True:
            number += 1
            image = code_of(pages, number)
            fd, _ = register(image, arena, memory=2 * len(image) + (64 << 10))
            if fd < 0:
                break
            held += pages
    channel.say(held)
    channel.hear()


def register_slowly(channel: Channel, size: int, limit: int) -> None:
    """Registers a large image whose last page never arrives."""
    may_lock(limit)
    arena = Arena(size)
    watch_page(arena.address + size - 4096)
    channel.say(in_memory())
    image = i.Image([i.EXIT], shift=size.bit_length() - 1).pack()
    channel.say([*register(image, arena), in_memory()])
    channel.hear()


def keep_busy(channel: Channel, cpu: int) -> None:
    os.sched_setaffinity(0, {cpu})
    channel.say("on")
    while True:
        pass


# -- userfaultfd(2) ---------------------------------------------------------------------


def watch_page(address: int) -> int:
    """From now on an access to this page blocks; where 6.1 pins it, it fails."""
    fd = libc.syscall(323, os.O_CLOEXEC)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    fcntl.ioctl(fd, 0xC018AA3F, bytearray((ctypes.c_uint64 * 3)(0xAA, 0, 0)))  # UFFDIO_API
    fcntl.ioctl(fd, 0xC020AA00, bytearray((ctypes.c_uint64 * 4)(address, 4096, 1, 0)))
    return fd


@contextmanager
def faults_for_all() -> Iterator[None]:
    """Lets all users use userfaultfd(2), also for the kernel's accesses."""
    switch = Path("/proc/sys/vm/unprivileged_userfaultfd")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


# -- What a kernel does ----------------------------------------------------------------


def interrupts(cpu: int) -> int:
    """Function-call interrupts that this CPU has received."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    return next(int(line.split()[1 + cpu]) for line in lines if line.split()[0] == "CAL:")


def pins_held() -> int:
    """Pages pinned by all processes, after flushing the per-CPU counters."""
    Path("/proc/sys/vm/stat_refresh").write_text("1")
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["nr_foll_pin_acquired"]) - int(counts["nr_foll_pin_released"])


@contextmanager
def preemption(kind: str) -> Iterator[bool]:
    """The kernel's preemption mode: none, voluntary or full."""
    switch = Path("/sys/kernel/debug/sched/preempt")
    if not switch.exists():
        yield False
        return
    before = switch.read_text().partition("(")[2].partition(")")[0]
    switch.write_text(kind)
    try:
        yield True
    finally:
        switch.write_text(before)
