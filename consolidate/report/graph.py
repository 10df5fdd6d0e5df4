# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The weighted directed graph of successive calls, and its picture by Graphviz."""

from __future__ import annotations

import colorsys
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from math import log
from pathlib import Path

from consolidate.errors import ConsolidateError, not_installed
from consolidate.mine import startup
from consolidate.mine.candidate import Candidate, sequence
from consolidate.trace.reader import Thread, Trace

# Edges drawn, the heaviest, and how much lighter than the heaviest they may be.
DRAWN, LIGHT = 60, 500
# Characters of a sequence in the legend.
LEGEND = 70
GREY = "#888888"


@dataclass(slots=True)
class Graph:
    """How often each call occurred, and how often one followed another."""

    calls: Counter[str] = field(default_factory=Counter)
    edges: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, names: list[str]) -> None:
        self.calls.update(names)
        self.edges.update(zip(names, names[1:], strict=False))


def of_threads(threads: Iterable[Thread]) -> Graph:
    """The graph of all calls, each thread separately."""
    graph = Graph()
    for thread in threads:
        graph.add([call.name for call in thread.calls])
    return graph


def without_starts(threads: Iterable[Thread]) -> Graph:
    """The same, with the calls of programs' start-up as one node."""
    graph = Graph()
    for thread in threads:
        aside = startup.starts(thread)
        names: list[str] = []
        for i, call in enumerate(thread.calls):
            if i not in aside:
                names.append(call.name)
            elif not names or names[-1] != STARTS:
                names.append(STARTS)
        graph.add(names)
    return graph


STARTS = "(start-up)"


def by_process(trace: Trace) -> dict[int, list[Thread]]:
    found: dict[int, list[Thread]] = {}
    for thread in trace.threads.values():
        if thread.calls:
            found.setdefault(thread.process or thread.tid, []).append(thread)
    return found


def as_json(graph: Graph) -> dict:
    return {
        "calls": dict(graph.calls),
        "edges": [
            {"from": one, "to": other, "count": count}
            for (one, other), count in graph.edges.most_common()
        ],
    }


def in_candidates(candidates: list[Candidate]) -> dict[tuple[str, str], int]:
    """The candidate of each edge, the better ones first."""
    found: dict[tuple[str, str], int] = {}
    for candidate in candidates:
        names = [step.name for step in candidate.flow.steps]
        if candidate.batched or len(names) == 1:
            names.append(names[0])
        for pair in zip(names, names[1:], strict=False):
            found.setdefault(pair, candidate.number)
    return found


def colours(numbers: list[int]) -> dict[int, str]:
    """A distinct colour for each: all around the colour circle, every other one darker."""
    found = {}
    for i, number in enumerate(numbers):
        rgb = colorsys.hls_to_rgb(i / len(numbers), 0.32 if i % 2 else 0.45, 0.75)
        found[number] = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
    return found


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def legend(candidates: list[Candidate], colour: dict[int, str]) -> str:
    """A node that is a table of candidates, with their colours."""
    rows = []
    for one in candidates:
        if one.number in colour:
            text = sequence(one)
            text = text if len(text) <= LEGEND else text[: LEGEND - 3] + "..."
            rows.append(
                f'<tr><td bgcolor="{colour[one.number]}" width="24"></td>'
                f'<td align="left">#{one.number}  {escape(text)}</td></tr>'
            )
    rows.append(f'<tr><td bgcolor="{GREY}"></td><td align="left">in no candidate</td></tr>')
    rows.append('<tr><td colspan="2" align="left">numbers: calls, how often one followed</td></tr>')
    table = f'<table border="0" cellborder="0" cellspacing="2">{"".join(rows)}</table>'
    return f"legend [shape=plain, label=<{table}>];"


def dot(graph: Graph, candidates: list[Candidate], title: str) -> str:
    """The picture for Graphviz: each edge has its count at its head."""
    marked = in_candidates(candidates)
    heaviest = max(graph.edges.values(), default=1)
    edges = [
        (pair, count)
        for pair, count in graph.edges.most_common(DRAWN)
        if count * LIGHT >= heaviest or pair in marked
    ]
    colour = colours(sorted({marked[pair] for pair, _ in edges if pair in marked}))
    lines = [
        "digraph {",
        f'graph [label={quoted(title)}, labelloc=t, fontname="sans-serif", ranksep=0.7];',
        'node [shape=box, style=rounded, fontname="sans-serif"];',
        'edge [fontname="sans-serif", fontsize=10];',
        legend(candidates, colour),
    ]
    for name in sorted({end for pair, _ in edges for end in pair}):
        lines.append(f'{quoted(name)} [label={quoted(f"{name}")[:-1]}\\n{graph.calls[name]}"];')
    for pair, count in edges:
        shade = colour[marked[pair]] if pair in marked else GREY
        width = 0.5 + 5.5 * log(1 + count) / log(1 + heaviest)
        away = 1.5 + width / 3
        options = f'color="{shade}", fontcolor="{shade}", penwidth={width:.2f}'
        options += f", labeldistance={away:.1f}"
        lines.append(f"{quoted(pair[0])} -> {quoted(pair[1])} [headlabel={count}, {options}];")
    return "\n".join([*lines, "}"])


def draw(trace: Trace, candidates: list[Candidate], path: Path) -> None:
    """Draws heavy edges thick, and those of candidates in colour."""
    program = shutil.which("dot")
    if program is None:
        raise not_installed("Graphviz's `dot`, which draws the graph,", "graphviz")
    text = dot(without_starts(trace.threads.values()), candidates, ", ".join(trace.names))
    done = subprocess.run([program, "-Tsvg"], input=text, capture_output=True, text=True)
    if done.returncode:
        raise ConsolidateError(f"dot failed: {done.stderr.strip()}")
    try:
        path.write_text(done.stdout)
    except OSError as error:
        raise ConsolidateError(f"cannot write {path}: {error.strerror}") from error
