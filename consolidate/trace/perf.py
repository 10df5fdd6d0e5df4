# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Parses lines of perf trace."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable

from consolidate import calltable
from consolidate.trace.call import NOTHING, Call, Line, LineKind
from consolidate.trace.strace import FORKS, split_result

# Time in ms, CPU (--show-cpu), duration in ms, and, unless one thread is traced, command/thread.
LEADER = (
    r"^ *(?:(\d+\.\d+)|\?) +(?:\[\d+\] )?\( *(?:(\d+\.\d+) ms| *)\): *(?:(\S.*?)/(\d+) +|(\d+) +)?"
)
PREFIX = re.compile(LEADER + r"(\.\.\. \[continued\]: )?(?=\w+\()")
# Page faults (-F), other events (-e), and the samples behind a line (--print-sample).
EVENT = re.compile(
    LEADER + r"(?:(?:maj|min)fault \[|[\w-]+:\w+\()"
    r"|^ ?raw_syscalls:sys_(?:enter|exit) +\d+\.\d+ .* \d+/\d+ \[\d+\]$"
)
RESULT = re.compile(
    r"(-?\d+|0x[0-9a-f]+)?(?:<.*>)?([A-Z][A-Z_|]+(?:\|0x[0-9a-f]+)?)?(?: +\([^)]*\))?$"
)
# An error by name, by text (7.2 has no names), or both, with or without brackets (before 4.17).
ERROR = re.compile(r"-1 +(?:(E[A-Z0-9_]+)|\(unknown\)|\(null\))(?: +(.*))?$")
BY_TEXT = {os.strerror(number): name for number, name in errno.errorcode.items()}
# Results that the program never sees: the call is restarted, or interrupted.
RESTARTED = re.compile(r"\bERESTART|strerror_r\(51[2-6]\b")
# The calling code, innermost first (--call-graph).
FRAME = re.compile(r"^ {20,}(\S.*) \(([^()]+)\)$")
LOST = re.compile(r"^LOST \d+ events")
OTHERS = re.compile(r"^(?:Warning|$)|^ *$")
# Tables at the end (-S, --tool_stats).
TABLES = re.compile(r"^(?: Summary of events:|Stats:$)")


def seconds(text: str | None) -> float | None:
    return float(text) / 1000 if text else None


def result_of(call: Call, text: str) -> bool:
    """Parse the text after ` = `; False if it is not a result; no result if it is restarted."""
    call.result = text
    failed = ERROR.match(text)
    if failed is not None:
        if RESTARTED.search(text):
            return True
        name, why = failed.groups()
        call.ret = -1
        call.error = name or BY_TEXT.get((why or "").strip("()"))
        return call.error is not None
    found = RESULT.match(text)
    if found is None:
        return False
    value, flags = found.groups()
    # For fcntl() it may be a descriptor with its path, or names of flags.
    call.ret = int(value, 0) if value else int(flags is not None)
    return True


def parse(text: str) -> Line:
    """One line."""
    text = text.rstrip()
    match = PREFIX.match(text)
    if match is None:
        frame = FRAME.match(text)
        if frame is not None:
            return Line(LineKind.FRAME, why=f"{frame[2]}({frame[1]})")
        if LOST.match(text):
            return Line(LineKind.LOST, why="the trace has a gap")
        if OTHERS.search(text) or EVENT.search(text) or TABLES.match(text):
            return NOTHING
        return Line(LineKind.DAMAGED, why="not from perf trace")
    start, took, command, tid, bare, again = match.groups()
    tid = int(tid or bare) if tid or bare else None
    command = command or ""
    name, _, rest = text[match.end() :].partition("(")
    call = Call(
        calltable.ALIASES.get(name, name), "", None, None, "", seconds(start), seconds(took)
    )
    if rest.endswith("= ?"):
        return Line(LineKind.BREAK, tid, command=command)
    if rest.endswith("..."):
        call.args = rest[:-3].rstrip().removesuffix(")")
        return Line(LineKind.UNFINISHED, tid, call, command)
    parts = split_result(rest + " " if rest.endswith("=") else rest)
    if parts is None or not result_of(call, parts[1].strip()):
        return Line(LineKind.DAMAGED, tid, command=command, why="a call without its result")
    call.args = parts[0]
    if call.ret is None:
        return Line(LineKind.BREAK, tid, command=command)
    if again:
        call.args = ""
        return Line(LineKind.RESUMED, tid, call, command, expected=True)
    return Line(
        LineKind.CALL, tid, call, command, name_of_child=call.name in FORKS and call.ret > 0
    )


class Parser:
    """Parses lines until the tables at their end."""

    def __init__(self) -> None:
        self.ended = False

    def __call__(self, text: str) -> Line:
        self.ended = self.ended or TABLES.match(text) is not None
        return NOTHING if self.ended else parse(text)


def parser() -> Callable[[str], Line]:
    return Parser()
