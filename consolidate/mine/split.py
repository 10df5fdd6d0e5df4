# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Cuts templates where a program must compute, and where no data flows across."""

from __future__ import annotations

from consolidate.mine.dataflow import WAITS, Flow, Kind, Repeat
from consolidate.mine.match import Path
from consolidate.mine.templates import Template, bare, symbol


def pieces(flow: Flow) -> list[Template]:
    """The parts of a template that one call can do, perhaps all of it."""
    template = flow.template
    for i, node in enumerate(template):
        if is_apart(flow, (i,), node) and len(template) > 1:
            own = node if isinstance(node, tuple) else (node,)
            return [bare(part) for part in (template[:i], own, template[i + 1 :]) if part]
    barriers = cuts_for_needs(flow, (), len(template))
    if len(barriers) > 2:
        return between(template, barriers)
    places = cuts_for_data(flow, (), len(template))
    if len(places) == 2 or not flow.links:
        return [bare(template[: begins_again(flow)])]
    return joined(between(template, places), flow)


def between(template: Template, places: list[int]) -> list[Template]:
    return [bare(template[a:b]) for a, b in zip(places, places[1:], strict=False)]


def is_apart(flow: Flow, path: Path, node: int | tuple) -> bool:
    """Whether a script cannot contain a loop: iterations depend on each other, or fall apart."""
    if path in flow.apart:
        return True
    if not isinstance(node, tuple):
        return False
    size = len(node)
    return len(cuts_for_needs(flow, path, size)) > 2 or len(cuts_for_data(flow, path, size)) > 2


def names(flow: Flow, path: Path) -> tuple[str, ...]:
    """The calls of a node, whatever their outcomes."""
    depth = len(path)
    return tuple(step.name for step in flow.steps if step.path[:depth] == path)


def begins_again(flow: Flow) -> int:
    """The position in a template where the next iteration begins, or its end."""
    nodes = [names(flow, (i,)) for i in range(len(flow.template))]
    size = len(nodes)
    spans = [(min(span), max(span)) for link in flow.links if (span := within(flow, (), *link))]
    for at in range(2, size):
        same = nodes[at:] == nodes[: size - at] and (flow.goes_on or at < size - 1)
        if same and not any(first < at <= last for first, last in spans):
            return at
    return size


def within(flow: Flow, path: Path, one: int, other: int) -> tuple[int, int] | None:
    """The indexes of two steps under a path; None if one is elsewhere."""
    depth = len(path)
    ends = [flow.steps[number].path for number in (one, other)]
    if any(end[:depth] != path for end in ends):
        return None
    return ends[0][depth], ends[1][depth]


def cuts_for_needs(flow: Flow, path: Path, size: int) -> list[int]:
    """Cuts where the program must examine data, as late as possible; both ends included."""
    spans = [within(flow, path, *need) for need in flow.needs]
    found = [0]
    for at in range(1, size):
        if any(span is not None and found[-1] <= span[0] < at == span[1] for span in spans):
            found.append(at)
    return [*found, size]


def cuts_for_data(flow: Flow, path: Path, size: int) -> list[int]:
    """Cuts where no data flows between the nodes under a path, both ends included."""
    spans = [span for link in flow.links if (span := within(flow, path, *link)) is not None]
    inside = [i for i in range(1, size) if not any(min(span) < i <= max(span) for span in spans)]
    return [0, *(i for i in inside if not is_round(flow, path, i)), size]


def is_round(flow: Flow, path: Path, i: int) -> bool:
    """Whether a wait follows: the work is done before the next wait."""
    return any(step.path == (*path, i) and step.name in WAITS for step in flow.steps)


def joined(parts: list[Template], flow: Flow) -> list[Template]:
    """Single calls join the piece after them, or before, unless they belong elsewhere."""
    found: list[Template] = []
    waiting: Template = ()
    at, closed = 0, True
    for part in parts:
        if len(part) == 1 and isinstance(part[0], tuple):
            # A loop by itself: it is a batch, and nothing joins it.
            found.append(part[0])
            waiting, closed = (), True
        elif len(part) > 1 or not is_single(flow, (at,)):
            found.append(waiting + part)
            waiting, closed = (), False
        elif is_dangling(flow, (at,)):
            waiting = ()
        else:
            waiting += part
        at += len(part)
    if waiting and not closed:
        firsts = {symbol(part[0]) for part in found if is_call(part[0])}
        if not (flow.goes_on and symbol(waiting[0]) in firsts):
            found[-1] += waiting
    elif waiting:
        found.append(waiting)
    return found


def is_call(node: int | tuple) -> bool:
    return not isinstance(node, tuple)


def is_single(flow: Flow, path: Path) -> bool:
    """Whether a position of the template is a single call, made once."""
    return any(step.path == path and step.repeat is Repeat.ONCE for step in flow.steps)


def is_dangling(flow: Flow, path: Path) -> bool:
    """Whether a call uses a descriptor that is unrelated to the others."""
    step = next(step for step in flow.steps if step.path == path)
    return any(
        source.letter == "f"
        and (
            source.kind is Kind.PARAM
            and (step.name == "close" or source.varies)
            or source.kind is Kind.SHARED
        )
        for source in step.args
    )
