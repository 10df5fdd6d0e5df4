# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A parsed line of a trace, from any of the tools."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class LineKind(Enum):
    """The kind of a line."""

    CALL = auto()
    UNFINISHED = auto()
    RESUMED = auto()
    BREAK = auto()  # a signal, an exit
    NOTHING = auto()  # of no interest, and not damaged
    FRAME = auto()  # a stack frame of the previous call
    BEGUN = auto()  # a thread is traced from now on
    ENDED = auto()  # a thread has ended, or is not traced any more
    SUPERSEDED = auto()  # the thread's number goes to another thread, which executes a program
    DAMAGED = auto()
    LOST = auto()  # calls are missing here, of any thread


@dataclass(slots=True)
class Call:
    """One system call; arguments as in the trace, parsed on demand."""

    name: str
    args: str
    ret: int | None
    error: str | None
    result: str  # as written, with the text after it
    start: float | None
    took: float | None
    line: int = 0  # where it was finished, in its file
    stack: tuple[str, ...] = ()  # of the calling code, innermost first


@dataclass(slots=True)
class Line:
    """A line as its parser understood it."""

    kind: LineKind
    tid: int | None = None
    call: Call | None = None
    command: str = ""
    why: str = ""  # reason of the damage; or the frame; or the architecture of a skipped call
    relative: bool = False  # the stamp counts from the previous line
    name_of_child: bool = False  # the result is a new thread
    expected: bool = False  # a resumption without a beginning is no damage
    by: int = 0  # the thread that supersedes this one


NOTHING = Line(LineKind.NOTHING)
