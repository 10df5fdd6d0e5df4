# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The weighted directed graph of call after call, of a thread, a process, or all."""

from __future__ import annotations

from collections import Counter
from math import log
from pathlib import Path

import graphviz
import networkx as nx

from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.trace import Thread, Trace

# Edges in a picture, the heaviest.
DRAWN = 60
COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65")


def of_threads(threads: list[Thread]) -> nx.DiGraph:
    """Nodes are calls with how often they came, edges how often one followed another."""
    nodes: Counter[str] = Counter()
    edges: Counter[tuple[str, str]] = Counter()
    for thread in threads:
        names = [call.name for call in thread.calls]
        nodes.update(names)
        edges.update(zip(names, names[1:], strict=False))
    graph = nx.DiGraph()
    for name, count in nodes.items():
        graph.add_node(name, count=count)
    for (one, other), count in edges.items():
        graph.add_edge(one, other, weight=count)
    return graph


def by_process(trace: Trace) -> dict[int, list[Thread]]:
    found: dict[int, list[Thread]] = {}
    for thread in trace.threads.values():
        if thread.calls:
            found.setdefault(thread.process or thread.tid, []).append(thread)
    return found


def as_json(graph: nx.DiGraph) -> dict:
    edges = sorted(graph.edges(data="weight"), key=lambda edge: -edge[2])
    return {
        "calls": {name: count for name, count in graph.nodes(data="count")},
        "edges": [{"from": a, "to": b, "count": weight} for a, b, weight in edges],
    }


def in_candidates(candidates: list[Candidate]) -> dict[tuple[str, str], int]:
    """Which edges belong to which candidate, the better ones first."""
    found: dict[tuple[str, str], int] = {}
    for candidate in candidates:
        names = [step.name for step in candidate.flow.steps]
        if candidate.batched():
            names.append(names[0])
        pairs = zip(names, names[1:], strict=False) if len(names) > 1 else [(names[0],) * 2]
        for pair in pairs:
            found.setdefault(pair, candidate.number)
    return found


def draw(graph: nx.DiGraph, candidates: list[Candidate], path: Path, title: str) -> None:
    """Heavy edges heavy, and those of the candidates in colour, with their numbers."""
    edges = sorted(graph.edges(data="weight"), key=lambda edge: -edge[2])[:DRAWN]
    heaviest = edges[0][2] if edges else 1
    marked = in_candidates(candidates)
    dot = graphviz.Digraph(
        graph_attr={"label": title, "labelloc": "t", "fontname": "sans-serif", "rankdir": "TB"},
        node_attr={"shape": "box", "style": "rounded", "fontname": "sans-serif"},
        edge_attr={"fontname": "sans-serif", "fontsize": "10"},
    )
    for name in sorted({end for edge in edges for end in edge[:2]}):
        dot.node(name, f"{name}\n{graph.nodes[name]['count']}")
    for one, other, weight in edges:
        number = marked.get((one, other))
        colour = COLOURS[(number - 1) % len(COLOURS)] if number else "#888888"
        label = f"{weight}" + (f"  #{number}" if number else "")
        width = 0.5 + 7.5 * log(1 + weight) / log(1 + heaviest)
        dot.edge(one, other, label=label, color=colour, penwidth=f"{width:.2f}")
    try:
        path.write_bytes(dot.pipe(format="svg"))
    except graphviz.ExecutableNotFound as error:
        raise ConsolidateError(
            "Graphviz's `dot`, which draws the graph, is not installed: install the"
            " distribution's package graphviz"
        ) from error
    except OSError as error:
        raise ConsolidateError(f"cannot write {path}: {error.strerror}") from error
