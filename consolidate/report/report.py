# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Makes a report: reads traces, finds candidates and advice, and computes savings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from consolidate import calltable
from consolidate.cost import predict
from consolidate.cost.model import CostModel
from consolidate.cost.predict import Clock, Prediction
from consolidate.mine import advice, choose, encoded_trace, startup
from consolidate.mine.advice import Advice
from consolidate.mine.candidate import Candidate
from consolidate.report.progress import Progress
from consolidate.trace import copied, reader
from consolidate.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Together:
    """The totals of a trace with all scripts that are faster."""

    calls: int
    copied: float  # bytes
    seconds_an_hour: float | None  # saved, at the rate of the trace


@dataclass(slots=True)
class Program:
    """The calls of one program's processes."""

    command: str
    processes: int = 0
    calls: int = 0
    copied: int = 0  # bytes copied between them and the kernel
    kinds: Counter[str] = field(default_factory=Counter)


def programs(trace: Trace) -> list[Program]:
    """By name; threads of one name are counted together."""
    found: dict[str, Program] = {}
    processes: dict[str, set[int]] = {}
    for thread in trace.threads.values():
        if not thread.calls:
            continue
        command = thread.command or "?"
        one = found.setdefault(command, Program(command))
        processes.setdefault(command, set()).add(thread.process or thread.tid)
        one.calls += len(thread.calls)
        one.copied += sum(map(copied.of_call, thread.calls))
        for name, count in Counter(call.name for call in thread.calls).items():
            one.kinds[calltable.kind_of(name)] += count
    for one in found.values():
        one.processes = len(processes[one.command])
    return sorted(found.values(), key=lambda one: -one.calls)


@dataclass(slots=True)
class Report:
    """The report of a trace."""

    names: list[str]
    lines: int
    calls: int
    programs: list[Program]  # most calls first
    system: bool  # of a whole machine
    damaged: int
    unfinished: int
    threads: int
    copied: int  # bytes copied between processes and kernel
    clock: Clock
    dropped: Counter[str]
    advice: list[Advice]
    candidates: list[Candidate]
    predictions: list[Prediction]
    costs: str  # the machine of the cost model; empty if there is none
    emulated: bool

    @property
    def title(self) -> str:
        return ", ".join(self.names)

    @property
    def together(self) -> Together:
        """Totals with all scripts that are faster."""
        pays = [one for one in self.predictions if one.pays]
        saved = sum(one.saved.middle for one in pays if one.saved is not None) / 1e9
        over = self.clock.seconds
        return Together(
            self.calls - sum(one.calls_saved for one in pays),
            self.copied - sum(one.copied - one.script_copied for one in pays),
            saved * 3600 / over if self.costs and over and saved < over else None,
        )


def mined(found: Trace, most: int, gap: float, progress) -> tuple:
    """The excluded calls, the advice, and the candidates of a trace."""
    progress("looking for loops and sequences")
    aside = {thread.tid: startup.starts(thread) for thread in found.threads.values()}
    instead = advice.advise(found, aside)
    cut = encoded_trace.cut(found, gap, aside)
    return cut.dropped, instead, choose.choose(cut, progress, most)


def worth(prediction: Prediction) -> float:
    return prediction.saved.middle if prediction.saved is not None else 0.0


def make(
    paths: list[Path],
    costs: CostModel | None,
    most: int,
    gap: float,
    seconds: float | None = None,
) -> tuple[Report, Trace]:
    """The report on traces, best candidates first, and the traces read."""
    with Progress() as progress:
        found = reader.read(paths, progress.reading(paths))
        reader.complain(found)
        dropped, instead, candidates = mined(found, most, gap, progress)
    clock = Clock(found.span(), seconds or found.seconds)
    groups = programs(found)
    pairs = [(one, predict.predict(one, costs, clock)) for one in candidates]
    # Without a cost model, ordered by calls.
    pairs.sort(key=lambda pair: (-worth(pair[1]), -pair[1].calls_saved))
    for number, (candidate, _) in enumerate(pairs, 1):
        candidate.number = number
    report = Report(
        found.names,
        found.lines,
        found.calls,
        groups,
        found.system,
        found.damaged,
        found.unfinished,
        sum(bool(thread.calls) for thread in found.threads.values()),
        sum(one.copied for one in groups),
        clock,
        dropped,
        instead,
        [candidate for candidate, _ in pairs],
        [prediction for _, prediction in pairs],
        costs.title() if costs else "",
        costs is not None and costs.accel == "tcg",
    )
    return report, found
