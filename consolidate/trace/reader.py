# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A trace: the calls of each thread, in order, whatever the file's format."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from consolidate import calltable
from consolidate.errors import ConsolidateError
from consolidate.trace import audit, perf, strace
from consolidate.trace.call import Call, Line, LineKind

# How many damaged lines are reported individually.
REPORTED = 5
# Facts from `consolidate record` about a command, in the last line of its trace.
ABOUT = "# consolidate "
SNIFFED_LINES = 200


@dataclass(slots=True)
class Thread:
    """The calls of one thread."""

    tid: int
    command: str = ""
    parent: int | None = None
    process: int | None = None
    calls: list[Call] = field(default_factory=list)
    # Indices of calls before which an event came that no script can contain: a signal handler,
    # another program's image.
    breaks: set[int] = field(default_factory=set)
    pending: Call | None = None


@dataclass(slots=True)
class Damage:
    """A line that could not be read."""

    file: str
    line: int
    why: str
    text: str

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"{self.file}:{self.line}: {self.why}: {shown!r}"


@dataclass(slots=True)
class Trace:
    """All threads of the traces, and the unreadable lines."""

    threads: dict[int, Thread] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    damaged: int = 0
    lines: int = 0
    unfinished: int = 0
    names: list[str] = field(default_factory=list)
    seconds: float | None = None  # of the command without the tracer
    system: bool = False  # of a whole machine
    foreign: Counter[str] = field(default_factory=Counter)  # calls of other architectures
    resolution: float = 0.0  # of the clock, in seconds; 0 if finer than a call

    def thread(self, tid: int) -> Thread:
        thread = self.threads.get(tid)
        if thread is None:
            thread = self.threads[tid] = Thread(tid)
        return thread

    def renumber(self, thread: Thread, tid: int) -> None:
        """Replaces a thread's stand-in number."""
        for other in self.threads.values():
            other.parent = tid if other.parent == thread.tid else other.parent
            other.process = tid if other.process == thread.tid else other.process
        del self.threads[thread.tid]
        self.threads[tid] = thread
        thread.tid = tid

    @property
    def calls(self) -> int:
        return sum(len(thread.calls) for thread in self.threads.values())

    def span(self) -> float | None:
        """Seconds from the first call to the end of the last; None if untimed."""
        starts, ends = [], []
        for thread in self.threads.values():
            timed = [thread.calls[i] for i in (0, -1)] if thread.calls else []
            starts += [call.start for call in timed[:1] if call.start is not None]
            ends += [call.start + (call.took or 0) for call in timed[1:] if call.start is not None]
        span = max(ends) - min(starts) if starts and ends else 0
        return span if span > 0 else None

    def damage_at(self, file: str, line: int, why: str, text: str) -> None:
        self.damaged += 1
        if len(self.damage) < REPORTED:
            self.damage.append(Damage(file, line, why, text))


class Tracees:
    """Finds the thread of lines without a number.

    On standard error, strace writes no numbers while it traces a single thread: at first, and
    when all other threads have ended.
    """

    def __init__(self, trace: Trace, tid: int) -> None:
        self.trace = trace
        self.alone = tid
        self.thread: Thread | None = None  # of that number, once it is looked up
        self.unknown = True  # `alone` stands in for a number that no line has named yet
        self.living = {tid}

    def begins(self, tid: int) -> None:
        """A thread was created, or strace attached to it."""
        if self.unknown and self.alone not in self.trace.threads:
            self.living.remove(self.alone)
            self.alone, self.thread, self.unknown = tid, None, False
        self.living.add(tid)

    def ends(self, tid: int) -> None:
        self.living.discard(tid)
        if len(self.living) == 1:
            (self.alone,) = self.living
            self.thread = None

    def exit(self, thread: Thread, name: str) -> None:
        """A thread has called exit() or exit_group()."""
        process = thread.process or thread.tid
        for tid in list(self.living) if name == "exit_group" else []:
            other = self.trace.threads.get(tid)
            if other is not None and (other.process or tid) == process:
                self.ends(tid)
        self.ends(thread.tid)

    def names(self, tid: int, resumes: str) -> None:
        """A line has a number, and ends the call `resumes` unless that is empty."""
        if tid in self.living:
            return
        first = self.trace.threads.get(self.alone) if self.unknown else None
        # While the first thread is in clone(), an unknown number is the new thread's.
        forks = first is not None and first.pending and first.pending.name in strace.FORKS
        if first is None or tid in self.trace.threads or (forks and first.pending.name != resumes):
            self.begins(tid)
            return
        self.trace.renumber(first, tid)
        self.living.remove(self.alone)
        self.living.add(tid)
        self.alone, self.unknown = tid, False


class Reader:
    """Adds the lines of one file to a trace."""

    def __init__(self, trace: Trace, path: Path, form, tid: int) -> None:
        self.trace = trace
        self.name = str(path)
        self.ordinary = getattr(form, "ordinary", None)
        self.parse = form.unusual if self.ordinary is not None else form.parser()
        self.whole = getattr(form, "whole", iter)
        self.tracees = Tracees(trace, tid)
        self.written: dict[str, Thread] = {}  # by their numbers as written
        self.number = 0
        self.numbered = False  # lines name their thread
        self.clock = 0.0
        self.last_start: float | None = None
        self.day = 0.0
        self.last: Call | None = None
        self.frames: list[str] = []
        self.stacks: dict[tuple[str, ...], tuple[str, ...]] = {}  # each once

    def read(self, lines: Iterator[str]) -> None:
        parse, ordinary = self.parse, self.ordinary
        for number, text in enumerate(self.whole(lines), 1):
            self.number = number
            found = ordinary(text) if ordinary is not None else None
            if found is not None:
                if self.frames:
                    self.stacked()
                self.next_call(*found)
                continue
            if text.startswith("#"):
                self.comment(text)
                continue
            line = parse(text)
            kind = line.kind
            if self.frames and kind is not LineKind.FRAME:
                self.stacked()
            if kind is LineKind.CALL:
                self.call(line)
            elif kind is not LineKind.NOTHING:
                self.other(line, text.rstrip("\n"))
        self.stacked()
        self.trace.lines += self.number

    def stacked(self) -> None:
        """Record where the previous call was made."""
        stack = tuple(self.frames)
        if self.last is not None:
            self.last.stack = self.stacks.setdefault(stack, stack)
        self.frames.clear()

    def finished(self, thread: Thread, call: Call) -> None:
        call.line = self.number
        thread.calls.append(call)
        self.last = call

    def next_call(self, pid: str | None, call: Call) -> None:
        """Like call(), for the kind of line of which a long trace has millions."""
        thread = self.written.get(pid) if pid else self.tracees.thread
        if thread is None:
            thread = self.of_number(int(pid) if pid else None)
            if pid:
                self.written[pid] = thread
        if call.start is not None:
            call.start = self.time(call.start, False)
        if thread.pending is not None:
            self.lose(thread)
        if call.name in strace.FORKS:
            self.child(thread, call)
        self.finished(thread, call)

    def call(self, line: Line) -> None:
        thread = self.thread(line)
        call = line.call
        if call.start is not None:
            call.start = self.time(call.start, line.relative)
        if thread.pending is not None:
            self.lose(thread)
        if line.name_of_child:
            self.child(thread, call)
        self.finished(thread, call)

    def of_number(self, tid: int | None, resumes: str = "") -> Thread:
        if tid is None:
            self.tracees.thread = self.trace.thread(self.tracees.alone)
            return self.tracees.thread
        self.numbered = True
        self.tracees.names(tid, resumes)
        return self.trace.thread(tid)

    def thread(self, line: Line) -> Thread:
        resumes = line.call.name if line.kind is LineKind.RESUMED else ""
        thread = self.of_number(line.tid, resumes)
        # A new image has a name of its own.
        if line.command and (not thread.command or line.call and line.call.name == "execve"):
            thread.command = line.command
        return thread

    def child(self, thread: Thread, call: Call) -> None:
        """Record the parent of a new thread, and whether they share a process."""
        if not call.ret or call.ret < 0:
            return
        self.tracees.begins(call.ret)
        child = self.trace.thread(call.ret)
        child.parent = thread.tid
        if "CLONE_THREAD" in call.args or "THREAD" in call.args.replace("|", " ").split():
            child.process = thread.process or thread.tid

    def time(self, start: float, relative: bool) -> float:
        """Seconds since some origin, for stamps that wrap at midnight or are steps."""
        if relative:
            self.clock += start
            return self.clock
        if self.last_start is not None and start < self.last_start - 43200:
            self.day += 86400
        self.last_start = start
        return start + self.day

    def lose(self, thread: Thread) -> None:
        thread.pending = None
        thread.breaks.add(len(thread.calls))
        self.trace.unfinished += 1

    def beside(self, line: Line, text: str) -> bool:
        """Whether a line is no event of a thread."""
        if line.kind is LineKind.FRAME:
            self.frames.append(line.why)
        elif line.kind is LineKind.BEGUN:
            self.tracees.begins(line.tid)
        elif line.kind is LineKind.LOST:
            self.trace.damage_at(self.name, self.number, line.why, text)
            for thread in self.trace.threads.values():
                thread.breaks.add(len(thread.calls))
        else:
            return False
        return True

    def other(self, line: Line, text: str) -> None:
        if self.beside(line, text):
            return
        kind = line.kind
        if kind is LineKind.DAMAGED:
            self.trace.damage_at(self.name, self.number, line.why, text)
            # If lines name their thread, one that does not is not a call.
            if line.tid is None and self.numbered:
                return
        thread = self.thread(line)
        if kind is LineKind.RESUMED:
            self.resume(thread, line, text)
        elif kind is LineKind.UNFINISHED:
            self.begin(thread, line)
        elif kind is LineKind.SUPERSEDED:
            self.supersede(thread, self.trace.thread(line.by))
            self.tracees.ends(line.by)
        else:
            if kind is LineKind.ENDED:
                self.tracees.exit(thread, line.why)
            thread.breaks.add(len(thread.calls))
            if kind is LineKind.BREAK and line.why:
                self.trace.foreign[line.why] += 1

    def begin(self, thread: Thread, line: Line) -> None:
        if thread.pending is not None:
            self.lose(thread)
        thread.pending = line.call
        if line.call.start is not None:
            line.call.start = self.time(line.call.start, line.relative)

    def supersede(self, leader: Thread, thread: Thread) -> None:
        """An execve() that a thread began ends as a call of its leader."""
        if leader.pending is not None:
            self.lose(leader)
        leader.breaks.add(len(leader.calls))
        thread.breaks.add(len(thread.calls))
        leader.pending, thread.pending = thread.pending, None

    def comment(self, text: str) -> None:
        """Parse a comment of `consolidate record`; ignores other comments."""
        if not text.startswith(ABOUT):
            return
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            about = json.loads(text.removeprefix(ABOUT))
            self.trace.seconds = float(about["seconds"]) if "seconds" in about else None
            self.trace.system = bool(about.get("system"))
            for tid, command in about.get("commands", {}).items():
                self.trace.thread(int(tid)).command = str(command)

    def resume(self, thread: Thread, line: Line, text: str) -> None:
        begun, rest = thread.pending, line.call
        if begun is None or begun.name != rest.name:
            # perf marks each thread's first call like this; earlier ones are unknown.
            if not line.expected:
                why = f"{rest.name} is resumed, but was not begun in thread {thread.tid}"
                self.trace.damage_at(self.name, self.number, why, text)
            thread.breaks.add(len(thread.calls))
            return
        thread.pending = None
        begun.args += rest.args
        begun.ret, begun.error, begun.result = rest.ret, rest.error, rest.result
        end = rest.start
        if rest.took is not None:
            begun.took = rest.took
        elif begun.start is not None and end is not None:
            begun.took = max(0.0, self.time(end, line.relative) - begun.start)
        if begun.name in strace.FORKS:
            self.child(thread, begun)
        if begun.name in strace.EXITS:
            self.tracees.exit(thread, begun.name)
        self.finished(thread, begun)


def opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
    except OSError as error:
        raise ConsolidateError(f"cannot read {path}: {error.strerror}") from error
    if not file.seekable():
        file.close()
        raise ConsolidateError(f"{path} is no file, but read twice: write the trace to one")
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(path, "rb")
    file.seek(0)
    return file


def lines_of(file: BinaryIO, progress) -> Iterator[str]:
    """The lines as text, whatever bytes they contain."""
    try:
        for number, line in enumerate(file):
            if progress is not None and not number % 4096:
                progress(file)
            yield line.decode("utf-8", "replace")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ConsolidateError(
            f"{file.name} is cut off or damaged: `zcat {file.name} >FILE` keeps what is left"
        ) from error


def sniff(path: Path):
    """The format that most of the first lines have."""
    with opened(path) as file:
        head = [line for _, line in zip(range(SNIFFED_LINES), lines_of(file, None), strict=False)]
    if not head:
        raise ConsolidateError(f"{path} is empty: nothing was traced, or the writing failed")
    forms = (strace, perf, audit)
    scores = []
    for form in forms:
        parse = form.parser()
        read = [parse(line).kind for line in head]
        scores.append(sum(kind not in (LineKind.DAMAGED, LineKind.NOTHING) for kind in read))
    if not max(scores):
        if any(map(audit.RECORD.search, head)):
            return audit  # other records may come first
        if any(map(audit.SUMMARY.search, head)):
            raise ConsolidateError(
                f"{path} has calls of ausearch without their arguments:"
                " take `ausearch --raw`, `ausearch -i`, or audit.log itself"
            )
        if any(line.startswith("% time") or perf.TABLES.match(line) for line in head):
            raise ConsolidateError(
                f"{path} is a summary (strace -c, perf trace -s), which has no sequence of calls:"
                " record again without that option, or with `consolidate record`"
            )
        if any(map(perf.EVENT.match, head)):
            raise ConsolidateError(
                f"{path} has events of perf trace, but no system calls: record with --syscalls"
            )
        raise ConsolidateError(
            f"{path} is not a trace of strace, perf trace or audit: none of its"
            f" first {len(head)} lines is a call; the first one: {head[0].strip()[:60]!r}"
        )
    return forms[scores.index(max(scores))]


def read(paths: list[Path], progress=None) -> Trace:
    """Read traces of any format; strace -ff writes one file per thread."""
    trace = Trace()
    # There is no garbage here, and searching for it among millions of calls is slow.
    gc.disable()
    for index, path in enumerate(paths):
        suffix = path.suffix[1:]
        # Threads of files whose lines do not name their thread.
        tid = int(suffix) if suffix.isdigit() else -index
        form = sniff(path)
        with opened(path) as file:
            Reader(trace, path, form, tid).read(lines_of(file, progress))
        trace.names.append(str(path))
    finish(trace)
    if not trace.calls:
        why = left_out(trace) if trace.foreign else "it contains no finished call"
        raise ConsolidateError(f"{', '.join(trace.names)}: {why}")
    return trace


def finish(trace: Trace) -> None:
    """Facts known only at the end: unfinished calls, programs, processes."""
    for thread in trace.threads.values():
        if thread.pending is not None:
            thread.pending = None
            thread.breaks.add(len(thread.calls))
            trace.unfinished += 1
    for thread in trace.threads.values():
        thread.process = thread.process or thread.tid
        thread.command = thread.command or command_of(trace, thread)
    starts = (call.start for thread in trace.threads.values() for call in thread.calls)
    # From -t: two successive calls may be a second apart.
    if all(start is None or start.is_integer() for start in starts) and trace.span():
        trace.resolution = 1.0


def command_of(trace: Trace, thread: Thread) -> str:
    """The program that a thread ran last, its own or its ancestors'."""
    seen: set[int] = set()
    while thread.tid not in seen:
        seen.add(thread.tid)
        for call in reversed(thread.calls):
            if call.name == "execve" and call.ret == 0:
                return Path(call.args.split('"')[1]).name if '"' in call.args else "?"
        above = trace.threads.get(thread.parent) if thread.parent is not None else None
        if above is None:
            break
        thread = above
    return ""


def left_out(trace: Trace) -> str:
    """A line about calls of other architectures."""
    names = ", ".join(f"{name}: {count}" for name, count in trace.foreign.most_common())
    return (
        f"{trace.foreign.total()} calls of another architecture were left out ({names}):"
        " only x86-64's are read"
    )


def complain(trace: Trace) -> None:
    """Report on standard error which lines could not be read."""
    for damage in trace.damage:
        print(f"consolidate: {damage}", file=sys.stderr)
    if trace.damaged > len(trace.damage):
        print(f"consolidate: ... and {trace.damaged - len(trace.damage)} more", file=sys.stderr)
    if trace.foreign:
        print(f"consolidate: {left_out(trace)}", file=sys.stderr)
    if trace.damaged or trace.unfinished:
        print(
            f"consolidate: read {trace.calls} calls of {len(trace.threads)} threads from"
            f" {trace.lines} lines; {trace.damaged} lines were unreadable and"
            f" {trace.unfinished} calls never finished",
            file=sys.stderr,
        )


__all__ = ["Call", "Thread", "Trace", "calltable", "complain", "read"]
