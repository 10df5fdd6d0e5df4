# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Lines as perf trace writes them."""

from __future__ import annotations

import re
from collections.abc import Callable

from consolidate import calltable
from consolidate.trace.call import NOTHING, Call, Line, LineKind
from consolidate.trace.strace import FORKS, split_result

# Time in ms, duration in ms, and, unless one thread is traced, command/thread.
PREFIX = re.compile(
    r"^ *(?:(\d+\.\d+)|\?) +\( *(?:(\d+\.\d+) ms| *)\): *(?:(\S.*?)/(\d+) +|(\d+) +)?"
    r"(\.\.\. \[continued\]: )?(?=\w+\()"
)
RESULT = re.compile(
    r"(-?\d+|0x[0-9a-f]+)?(?:<.*>)?([A-Z][A-Z_|]+(?:\|0x[0-9a-f]+)?)?"
    r"(?: +(E[A-Z0-9]+))?(?: +\([^)]*\))?$"
)
OTHERS = re.compile(r"^(?:LOST|Warning|$)| Summary of events| +syscall +calls|^ *$")


def seconds(text: str | None) -> float | None:
    return float(text) / 1000 if text else None


def parse(text: str) -> Line:
    """One line."""
    text = text.rstrip()
    match = PREFIX.match(text)
    if match is None:
        return NOTHING if OTHERS.search(text) else Line(LineKind.DAMAGED, why="not from perf trace")
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
    result = RESULT.match(parts[1].strip()) if parts is not None else None
    if parts is None or result is None:
        return Line(LineKind.DAMAGED, tid, command=command, why="a call without its result")
    call.args = parts[0]
    call.result = parts[1].strip()
    value = result.group(1)
    # Of fcntl() it may be a descriptor with its path, or flags by their names.
    call.ret = int(value, 0) if value else int(result.group(2) is not None)
    call.error = result.group(3)
    if again:
        call.args = ""
        return Line(LineKind.RESUMED, tid, call, command, expected=True)
    return Line(
        LineKind.CALL, tid, call, command, name_of_child=call.name in FORKS and call.ret > 0
    )


def parser() -> Callable[[str], Line]:
    return parse
