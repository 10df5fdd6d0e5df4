# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What the Lua and the C of a plan have in common: lines, nodes, and arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod

from consolidate.flow import SIZE_ARG, Kind
from consolidate.plan import Node, Param, Plan, is_buffer
from consolidate.values import Value

# struct linux_dirent64: where the length of an entry is, and its name.
RECLEN, NAME = 16, 19


class PlanWriter(ABC):
    """Writes one plan in a language."""

    INDENT = "\t"

    def __init__(self, plan: Plan, results: list[str]) -> None:
        self.plan = plan
        self.results = results  # the variable that has the result of each step
        self.lines: list[str] = []
        self.depth = 0
        # The counter of the loop that a buffer's place depends on.
        self.offsets: dict[int, str] = {}

    # -- what differs ------------------------------------------------------------

    @abstractmethod
    def constant(self, value: Value) -> str:
        """An argument that is always the same."""

    @abstractmethod
    def value_of(self, param: Param) -> str:
        """What the program says."""

    @abstractmethod
    def listed(self, place: int) -> str:
        """A field of the record that a loop is at."""

    @abstractmethod
    def path_of_entry(self, number: int) -> str:
        """The whole path of a directory's entry, for a call that takes no directory."""

    # -- text --------------------------------------------------------------------

    def put(self, text: str = "") -> None:
        self.lines.append(self.INDENT * self.depth + text if text else "")

    def node(self, node: Node) -> None:
        getattr(self, {"call": "single"}.get(node.kind, node.kind))(node)

    # -- arguments ---------------------------------------------------------------

    def expression(self, number: int, arg: int) -> str:
        """An argument of a step."""
        step = self.plan.steps[number]
        source = step.args[arg]
        if source.kind is Kind.RESULT:
            return self.results[source.step]
        if source.kind is Kind.SHARED:
            return self.expression(self.plan.alias.get(source.step, source.step), source.arg)
        if source.kind is Kind.NAME:
            return f"base + at + {NAME}" if arg == 1 else self.path_of_entry(number)
        if source.kind is Kind.ADVANCE:
            return "at"
        if SIZE_ARG.get(step.name) == arg and self.plan.gathers.get(number) == "stream":
            return f"{self.value_of(self.plan.room[number])} - {self.results[number]}"
        if source.kind is Kind.CONST and (number, arg) not in self.plan.by_arg:
            if source.value.text == "AT_FDCWD" and self.lister_of(number) is not None:
                return self.directory(number)
            return self.constant(source.value)
        return self.param(number, arg)

    def param(self, number: int, arg: int) -> str:
        param = self.plan.by_arg[number, arg]
        if param.scope == "list":
            return self.listed(self.plan.scope("list").index(param))
        text = self.value_of(param)
        if not is_buffer(self.plan.steps[number], arg):
            return text
        if self.plan.gathers.get(number) == "stream":
            return f"{text} + {self.results[number]}"
        counter = self.offsets.get(number)
        return f"{text} + {counter} * {param.size}" if counter else text

    def lister_of(self, number: int) -> int | None:
        for source in self.plan.steps[number].args:
            if source.kind is Kind.NAME:
                return source.step
        return None

    def directory(self, number: int) -> str:
        """The descriptor of the directory that the name is of."""
        return self.expression(self.lister_of(number), 0)
