# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Decides whether an argument that never changes is a constant of the code, or only of this trace.

A program that sets the mode of files to that of other files makes fchmod(file, 0644) all
day, if these are all of that mode. A script with 0644 in it would be wrong for the first other
file, and report success. So properties of files, users and data are parameters, however constant;
flags and operations belong to the code; the rest cannot be decided, and the script's user must
confirm it.
"""

from __future__ import annotations

from enum import Enum

from consolidate import calltable
from consolidate.mine.dataflow import DRAINERS, SIZE_ARG, Flow, Repeat
from consolidate.trace.values import Value


class Origin(Enum):
    """Whether a constant argument belongs to the code, to the item, or is unknown."""

    CODE = "code"
    PROGRAM = "program"  # of the data it works on: a parameter
    UNKNOWN = "unknown"


# Arguments that are properties of a call's object: permissions, owners, offsets and sizes, numbers
# of descriptors.
MODES = {"chmod": {1}, "fchmod": {1}, "fchmodat": {2}, "fchmodat2": {2}, "mknod": {1, 2}}
MODES |= {"mknodat": {2, 3}, "umask": {0}}
OWNERS = {"chown": {1, 2}, "fchown": {1, 2}, "lchown": {1, 2}, "fchownat": {2, 3}, "kill": {0}}
PLACES = {"pread64": {3}, "pwrite64": {3}, "lseek": {1}, "ftruncate": {1}, "truncate": {1}}
PLACES |= {"fallocate": {2, 3}, "sync_file_range": {1, 2}, "preadv": {3}, "pwritev": {3}}
PLACES |= {"copy_file_range": {4}, "sendfile": {3}, "splice": {4}, "readahead": {1, 2}}
PLACES |= {"fadvise64": {1, 2}, "poll": {1}, "ppoll": {1}, "select": {0}, "pselect6": {0}}
# Modes of created files: 0666 and 0777 leave them to the umask, others may come from other files.
CREATION = {"open": 2, "openat": 3, "creat": 1, "mkdir": 1, "mkdirat": 2}
BY_UMASK = frozenset([0o666, 0o777])
# Numbers that belong to the code: sizes of its structures and arrays, operations, protocols.
OF_CODE = {"setsockopt": {1, 2, 4}, "getsockopt": {1, 2}, "socket": {0, 1, 2}, "listen": {1}}
OF_CODE |= {"epoll_wait": {2}, "epoll_pwait": {2, 5}, "epoll_pwait2": {2, 5}, "ioctl": {1}}
OF_CODE |= {"fcntl": {1}, "recvmmsg": {2}, "epoll_create": {0}, "ppoll": {4}}
OF_CODE |= {"connect": {2}, "bind": {2}, "sendto": {5}}
# They pass flags that the kernel reported back to it, perhaps modified by the code.
OF_FLAGS = {"fcntl": {2}}
NEUTRAL = frozenset([0, -1])
# Integers up to this have all their digits in a script's text.
EXACT = 1 << 53
# Typical sizes of buffers in code.
SMALLEST_BUFFER = 512
# Each descriptor is waited for with its own events.
POLLS = frozenset(["poll", "ppoll"])
# System paths, which code contains; users pass them as well.
SYSTEM = (b"/etc/", b"/proc/", b"/sys/", b"/dev/")


def origin(name: str, arg: int, value: Value) -> Origin:
    """Whether an argument's constant value belongs to the code, to the item, or is unknown."""
    if value.string is not None:
        return of_text(value.string)
    if arg in MODES.get(name, ()) or arg in OWNERS.get(name, ()):
        return Origin.PROGRAM
    if arg == CREATION.get(name):
        return Origin.CODE if value.number in BY_UMASK else Origin.PROGRAM
    if arg in OF_FLAGS.get(name, ()) and value.number not in NEUTRAL:
        return Origin.UNKNOWN
    if value.number is None or value.number in NEUTRAL or value.text == "AT_FDCWD":
        return Origin.CODE
    if abs(value.number) > EXACT:
        return Origin.PROGRAM
    if arg in PLACES.get(name, ()) or arg == calltable.TIMEOUTS.get(name):
        return Origin.PROGRAM
    if arg == SIZE_ARG.get(name):
        is_room = name not in DRAINERS and value.number >= SMALLEST_BUFFER
        return Origin.CODE if is_room and value.number.bit_count() == 1 else Origin.PROGRAM
    return Origin.CODE if arg in OF_CODE.get(name, ()) else Origin.UNKNOWN


def of_text(text: bytes) -> Origin:
    if not text:
        return Origin.CODE
    return Origin.UNKNOWN if text.startswith(SYSTEM) else Origin.PROGRAM


def assumptions(flow: Flow) -> list[str]:
    """Constants that a script assumes and the trace cannot prove, and rules with exceptions."""
    told = list(flow.exceptions)
    for number, step in enumerate(flow.steps, 1):
        for arg, source in enumerate(step.args, 1):
            if source.assumed:
                told.append(f"step {number}, {step.name}(): argument {arg} is {source.value.text}")
        if step.repeat is Repeat.READY and any(s.name in POLLS for s in flow.steps):
            told.append(f"step {number}, {step.name}(): whatever poll() found it ready for")
        if step.repeat is Repeat.TIMES and step.times > 1:
            told.append(f"step {number}, {step.name}(): {step.times} times, never more or less")
    for loop in flow.loops.values():
        if loop.repeat is Repeat.TIMES and loop.times > 1:
            first = next(i for i, step in enumerate(flow.steps) if step.path[:-1] == loop.path)
            told.append(f"the loop from step {first + 1} on: {loop.times} times")
    return told
