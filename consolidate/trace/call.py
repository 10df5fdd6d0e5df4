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
    NOTHING = auto()  # nothing of interest, and no damage
    FRAME = auto()  # of the stack of the call before
    SUPERSEDED = auto()  # the thread's number goes to another, which executes a program
    DAMAGED = auto()


@dataclass(slots=True)
class Call:
    """One system call; arguments as the trace has them, taken apart when needed."""

    name: str
    args: str
    ret: int | None
    error: str | None
    result: str  # as written, with what stands after it
    start: float | None
    took: float | None
    line: int = 0  # of its file, where it was finished
    stack: tuple[str, ...] = ()  # where it was made from, innermost first


@dataclass(slots=True)
class Line:
    """A line as its parser understood it."""

    kind: LineKind
    tid: int | None = None
    call: Call | None = None
    command: str = ""
    why: str = ""  # it is damaged; or the frame; or the architecture of a call not read
    relative: bool = False  # the stamp is the time since the line before
    name_of_child: bool = False  # the result is a new thread
    expected: bool = False  # a resumption without a beginning is no damage
    by: int = 0  # the thread that supersedes this one


NOTHING = Line(LineKind.NOTHING)
