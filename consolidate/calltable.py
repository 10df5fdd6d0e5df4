# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What is known of each system call.

Which calls scripts may make, and what kind each argument is, says
kernel/syscalls.def.  The families here are what that file has no need to know:
they concern the meaning of a call to the program that makes it.
"""

from __future__ import annotations

import re
from functools import cache

from consolidate import places
from consolidate.errors import ConsolidateError

LINE = re.compile(r'^SYSCALL(_EXCLUDED)?\((\w+), "([^"]*)"(?:, (\w+))?', re.M)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Their result is a new descriptor.
OPENERS = words(
    """
    open openat openat2 creat socket accept accept4 dup dup2 dup3 epoll_create
    epoll_create1 eventfd eventfd2 timerfd_create signalfd signalfd4 inotify_init
    inotify_init1 memfd_create pidfd_open open_by_handle_at fanotify_init userfaultfd
    mq_open pidfd_getfd
    """
)
# Their result counts what came; none is the end.
COUNTERS = words(
    """
    read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg getdents getdents64
    epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect6 io_getevents
    mq_timedreceive msgrcv copy_file_range splice sendfile tee
    """
)
# They look at files and change nothing: their order among other calls is free.
QUERIES = words(
    """
    stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getxattr
    lgetxattr statfs
    """
)
# They walk a path, which costs more than all else about them.
PATHS = QUERIES | words("open openat openat2 creat unlink unlinkat mkdir mkdirat rename renameat")
# They wait for another thread or process, which a script would keep waiting.
WAITERS = words(
    """
    futex_wait futex_waitv wait4 waitid
    """
)
# The allocator's, in the middle of anything: no part of a sequence.
ALLOCATOR = frozenset(["brk", "madvise"])
# What strace calls otherwise than the kernel's table.
ALIASES = {
    "fstatat64": "newfstatat",
    "pread": "pread64",
    "pwrite": "pwrite64",
    "sendfile64": "sendfile",
    "fadvise64_64": "fadvise64",
    "umount": "umount2",
    "newfstat": "fstat",
    "newstat": "stat",
    "newlstat": "lstat",
    "newuname": "uname",
}


@cache
def _table() -> tuple[dict[str, str], dict[str, str], set[str]]:
    path = places.first(places.SYSCALLS)
    if path is None:
        raise ConsolidateError(
            f"the list of system calls, {places.SYSCALLS[-1]}, is missing: reinstall"
        )
    kinds: dict[str, str] = {}
    left_out: dict[str, str] = {}
    fast = set()
    for left, name, text, flag in LINE.findall(path.read_text()):
        (left_out if left else kinds)[name] = text
        if flag == "SC_FAST":
            fast.add(name)
    return kinds, left_out, fast


@cache
def kinds(name: str) -> str:
    """A letter of "ifps" for each argument of a call that scripts may make.

    See syscalls.def; which arguments are optional is of no concern here.
    """
    return _table()[0].get(name, "").lower().replace("l", "i")


@cache
def why_not(name: str) -> str | None:
    """Why a script cannot make a call; None if it can."""
    known, left_out, _ = _table()
    if name in known:
        return None
    return left_out.get(name, "not a system call that scripts know")


def is_fast(name: str) -> bool:
    """Whether a script makes the call without leaving its own mode."""
    return name in _table()[2]


def blocks_on_thread(name: str, args: str) -> bool:
    """Whether a call waits for another thread."""
    if name == "futex":
        return "FUTEX_WAIT" in args or "FUTEX_LOCK" in args or "op: WAIT" in args
    return name in WAITERS


def incidental(name: str, args: str) -> bool:
    """Whether a call is the allocator's."""
    if name == "mmap":
        return "ANONYMOUS" in args
    return name in ALLOCATOR or name == "munmap"
