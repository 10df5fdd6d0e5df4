# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The structure of a template's script: calls, and loops of calls.

drain   until its first call returns 0, or a certain error
search  over entries from the program, until the call succeeds
list    over entries from the program
names   over the names that getdents64(2) listed
times   a fixed number of times
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.mine.dataflow import (
    DRAINED,
    FILLERS,
    LISTERS,
    SIZE_ARG,
    Flow,
    Kind,
    Repeat,
    Source,
    Step,
)
from consolidate.mine.encoded_trace import OK

STAT_SIZES = {"stat": 144, "lstat": 144, "fstat": 144, "newfstatat": 144, "statx": 256}


@dataclass(slots=True)
class Node:
    """A call, or a loop whose first call is `first`."""

    kind: str
    first: int
    body: list[Node] = field(default_factory=list)
    times: int = 1
    until: str = OK  # the outcome that ends a drain

    @property
    def is_loop(self) -> bool:
        return self.kind != "call"

    @property
    def is_each(self) -> bool:
        """Whether it iterates over the results of an earlier call."""
        return self.kind in ("names", "ready")


@dataclass(slots=True)
class Shape:
    """The nodes of an iteration."""

    flow: Flow
    nodes: list[Node] = field(default_factory=list)
    alias: dict[int, int] = field(default_factory=dict)  # the end of a loop: its first call

    def walk(self, nodes: list[Node] | None = None) -> Iterator[Node]:
        for node in self.nodes if nodes is None else nodes:
            yield node
            yield from self.walk(node.body)

    def target(self, step: int) -> int:
        """The step whose result stands for another's."""
        return self.alias.get(step, step)


def numbers(nodes: list[Node]) -> list[int]:
    """The steps of these nodes."""
    found = []
    for node in nodes:
        found.append(node.first)
        found += [number for number in numbers(node.body) if number != node.first]
    return found


def is_buffer(step: Step, arg: int) -> bool:
    """Whether the kernel writes there; poll(2) reads its array, too."""
    kinds = calltable.kinds(step.name)
    return arg < len(kinds) and kinds[arg] == "p" and step.name not in ("poll", "ppoll")


class Shaper:
    """Builds the nodes of a template."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.steps = flow.steps
        self.index = {step.path: i for i, step in enumerate(self.steps)}
        self.shape = Shape(flow)

    def __call__(self) -> Shape:
        self.shape.nodes = self.nodes(self.flow.template, ())
        return self.shape

    def nodes(self, template: tuple, path: tuple, i: int = 0, end: int | None = None) -> list[Node]:
        found: list[Node] = []
        end = len(template) if end is None else end
        while i < end:
            node, i = self.node(template, path, i)
            found.append(node)
        return found

    def node(self, template: tuple, path: tuple, i: int) -> tuple[Node, int]:
        """The node that begins at a position of the template, and the next position."""
        here = (*path, i)
        if isinstance(template[i], tuple):
            loop = self.flow.loops[here]
            body = self.nodes(template[i], here)
            if loop.repeat is Repeat.UNTIL and (*path, i + 1) in self.index:
                return self.drain(body[0].first, body[1:], self.index[*path, i + 1]), i + 2
            kind = self.loop_kind(loop.repeat)
            return Node(kind, body[0].first, body, loop.times), i + 1
        number = self.index[here]
        step = self.steps[number]
        end = self.end_of_loop(template, path, i)
        if end is not None:
            body = self.nodes(template, path, i + 1, end)
            return self.drain(number, body, self.index[*path, end]), end + 1
        if step.repeat is Repeat.ONCE:
            return Node("call", number), i + 1
        kind = self.loop_kind(step.repeat)
        return Node(kind, number, [Node("call", number)], step.times), i + 1

    def end_of_loop(self, template: tuple, path: tuple, i: int) -> int | None:
        """Where the call at @i recurs with another outcome, which ends the loop; None: nowhere."""
        step = self.steps[self.index[*path, i]]
        following = range(i + 1, len(template) if step.name in LISTERS else i + 2)
        for j in following:
            if j >= len(template) or isinstance(template[j], tuple):
                continue
            other = self.steps[self.index[*path, j]]
            if other.name == step.name:
                return j if self.ends(step, other) else None
        return None

    def ends(self, step: Step, other: Step) -> bool:
        """Whether a step ends a loop that repeats the same call until this outcome."""
        if other.outcome == step.outcome:
            return False
        if other.outcome == OK:
            return step.repeat is Repeat.UNTIL and self.same_but_path(step, other)
        return step.outcome == OK and step.name in DRAINED and self.same_file(step, other)

    def same_but_path(self, step: Step, other: Step) -> bool:
        """Whether the last of several attempts differs from the others in its path only."""
        number = self.steps.index(step)
        for arg, (one, two) in enumerate(zip(step.args, other.args, strict=False)):
            shared = two.kind is Kind.SHARED and (two.step, two.arg) == (number, arg)
            same = one.kind is two.kind is Kind.CONST and one.value.text == two.value.text
            path = one.letter == "s" and one.kind is two.kind is Kind.PARAM
            if not (shared or same or path or is_buffer(step, arg)):
                return False
        return True

    def same_file(self, step: Step, other: Step) -> bool:
        one, two = step.args[0], other.args[0]
        if two.kind is Kind.SHARED:
            shared = (two.step, two.arg)
            return shared in [(self.steps.index(step), 0), (one.step, one.arg)]
        return (one.kind, one.step) == (two.kind, two.step)

    def drain(self, first: int, body: list[Node], end: int) -> Node:
        self.shape.alias[end] = first
        until = self.steps[end].outcome
        # Failed attempts are repeated with the next entry, until one succeeds.
        return Node("search" if until == OK else "drain", first, body, until=until)

    def loop_kind(self, repeat: Repeat) -> str:
        kinds = {Repeat.NAMES: "names", Repeat.READY: "ready", Repeat.TIMES: "times"}
        return kinds.get(repeat, "list")


def shape(flow: Flow) -> Shape:
    return Shaper(flow)()


def refusal(flow: Flow) -> str:
    """Why no script can have the structure of a template; empty if one can."""
    if flow.refused:
        return flow.refused
    made = shape(flow)
    for node in made.walk():
        if node.kind in ("drain", "names", "ready"):
            for inner in made.walk(node.body):
                if inner.kind in ("list", "search"):
                    return "a loop within a loop takes other values each time"
            if moving(flow, node, made):
                return "calls in a loop take values that a script cannot know"
        if node.is_loop and out_of_reach(flow, node):
            return "a call after a loop takes results of its last iteration"
        if node.is_each and any(inner.is_loop for inner in node.body):
            return "a loop over results contains loops"
        if node.kind == "search" and node.body:
            return "other calls come between the attempts"
    return ""


def out_of_reach(flow: Flow, node: Node) -> bool:
    """Whether a step after a loop uses a result or argument of a call within."""
    inside = set(numbers([node]))
    hidden = inside - ({node.first} if node.kind in ("drain", "search") else set())
    return any(
        source.kind in (Kind.RESULT, Kind.SHARED) and source.step in hidden
        for number, step in enumerate(flow.steps)
        if number not in inside
        for source in step.args
    )


def moving(flow: Flow, node: Node, made: Shape) -> bool:
    """Whether a step in a drain or a listing takes another input value each time."""
    steps = numbers(node.body) if node.is_each else numbers([node])
    return any(
        takes(source, flow.steps[number], arg)
        for number in steps
        for arg, source in enumerate(flow.steps[number].args)
    )


def takes(source: Source, step: Step, arg: int) -> bool:
    is_room = SIZE_ARG.get(step.name) == arg and step.name in FILLERS | dict.fromkeys(LISTERS)
    return source.kind is Kind.PARAM and source.moves and not is_buffer(step, arg) and not is_room
