# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Lines as strace writes them, whatever its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern

from consolidate import calltable
from consolidate.trace.call import NOTHING, Call, Line, LineKind

FORKS = frozenset(["clone", "clone3", "fork", "vfork"])

# [pid 12] or 12, then the stamp of -t, -tt, -ttt or -r, then -n's and -i's brackets.
PREFIX = re.compile(
    r"(?:\[pid +(\d+)\] |(\d+) +(?=\S))?"
    r"(?:(\d\d):(\d\d):(\d\d(?:\.\d+)?) |(\d+\.\d+) |(\+? *\d+\.\d{6}) )?"
    r"(?:\[ *[0-9a-f]+\] )*"
)
RESULT = re.compile(
    r"(?:(-?\d+)|(0x[0-9a-f]+)|\?)(?:<.*>)?"
    r"(?: +(E[A-Z0-9_]+) ?\([^)]*\))?( +\(.*\))?(?: +<(\d+\.\d+)>)?(?: \(DELAYED\))?$"
)
# What most lines are, in one step: a long trace has millions.
ORDINARY = re.compile(
    r"(?:\[pid +(\d+)\] |(\d+) +)?(?:(\d{7,}\.\d+) )?([a-z]\w*)\((.*)\) += "
    r"((-?\d+)(?:<[^ ]*>)?(?: (E[A-Z0-9_]+) \([^)]*\))?(?: <(\d+\.\d+)>)?)\n?$"
)
TOOK = re.compile(r" <(\d+\.\d+)>$")
UNFINISHED = " <unfinished ...>"
# What strace says of itself, or of what it was told to watch.
REMARKS = re.compile(r"^(?:strace: |\[ Process |Process \d+ (?:at|de)tached|$)")
FRAME = " > "
SUMMARY = re.compile(r"^(?:% time|[- ]+$| *[\d.]+ +[\d.]+ +\d+ +\d+ )")


def split_result(text: str) -> tuple[str, str] | None:
    """A line's arguments and its result: the last ` = ` after a closing bracket."""
    end = text.rfind(" = ")
    while end > 0:
        args = text[:end].rstrip()
        if args.endswith(")"):
            return args[:-1], text[end + 3 :]
        end = text.rfind(" = ", 0, end)
    return None


def result_of(call: Call, text: str) -> bool:
    """Read what stands after the ` = `; False if it is cut off or no result."""
    match = RESULT.match(text)
    if match is None:
        return False
    number, address, error, _, took = match.groups()
    call.result = text
    call.ret = int(number) if number is not None else int(address, 16) if address else None
    call.error = error
    if took is not None:
        call.took = float(took)
    return True


def damaged(tid: int | None, why: str) -> Line:
    return Line(LineKind.DAMAGED, tid, why=why)


def named(text: str, tid: int | None, start: float | None, relative: bool) -> Line:
    """A line that begins with a call's name."""
    name, bracket, rest = text.partition("(")
    if not bracket or not name.isidentifier():
        return damaged(tid, "not a line of strace")
    name = calltable.ALIASES.get(name, name)
    call = Call(name, "", None, None, "", start, None)
    if rest.endswith(UNFINISHED):
        call.args = rest[: -len(UNFINISHED)]
        return Line(LineKind.UNFINISHED, tid, call, relative=relative)
    parts = split_result(rest)
    if parts is None or not result_of(call, parts[1]):
        if rest.endswith(("<detached ...>", "<unfinished ...>)", "= ?")):
            return Line(LineKind.BREAK, tid)
        return damaged(tid, "a call without its result")
    call.args = parts[0]
    if call.ret is None:
        # Ended by a signal, to be restarted, or the thread is gone.
        return Line(LineKind.BREAK, tid)
    return Line(LineKind.CALL, tid, call, relative=relative, name_of_child=name in FORKS)


def resumed(text: str, tid: int | None, start: float | None, relative: bool) -> Line:
    name, _, rest = text[5:].partition(" resumed>")
    name = calltable.ALIASES.get(name, name)
    call = Call(name, "", None, None, "", start, None)
    parts = split_result(rest)
    if parts is None or not result_of(call, parts[1]):
        return damaged(tid, f"the end of {name} without its result")
    call.args = parts[0]
    if call.ret is None:
        call.error = None
    return Line(LineKind.RESUMED, tid, call, relative=relative)


def ordinary(text: str) -> tuple[str | None, Call] | None:
    """An ordinary line's call, and its thread's number as written; None of other lines."""
    match = ORDINARY.match(text)
    if match is None:
        return None
    pid, bare, start, name, args, result, ret, error, took = match.groups()
    call = Call(
        intern(calltable.ALIASES.get(name, name)),
        args,
        int(ret),
        error,
        result,
        float(start) if start is not None else None,
        float(took) if took is not None else None,
    )
    return pid or bare, call


def stamp(match: re.Match[str]) -> tuple[float | None, bool]:
    hours, minutes, seconds, epoch, step = match.group(3, 4, 5, 6, 7)
    if hours is not None:
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds), False
    if epoch is not None:
        # Of -ttt, or of -r: that counts from the line before.
        return float(epoch), float(epoch) < 1e6
    return (float(step.lstrip("+ ")), True) if step is not None else (None, False)


def parse(text: str) -> Line:
    """One line."""
    found = ordinary(text)
    if found is None:
        return unusual(text)
    pid, call = found
    tid = int(pid) if pid else None
    return Line(LineKind.CALL, tid, call, name_of_child=call.name in FORKS)


def unusual(text: str) -> Line:
    """One line that is not ordinary."""
    text = text.rstrip()
    if text.startswith(FRAME):
        return Line(LineKind.FRAME, why=text.removeprefix(FRAME))
    stripped = text.lstrip() if text[:1] == " " else text
    match = PREFIX.match(stripped)
    rest = stripped[match.end() :]
    pid = match.group(1) or match.group(2)
    tid = int(pid) if pid is not None else None
    start, relative = stamp(match)
    first = rest[:1]
    if first == "<" and rest.startswith("<... "):
        return resumed(rest, tid, start, relative)
    if first in "-+" and rest.startswith(("--- ", "+++ ")):
        return Line(LineKind.BREAK, tid)
    if not first or REMARKS.match(text) or SUMMARY.match(text) or rest.startswith("strace: "):
        return NOTHING
    return named(rest, tid, start, relative)


def parser() -> Callable[[str], Line]:
    return parse
