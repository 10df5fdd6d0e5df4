# SPDX-License-Identifier: GPL-2.0
"""System calls of x86-64 that arm64 makes by newer ones, compared with the calls themselves."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"
SOURCE = CORE / "user/arch/arm64/old_calls.c"
NUMBERS = CORE / "arch/arm64/syscalls_nr.h"
CROSS = "aarch64-linux-gnu-gcc"
# Reads the tables with the numbers of the calls, or has code for the processor.
PORTED = re.compile(r'#include "(?:[\w/.]*/)?(?:syscalls\.def|syscalls_nr\.h|sys\.h|arch/\w+\.h)"')

Call = Callable[..., int]


def old_names() -> set[str]:
    return set(re.findall(r"^#define __NR_(\w+)\s+\d+$", NUMBERS.read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """arch_old_call() as arm64 has it, with this machine's system calls below it."""
    library = tmp_path_factory.mktemp("old") / "old.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-iquote", CORE, "-o", library, SOURCE],
        check=True,
    )
    function = ctypes.CDLL(str(library)).arch_old_call
    function.restype = ctypes.c_long

    def call(number: int, *args: int) -> int:
        return function(ctypes.c_long(number), (ctypes.c_long * 6)(*args))

    return call


def older(number: int, *args: int) -> int:
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    ret = syscall(*(ctypes.c_long(value) for value in (number, *args)))
    return -ctypes.get_errno() if ret == -1 else ret


def numbers() -> dict[str, int]:
    text = subprocess.run(
        ["cc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {n: int(v) for n, v in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.MULTILINE)}


class Scenario:
    """All old calls, with what can go wrong, in an empty directory."""

    def __init__(self, call: Call, where: Path) -> None:
        self.call, self.where = call, where
        self.numbers, self.keep = numbers(), []
        self.names, self.results = set(), []

    def path(self, name: str) -> int:
        self.keep.append(ctypes.create_string_buffer(os.fsencode(self.where / name)))
        return ctypes.addressof(self.keep[-1])

    def buffer(self, data: bytes | int) -> ctypes.Array[ctypes.c_char]:
        made = ctypes.create_string_buffer(data, data if isinstance(data, int) else len(data))
        self.keep.append(made)
        return made

    def do(self, name: str, *args: int | str | ctypes.Array[ctypes.c_char]) -> int:
        values = [
            self.path(arg)
            if isinstance(arg, str)
            else arg
            if isinstance(arg, int)
            else ctypes.addressof(arg)
            for arg in args
        ]
        self.names.add(name)
        self.results.append((name, self.call(self.numbers[name], *values)))
        return self.results[-1][1]

    def see(self, value: object) -> None:
        self.results.append(("sees", value))

    def mode(self, name: str) -> None:
        found = os.lstat(self.where / name)
        self.see((oct(found.st_mode), found.st_size, found.st_nlink))

    def files(self) -> None:
        fd = self.do("open", "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640)
        os.write(fd, b"text")
        os.close(fd)
        self.do("open", "missing", os.O_RDONLY, 0)
        self.do("open", "file", os.O_CREAT | os.O_EXCL, 0o640)
        (self.where / "made").write_text("is emptied")
        os.close(self.do("creat", "made", 0o600))
        for name, how in (("file", os.R_OK), ("file", os.X_OK), ("missing", os.F_OK)):
            self.do("access", name, how)
        self.do("chmod", "file", 0o604)
        self.do("symlink", "file", "link")
        self.do("symlink", "missing", "dangling")
        self.do("link", "file", "other")
        self.do("link", "missing", "another")
        self.do("link", "link", "to_link")
        for name in ("chown", "lchown"):
            self.do(name, "link", os.getuid(), os.getgid())
            self.do(name, "dangling", os.getuid(), os.getgid())
            self.do(name, "missing", -1, -1)
        text = self.buffer(256)
        self.see((self.do("readlink", "link", text, 256) > 0, bytes(text)[-5:]))
        self.do("readlink", "file", text, 256)
        for name in ("stat", "lstat"):
            for path in ("link", "file", "missing"):
                found = self.buffer(144)
                self.do(name, path, found)
                self.see(bytes(found)[24:28])  # st_mode of x86-64
        self.do("mknod", "fifo", stat.S_IFIFO | 0o644, 0)
        self.do("mkdir", "directory", 0o750)
        self.do("mkdir", "directory", 0o750)
        for name in ("file", "link", "other", "to_link", "fifo", "directory", "made"):
            self.mode(name)
        self.do("rename", "other", "renamed")
        self.do("rename", "directory", "file")
        self.do("rmdir", "file")
        self.do("rmdir", "directory")
        self.do("unlink", "renamed")
        self.do("unlink", "missing")
        self.see(sorted(path.name for path in self.where.iterdir()))

    def descriptors(self) -> None:
        ends = self.buffer(8)
        self.do("pipe", ends)
        self.do("pipe", 1)
        read, write = struct.unpack("ii", bytes(ends))
        self.see((os.get_inheritable(read), os.get_blocking(read)))
        self.see(self.do("dup2", read, 500) == 500 and os.get_inheritable(500))
        self.do("dup2", read, read)
        self.do("dup2", 501, 501)
        self.do("dup2", 501, 502)
        polled = self.buffer(struct.pack("ihh", read, 1, 0))
        for wait in (0, 3, 1001):
            if wait > 1000:
                os.write(write, b"!")
            self.do("poll", polled, 1, wait)
        self.do("poll", polled, 1, -1)
        self.do("poll", 1, 1, 0)
        self.see(bytes(polled)[6:])
        self.do("epoll_create", 0)
        self.do("epoll_create", -1)
        epoll = self.do("epoll_create", 1)
        events = self.buffer(12)
        for count, wait in ((1, 0), (1, 2), (0, 0)):
            self.do("epoll_wait", epoll, events, count, wait)
        event = self.do("eventfd", 3)
        self.see(os.read(event, 8))
        watch = self.do("inotify_init")
        signals = self.do("signalfd", -1, self.buffer(struct.pack("Q", 1 << 9)), 8)
        self.do("signalfd", -1, self.buffer(8), 4)
        for fd in (epoll, event, watch, signals):
            self.see((os.get_inheritable(fd), os.get_blocking(fd)))
            os.close(fd)
        for fd in (read, write, 500):
            os.close(fd)

    def process(self) -> None:
        self.do("getpgrp")
        self.do("alarm", 0)
        self.do("alarm", 100)
        self.do("alarm", 0)
        for seconds in (0.2, 3.2, 3.8):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            self.do("alarm", 0)


def play(call: Call, where: Path) -> Scenario:
    where.mkdir()
    scenario = Scenario(call, where)
    scenario.files()
    scenario.descriptors()
    # alarm() would report, and stop, the timer of the test's own time limit.
    limit = signal.setitimer(signal.ITIMER_REAL, 0)
    scenario.process()
    signal.setitimer(signal.ITIMER_REAL, *limit)
    return scenario


def test_do_the_same(newer: Call, tmp_path: Path) -> None:
    new, old = play(newer, tmp_path / "a"), play(older, tmp_path / "b")
    assert new.names == old_names()
    assert new.results == old.results


def test_numbers_are_no_kernels() -> None:
    """Those of old calls are above all that kernels use, and in the tables' 512."""
    text = NUMBERS.read_text()
    known = sorted(map(int, re.findall(r"^#define __NR_\w+\s+(\d+)$", text, re.MULTILINE)))
    assert known == list(range(512 - len(known), 512))
    assert f"SYSCALL_OLD_FIRST\t{known[0]}\n" in text
    used = re.findall(r"__NR_\w+ (\d+)", (CORE / "syscalls_nr.h").read_text())
    assert known[0] > max(map(int, used))


def ported() -> list[Path]:
    folders = ("core/user", "core", "lib", "lib/lua", "lib/batch", "engine/confined")
    found = [
        path
        for folder in folders
        for path in sorted((ROOT / folder).glob("*.c"))
        if PORTED.search(path.read_text())
    ]
    return [*found, *sorted((CORE / "user/arch/arm64").glob("*.c"))]


@pytest.mark.skipif(not shutil.which(CROSS), reason=f"no {CROSS}: tools/deps arm64")
def test_compiles_for_arm64() -> None:
    assert len(ported()) > 12
    command = [CROSS, "-std=gnu11", "-fsyntax-only", "-D_GNU_SOURCE", "-Werror", "-Wall"]
    places = ["-Ibuild/include", "-iquote", "core", "-iquote", "lib", "-iquote", "lib/batch"]
    generated = ["-Ibuild/gen", "-Ibuild/lua-runtime", '-DLIBDIR="/"']
    subprocess.run([*command, *places, *generated, *ported()], check=True, cwd=ROOT)
