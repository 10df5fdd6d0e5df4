# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Bytes that a call copies between the process's memory and the kernel, by its trace.

Counts data, paths and the structures of calls; not those of ioctl() and the like, and no arguments,
as these are passed in registers. Data that never leaves the kernel, as with sendfile(), does not
count.
"""

from __future__ import annotations

from consolidate import calltable
from consolidate.trace import values
from consolidate.trace.call import Call

# Their result is the number of bytes copied, in or out.
DATA = calltable.words(
    """
    read pread64 readv preadv preadv2 write pwrite64 writev pwritev pwritev2 recvfrom recvmsg
    sendto sendmsg getdents getdents64 readlink readlinkat getxattr lgetxattr fgetxattr
    listxattr llistxattr flistxattr getrandom getcwd
    """
)
PATHS = calltable.PATHS | calltable.words(
    """
    chmod fchmodat chown lchown fchownat chdir rmdir link linkat symlink symlinkat renameat2
    truncate utimensat setxattr lsetxattr listxattr llistxattr execve mknod mknodat
    """
)
STAT, STATX = 144, 256
# Sizes of structures, for calls that succeed.
STRUCTS = {
    **dict.fromkeys(("stat", "lstat", "fstat", "newfstatat"), STAT),
    **dict.fromkeys(("statfs", "fstatfs"), 120),
    **dict.fromkeys(("accept", "accept4", "getsockname", "getpeername"), 20),
    **dict.fromkeys(("recvmsg", "sendmsg"), 72),
    **dict.fromkeys(("bind", "connect", "clock_gettime", "gettimeofday", "prlimit64"), 16),
    **dict.fromkeys(("pipe", "pipe2", "socketpair", "time"), 8),
    "statx": STATX,
    "uname": 390,
    "sysinfo": 112,
    "getrusage": 144,
    "times": 32,
    "wait4": 4,
    "epoll_ctl": 12,
    "rt_sigaction": 32,
    "rt_sigprocmask": 8,
    "utimensat": 32,
}
EPOLL_EVENT, POLLFD = 12, 8
EPOLL_WAITS = calltable.words("epoll_wait epoll_pwait epoll_pwait2")


def path_bytes(call: Call) -> int:
    """Bytes of the paths, with terminators; escapes count as written."""
    args = call.args
    if "\\" not in args and args.count('"') == 2:
        return args.rindex('"') - args.index('"')
    return sum(len(text) + 1 for text in values.TEXT.findall(args))


def of_call(call: Call) -> int:
    name = call.name
    copied = path_bytes(call) if name in PATHS else 0
    if call.ret is None or call.error is not None:
        return copied
    if name in DATA:
        copied += max(call.ret, 0)
    elif name in EPOLL_WAITS:
        copied += max(call.ret, 0) * EPOLL_EVENT
    elif name == "poll":
        # The whole array is read, and written.
        args = values.of_call(name, call.args)
        copied += 2 * POLLFD * ((args[1].number or 0) if len(args) > 1 else 0)
    return copied + STRUCTS.get(name, 0)
