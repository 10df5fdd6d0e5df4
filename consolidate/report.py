# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What was found, as a table for people and as JSON for programs."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from consolidate import choose, graph, library, predict, prices, streams, trace
from consolidate.choose import Candidate
from consolidate.flow import Repeat, Step
from consolidate.mine import Template
from consolidate.predict import Clock, Prediction
from consolidate.prices import Price, PriceList
from consolidate.progress import Progress
from consolidate.streams import Streams
from consolidate.trace import Trace

VERSION = 1


@dataclass(slots=True)
class Report:
    """All that is known of a trace."""

    trace: Trace
    streams: Streams
    candidates: list[Candidate]
    predictions: list[Prediction]
    prices: PriceList | None
    clock: Clock


def make(paths: list[Path], price_list: PriceList | None, most: int, gap: float) -> Report:
    with Progress() as progress:
        found = trace.read(paths, progress.reading(paths))
        trace.complain(found)
        progress("looking for loops and sequences")
        cut = streams.cut(found, gap)
        candidates = choose.choose(cut, progress, most)
    time = predict.clock(found)
    predictions = [predict.predict(one, price_list, time) for one in candidates]
    # Best first; where there are no prices, by calls.
    order = sorted(
        range(len(candidates)),
        key=lambda i: (-worth(predictions[i]), -predictions[i].calls_saved),
    )
    candidates = [candidates[i] for i in order]
    for number, candidate in enumerate(candidates, 1):
        candidate.number = number
    return Report(found, cut, candidates, [predictions[i] for i in order], price_list, time)


def worth(prediction: Prediction) -> float:
    return prediction.saved.middle if prediction.saved is not None else 0.0


def text(step: Step) -> str:
    name = step.name if step.outcome == streams.OK else f"{step.name}:{step.outcome}"
    if step.repeat is Repeat.TIMES:
        return f"{name} x{step.times}"
    return name if step.repeat is Repeat.ONCE else f"{name}+"


def sequence(candidate: Candidate) -> str:
    """The steps on one line; loops in brackets."""
    steps = {step.path: step for step in candidate.flow.steps}

    def one(template: Template, path: tuple) -> str:
        parts = []
        for i, node in enumerate(template):
            here = (*path, i)
            parts.append(f"({one(node, here)})+" if isinstance(node, tuple) else text(steps[here]))
        return " ".join(parts)

    line = one(candidate.template, ())
    return f"[{line}]*" if candidate.batched() else line


def where(candidate: Candidate) -> str:
    """The program that it is of, and how many threads it comes in."""
    commands = Counter(
        run.instances[0].stream.thread.command or str(run.instances[0].stream.thread.tid)
        for run in candidate.runs
    )
    most, _ = commands.most_common(1)[0]
    return most if len(commands) == 1 else f"{most} +{len(commands) - 1}"


def span(price: Price, scale: float, digits: int = 3) -> str:
    low, middle, high = (
        f"{value * scale:.{digits}g}" for value in (price.low, price.middle, price.high)
    )
    return f"{middle} ({low}..{high})"


def table(report: Report) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("#", justify="right")
    made.add_column("sequence", overflow="fold", ratio=1)
    made.add_column("in")
    for title in ("times", "calls", "script calls"):
        made.add_column(title, justify="right")
    made.add_column("saves, us/s", justify="right")
    made.add_column("s/hour", justify="right")
    made.add_column("verdict")
    for candidate, prediction in zip(report.candidates, report.predictions, strict=True):
        hour = prediction.per_hour()
        per_second = prediction.per_second
        made.add_row(
            str(candidate.number),
            Text(sequence(candidate)),
            where(candidate),
            str(candidate.iterations),
            str(prediction.calls),
            str(prediction.script_calls),
            span(per_second, 1e-3) if per_second is not None else "-",
            span(hour, 1) if hour is not None else "-",
            verdict(candidate, prediction),
        )
    return made


def verdict(candidate: Candidate, prediction: Prediction) -> str:
    if prediction.script is not None:
        return f"{prediction.verdict}; with {prediction.script}.lua"
    ready = library.script_for(candidate)
    return prediction.verdict + (f"; ready: {ready}.lua" if ready else "")


def show(report: Report, console: Console) -> None:
    found, cut = report.trace, report.streams
    threads = sum(bool(thread.calls) for thread in found.threads.values())
    line = f"{found.calls} calls of {threads} threads"
    if report.clock.recorded is not None:
        line += f" in {report.clock.recorded:.3g} s"
        line += f" (about {report.clock.untraced:.3g} s without the tracer)"
    console.print(line, highlight=False)
    dropped = sum(cut.dropped.values())
    if dropped:
        console.print(f"{dropped} calls that no script could join, or that stand alone:")
        for why, count in cut.dropped.most_common(5):
            console.print(f"  {count:>7}  {why}", highlight=False)
    if not report.candidates:
        console.print("No sequence recurs: nothing to consolidate.")
        return
    console.print(table(report))
    console.print(
        "[..]*: many iterations in one script call, if their arguments are known beforehand;"
        " (..)+ and x+: loops within one. Savings add up.",
        highlight=False,
        markup=False,
    )
    console.print(
        "with x.lua: what the library's script saves; the others: what one saves that"
        " `consolidate script` writes.",
        highlight=False,
    )
    if report.prices is None:
        console.print("No prices of this machine yet: `consolidate prices` measures them.")
    else:
        console.print(f"Prices: {report.prices.title()}", highlight=False)
        if report.prices.accel == "tcg":
            console.print(prices.EMULATED, highlight=False)


def price_json(price: Price | None) -> dict[str, float] | None:
    if price is None:
        return None
    return {"low": price.low, "middle": price.middle, "high": price.high}


def step_json(step: Step) -> dict[str, Any]:
    return {
        "call": step.name,
        "outcome": step.outcome,
        "path": list(step.path),
        "repeat": step.repeat.value,
        "times": step.times,
        "arguments": [
            {
                "from": source.kind.value,
                **({"step": source.step} if source.step >= 0 else {}),
                **({"value": source.value.text} if source.value is not None else {}),
                **({"steady": source.steady} if source.kind.value == "param" else {}),
            }
            for source in step.args
        ],
    }


def candidate_json(candidate: Candidate, prediction: Prediction) -> dict[str, Any]:
    whole = sum(one.whole for run in candidate.runs for one in run.instances)
    took = [
        call.took
        for run in candidate.runs[:200]
        for one in run.instances[:20]
        for call in (one.stream.call(i) for i in range(one.begin, one.end))
        if call.took is not None
    ]
    return {
        "number": candidate.number,
        "sequence": sequence(candidate),
        "steps": [step_json(step) for step in candidate.flow.steps],
        "where": where(candidate),
        "iterations": candidate.iterations,
        "left_early": candidate.iterations - whole,
        "runs": len(candidate.runs),
        "batched": candidate.batched(),
        "calls": prediction.calls,
        "script_calls": prediction.script_calls,
        "calls_saved": prediction.calls_saved,
        "call_median_us": median(took) * 1e6 if took else None,
        "saved_ns": price_json(prediction.saved),
        "saved_ns_per_second": price_json(prediction.per_second),
        "saved_seconds_per_hour": price_json(prediction.per_hour()),
        "verdict": prediction.verdict,
        "library": library.script_for(candidate),
        "priced_script": prediction.script,
    }


def as_json(report: Report) -> dict[str, Any]:
    found = report.trace
    processes = graph.by_process(found)
    return {
        "version": VERSION,
        "traces": found.names,
        "lines": found.lines,
        "damaged_lines": found.damaged,
        "unfinished_calls": found.unfinished,
        "calls": found.calls,
        "seconds": report.clock.recorded,
        "seconds_untraced": report.clock.untraced,
        "prices": report.prices.title() if report.prices else None,
        "dropped": dict(report.streams.dropped.most_common()),
        "candidates": [
            candidate_json(*pair)
            for pair in zip(report.candidates, report.predictions, strict=True)
        ],
        "graph": graph.as_json(graph.of_threads(list(found.threads.values()))),
        "processes": [
            {
                "process": process,
                "command": threads[0].command,
                "threads": [
                    {"thread": t.tid, **graph.as_json(graph.of_threads([t]))} for t in threads
                ],
            }
            for process, threads in processes.items()
        ],
    }


def console() -> Console:
    # Files and pipes get the whole width of a table, not that of a screen.
    wide = None if os.isatty(1) else 200
    return Console(width=wide, soft_wrap=False)
