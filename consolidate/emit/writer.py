# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Common code for generating Lua and C from a plan: lines, nodes, and arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod

from consolidate.emit.plan import Node, Param, Plan, is_buffer
from consolidate.mine.dataflow import SIZE_ARG, Kind
from consolidate.trace.values import Value

# struct linux_dirent64: offsets of an entry's length and name.
RECLEN, NAME = 16, 19


class PlanWriter(ABC):
    """Generates the nodes of one plan in a language."""

    INDENT = "\t"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lines: list[str] = []
        self.depth = 0
        # The variable with the result of each step.
        self.results = ["" for _ in plan.steps]
        # The loops around a step, outermost first, with their counters.
        self.loops: list[tuple[Node, str]] = []

    # -- what differs ------------------------------------------------------------

    @abstractmethod
    def constant(self, value: Value) -> str:
        """An argument that never changes."""

    @abstractmethod
    def value_of(self, param: Param) -> str:
        """The program's input."""

    @abstractmethod
    def path_of_entry(self, number: int) -> str:
        """The full path of a directory's entry, for a call without a directory argument."""

    # -- text --------------------------------------------------------------------

    def put(self, text: str = "") -> None:
        self.lines.append(self.INDENT * self.depth + text if text else "")

    def nodes(self, nodes: list[Node]) -> None:
        for node in nodes:
            getattr(self, {"call": "single"}.get(node.kind, node.kind))(node)

    # -- arguments ---------------------------------------------------------------

    def arguments(self, number: int) -> list[str]:
        return [self.argument(number, arg) for arg in range(len(self.plan.steps[number].args))]

    def argument(self, number: int, arg: int) -> str:
        """An argument of a step, within its loops."""
        drain = self.drained(number)
        if drain is not None and drain[0].gathers == "stream":
            text = self.stream_argument(number, arg, *drain)
            if text is not None:
                return text
        source = self.plan.steps[number].args[arg]
        if source.kind is Kind.ADVANCE and drain is not None:
            return f"{self.base(number, arg)} + {drain[1]}"
        if source.kind is Kind.RESULT:
            return self.results[self.plan.target(source.step)]
        if source.kind is Kind.SHARED:
            return self.argument(self.plan.target(source.step), source.arg)
        if source.kind is Kind.NAME:
            return f"record + {NAME}" if arg == 1 else self.path_of_entry(number)
        if source.kind is Kind.READY:
            return "descriptor"
        if (number, arg) in self.plan.by_arg:
            return self.param(number, arg)
        if source.value.text == "AT_FDCWD" and self.lister_of(number) is not None:
            return self.directory(number)
        return self.constant(source.value)

    def drained(self, number: int) -> tuple[Node, str] | None:
        """The drain whose first call is this step."""
        return next((loop for loop in self.loops if loop[0].first == number), None)

    def stream_argument(self, number: int, arg: int, node: Node, got: str) -> str | None:
        """A stream's next address, remaining size, or offset."""
        step = self.plan.steps[number]
        if SIZE_ARG[step.name] == arg:
            return f"{self.value_of(node.room)} - {got}"
        if SIZE_ARG[step.name] == arg + 1:
            return f"{self.base(number, arg)} + {got}"
        return None

    def base(self, number: int, arg: int) -> str:
        """The start of a stream, in memory or in a file."""
        param = self.plan.by_arg.get((number, arg))
        if param is not None:
            return self.value_of(param)
        source = self.plan.steps[number].args[arg]
        if source.kind is Kind.SHARED:
            return self.argument(self.plan.target(source.step), source.arg)
        return self.constant(source.value)

    def param(self, number: int, arg: int) -> str:
        param = self.plan.by_arg[number, arg]
        text = self.value_of(param)
        counter = self.counter(number)
        if counter and is_buffer(self.plan.steps[number], arg):
            return f"{text} + {counter} * {param.size}"
        return text

    def counter(self, number: int) -> str | None:
        """The counter of the loop that indexes a step's buffer."""
        for node, counter in reversed(self.loops):
            if node.is_each or node.gathers == "each" and node.first == number:
                return counter
        return None

    def lister_of(self, number: int) -> int | None:
        for source in self.plan.steps[number].args:
            if source.kind is Kind.NAME:
                return self.plan.target(source.step)
        return None

    def directory(self, number: int) -> str:
        """The descriptor of the directory that contains the name."""
        return self.argument(self.lister_of(number), 0)
