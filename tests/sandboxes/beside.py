#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A process that uses something of the kernel's next to a script, and prints what each says.

usage: beside.py landlock|userfaultfd|io_uring|fanotify|bpf PATH

Prints lines "WHAT: BACKEND PLAIN SCRIPT": the result of a plain call, or -errno, and that of the
same call in a script.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "python"))

import syscript  # noqa: E402

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
SYS = {
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
OPEN = "function run(path) local fd = syscall.open(path, const.O_RDONLY) "
OPEN += "if fd >= 0 then syscall.close(fd) return 0 end return fd end"
STAT = "function run(path, buf) return syscall.newfstatat(const.AT_FDCWD, path, buf, 0) end"
MKDIR = "function run(path) return syscall.mkdir(path, 448) end"
SLEEP = "function run(span) return syscall.nanosleep(span, 0) end"
READ = "function run(fd, at) return syscall.pread64(fd, at, 100, 0) end"


def call(name: str, *args: object) -> int:
    """A system call by its number; -errno if it fails."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    ret = libc.syscall(ctypes.c_long(SYS[name]), *words)
    return ret if ret >= 0 else -ctypes.get_errno()


def plain(work: object, *args: object) -> int:
    try:
        work(*args)
    except OSError as error:
        return -error.errno
    return 0


def script(source: str) -> syscript.Script:
    return syscript.Script(source, name="beside", time_limit=10)


def tell(what: str, made: syscript.Script, usual: int, got: int) -> None:
    print(f"{what}: {made.backend} {usual} {got}", flush=True)


def opened(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def landlock(path: str) -> None:
    """Nothing may be read any more; scripts that were registered before are restricted, too."""
    opens, stats, buf = script(OPEN), script(STAT), syscript.buffer(256)
    assert opens(path) == 0 and stats(path, buf) == 0
    read_file = struct.pack("Q", 1 << 2)
    ruleset = call("landlock_create_ruleset", read_file, len(read_file), 0)
    assert ruleset >= 0, ruleset
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert call("landlock_restrict_self", ruleset, 0) == 0
    tell("open", opens, plain(opened, path), opens(path))
    tell("stat", stats, plain(os.stat, path), stats(path, buf))


def userfaultfd(path: str) -> None:
    """A page that only faults of user mode may fill: the kernel's are EFAULT."""
    made, fd = script(READ), os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    # O_CLOEXEC | UFFD_USER_MODE_ONLY
    fault = call("userfaultfd", os.O_CLOEXEC | 1)
    assert fault >= 0, fault
    fcntl.ioctl(fault, 0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))  # UFFDIO_API
    # UFFDIO_REGISTER, for missing pages
    fcntl.ioctl(fault, 0xC020AA00, struct.pack("QQQQ", at, 4096, 1, 0))
    usual = libc.pread(fd, ctypes.c_void_p(at), ctypes.c_size_t(100), ctypes.c_long(0))
    tell("read", made, -ctypes.get_errno() if usual < 0 else usual, made(fd, at))


IORING_OP_TIMEOUT, IORING_OFF_SQES = 11, 0x10000000
SINGLE_ISSUER_DEFER_TASKRUN = 1 << 12 | 1 << 13


def start_timeout(flags: int, after: float) -> tuple:
    """A ring of this thread's, of which one request completes later; all that it needs."""
    params = bytearray(120)
    params[8:12] = flags.to_bytes(4, "little")
    made = (ctypes.c_char * len(params)).from_buffer(params)
    ring = call("io_uring_setup", 4, made)
    assert ring >= 0, ring
    (tail,) = struct.unpack_from("I", params, 44)
    (array,) = struct.unpack_from("I", params, 64)
    queue = mmap.mmap(ring, array + 16)
    requests = mmap.mmap(ring, 4 * 64, offset=IORING_OFF_SQES)
    span = ctypes.create_string_buffer(struct.pack("qq", 0, int(after * 1e9)), 16)
    requests[:32] = struct.pack(
        "BBHiQQII", IORING_OP_TIMEOUT, 0, 0, -1, 0, ctypes.addressof(span), 1, 0
    )
    queue[array : array + 4] = bytes(4)
    queue[tail : tail + 4] = struct.pack("I", 1)
    assert call("io_uring_enter", ring, 1, 0, 0, None, 0) == 1
    return queue, requests, span


def io_uring(path: str) -> None:
    """A call that waits while a request of the same thread completes."""
    made, span = script(SLEEP), ctypes.create_string_buffer(struct.pack("qq", 1, 0), 16)
    for name, flags in {"sleep": 0, "sleep_deferred": SINGLE_ISSUER_DEFER_TASKRUN}.items():
        kept = [start_timeout(flags, 0.3)]
        usual = -ctypes.get_errno() if libc.nanosleep(span, None) else 0
        kept.append(start_timeout(flags, 0.3))
        tell(name, made, usual, made(ctypes.addressof(span)))


def fanotify(path: str) -> None:
    """Its listener is another process, which refuses."""
    opens, stats, buf = script(OPEN), script(STAT), syscript.buffer(256)
    tell("open", opens, plain(opened, path), opens(path))
    tell("stat", stats, plain(os.stat, path), stats(path, buf))


def bpf(path: str) -> None:
    """A program of the security module's refuses new directories."""
    makes = script(MKDIR)
    tell("mkdir", makes, plain(os.mkdir, path), makes(path))


WAYS = {
    "landlock": landlock,
    "userfaultfd": userfaultfd,
    "io_uring": io_uring,
    "fanotify": fanotify,
    "bpf": bpf,
}
WAYS[sys.argv[1]](sys.argv[2])
