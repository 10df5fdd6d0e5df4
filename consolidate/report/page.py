# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The report as one self-contained page for a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consolidate.cost.predict import Prediction
from consolidate.emit import write
from consolidate.errors import ConsolidateError
from consolidate.mine import constants, startup
from consolidate.mine.candidate import Candidate, sequence, where
from consolidate.report import detail, graph, table
from consolidate.report.report import Report
from consolidate.trace import copied
from consolidate.trace.call import Call
from consolidate.trace.reader import Thread, Trace

TEMPLATE = Path(__file__).resolve().parent / "page.html"
# Nodes and edges drawn besides those of candidates, the heaviest: as many as have room for readable
# labels. And source lines of each call.
NODES, DRAWN, LINES = 14, 36, 3
# Calls up to this share of the most frequent one have no node of their own.
RARE = 0.02
ADDRESS = re.compile(r"^(\S+?)\([^)]*\) \[(0x[0-9a-f]+)\]")


@dataclass(slots=True)
class Weight:
    """The weight of calls, or of those that follow certain others."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0
    frames: Counter[str] = field(default_factory=Counter)  # the places where they were made

    def add(self, call: Call) -> None:
        self.calls += 1
        self.bytes += copied.of_call(call)
        self.seconds += call.took or 0.0
        frames = detail.outside_libc(call)
        if frames:
            self.frames[frames[0]] += 1

    def merge(self, other: Weight) -> None:
        self.calls += other.calls
        self.bytes += other.bytes
        self.seconds += other.seconds
        self.frames.update(other.frames)


@dataclass(slots=True)
class Weighed:
    """The graph of a trace, with the totals of its calls."""

    nodes: dict[str, Weight] = field(default_factory=dict)
    edges: dict[tuple[str, str], Weight] = field(default_factory=dict)

    def add(self, thread: Thread) -> None:
        """Adds all calls of a thread; those of start-up are one node."""
        aside = startup.starts(thread)
        before = None
        for i, call in enumerate(thread.calls):
            name = graph.STARTS if i in aside else call.name
            self.nodes.setdefault(name, Weight()).add(call)
            if before is not None and not before == name == graph.STARTS:
                self.edges.setdefault((before, name), Weight()).add(call)
            before = name

    def folded(self, needed: set[str]) -> Weighed:
        """The heaviest calls and those needed; all others become one node."""
        by_weight = sorted(
            self.nodes, key=lambda name: (name not in needed, -self.nodes[name].calls)
        )
        rare = RARE * max((weight.calls for weight in self.nodes.values()), default=0)
        rest = set(by_weight[max(NODES, len(needed)) :])
        rest |= {name for name, one in self.nodes.items() if one.calls < rare} - needed
        if len(rest) < 2:
            return self
        others = f"{len(rest)} other calls"
        made = Weighed()
        for name, weight in self.nodes.items():
            made.nodes.setdefault(others if name in rest else name, Weight()).merge(weight)
        for pair, weight in self.edges.items():
            ends = tuple(others if name in rest else name for name in pair)
            if ends != (others, others):
                made.edges.setdefault(ends, Weight()).merge(weight)
        return made

    def heaviest(self, needed: set[tuple[str, str]]) -> list[tuple[tuple[str, str], Weight]]:
        """The edges to draw, including all that are needed."""
        ranked = sorted(self.edges.items(), key=lambda one: (one[0] not in needed, -one[1].calls))
        return ranked[: max(DRAWN, len(needed))]


def weigh(threads: Iterable[Thread]) -> Weighed:
    weighed = Weighed()
    for thread in threads:
        weighed.add(thread)
    return weighed


class SourceLines:
    """Source lines of stack frames, if there is debugging information."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, frame: str) -> str:
        if frame not in self.known:
            self.known[frame] = self.asked(frame) or detail.frame_text(frame)
        return self.known[frame]

    def asked(self, frame: str) -> str | None:
        parts = ADDRESS.match(frame)
        if parts is None or shutil.which("addr2line") is None:
            return None
        # A return address: the call is before it.
        address = hex(int(parts[2], 16) - 1)
        command = ["addr2line", "-f", "-e", parts[1], address]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        function, _, place = done.stdout.strip().partition("\n")
        return f"{function} at {place}" if place and "?" not in place else None


def weight_json(weight: Weight, lines: SourceLines) -> dict[str, Any]:
    return {
        "calls": weight.calls,
        "bytes": weight.bytes,
        "time": table.seconds(weight.seconds) if weight.seconds else "",
        "lines": [
            f"{count} from {lines.of(frame)}" for frame, count in weight.frames.most_common(LINES)
        ],
    }


def graph_json(trace: Trace, marked: dict[tuple[str, str], str], colours: dict[str, str]) -> dict:
    lines = SourceLines()
    weighed = weigh(trace.threads.values()).folded({end for pair in marked for end in pair})
    edges = weighed.heaviest(set(marked))
    drawn = sorted({end for pair, _ in edges for end in pair} or set(weighed.nodes))
    return {
        "nodes": [{"name": name, **weight_json(weighed.nodes[name], lines)} for name in drawn],
        "edges": [
            {
                "from": pair[0],
                "to": pair[1],
                "candidate": marked.get(pair),
                "colour": colours.get(marked.get(pair, ""), graph.GREY),
                **weight_json(weight, lines),
            }
            for pair, weight in edges
        ],
    }


def candidate_json(
    candidate: Candidate, prediction: Prediction, report: Report, colour: str
) -> dict[str, Any]:
    script, why = "", ""
    try:
        script = write.script(candidate, report.title).lua
    except ConsolidateError as error:
        why = str(error).partition("\n")[0]
    return {
        "name": candidate.name,
        "sequence": sequence(candidate),
        "where": where(candidate),
        "times": candidate.iterations,
        "calls": prediction.calls,
        "script_calls": prediction.script_calls,
        "saves": table.saves(prediction),
        "remarks": table.remarks(candidate, prediction, report),
        "assumed": constants.assumptions(candidate.flow),
        "colour": colour,
        "script": script,
        "why": why,
    }


def sums(report: Report) -> list[tuple[str, str, str]]:
    """The totals, now and with all scripts that are faster."""
    left = report.together
    lines = [
        ("calls", str(report.calls), str(left.calls)),
        ("copied", table.size(report.copied), table.size(left.copied)),
    ]
    if left.seconds_an_hour is not None and report.clock.seconds >= table.LONG_ENOUGH:
        lines.append(("saved an hour, at this rate", table.seconds(left.seconds_an_hour), ""))
    return lines


def page(report: Report, trace: Trace) -> str:
    """The page's text."""
    names = {candidate.number: candidate.name for candidate in report.candidates}
    colours = {names[n]: c for n, c in graph.colours(list(names)).items()}
    marked = graph.in_candidates(report.candidates)
    data = {
        "title": report.title,
        "about": f"{table.extent(report)}."
        + (f" Cost model: {report.costs}." if report.costs else f" {table.NO_COST_MODEL}"),
        "sums": sums(report),
        "candidates": [
            candidate_json(one, prediction, report, colours[one.name])
            for one, prediction in zip(report.candidates, report.predictions, strict=True)
        ],
        "instead": [
            {
                "text": one.text,
                "where": one.where,
                "calls": one.calls,
                "then": one.would_be if one.saved else "",
            }
            for one in report.advice
        ],
        **graph_json(trace, {pair: names[n] for pair, n in marked.items()}, colours),
    }
    # The data must not end the element that contains it.
    text = json.dumps(data).replace("<", "\\u003c")
    return TEMPLATE.read_text().replace("@DATA@", text)


def save(report: Report, trace: Trace, path: Path) -> None:
    try:
        path.write_text(page(report, trace))
    except OSError as error:
        raise ConsolidateError(f"cannot write {path}: {error.strerror}") from error
