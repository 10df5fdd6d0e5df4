# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Stretches of calls that a script could hold, as symbols to look for patterns in.

A symbol is a call's name and its outcome: a script's next step is decided by the
outcomes of those before.  A stretch ends where no script goes on: at a call that
scripts may not make, one that waits for another thread, a signal, a long time
of the program's own.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.trace import Call, Thread, Trace

OK, NONE = "ok", "none"
# Seconds that a program works between two calls that may yet be one sequence.
GAP = 0.02
LOADER_CACHE = '"/etc/ld.so.cache"'
# Calls of a new image among which the loader opens its cache.
LOADER_STARTS = 16


class Symbols:
    """Numbers for names and outcomes."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], int] = {}
        self.names: list[str] = []
        self.outcomes: list[str] = []

    def id(self, name: str, outcome: str) -> int:
        found = self.ids.get((name, outcome))
        if found is None:
            found = self.ids[name, outcome] = len(self.names)
            self.names.append(name)
            self.outcomes.append(outcome)
        return found

    def of(self, call: Call) -> int:
        return self.id(call.name, outcome(call))

    def text(self, symbol: int) -> str:
        found = self.outcomes[symbol]
        return self.names[symbol] + ("" if found == OK else f":{found}")


def outcome(call: Call) -> str:
    """What a script can tell of a result without looking at what it means."""
    if call.error is not None:
        return call.error
    if call.ret == 0 and call.name in calltable.COUNTERS:
        return NONE
    return OK


@dataclass(slots=True)
class Stream:
    """A stretch: `calls` are indices into the thread's; equal symbols in a row are one token."""

    thread: Thread
    calls: array
    tokens: array = field(default_factory=lambda: array("i"))
    begins: array = field(default_factory=lambda: array("i"))  # one more than tokens

    def run(self, token: int) -> int:
        return self.begins[token + 1] - self.begins[token]

    def call(self, offset: int) -> Call:
        return self.thread.calls[self.calls[offset]]

    def token_at(self, offset: int) -> int:
        return bisect_right(self.begins, offset) - 1

    def part(self, begin: int, end: int) -> Stream:
        """The calls from one offset up to another."""
        part = Stream(self.thread, self.calls[begin:end])
        token = self.token_at(begin)
        while begin < end:
            part.tokens.append(self.tokens[token])
            part.begins.append(begin - (end - len(part.calls)))
            token += 1
            begin = min(self.begins[token], end)
        part.begins.append(len(part.calls))
        return part


def stream(thread: Thread, calls: array, ids: array) -> Stream:
    found = Stream(thread, calls)
    last = -1
    for offset, symbol in enumerate(ids):
        if symbol != last:
            found.tokens.append(symbol)
            found.begins.append(offset)
            last = symbol
    found.begins.append(len(calls))
    return found


@dataclass(slots=True)
class Streams:
    """All stretches of a trace, and what was left out of them."""

    symbols: Symbols = field(default_factory=Symbols)
    streams: list[Stream] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)  # calls, by why
    kept: int = 0


class Cutter:
    """Cuts one thread's calls into streams."""

    def __init__(self, result: Streams, thread: Thread, gap: float) -> None:
        self.result = result
        self.thread = thread
        self.gap = gap
        self.calls, self.ids = array("i"), array("i")

    def flush(self) -> None:
        if len(self.calls) > 1:
            self.result.streams.append(stream(self.thread, self.calls, self.ids))
            self.result.kept += len(self.calls)
        elif self.calls:
            self.result.dropped["alone between two others of these"] += 1
        self.calls, self.ids = array("i"), array("i")

    def cut(self) -> None:
        symbols, dropped = self.result.symbols, self.result.dropped
        breaks, last_end = self.thread.breaks, None
        loader_until = -1
        for i, call in enumerate(self.thread.calls):
            start = call.start
            paused = last_end is not None and start is not None and start - last_end > self.gap
            if paused or i in breaks:
                self.flush()
            last_end = None if start is None else start + (call.took or 0)
            name = call.name
            if name == "execve" and call.ret == 0:
                loader_until = end_of_loader(self.thread.calls, i)
            why = "made by the loader before the program began" if i <= loader_until else None
            why = why or reason(call)
            if why is None:
                self.calls.append(i)
                self.ids.append(symbols.of(call))
            elif why:
                self.flush()
                dropped[why] += 1
            else:
                dropped["the allocator's"] += 1
        self.flush()


_reasons: dict[str, str | None] = {}


def reason(call: Call) -> str | None:
    """Why a call is not part of a stretch; empty if the stretch goes on behind it."""
    name = call.name
    if name in ("mmap", "munmap", "brk", "madvise") and calltable.incidental(name, call.args):
        return ""
    if name == "futex" or name in calltable.WAITERS:
        return "waits for another thread" if calltable.blocks_on_thread(name, call.args) else None
    if name not in _reasons:
        left_out = calltable.why_not(name)
        _reasons[name] = f"{name}: {left_out}" if left_out else None
    return _reasons[name]


def end_of_loader(calls: list[Call], execve: int) -> int:
    """The last call of the dynamic loader: it gives back the cache that it mapped."""
    opened = None
    for i in range(execve + 1, min(execve + 1 + LOADER_STARTS, len(calls))):
        if calls[i].name.startswith("open") and LOADER_CACHE in calls[i].args:
            opened = calls[i].ret
        elif calls[i].name == "mmap" and opened is not None and opened >= 0:
            mapped = f"{calls[i].ret:#x}"
            for j in range(i + 1, len(calls)):
                if calls[j].name == "munmap" and mapped in calls[j].args:
                    return j
                if calls[j].name == "execve":
                    break
            return execve
    return execve


def cut(trace: Trace, gap: float = GAP) -> Streams:
    result = Streams()
    for thread in trace.threads.values():
        Cutter(result, thread, gap).cut()
    return result
