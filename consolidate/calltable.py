# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Facts about each system call.

core/syscalls.def says which calls scripts may make, and the kind of each argument. The families
here are facts that file does not need: they concern the meaning of a call to the program that makes
it.
"""

from __future__ import annotations

import re
from functools import cache

from consolidate import paths
from consolidate.errors import ConsolidateError

LINE = re.compile(r'^SYSCALL(?:_OLD|(_EXCLUDED))?\((\w+), "([^"]*)"(?:, ([\w |]+))?', re.M)


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
# Their result counts bytes or items; 0 is the end.
COUNTERS = words(
    """
    read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg getdents getdents64
    epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect6 io_getevents
    mq_timedreceive msgrcv copy_file_range splice sendfile tee
    """
)
# They only query files: their order among other calls does not matter.
QUERIES = words(
    """
    stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getxattr
    lgetxattr statfs
    """
)
# They resolve a path, which dominates their cost.
PATHS = QUERIES | words("open openat openat2 creat unlink unlinkat mkdir mkdirat rename renameat")
# They wait for another thread or process, and would block a script.
WAITERS = words("futex_wait futex_waitv wait4 waitid")
# They are steps of a protocol between threads in memory, in which no script takes part.
BETWEEN_THREADS = words("futex futex_wake futex_requeue")
# Which handler runs, and when, is up to the program.
OF_SIGNALS = words("rt_sigaction rt_sigprocmask sigaltstack rt_sigpending")
SLEEPERS = words("nanosleep clock_nanosleep pause rt_sigsuspend")
# They wait for events with a timeout, in this argument.
TIMEOUTS = {"epoll_wait": 3, "epoll_pwait": 3, "epoll_pwait2": 3, "poll": 2, "ppoll": 2}
TIMEOUTS |= {"select": 4, "pselect6": 4}
AT_ONCE = frozenset(["0", "{tv_sec=0, tv_nsec=0}", "{tv_sec=0, tv_usec=0}"])
# Arguments that the kernel reads and writes: offsets that it advances, buffer lengths that it
# replaces by lengths of the contents. Each call needs a value of its own.
IN_OUT = {
    "accept": {2},
    "accept4": {2},
    "copy_file_range": {1, 3},
    "getpeername": {2},
    "getsockname": {2},
    "getsockopt": {4},
    "recvfrom": {5},
    "recvmsg": {1},
    "sendfile": {2},
    "splice": {1, 3},
}
# The allocator's calls may occur anywhere: never part of a sequence.
ALLOCATOR = frozenset(["brk", "madvise"])
# Kinds of work, for tables: the first that contains a call counts.
KINDS = {
    "attributes": QUERIES | words("fstat fstatfs fgetxattr flistxattr listxattr llistxattr"),
    "directories": words("getdents getdents64 mkdir mkdirat rmdir chdir fchdir getcwd"),
    "sockets": words(
        """
        socket socketpair bind listen accept accept4 connect shutdown sendto recvfrom sendmsg
        recvmsg sendmmsg recvmmsg getsockname getpeername getsockopt setsockopt
        """
    ),
    "files": words(
        """
        open openat openat2 creat close read pread64 readv preadv preadv2 write pwrite64 writev
        pwritev pwritev2 lseek fsync fdatasync ftruncate truncate fallocate fadvise64 readahead
        copy_file_range sendfile splice tee rename renameat renameat2 unlink unlinkat link linkat
        symlink symlinkat chmod fchmod fchmodat chown fchown fchownat lchown utimensat fcntl flock
        dup dup2 dup3 pipe pipe2 ioctl
        """
    ),
    "waiting": words(
        """
        poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2 epoll_ctl futex
        nanosleep clock_nanosleep pause wait4 waitid rt_sigtimedwait io_uring_enter
        """
    ),
    "memory": words("mmap munmap mprotect mremap madvise brk msync mincore mlock"),
    "processes": words(
        """
        clone clone3 fork vfork execve execveat exit exit_group kill tgkill prctl arch_prctl
        set_tid_address set_robust_list rseq setpgid setsid getpid gettid getppid getpgrp
        """
    ),
    "signals": words("rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack rt_sigsuspend"),
}
OTHER_KIND = "other"
# strace's names that differ from the kernel's table.
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
    path = paths.first(paths.SYSCALLS)
    if path is None:
        raise ConsolidateError(
            f"the list of system calls, {paths.SYSCALLS[-1]}, is missing: reinstall"
        )
    kinds: dict[str, str] = {}
    left_out: dict[str, str] = {}
    fast = set()
    for left, name, text, flags in LINE.findall(path.read_text()):
        (left_out if left else kinds)[name] = text
        if "SC_FAST" in flags:
            fast.add(name)
    return kinds, left_out, fast


@cache
def _numbers() -> dict[int, str]:
    path = paths.first(paths.NUMBERS)
    if path is None:
        raise ConsolidateError(
            f"the numbers of system calls, {paths.NUMBERS[-1]}, are missing:"
            " reinstall, or `make consolidate`"
        )
    pairs = (line.split() for line in path.read_text().splitlines())
    return {int(number): name for number, name in pairs}


def name_of(number: int) -> str:
    """The name of an x86-64 call; audit records only have its number."""
    return _numbers().get(number, f"syscall_{number}")


@cache
def kinds(name: str) -> str:
    """A letter of "ifps" for each argument of a call that scripts may make.

    See syscalls.def; which arguments are optional does not matter here.
    """
    return _table()[0].get(name, "").lower().replace("l", "i")


@cache
def why_not(name: str) -> str | None:
    """Why a script cannot make a call; None if it can."""
    known, left_out, _ = _table()
    if name in known:
        return None
    return left_out.get(name, "not a system call that scripts know")


def kind_of(name: str) -> str:
    """A call's kind of work, see KINDS."""
    return _kinds().get(name, OTHER_KIND)


@cache
def _kinds() -> dict[str, str]:
    return {name: kind for kind, names in reversed(KINDS.items()) for name in names}


def is_fast(name: str) -> bool:
    """Whether a script makes the call without leaving its own mode."""
    return name in _table()[2]


def pauses(name: str) -> str | None:
    """Why a program pauses at a call that scripts could make; None if it does not."""
    if name in WAITERS:
        return "waits for another thread"
    if name in BETWEEN_THREADS:
        return "synchronizes threads"
    if name in OF_SIGNALS:
        return "sets up signals"
    return "sleeps" if name in SLEEPERS else None


def incidental(name: str, args: str) -> bool:
    """Whether a call belongs to the allocator."""
    if name == "mmap":
        return "ANONYMOUS" in args
    return name in ALLOCATOR or name == "munmap"
