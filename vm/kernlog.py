# SPDX-License-Identifier: GPL-2.0
"""A kernel's log, and the messages it must not have: the only list, for vm/guest and tests."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator

_BAD = re.compile(
    r"""
    Kernel\ panic | \bOops\b | \bBUG: | kernel\ BUG\ at | \bWARNING: | cut\ here
    | (self-)?detected\ (expedited\ )?stall | rcu.*\bstall(s|ed)?\b
    | possible\ circular | inconsistent\ lock\ state | suspicious\ RCU
    | INFO:\ task\ .*\ blocked | soft\ lockup | hard\ LOCKUP
    | KASAN | UBSAN | suspected\ memory\ leak | unreferenced\ object
    | general\ protection | double\ fault | refcount_t | list_(add|del)\ corruption
    | scheduling\ while\ atomic | sleeping\ function\ called | DEBUG_LOCKS_WARN_ON
    | corrupted\ stack\ end | Bad\ page\ (state|map) | unable\ to\ handle
    """,
    re.VERBOSE,
)

# Reports of the safety kit's tools on a module's faults, and of the module's own watchdog: allowed
# where faults were planted.
_REPORT = re.compile(
    r"\b(kefence|evmon|kgcc|racewatch): violation: |\bsyscript: .* was not watched"
)
# Tests that plant faults write these messages around them.
_PLANTED, _NOT_PLANTED = "test: a fault is planted", "test: no fault is planted"

# Messages of sound kernels: faults of user programs, things that the guest's init misses in a small
# system, and protections that the (emulated) CPU lacks.
_GOOD = re.compile(
    r"\btraps: |virtme-ng-init: "
    r"|WARNING: Spectre|Spectre V2|Retbleed|RETBleed|MDS: |TAA: |MMIO Stale"
)


def is_bad(line: str, planted: bool = False) -> bool:
    """Whether a line of a kernel log shows a broken kernel."""
    if _REPORT.search(line):
        return not planted
    return bool(_BAD.search(line)) and not _GOOD.search(line)


def excerpt(log: str, before: int = 3, after: int = 40, planted: bool = False) -> str:
    """The log around its first bad line, or "" if there is none."""
    lines = log.splitlines()
    here = False
    for number, line in enumerate(lines):
        here = _PLANTED in line or (here and _NOT_PLANTED not in line)
        if is_bad(line, planted or here):
            return "\n".join(lines[max(0, number - before) : number + after])
    return ""


class KernelLog:
    """The kernel's log from here on."""

    def __init__(self, marker: str) -> None:
        self.fd = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        os.write(self.fd, f"<6>test: {marker}\n".encode())
        self.text = ""

    def read(self) -> str:
        """All messages so far; lost lines are reported, not skipped."""
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return self.text
            except BrokenPipeError:
                self.text += "(records were overwritten before they were read)\n"
                continue
            self.text += record.partition(";")[2]

    def close(self) -> None:
        os.close(self.fd)


@contextlib.contextmanager
def watched(marker: str, planted: bool, fail: Callable[[str], object]) -> Iterator[None]:
    """Call fail() with the kernel's complaints during the block, whatever else failed."""
    log = KernelLog(marker)
    try:
        yield
    finally:
        bad = excerpt(log.read(), planted=planted)
        log.close()
        if bad:
            fail(f"the kernel's log tells of a broken kernel:\n{bad}")
