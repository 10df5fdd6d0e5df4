# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The report as a table for people."""

from __future__ import annotations

import os
from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from consolidate import calltable
from consolidate.cost import library, model
from consolidate.cost.model import Cost
from consolidate.cost.predict import Clock, Prediction
from consolidate.mine.candidate import Candidate, is_event_loop, sequence, where
from consolidate.mine.dataflow import LISTERS
from consolidate.mine.encoded_trace import START_UP
from consolidate.report.report import Report

DROPPED = 6
# For a whole machine: programs with a line, and kinds of calls with a column.
PROGRAMS, KINDS = 15, 7
# Seconds from which a trace is long enough for a rate.
LONG_ENOUGH = 5.0
NO_TIME = (
    "The time without the tracer is unknown, so the report cannot say what is worth it:"
    " record with --again, or pass --seconds."
)
NO_COST_MODEL = (
    "No cost model: `consolidate calibrate` measures one. Until then calls are counted, not time."
)
IN_THE_PROCESS = (
    "This cost model is for the user backend, whose scripts save no mode switches."
    " Calibrate where the module is loaded."
)
NOTES = (
    "[..]*: many iterations in one script call, if the program knows their arguments"
    " beforehand; (..)+ and x+: loops within one. Savings add up."
)


EVENT_LOOP = (
    "An event loop's round is one script call: send, wait, receive."
    " io_uring, with multishot receives, is the alternative."
)


def brief(value: float, digits: int) -> str:
    """A number with so many digits, or as an integer, but never with an exponent."""
    if abs(value) >= 10**digits - 0.5:
        return f"{value:.0f}"
    return f"{round(value, 3) + 0.0:.{digits}g}"


def seconds(value: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if abs(value) * scale >= 1 or unit == "us":
            return f"{brief(value * scale, 3)} {unit}"
    return ""


def span(cost: Cost, scale: float, unit: str = "") -> str:
    low, middle, high = (brief(value * scale, 2) for value in (cost.low, cost.middle, cost.high))
    return f"{middle}{unit} ({low}..{high})"


def saves(prediction: Prediction) -> str:
    if prediction.saved is None:
        return f"{prediction.calls_saved} calls"
    if prediction.share is not None:
        return span(prediction.share, 100, " %")
    scale, unit = (1e-6, " ms") if abs(prediction.saved.middle) > 1e6 else (1e-3, " us")
    return span(prediction.saved, scale, unit)


def unknown(report: Report) -> str:
    """Why no candidate has a verdict."""
    if not report.costs:
        return "unknown without a cost model"
    return "unknown: record with --again, or pass --seconds"


def in_walk(candidate: Candidate, report: Report) -> bool:
    """Whether it is part of a directory walk, for which there is one script."""
    walks = {one.where for one in report.advice if one.kind in ("list", "walk")}
    names = {step.name for step in candidate.flow.steps}
    return bool(names & (LISTERS | calltable.QUERIES)) and not walks.isdisjoint(candidate.commands)


def remarks(candidate: Candidate, prediction: Prediction, report: Report) -> str:
    found = [prediction.verdict or unknown(report)]
    if prediction.verdict.startswith("no") and in_walk(candidate, report):
        found = ["no by itself; the walk that it is a part of gains: see 'without a script'"]
    if prediction.script is not None:
        found.append(f"with {prediction.script}.lua")
    else:
        ready = library.script_for(candidate)
        found.append(f"ready: {ready}.lua" if ready else "")
    found.append("an event loop's round" if is_event_loop(candidate) else "")
    return "; ".join(text for text in found if text)


def candidates(report: Report) -> Table:
    """Two lines per candidate, folded on a narrow screen: nothing is cut."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("#", justify="right")
    made.add_column("candidate, what it saves, and is it worth it?", overflow="fold", ratio=1)
    for candidate, prediction in zip(report.candidates, report.predictions, strict=True):
        counts = (
            f"{counted(candidate.iterations, 'time')} in {where(candidate)}:"
            f" {counted(prediction.calls, 'call')} would be {prediction.script_calls}"
        )
        made.add_row(
            str(candidate.number),
            Text.assemble(
                (candidate.name, "bold"),
                f"  {sequence(candidate)}\n",
                f"saves {saves(prediction)}; {remarks(candidate, prediction, report)}; {counts}",
            ),
        )
    return made


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def instead(report: Report) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("without a script", overflow="fold", ratio=1)
    made.add_column("in")
    made.add_column("calls", justify="right")
    made.add_column("then", justify="right")
    for one in report.advice:
        then = str(one.would_be) if one.saved else ""
        made.add_row(Text(one.text), one.where, str(one.calls), then)
    return made


def took(clock: Clock) -> str:
    if clock.recorded is None:
        return ""
    if clock.untraced is None:
        return f" in {seconds(clock.recorded)}, as traced"
    return f" in {seconds(clock.recorded)}, {seconds(clock.untraced)} without the tracer"


def left_out(report: Report) -> Table:
    """Calls that are not part of any sequence; start-up calls in one line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(justify="right", width=9)
    made.add_column(overflow="fold")
    starts = {why: n for why, n in report.dropped.items() if why.startswith(START_UP)}
    if starts:
        kinds = ", ".join(
            f"{why.removeprefix(START_UP)} {n}" for why, n in Counter(starts).most_common()
        )
        made.add_row(str(sum(starts.values())), Text(f"when programs start: {kinds}"))
    others = Counter({why: n for why, n in report.dropped.items() if why not in starts})
    for why, count in others.most_common(DROPPED):
        made.add_row(str(count), Text(why))
    return made


def programs(report: Report) -> Table:
    """Calls by program and kind of work."""
    kinds = Counter()
    for one in report.programs:
        kinds += one.kinds
    shown = [kind for kind, _ in kinds.most_common(KINDS)]
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("program", overflow="fold", ratio=1)
    for title in ("processes", "calls", "copied", *shown):
        made.add_column(title, justify="right")
    for one in report.programs[:PROGRAMS]:
        counts = (one.kinds[kind] for kind in shown)
        made.add_row(
            Text(one.command),
            str(one.processes),
            str(one.calls),
            size(one.copied),
            *(str(count) if count else "" for count in counts),
        )
    rest = report.programs[PROGRAMS:]
    if rest:
        calls, bytes_copied = sum(one.calls for one in rest), sum(one.copied for one in rest)
        processes = sum(one.processes for one in rest)
        made.add_row(f"{len(rest)} others", str(processes), str(calls), size(bytes_copied))
    return made


def size(count: float) -> str:
    for unit, scale in (("MB", 1e6), ("KB", 1e3)):
        if count >= scale:
            return f"{brief(count / scale, 3)} {unit}"
    return f"{count:.0f} bytes"


def together(report: Report) -> str:
    """The total over all candidates that are faster, in the units of the original paper."""
    left = report.together
    line = (
        f"All together: {report.calls} calls would be {left.calls}; {size(report.copied)} copied"
        f" between user and kernel space would be {size(left.copied)}"
    )
    if left.seconds_an_hour is not None and report.clock.seconds >= LONG_ENOUGH:
        line += f"; {left.seconds_an_hour:.3g} s an hour, at the rate of the trace"
    return line + "."


def extent(report: Report) -> str:
    calls, threads = counted(report.calls, "call"), counted(report.threads, "thread")
    return f"{calls} of {threads}{took(report.clock)}"


def show(report: Report, console: Console) -> None:
    console.print(extent(report), highlight=False)
    if report.dropped:
        console.print("Not considered:")
        console.print(left_out(report))
    if report.system:
        console.print(programs(report))
    if report.advice:
        console.print(instead(report))
    if not report.candidates:
        console.print("No sequence recurs: nothing to consolidate.")
        return
    console.print(candidates(report))
    console.print(together(report), highlight=False)
    console.print(NOTES, highlight=False, markup=False)
    if any(map(is_event_loop, report.candidates)):
        console.print(EVENT_LOOP, highlight=False)
    if not report.costs:
        console.print(NO_COST_MODEL)
        return
    if report.clock.untraced is None:
        console.print(NO_TIME)
    console.print(f"Cost model: {report.costs}", highlight=False)
    if "user backend" in report.costs:
        console.print(IN_THE_PROCESS, highlight=False)
    if report.emulated:
        console.print(model.EMULATED, highlight=False)


def console() -> Console:
    # Files and pipes get a table's full width, not a screen's, unless they are to fit one.
    wide = None if os.isatty(1) or "COLUMNS" in os.environ else 200
    return Console(width=wide, soft_wrap=False)
