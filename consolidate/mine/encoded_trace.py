# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The calls that a script could make, as one text with a character for each call.

A character encodes a call's name and its outcome: earlier outcomes decide a script's next step. A
line is a stretch of one thread's calls; it ends where no script can continue: at a call that
scripts may not make or that waits for another thread, at a signal, or when the program computes for
long. Sequences are then found by regular expressions, which are fast.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.reader import Thread, Trace

OK, NONE = "ok", "none"
# Seconds of computation between two calls that may still form one sequence.
GAP = 0.02
# A longer pause, of up to TAKEN gaps, is no computation, but others had the CPU, where it is rare:
# at most one in RARE pairs of such calls has one.
RARE, TAKEN = 20, 10
# Calls excluded for this reason end a stretch; other excluded calls are skipped.
START_UP = "start-up: "
# Ends a line; `.` does not match it.
END = "\n"
# Characters for symbols, and for loops in templates.py, without a meaning in regular expressions.
FIRST_SYMBOL, FIRST_LOOP = 0x4E00, 0x20000


def outcome(call: Call) -> str:
    """The outcome of a result that a script can distinguish without interpreting it."""
    if call.error is not None:
        return call.error
    if call.ret == 0 and call.name in calltable.COUNTERS:
        return NONE
    return OK


class Symbols:
    """Assigns numbers to names and outcomes."""

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

    def named(self, names: Iterable[str]) -> list[int]:
        """All symbols of calls with these names, whatever their outcome."""
        wanted = frozenset(names)
        return [i for i, name in enumerate(self.names) if name in wanted]


def character(symbol: int) -> str:
    return chr(FIRST_SYMBOL + symbol)


@dataclass(slots=True)
class Tape:
    """The text, and the call of each character."""

    symbols: Symbols
    threads: list[Thread]
    text: str = ""
    owners: array = field(default_factory=lambda: array("i"))  # indices of threads
    indices: array = field(default_factory=lambda: array("i"))  # of the thread's calls
    dropped: Counter[str] = field(default_factory=Counter)  # calls that are excluded, by reason

    def call(self, at: int) -> Call:
        return self.threads[self.owners[at]].calls[self.indices[at]]

    def thread(self, at: int) -> Thread:
        return self.threads[self.owners[at]]

    @property
    def calls(self) -> int:
        return len(self.text) - self.text.count(END)

    def pieces(self, spans: Iterable[tuple[int, int]]) -> Tape:
        """A tape of parts of this one, each on a line of its own."""
        found = Tape(self.symbols, self.threads)
        texts = []
        for begin, end in spans:
            texts.append(self.text[begin:end].rstrip(END))
            end = begin + len(texts[-1])
            for mine, its in ((self.owners, found.owners), (self.indices, found.indices)):
                its.extend(mine[begin:end])
                its.append(-1)
        found.text = "".join(f"{text}{END}" for text in texts)
        return found

    def without(self, spans: list[tuple[int, int]], joins: bool) -> Tape:
        """The tape without some calls; `joins`: the calls before and after become adjacent."""
        found = Tape(self.symbols, self.threads)
        texts, at = [], 0
        for begin, end in [*sorted(spans), (len(self.text), len(self.text))]:
            if begin > at:
                texts.append(self.text[at:begin])
                found.owners.extend(self.owners[at:begin])
                found.indices.extend(self.indices[at:begin])
            if not joins and texts and texts[-1][-1] != END:
                texts.append(END)
                found.owners.append(-1)
                found.indices.append(-1)
            at = max(at, end)
        found.text = "".join(texts)
        return found


class Cutter:
    """Puts one thread's calls on a tape."""

    def __init__(self, tape: Tape, owner: int, gap: float, aside: dict[int, str]) -> None:
        self.tape = tape
        self.owner = owner
        self.gap = gap
        self.aside = aside  # calls handled elsewhere, with the reason
        self.text: list[str] = []
        self.indices = array("i")

    def flush(self, texts: list[str]) -> None:
        if len(self.text) > 1:
            texts.append("".join(self.text) + END)
            self.tape.indices.extend(self.indices)
            self.tape.indices.append(-1)
            self.tape.owners.extend([self.owner] * (len(self.indices) + 1))
        elif self.text:
            self.tape.dropped["isolated calls"] += 1
        self.text, self.indices = [], array("i")

    def pauses(self, calls: list[Call]) -> set[int]:
        """The calls before which the program computes for long."""
        found: dict[int, float] = {}
        last_end = None
        for i, call in enumerate(calls):
            start = call.start
            if last_end is not None and start is not None and start - last_end > self.gap:
                found[i] = start - last_end
            last_end = None if start is None else start + (call.took or 0)
        if not found:
            return set()

        def pair(i: int) -> tuple[str, str]:
            return calls[i - 1].name, calls[i].name

        paused = Counter(map(pair, found))
        met = Counter(map(pair, range(1, len(calls))))
        return {
            i
            for i, length in found.items()
            if length > TAKEN * self.gap or paused[pair(i)] * RARE > met[pair(i)]
        }

    def cut(self, texts: list[str]) -> None:
        thread = self.tape.threads[self.owner]
        symbols, dropped, aside = self.tape.symbols, self.tape.dropped, self.aside
        breaks = thread.breaks | self.pauses(thread.calls)
        for i, call in enumerate(thread.calls):
            if i in breaks:
                self.flush(texts)
            why = aside.get(i)
            if why is not None and not why.startswith(START_UP):
                dropped[why] += 1
                continue
            why = why or reason(call)
            if why is None:
                self.indices.append(i)
                self.text.append(character(symbols.of(call)))
            elif why:
                self.flush(texts)
                dropped[why] += 1
            else:
                dropped["the allocator's"] += 1
        self.flush(texts)


_reasons: dict[str, str | None] = {}


def reason(call: Call) -> str | None:
    """Why a call is not part of a stretch; empty if the stretch continues after it."""
    name = call.name
    if name in ("mmap", "munmap", "brk", "madvise") and calltable.incidental(name, call.args):
        return ""
    if name in calltable.TIMEOUTS and call.ret == 0 and slept(call):
        return "waits that time out"
    if name not in _reasons:
        excluded = calltable.why_not(name)
        _reasons[name] = f"{name}: {excluded}" if excluded else calltable.pauses(name)
    return _reasons[name]


def slept(call: Call) -> bool:
    """Whether a wait that found nothing ready actually slept."""
    args, place = values.of_call(call.name, call.args), calltable.TIMEOUTS[call.name]
    return place >= len(args) or args[place].text not in calltable.AT_ONCE


def cut(trace: Trace, gap: float = GAP, aside: dict[int, dict[int, str]] | None = None) -> Tape:
    """The tape of a trace, without the excluded calls, by thread and index."""
    tape = Tape(Symbols(), list(trace.threads.values()))
    texts: list[str] = []
    for owner, thread in enumerate(tape.threads):
        Cutter(tape, owner, gap + trace.resolution, (aside or {}).get(thread.tid, {})).cut(texts)
    tape.text = "".join(texts)
    return tape
