# SPDX-License-Identifier: GPL-2.0
"""Replays the calls of a recording, with real calls on other files of the same names.

Descriptors are those returned here; strings and structures are as recorded; data of which only the
beginning was recorded is that beginning, repeated. Only calls on files are made: the replay has
neither pipes nor sockets.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from consolidate import calltable, paths
from consolidate.emit import engine
from consolidate.mine.dataflow import FILLERS, LISTERS
from consolidate.mine.shape import STAT_SIZES
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.reader import Thread, Trace
from consolidate.trace.values import Value

ROOM = 1 << 21
LISTING = 1 << 15
READS = calltable.words(
    """
    open openat read pread64 lseek stat lstat fstat newfstatat statx access faccessat
    faccessat2 getdents64 getdents readlink readlinkat fcntl fadvise64 getxattr lgetxattr
    fgetxattr listxattr llistxattr flistxattr close dup dup2 dup3 chdir fchdir umask ioctl
    fsync fdatasync flock statfs fstatfs
    """
)
WRITES = calltable.words(
    """
    creat write pwrite64 writev pwritev fchmod fchmodat chmod fchown fchownat chown lchown
    utimensat rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir
    symlink symlinkat truncate ftruncate fallocate copy_file_range sendfile setxattr
    lsetxattr fsetxattr removexattr lremovexattr fremovexattr
    """
)
FORKS = frozenset(["fork", "vfork", "clone", "clone3"])
# Fields of struct stat and struct statx that differ between two files: inode number, times.
DIFFERENT = {144: [(8, 16), (72, 120)], 256: [(32, 40), (64, 128)]}
TIMES = re.compile(r"tv_sec=(-?\d+), tv_nsec=(\w+)|(UTIME_NOW|UTIME_OMIT)")
SPECIAL = {"UTIME_NOW": (1 << 30) - 1, "UTIME_OMIT": (1 << 30) - 2}
IOVEC = re.compile(r'iov_base=("(?:[^"\\]|\\.)*")(?:\.\.\.)?, iov_len=(\d+)')
CONSTANT = re.compile(r"[A-Z_][A-Z0-9_]+")
MISSING = 1 << 20  # no descriptor

libc = ctypes.CDLL(None, use_errno=True)


class NotMade(Exception):
    """A call that cannot be replayed."""


def constants(names: Iterable[str]) -> dict[str, int]:
    """Constants by name, from scripts' tables or from Python."""
    names = set(names)
    lines = "\n".join(
        f'print("{name}", (select(2, pcall(function() return const.{name} end))))'
        for name in sorted(names)
    )
    done = engine.run(f"{lines}\nfunction run() end\n", ["run", "--time-limit", "5000"])
    assert done.returncode == 0, done.stderr
    found = (line.partition("\t") for line in done.stdout.splitlines())
    known = {name: int(value) for name, _, value in found if value.lstrip("-").isdigit()}
    pythons = {name: getattr(fcntl, name, getattr(os, name, None)) for name in names - set(known)}
    return known | {name: value for name, value in pythons.items() if isinstance(value, int)}


def numbers_of_calls() -> dict[str, int]:
    lines = paths.first(paths.NUMBERS).read_text().splitlines()
    return {name: int(number) for number, name in map(str.split, lines)}


@dataclass(slots=True)
class Tables:
    """Numbers of calls, and values of the constants in a recording."""

    numbers: dict[str, int]
    constants: dict[str, int]


def tables(trace: Trace) -> Tables:
    texts = (call.args for thread in trace.threads.values() for call in thread.calls)
    found = constants(name for text in texts for name in CONSTANT.findall(strip(text)))
    return Tables(numbers_of_calls(), found)


@dataclass(slots=True)
class Process:
    """Maps recorded descriptors to actual ones."""

    files: dict[int, int] = field(default_factory=dict)
    directory: int = -1
    mask: int = 0o022

    def child(self) -> Process:
        files = {fd: os.dup(here) for fd, here in self.files.items()}
        for fd, here in files.items():
            fcntl.fcntl(here, fcntl.F_SETFD, fcntl.fcntl(self.files[fd], fcntl.F_GETFD))
        return Process(files, os.dup(self.directory), self.mask)


@dataclass(slots=True)
class Made:
    """A call's outcome: its result, and its output memory if known."""

    call: Call
    ret: int | None  # None: it was not made
    data: bytes | None = None

    def same(self, other: Made) -> bool:
        if self.ret is None or other.ret is None:
            return self.ret is other.ret
        opened = opens(self.call) and self.ret >= 0 and other.ret >= 0
        unknown = self.data is None or other.data is None
        return (opened or self.ret == other.ret) and (unknown or self.data == other.data)

    def __str__(self) -> str:
        return f"{self.call.name}({self.call.args[:100]}) = {self.ret}"


def opens(call: Call) -> bool:
    duplicates = call.name == "fcntl" and "DUPFD" in call.args
    return call.name in calltable.OPENERS or duplicates


def masked(data: bytes, size: int) -> bytes:
    for begin, end in DIFFERENT.get(size, ()):
        data = data[:begin] + bytes(end - begin) + data[end:]
    return data


def listed(data: bytes) -> bytes:
    """The names in a directory listing, sorted."""
    names, at = [], 0
    while at + 19 <= len(data):
        length = struct.unpack_from("H", data, at + 16)[0]
        names.append(data[at + 19 : at + length].split(b"\0")[0])
        at += length
    return b"/".join(sorted(names))


class Memory:
    """Memory that calls read and write."""

    def __init__(self) -> None:
        self.kept: list[object] = []

    def room(self, size: int = ROOM) -> int:
        memory = mmap.mmap(-1, max(size, 1))
        self.kept.append(memory)
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def string(self, text: bytes) -> int:
        at = self.room(len(text) + 1)
        ctypes.memmove(at, text, len(text))
        return at


def repeated(value: Value, size: int) -> bytes:
    text = value.string or b"\0"
    return (text * (size // len(text) + 1))[:size] if text else bytes(size)


class Machine:
    """All processes of a recording."""

    def __init__(self, tables: Tables, home: str) -> None:
        self.home = home
        self.numbers, self.constants = tables.numbers, tables.constants
        self.memory = Memory()
        self.processes: dict[int, Process] = {}
        self.current: Process | None = None

    # -- processes -----------------------------------------------------------------

    def enter(self, tid: int) -> Process:
        """A thread's process; this process takes on its directory and umask."""
        process = self.processes.get(tid)
        if process is None:
            process = self.processes[tid] = Process({}, os.open(self.home, os.O_PATH))
        if process is not self.current:
            os.fchdir(process.directory)
            os.umask(process.mask)
            self.current = process
        return process

    def fork(self, tid: int, call: Call) -> None:
        if call.ret and call.ret > 0 and call.ret not in self.processes:
            process = self.enter(tid)
            shared = "CLONE_FILES" in call.args
            self.processes[call.ret] = process if shared else process.child()

    def execute(self, tid: int) -> None:
        """After execve() the program has the descriptors that are not close-on-exec."""
        process = self.enter(tid)
        for fd, here in list(process.files.items()):
            if fcntl.fcntl(here, fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
                os.close(process.files.pop(fd))

    def files(self) -> list[tuple]:
        """All descriptors: their files, open flags, and offsets."""
        found = []
        for process in {id(one): one for one in self.processes.values()}.values():
            for fd, here in sorted(process.files.items()):
                path = str(Path(f"/proc/self/fd/{here}").readlink())
                flags = fcntl.fcntl(here, fcntl.F_GETFL), fcntl.fcntl(here, fcntl.F_GETFD)
                directory = stat.S_ISDIR(os.fstat(here).st_mode)
                at = 0 if directory or flags[0] & os.O_PATH else os.lseek(here, 0, os.SEEK_CUR)
                found.append((fd, path, *flags, at))
        return found

    def close(self) -> None:
        for process in self.processes.values():
            for here in process.files.values():
                with contextlib.suppress(OSError):  # closed by two threads of a process
                    os.close(here)
            process.files.clear()

    # -- arguments -----------------------------------------------------------------

    def number(self, value: Value) -> int:
        if value.number is not None:
            return value.number
        total = 0
        for part in value.text.split("|"):
            if re.fullmatch(r"-?(?:0x[0-9a-f]+|\d+)", part):
                total |= int(part, 8 if re.fullmatch(r"0[0-7]+", part) else 0)
            elif part in self.constants:
                total |= self.constants[part]
            else:
                raise NotMade(f"{part} is not known")
        return total

    def descriptor(self, process: Process, value: Value) -> int:
        if value.number is None:
            raise NotMade(value.text)
        return value.number if value.number < 0 else process.files.get(value.number, MISSING)

    def pointer(self, name: str, arg: int, args: list[Value], size: int = ROOM) -> int:
        """Memory for an argument, with the data that the call reads there."""
        value = args[arg]
        if value.string is not None and name in ("write", "pwrite64") and arg == 1:
            return self.memory.string(repeated(value, self.number(args[2])))
        if value.cut and not (name in FILLERS and FILLERS[name] == arg):
            raise NotMade("of a string the recording has only the beginning")
        if value.string is not None and not (name in FILLERS and FILLERS[name] == arg):
            return self.memory.string(value.string)
        if value.number is not None and not value.is_address:
            return value.number
        if name == "utimensat":
            return self.times(value.text)
        if "iov_base" in value.text:
            return self.vectors(value.text)
        if name == "fcntl" and "l_type" in value.text:
            raise NotMade("locks")
        return self.memory.room(size)

    def times(self, text: str) -> int:
        pairs = []
        for seconds, ns, special in TIMES.findall(text):
            ns = special or ns
            pairs.append((int(seconds or 0), SPECIAL[ns] if ns in SPECIAL else int(ns)))
        if len(pairs) != 2:
            raise NotMade(text)
        return self.memory.string(struct.pack("qqqq", *pairs[0], *pairs[1]))

    def vectors(self, text: str) -> int:
        found = IOVEC.findall(text)
        parts = [
            (self.memory.string(repeated(values.value(s, "s"), int(n))), int(n)) for s, n in found
        ]
        return self.memory.string(b"".join(struct.pack("QQ", *part) for part in parts))

    def arguments(self, process: Process, call: Call) -> list[int]:
        args, kinds, found = values.of_call(call.name, call.args), calltable.kinds(call.name), []
        for arg, value in enumerate(args):
            kind = kinds[arg] if arg < len(kinds) else "i"
            if kind == "f" or arg == 2 and "FICLONE" in args[1].text:
                found.append(self.descriptor(process, value))
            elif kind in "sp" or value.string is not None or value.is_struct:
                found.append(self.pointer(call.name, arg, args))
            else:
                found.append(self.number(value))
        return found

    # -- calls ---------------------------------------------------------------------

    def may(self, process: Process, call: Call) -> bool:
        """Whether a call concerns files, and changes only those of the test."""
        if call.name not in READS | WRITES:
            return False
        args = values.of_call(call.name, call.args)
        kinds = calltable.kinds(call.name)
        known = all(
            kind != "f" or value.number is None or value.number < 0 or value.number in process.files
            for kind, value in zip(kinds, args, strict=False)
        )
        strings = [value.string for value in args if value.string is not None]
        outside = any(s[:1] == b"/" and not s.startswith(os.fsencode(self.home)) for s in strings)
        changes = call.name in WRITES or re.search(r"O_CREAT|O_TRUNC|O_WRONLY|O_RDWR", call.args)
        return known and not (outside and changes)

    def make(self, tid: int, call: Call) -> Made:
        """Makes a call with the program's arguments."""
        process = self.enter(tid)
        if call.name in FORKS:
            self.fork(tid, call)
        elif call.name == "execve" and not call.error:
            self.execute(tid)
        if not self.may(process, call):
            return Made(call, None)
        try:
            args = self.arguments(process, call)
        except NotMade:
            return Made(call, None)
        ret = libc.syscall(*map(ctypes.c_long, [self.numbers[call.name], *args]))
        ret = -ctypes.get_errno() if ret < 0 else ret
        self.note(process, call, ret)
        return Made(call, ret, self.data(call, args, ret))

    def note(self, process: Process, call: Call, ret: int) -> None:
        """Updates the process's state after a call."""
        head = values.head(call.args)[0]
        if opens(call):
            # If it failed only here, later calls on it fail, too.
            if ret >= 0 and call.ret is not None and call.ret >= 0:
                process.files[call.ret] = ret
            elif ret >= 0:
                os.close(ret)
        elif call.name == "close" and ret == 0:
            process.files.pop(head, None)
        elif call.name in ("chdir", "fchdir") and ret == 0:
            os.close(process.directory)
            process.directory = os.open(".", os.O_PATH)
        elif call.name == "umask":
            process.mask = int(values.of_call(call.name, call.args)[0].text, 8)

    def data(self, call: Call, args: list[int], ret: int) -> bytes | None:
        at = address_of_data(call.name, args)
        return None if at is None else self.written(call.name, at, ret)

    def written(self, name: str, at: int, ret: int) -> bytes:
        """The memory that a call wrote, without fields that differ between two files."""
        if ret < 0:
            return b""
        if name in STAT_SIZES:
            size = STAT_SIZES[name]
            return masked(ctypes.string_at(at, size), size)
        data = ctypes.string_at(at, ret)
        return listed(data) if name in LISTERS else data


def strip(text: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


def address_of_data(name: str, args: list[int]) -> int | None:
    """The address that a call writes to, if its data is compared."""
    places_ = {"statx": 4, "newfstatat": 2, "stat": 1, "lstat": 1, "fstat": 1}
    arg = places_.get(name, FILLERS.get(name, 1 if name in LISTERS else None))
    return args[arg] if arg is not None and arg < len(args) else None


def in_order(trace: Trace) -> Iterator[tuple[Thread, int]]:
    """All calls in the order in which they began."""
    calls = [
        (call.start or 0.0, call.line, thread, i)
        for thread in trace.threads.values()
        for i, call in enumerate(thread.calls)
    ]
    calls.sort(key=lambda one: one[:2])
    for _, _, thread, i in calls:
        yield thread, i
