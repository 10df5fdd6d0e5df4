# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What the script of a candidate takes and does, for those who write it down.

An iteration is a sequence of nodes: calls, and loops of calls.  A drain goes on
until its first call comes out with nothing or an error; a listing goes over the
names that getdents listed; a list over records of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.flow import LISTERS, SIZE_ARG, Kind, Repeat, Source, Step
from consolidate.streams import OK

STAT_SIZES = {"stat": 144, "lstat": 144, "fstat": 144, "newfstatat": 144, "statx": 256}
STAT_BUFFER = {"stat": 1, "lstat": 1, "fstat": 1, "newfstatat": 2, "statx": 4}
BUFFER_NAMES = {"getdents64": "entries", "getdents": "entries", "statx": "stat"}
BUFFER_SIZE = 4096
SYMBOLIC = re.compile(r"[A-Z_][A-Z0-9_]*$")
# They give the next part of one whole.
STREAMS = frozenset(["read", "getdents64", "getdents", "pread64"])
# Arguments of a script's run().
MOST_ARGS = 8
FIELD = 8


@dataclass(slots=True)
class Param:
    """Something that the program has to say."""

    name: str
    letter: str
    scope: str  # "call", "item" of a batch, or "list": a record of a nested loop
    seen: list = field(default_factory=list)
    fills: str = ""  # the call that writes there, if it is a buffer
    size: int = 0  # of that buffer, per repetition
    steps: list[tuple[int, int]] = field(default_factory=list)
    constant: str = ""  # a C constant that scripts do not know
    string: bool = False


@dataclass(slots=True)
class Node:
    """A call, or a loop: `first` is its first call."""

    # "call"; loops: "drain", "search" (until one succeeds), "names", "list", "times"
    kind: str
    first: int
    body: list[Node] = field(default_factory=list)
    times: int = 1
    until: str = OK


@dataclass(slots=True)
class Plan:
    """An iteration and what it takes."""

    candidate: Candidate
    nodes: list[Node]
    params: list[Param]
    by_arg: dict[tuple[int, int], Param]
    results: list[int]  # steps whose results the program gets
    batched: bool
    gathers: dict[int, str]  # drains that keep what they get: as a "stream", or "each"
    room: dict[int, Param]  # how much they may get: bytes, or how often
    codes: dict[int, Param]  # of loops: where the result of each call in them goes
    alias: dict[int, int]  # the step whose result stands for another's

    @property
    def steps(self) -> list[Step]:
        return self.candidate.flow.steps

    def scope(self, scope: str) -> list[Param]:
        return [param for param in self.params if param.scope == scope]


class Planner:
    """Makes the plan of a candidate."""

    def __init__(self, candidate: Candidate, unknown: frozenset[str]) -> None:
        self.candidate = candidate
        self.steps = candidate.flow.steps
        self.index = {step.path: i for i, step in enumerate(self.steps)}
        self.unknown = unknown
        self.batched = candidate.batched()
        # The names of calls are taken: a parameter would hide the call.
        self.names: dict[str, int] = dict.fromkeys((step.name for step in self.steps), 1)
        self.plan = Plan(candidate, [], [], {}, [], self.batched, {}, {}, {}, {})
        self.merged: set[int] = set()  # steps that are the end of a drain

    def __call__(self) -> Plan:
        self.plan.nodes = self.nodes(self.candidate.template, ())
        for number, _ in enumerate(self.steps):
            if number not in self.merged:
                self.step_params(number)
        for node in self.walk(self.plan.nodes):
            self.keep(node)
        lists = [n for n in self.walk(self.plan.nodes) if n.kind in ("list", "search")]
        if len(lists) > 1:
            raise ConsolidateError(
                f"candidate {self.candidate.number} repeats two of its steps as often as the"
                " program says: a script for it takes a hand that knows the program"
            )
        self.plan.results = [
            number
            for number, step in enumerate(self.steps)
            if number not in self.merged and step.name != "close" and not self.in_loop(number)
        ]
        self.plan.results += [
            node.first
            for node in self.walk(self.plan.nodes)
            if node.kind in ("drain", "search", "names", "list")
        ]
        self.plan.results = sorted(set(self.plan.results))
        return self.plan

    def walk(self, nodes: list[Node]) -> Iterator[Node]:
        for node in nodes:
            yield node
            yield from self.walk(node.body)

    def in_loop(self, number: int) -> bool:
        return any(
            number != node.first
            and number in numbers(node.body)
            or number == node.first
            and node.kind in ("names", "list", "times")
            for node in self.walk(self.plan.nodes)
            if node.kind != "call"
        )

    # -- nodes -------------------------------------------------------------------

    def nodes(self, template: tuple, path: tuple) -> list[Node]:
        found: list[Node] = []
        i = 0
        while i < len(template):
            node, i = self.node(template, path, i)
            found.append(node)
        return found

    def node(self, template: tuple, path: tuple, i: int) -> tuple[Node, int]:
        here = (*path, i)
        if isinstance(template[i], tuple):
            loop = self.candidate.flow.loops[here]
            body = self.nodes(template[i], here)
            if loop.repeat is Repeat.UNTIL:
                return self.drain(body[0].first, body[1:], here, i, path), i + 2
            return Node(self.loop_kind(loop.repeat, here), body[0].first, body, loop.times), i + 1
        number = self.index[here]
        step = self.steps[number]
        end = self.end_of_drain(template, path, i)
        if end is not None:
            inner = self.nodes_between(template, path, i + 1, end)
            return self.drain(number, inner, (*path, end - 1), end - 1, path), end + 1
        if step.repeat in (Repeat.ONCE, Repeat.UNTIL):
            return Node("call", number), i + 1
        body = [Node("call", number)]
        return Node(self.loop_kind(step.repeat, here), number, body, step.times), i + 1

    def nodes_between(self, template: tuple, path: tuple, i: int, end: int) -> list[Node]:
        found = []
        while i < end:
            node, i = self.node(template, path, i)
            found.append(node)
        return found

    def end_of_drain(self, template: tuple, path: tuple, i: int) -> int | None:
        """Where the call stands again, this time with nothing: all between is in the loop."""
        step = self.steps[self.index[(*path, i)]]
        following = range(i + 1, len(template) if step.name in LISTERS else i + 2)
        for j in following:
            if j >= len(template) or isinstance(template[j], tuple):
                continue
            other = self.steps[self.index[(*path, j)]]
            if other.name == step.name:
                return j if other.outcome != step.outcome else None
        return None

    def drain(self, first: int, body: list[Node], here: tuple, i: int, path: tuple) -> Node:
        end = self.index[(*path, i + 1)]
        self.merged.add(end)
        self.plan.alias[end] = first
        until = self.steps[end].outcome
        kind = "search" if until == OK else "drain"
        return Node(kind, first, body, until=until)

    def loop_kind(self, repeat: Repeat, here: tuple) -> str:
        inside = [s for s in self.steps if s.path[: len(here)] == here]
        moving = any(
            source.moves and not is_buffer(s, a) for s in inside for a, source in enumerate(s.args)
        )
        if repeat is Repeat.NAMES:
            return "names"
        return "times" if repeat is Repeat.TIMES and not moving else "list"

    # -- parameters --------------------------------------------------------------

    def step_params(self, number: int) -> None:
        step = self.steps[number]
        for arg, source in enumerate(step.args):
            if source.kind is Kind.CONST:
                self.constant(number, arg, source)
            elif source.kind is Kind.PARAM:
                self.param(number, arg, source)

    def constant(self, number: int, arg: int, source: Source) -> None:
        names = set(re.findall(r"[A-Z_][A-Z0-9_]+", source.value.text))
        symbolic = source.value.number is None and source.value.string is None
        if symbolic and not (names and names <= known_only(names, self.unknown)):
            found = self.new(number, arg, source, "call")
            found.constant = source.value.text

    def param(self, number: int, arg: int, source: Source) -> None:
        step = self.steps[number]
        kinds = [
            node.kind
            for node in self.walk(self.plan.nodes)
            if node.kind != "call" and number in [node.first, *numbers(node.body)]
        ]
        buffer = is_buffer(step, arg)
        if ({"list", "search"} & set(kinds)) and (source.moves or buffer):
            scope = "list"
        elif "names" in kinds and source.moves and not buffer:
            raise ConsolidateError(
                f"in candidate {self.candidate.number} argument {arg + 1} of {step.name} differs"
                " from name to name in a way that no script can know"
            )
        elif self.batched and (buffer or not source.steady):
            scope = "item"
        else:
            scope = "call"
        found = self.new(number, arg, source, scope)
        if buffer:
            found.fills = step.name
            found.size = buffer_size(step)

    def new(self, number: int, arg: int, source: Source, scope: str) -> Param:
        step = self.steps[number]
        found = Param(self.name(step, arg, source), source.letter, scope, source.seen)
        found.steps.append((number, arg))
        found.string = any(value.string is not None for value in source.seen)
        self.plan.params.append(found)
        self.plan.by_arg[number, arg] = found
        return found

    def name(self, step: Step, arg: int, source: Source) -> str:
        if source.letter == "f":
            base = "fd"
        elif is_buffer(step, arg):
            base = BUFFER_NAMES.get(step.name, "stat" if step.name in STAT_SIZES else "buf")
        elif source.letter in "sp":
            is_path = source.seen and source.seen[0].string is not None
            base = "data" if SIZE_ARG.get(step.name) == arg + 1 else "path" if is_path else "ptr"
        elif SIZE_ARG.get(step.name) == arg:
            base = "size"
        else:
            base = {"pread64": "offset", "pwrite64": "offset", "lseek": "offset"}.get(
                step.name, "value"
            )
        self.names[base] = self.names.get(base, 0) + 1
        return base if self.names[base] == 1 else f"{base}{self.names[base]}"

    def extra(self, base: str, letter: str, seen: list) -> Param:
        self.names[base] = self.names.get(base, 0) + 1
        name = base if self.names[base] == 1 else f"{base}{self.names[base]}"
        found = Param(name, letter, "item" if self.batched else "call", seen)
        self.plan.params.append(found)
        return found

    def keep(self, node: Node) -> None:
        """What a loop gets has to go somewhere, which may be full."""
        number = node.first
        step = self.steps[number]
        if node.kind == "names":
            self.plan.room[number] = self.extra("most", "i", [])
            self.plan.codes[number] = self.extra("codes", "p", [])
        if node.kind != "drain" or self.emptied(node):
            return
        if step.name in STREAMS:
            self.plan.gathers[number] = "stream"
            self.plan.room[number] = self.extra("room", "i", step.args[SIZE_ARG[step.name]].seen)
        else:
            self.plan.gathers[number] = "each"
            self.plan.room[number] = self.extra("most", "i", [])
            self.plan.codes[number] = self.extra("codes", "p", [])

    def emptied(self, node: Node) -> bool:
        """Whether what a drain gets is passed on within it."""
        return any(
            source.kind is Kind.SHARED and source.step == node.first
            for inner in numbers(node.body)
            for source in self.steps[inner].args
        ) or bool(node.body and self.steps[node.first].name not in LISTERS)


def known_only(names: set[str], unknown: frozenset[str]) -> set[str]:
    return {name for name in names if name not in unknown}


def numbers(nodes: list[Node]) -> list[int]:
    found = []
    for node in nodes:
        found.append(node.first)
        found += numbers(node.body)
    return found


def is_buffer(step: Step, arg: int) -> bool:
    """Whether the kernel writes there."""
    kinds = calltable.kinds(step.name)
    return arg < len(kinds) and kinds[arg] == "p"


def buffer_size(step: Step) -> int:
    if step.name in STAT_SIZES:
        return STAT_SIZES[step.name]
    at = SIZE_ARG.get(step.name)
    if at is not None and at < len(step.args):
        sizes = [value.number for value in step.args[at].seen if value.number]
        if sizes:
            return max(sizes)
    return BUFFER_SIZE


def constants(candidate: Candidate) -> set[str]:
    """Names of constants that the script would use."""
    found = set()
    for step in candidate.flow.steps:
        if step.outcome not in (OK, "none"):
            continue
        for source in step.args:
            value = source.value
            if source.kind is Kind.CONST and value.number is None and value.string is None:
                found |= set(re.findall(r"[A-Z_][A-Z0-9_]+", value.text))
    for step in candidate.flow.steps:
        for source in step.args:
            value = source.value
            if source.kind is Kind.CONST and value.number is None and value.string is None:
                found |= set(re.findall(r"[A-Z_][A-Z0-9_]+", value.text))
    return found


def plan(candidate: Candidate, unknown: frozenset[str]) -> Plan:
    return Planner(candidate, unknown)()
