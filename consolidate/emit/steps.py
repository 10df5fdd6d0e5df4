# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A plan's steps in words: each call with its arguments, by the names of the fields."""

from __future__ import annotations

from collections.abc import Iterator

from consolidate.emit.plan import Node, Plan
from consolidate.mine.dataflow import Kind

NUMBERED = {Kind.NAME: "a name from step {}", Kind.READY: "what is ready in step {}"}


def argument(plan: Plan, number: int, arg: int) -> str:
    """The text of an argument: a field, a step's result, or a constant."""
    source = plan.steps[number].args[arg]
    param = plan.by_arg.get((number, arg))
    target = plan.target(source.step)
    if param is not None:
        return param.name
    if source.kind is Kind.RESULT:
        field = plan.by_step.get(target)
        return field.name if field is not None else f"the result of step {target + 1}"
    if source.kind is Kind.SHARED:
        return argument(plan, target, source.arg)
    if source.kind is Kind.CONST:
        return source.value.brief
    return NUMBERED.get(source.kind, "what is left").format(target + 1)


def call(plan: Plan, number: int) -> str:
    """A step as a C call."""
    step = plan.steps[number]
    args = ", ".join(argument(plan, number, arg) for arg in range(len(step.args)))
    return f"{step.name}({args})"


def lines(plan: Plan) -> Iterator[str]:
    """All steps at which a script may end, by number."""

    def of(nodes: list[Node], depth: int) -> Iterator[str]:
        for node in nodes:
            loop = ", in a loop" if node.is_loop else ""
            own = node.first not in {inner.first for inner in node.body}
            if own or not node.is_loop:
                yield f"{node.first + 1:>4}  {'  ' * depth}{call(plan, node.first)}{loop}"
            yield from of(node.body, depth + node.is_loop)

    return of(plan.nodes, 0)
