# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Makes a report: reads traces, finds candidates and advice, says what they save."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from consolidate.cost import predict
from consolidate.cost.model import CostModel
from consolidate.cost.predict import Clock, Prediction
from consolidate.mine import advice, choose, startup, tape
from consolidate.mine.advice import Advice
from consolidate.mine.candidate import Candidate
from consolidate.report.progress import Progress
from consolidate.trace import reader
from consolidate.trace.reader import Trace


@dataclass(slots=True)
class Report:
    """What is known of a trace."""

    names: list[str]
    lines: int
    calls: int
    damaged: int
    unfinished: int
    threads: int
    clock: Clock
    dropped: Counter[str]
    advice: list[Advice]
    candidates: list[Candidate]
    predictions: list[Prediction]
    costs: str  # what the cost model is of; empty if there is none
    emulated: bool

    @property
    def title(self) -> str:
        return ", ".join(self.names)


def mined(found: Trace, most: int, gap: float, progress) -> tuple:
    """What is excluded, the advice, and the candidates of a trace."""
    progress("looking for loops and sequences")
    aside = {thread.tid: startup.starts(thread) for thread in found.threads.values()}
    instead = advice.advise(found, aside)
    cut = tape.cut(found, gap, aside)
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
    """The report of traces, best candidates first, and what was read."""
    with Progress() as progress:
        found = reader.read(paths, progress.reading(paths))
        reader.complain(found)
        dropped, instead, candidates = mined(found, most, gap, progress)
    clock = Clock(found.span(), seconds or found.seconds)
    pairs = [(one, predict.predict(one, costs, clock)) for one in candidates]
    # Without a cost model, by calls.
    pairs.sort(key=lambda pair: (-worth(pair[1]), -pair[1].calls_saved))
    for number, (candidate, _) in enumerate(pairs, 1):
        candidate.number = number
    report = Report(
        found.names,
        found.lines,
        found.calls,
        found.damaged,
        found.unfinished,
        sum(bool(thread.calls) for thread in found.threads.values()),
        clock,
        dropped,
        instead,
        [candidate for candidate, _ in pairs],
        [prediction for _, prediction in pairs],
        costs.title() if costs else "",
        costs is not None and costs.accel == "tcg",
    )
    return report, found
