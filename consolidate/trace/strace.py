# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Parses lines of strace, whatever its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from sys import intern

from consolidate import calltable
from consolidate.trace import values
from consolidate.trace.call import NOTHING, Call, Line, LineKind

FORKS = frozenset(["clone", "clone3", "fork", "vfork"])
EXITS = frozenset(["exit", "exit_group"])

# The brackets of -n and -i.
BRACKETS = r"(?:\[ *(?:[0-9a-f]+|\?+)\] )*"
# A thread's number, its name (-Y) and security context (--secontext), the time (-t to -ttt, with
# any precision), the time since the previous line (-r), and the brackets. Thread numbers have at
# most seven digits, -ttt's seconds more.
PREFIX = re.compile(
    r"(?:\[pid +(\d+)(?:<([^<>]*)>)?\] |(\d{1,7})(?:<([^<>]*)>)? +(?=\S))?"
    r"(\[[^\[\]\s]*[_:][^\[\]]*\] )?"
    r"(?:(\d\d):(\d\d):(\d\d(?:\.\d+)?) |(\d+\.\d+|\d{8,}) )?"
    r"(?: *\(?(\+? *\d+(?:\.\d+)?)\)? )?" + BRACKETS
)
# With the time since the previous line, a line that begins with a space has no thread number.
STEP_ALONE = re.compile(rf" +(\d+(?:\.\d+)?) {BRACKETS}")
CONTEXT = re.compile(r'(?<=["\d>D.]) \[[^\[\]"{}=]+\]')
COLOUR = re.compile(r"\x1b\[[\d;]*m")
# A thread's number if the tracer is in another namespace (--decode-pids=pidns).
TRANSLATED = r" /\* (\d+) in strace's PID NS \*/"
RESULT = re.compile(
    rf"(?:(-?\d+)|(0x[0-9a-f]+)|\?)(?:<.*>)?(?:{TRANSLATED})?"
    r"(?: +(E[A-Z0-9_]+) ?\([^)]*\))?( +\(.*\))?(?: +<(\d+(?:\.\d+)?)>)?(?: \(DELAYED\))?$"
)
# Most lines, in one match: a long trace has millions.
ORDINARY = re.compile(
    r"(?:\[pid +(\d+)\] |(\d{1,7}) +)?(?:(\d{7,}\.\d+) )?([a-z]\w*)\((.*)\) += "
    r"((-?\d+)(?:<[^ ]*>)?(?: (E[A-Z0-9_]+) \([^)]*\))?(?: <(\d+\.\d+)>)?)\n?$"
)
UNFINISHED = " <unfinished ...>"
# strace's messages about itself, or about what it watches.
SELF = r"(?:\.{0,2}/[\w./+-]*)?strace[\w.+-]*: "
REMARKS = re.compile(
    rf"^(?:{SELF}|\[ Process |Process \d+ (?:attached|detached|suspended|resumed)|$)"
)
# A message about a thread. On standard error it also splits a line of the trace: the rest of
# the line follows the message.
OF_THREAD = re.compile(
    rf"(?:{SELF})?Process (\d+) (?:(attached)(?: with \d+ threads)?|(detached)|suspended"
    r"|resumed(?: \(parent \d+ ready\))?)$"
)
EXITED = re.compile(r"\+\+\+ (?:exited with|killed by)")
FRAME = " > "
# Data of the previous call (-e read=, -e write=).
DUMP = re.compile(r" \| | \* \d+ bytes in buffer \d+$| = \d+ buffers in vector \d+$")
# A thread that is not its process's leader executes a program, and continues as the leader.
SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d+) \+\+\+")
# An argument with its name (-N).
NAMED = re.compile(r"[a-z_]\w*=")
SUMMARY = re.compile(r"^(?:% time|[- ]+$| *[\d.]+ +[\d.]+ +\d+ +\d+ )")


def split_result(text: str) -> tuple[str, str] | None:
    """A line's arguments and its result, split at the bracket that closes the arguments.

    Strings and descriptors' paths may contain brackets. If quotes do not pair (a tool that escapes
    nothing), the split is at the last ` = ` after a bracket.
    """
    depth = 1
    for match in values.PUNCTUATION.finditer(text):
        c = text[match.start()]
        depth += (c in values.OPEN) - (c in values.CLOSE)
        if not depth:
            rest = text[match.end() :].lstrip()
            if rest.startswith("= "):
                return text[: match.start()], rest[2:]
            break
    end = text.rfind(" = ")
    while end > 0:
        args = text[:end].rstrip()
        if args.endswith(")"):
            return args[:-1], text[end + 3 :]
        end = text.rfind(" = ", 0, end)
    return None


def result_of(call: Call, text: str) -> bool:
    """Parse the text after ` = `; False if it is truncated or not a result."""
    match = RESULT.match(text)
    if match is None:
        return False
    number, address, translated, error, _, took = match.groups()
    call.result = text
    call.ret = int(number) if number is not None else int(address, 16) if address else None
    if translated is not None and call.name in FORKS:
        call.ret = int(translated)  # as in the child's lines
    call.error = error
    if took is not None:
        call.took = float(took)
    return True


def without_names(name: str, args: str) -> str:
    """Arguments as without -N. For clone() strace always names them."""
    if name in FORKS or NAMED.match(args) is None:
        return args
    parts = values.split(args)
    found = [NAMED.match(part) for part in parts]
    return ", ".join(
        part if match is None else part[match.end() :]
        for part, match in zip(parts, found, strict=True)
    )


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
        call.args = without_names(name, rest[: -len(UNFINISHED)])
        return Line(LineKind.UNFINISHED, tid, call, relative=relative)
    parts = split_result(rest)
    if parts is None or not result_of(call, parts[1]):
        if rest.endswith(("<detached ...>", "<unfinished ...>)", "= ?")):
            return Line(LineKind.BREAK, tid)
        return damaged(tid, "a call without its result")
    call.args = without_names(name, parts[0])
    if call.ret is None:
        # Ended by a signal, to be restarted, or the thread is gone.
        return Line(LineKind.ENDED, tid, why=name) if name in EXITS else Line(LineKind.BREAK, tid)
    return Line(LineKind.CALL, tid, call, relative=relative, name_of_child=name in FORKS)


def resumed(text: str, tid: int | None, start: float | None, relative: bool) -> Line:
    name, _, rest = text[5:].partition(" resumed>")
    name = calltable.ALIASES.get(name, name)
    call = Call(name, "", None, None, "", start, None)
    parts = split_result(rest)
    if parts is None or not result_of(call, parts[1]):
        return damaged(tid, f"the end of {name} without its result")
    call.args = without_names(name, parts[0])
    if call.ret is None:
        call.error = None
    return Line(LineKind.RESUMED, tid, call, relative=relative)


def ordinary(text: str) -> tuple[str | None, Call] | None:
    """An ordinary line's call, and its thread's number as written; None for other lines."""
    match = ORDINARY.match(text)
    if match is None:
        return None
    pid, bare, start, name, args, result, ret, error, took = match.groups()
    call = Call(
        intern(calltable.ALIASES.get(name, name)),
        without_names(name, args) if "a" <= args[:1] <= "z" else args,
        int(ret),
        error,
        result,
        float(start) if start is not None else None,
        float(took) if took is not None else None,
    )
    return pid or bare, call


def stamp(match: re.Match[str]) -> tuple[float | None, bool]:
    hours, minutes, seconds, epoch, step = match.group(6, 7, 8, 9, 10)
    if step is not None:
        # Finer than -t, and from a clock that is never set.
        return float(step.lstrip("+ ")), True
    if hours is not None:
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds), False
    if epoch is not None:
        # From -ttt, or from -r, which counts from the previous line.
        return float(epoch), float(epoch) < 1e6
    return None, False


def parse(text: str) -> Line:
    """One line."""
    found = ordinary(text)
    if found is None:
        return unusual(text)
    pid, call = found
    tid = int(pid) if pid else None
    return Line(LineKind.CALL, tid, call, name_of_child=call.name in FORKS)


def unusual(text: str) -> Line:
    """Parses a line that is not ordinary."""
    text = text.rstrip()
    if "\x1b" in text:
        return parse(COLOUR.sub("", text))
    if text.startswith(FRAME):
        return Line(LineKind.FRAME, why=text.removeprefix(FRAME))
    if DUMP.match(text):
        return NOTHING
    alone = STEP_ALONE.match(text)
    if alone is not None:
        return unprefixed(text[alone.end() :], text, None, float(alone[1]), True)
    stripped = text.lstrip() if text[:1] == " " else text
    match = PREFIX.match(stripped)
    rest = stripped[match.end() :]
    if match[5]:
        rest = CONTEXT.sub("", rest)
    pid, command = match[1] or match[3], match[2] or match[4] or ""
    line = unprefixed(rest, text, int(pid) if pid is not None else None, *stamp(match))
    if command and line is not NOTHING:
        line.command = command
    return line


def unprefixed(rest: str, text: str, tid: int | None, start: float | None, relative: bool) -> Line:
    """Parses the part after thread and time; `text` is the whole line."""
    first = rest[:1]
    if first == "<" and rest.startswith("<... "):
        return resumed(rest, tid, start, relative)
    if first in "-+" and rest.startswith(("--- ", "+++ ")):
        by = SUPERSEDED.match(rest)
        if by is not None:
            return Line(LineKind.SUPERSEDED, tid, by=int(by[1]))
        return Line(LineKind.ENDED if EXITED.match(rest) else LineKind.BREAK, tid)
    of_thread = OF_THREAD.match(rest)
    if of_thread is not None:
        return thread_message(of_thread)
    if not first or REMARKS.match(rest) or SUMMARY.match(text):
        return NOTHING
    return named(rest, tid, start, relative)


def thread_message(match: re.Match[str]) -> Line:
    number, attached, detached = match.groups()
    if attached:
        return Line(LineKind.BEGUN, int(number))
    return Line(LineKind.ENDED, int(number)) if detached else NOTHING


def whole(lines: Iterable[str]) -> Iterator[str]:
    """Joins lines that messages about threads split: such a message comes first, by itself."""
    begun = ""
    for text in lines:
        found = OF_THREAD.search(text) if "Process " in text else None
        if found is None:
            yield begun + text
            begun = ""
        else:
            at = found.start()
            if PREFIX.fullmatch(text, 0, at) is None:
                begun += text[:at]
            yield text[at:]
    if begun:
        yield begun


def parser() -> Callable[[str], Line]:
    return parse
