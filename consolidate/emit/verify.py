# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Verifies a generated script, on system calls simulated from the trace.

Given the traced program's inputs and the kernel's results, the script must make the same calls with
the same arguments. If each of them in turn fails, it must stop there, make no more calls, and
report the step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from consolidate import calltable
from consolidate.emit import engine
from consolidate.emit.lua import literal, quoted
from consolidate.emit.plan import Node, Param, Plan, Record, Result, expects
from consolidate.errors import ConsolidateError
from consolidate.mine.constants import EXACT
from consolidate.mine.dataflow import FILLERS, LISTERS, SIZE_ARG, WAITS, Kind, ready
from consolidate.mine.encoded_trace import NONE, OK, outcome
from consolidate.mine.match import Instance
from consolidate.mine.shape import numbers
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

HARNESS = Path(__file__).resolve().parent / "verify.lua"
# Limits of examples, of items in one, and of calls in all: more would show nothing new.
EXAMPLES = 6
ITEMS = 3
MOST_CALLS = 400
LISTING = 1 << 15  # bytes
FAULT, OTHER_FAULT = 5, 12  # EIO, ENOMEM
TIME_LIMIT = 10000
# Addresses of buffers that are never written: a script only passes them on.
FIRST_BUFFER, BUFFER = 1 << 40, 1 << 32


@dataclass(slots=True)
class Verified:
    """How often the script made the trace's calls, and its other behaviour."""

    same: int = 0
    failures: int = 0  # number of injected errors
    steps: set[int] = field(default_factory=set)  # the steps with injected errors
    problems: list[str] = field(default_factory=list)  # deviations where it stops
    differences: list[str] = field(default_factory=list)  # from the trace

    @property
    def examples(self) -> int:
        return self.same + len(self.differences)

    def text(self) -> str:
        found = f"made the same calls as {self.same} of {self.examples} runs of the trace"
        return f"{found}; stopped at each of {self.failures} failures"


@dataclass(slots=True)
class TracedCall:
    """A call of the trace, and its position in the plan."""

    number: int  # of its step
    call: Call
    item: int
    turns: dict[int, int]  # for each loop, by its first step, the iteration

    @property
    def args(self) -> list[Value]:
        return values.of_call(self.call.name, self.call.args)


def traced_calls(plan: Plan, instance: Instance, item: int) -> Iterator[TracedCall]:
    """The calls of an iteration, in order."""
    index = {step.path: i for i, step in enumerate(plan.steps)}

    def inside(one: Instance, path: tuple, turns: dict[int, int]) -> Iterator[TracedCall]:
        for i, part in enumerate(one.parts):
            here = (*path, i)
            first = index.get(here, first_of(here))
            for turn, what in enumerate(part):
                if isinstance(what, Instance):
                    yield from inside(what, here, {**turns, first: turn})
                else:
                    yield TracedCall(index[here], one.tape.call(what), item, {**turns, first: turn})

    def first_of(path: tuple) -> int:
        return min(i for where, i in index.items() if where[: len(path)] == path)

    return inside(instance, (), {})


class Example:
    """A few consecutive iterations of the trace, as Lua for the harness."""

    def __init__(self, plan: Plan, instances: list[Instance]) -> None:
        self.plan = plan
        self.instances = instances
        self.traced = [m for i, one in enumerate(instances) for m in traced_calls(plan, one, i)]
        self.addresses: list[str] = []  # Lua for each
        self.of_param: dict[tuple, str] = {}
        self.loops = {node.first: node for node in plan.walk() if node.is_loop}

    # -- what the program says ---------------------------------------------------

    def address(self, expression: str) -> str:
        self.addresses.append(expression)
        return f"p[{len(self.addresses)}]"

    def value(self, param: Param, key: tuple, traced: TracedCall | None, arg: int) -> str:
        """Lua for a parameter, in the item or entry identified by the key."""
        found = self.of_param.get((id(param), key))
        if found is None:
            found = self.of_param[id(param), key] = self.new_value(param, traced, arg)
        return found

    def new_value(self, param: Param, traced: TracedCall | None, arg: int) -> str:
        if traced is None or arg >= len(traced.args):
            return "0" if param.letter in "fi" else self.buffer()
        value = traced.args[arg]
        if param.letter in "fi" or param.constant:
            return self.number(value) or "77"
        if traced.call.name in WAITS and arg == WAITS[traced.call.name]:
            fds = ", ".join(re.findall(r"\{fd=(-?\d+)", value.text))
            return self.address(f"pollfds({traced.call.ret or 0}, {{ {fds} }})")
        if param.fills:
            listed = traced.call.name in LISTERS
            return self.address(f"util.buffer({LISTING})") if listed else self.buffer()
        if value.string is not None:
            return self.address(f"str({quoted(value.string)})")
        return "0" if value.number == 0 else self.buffer()

    def buffer(self) -> str:
        return self.address(str(FIRST_BUFFER + BUFFER * len(self.addresses)))

    def number(self, value: Value) -> str | None:
        if value.number is not None:
            # Larger numbers pass through a script, but its text cannot contain them.
            return str(value.number) if abs(value.number) <= EXACT else None
        plain = re.fullmatch(r"[A-Z_][A-Z0-9_]*(\|[A-Z0-9_x]+)*", value.text)
        names = set(re.findall(r"[A-Z_][A-Z0-9_]+", value.text))
        if plain and not engine.unknown(names):
            return literal(value)
        return None

    # -- records -------------------------------------------------------------------

    def calls_in(self, item: int, turns: dict[int, int]) -> list[TracedCall]:
        return [
            traced
            for traced in self.traced
            if traced.item == item and all(traced.turns.get(k) == v for k, v in turns.items())
        ]

    def record(self, record: Record, at: str, item: int, turns: dict[int, int]) -> list[str]:
        """Lua that fills in a record."""
        lines = []
        inside = self.calls_in(item, turns)
        key = (item, *sorted(turns.items())) if record is not self.plan.common else ()
        for place, param in enumerate(record.params):
            value = self.field(record, param, inside, item, turns, key, lines)
            lines.append(f'util.poke({at} + {8 * place}, "i8", {value})')
        return lines

    def field(self, record, param: Param, inside, item: int, turns, key, lines: list[str]) -> str:
        if param.entries is not None:
            return self.entries(param.entries, item, turns, lines)
        before = record.params[record.place(param) - 1]
        if before.entries is not None and param.letter == "i" and not param.steps:
            return str(self.turns_of(before.entries, item, turns))
        for node in self.plan.walk():
            if param is node.room:
                return str(self.room(node, inside))
            if param is node.array:
                size = 4 * len(node.body or [node]) * (1 + len(inside))
                return self.address(f"util.buffer({size})")
        for number, size in self.plan.size_of.items():
            if size is param:
                sizes = [m.call.ret for m in inside if m.number == number]
                return str(sizes[0] if sizes else 0)
        number, arg = param.steps[0]
        traced = next((m for m in inside if self.step_of(m) == number), None)
        return self.value(param, key, traced, arg)

    def room(self, node: Node, inside: list[TracedCall]) -> int:
        """Somewhat more than a loop needs."""
        if node.gathers == "stream" and self.plan.steps[node.first].name in LISTERS:
            return LISTING
        rets = [traced.call.ret for traced in inside if self.step_of(traced) == node.first]
        return 1 + (sum(rets) if node.gathers == "stream" else len(inside))

    def step_of(self, traced: TracedCall) -> int:
        return self.plan.target(traced.number)

    def node_of(self, record: Record) -> Node:
        return next(node for node in self.plan.walk() if node.record is record)

    def turns_of(self, record: Record, item: int, turns: dict[int, int]) -> int:
        node = self.node_of(record)
        inside = self.calls_in(item, turns)
        if node.kind == "search":
            return sum(self.step_of(m) == node.first for m in inside)
        return 1 + max((m.turns.get(node.first, -1) for m in inside), default=-1)

    def entries(self, record: Record, item: int, turns: dict[int, int], lines: list[str]) -> str:
        """Fill in an array of entries; returns its address."""
        count = self.turns_of(record, item, turns)
        array = self.address(f"util.buffer({max(1, count) * record.size})")
        first = self.node_of(record).first
        for turn in range(count):
            at = f"{array} + {turn * record.size}"
            lines += self.record(record, at, item, {**turns, first: turn})
        return array

    # -- calls -----------------------------------------------------------------------

    def expected(self) -> Iterator[str]:
        for traced in self.traced:
            args = [self.argument(traced, arg) for arg in range(len(self.sources(traced)))]
            fill = self.fill(traced)
            named = [
                f"[{place}] = {quoted(value.text.encode())}"
                for place, value in enumerate(traced.args, 1)
                if values.FLAGS.match(value.text)
            ]
            if named:
                args.append(f"named = {{ {', '.join(named)} }}")
            count = f"n = {len(self.sources(traced))}"
            text = ", ".join([f'name = "{traced.call.name}"', count, *args])
            yield f"{{ {text}, result = {result_of(traced.call)}{fill} }},"

    def sources(self, traced: TracedCall) -> list:
        return self.plan.steps[self.step_of(traced)].args

    def fill(self, traced: TracedCall) -> str:
        if traced.call.name in WAITS and traced.call.ret and traced.call.ret > 0:
            fds = ", ".join(map(str, self.ready_in(traced)))
            argument = WAITS[traced.call.name] + 1
            kind = "poll" if traced.call.name in ("poll", "ppoll") else "epoll"
            return f", fill = ready_{kind}({{ {fds} }}, {argument}, {traced.call.ret})"
        if traced.call.name not in LISTERS or not traced.call.ret:
            return ""
        names = [".", "..", *self.names_of(traced)]
        return f", fill = list({{ {', '.join(quoted(n.encode()) for n in names)} }})"

    def ready_in(self, traced: TracedCall) -> list[int]:
        """The ready descriptors that the program handled, in its order."""
        found = ready(traced.call)
        used = [
            m.args[arg].number
            for m in self.traced
            for arg, source in enumerate(self.sources(m))
            if source.kind is Kind.READY and m.item == traced.item
        ]
        return sorted(found, key=lambda fd: used.index(fd) if fd in used else len(used))

    def names_of(self, traced: TracedCall) -> list[str]:
        """The listed names that the program handled."""
        users = [
            (m, arg)
            for m in self.traced
            for arg, source in enumerate(self.sources(m))
            if source.kind is Kind.NAME and m.item == traced.item
        ]
        listed = self.listed(traced)
        found = []
        for m, arg in users:
            text = m.args[arg].string or b""
            name = text.rpartition(b"/")[2].decode("utf-8", "surrogateescape")
            if name in listed and name not in found:
                found.append(name)
        return found

    def listed(self, traced: TracedCall) -> set[str]:
        names = re.findall(r'd_name="((?:[^"\\]|\\.)*)"', traced.call.args)
        return {values.unescape(name).decode("utf-8", "surrogateescape") for name in names}

    def argument(self, traced: TracedCall, arg: int) -> str:
        """Lua for an argument's expected value; `false` if unknown."""
        source = self.sources(traced)[arg]
        if arg >= len(traced.args):
            return "false"
        value = traced.args[arg]
        drain = self.loops.get(self.step_of(traced))
        if drain is not None and drain.kind == "drain" and drain.gathers == "stream":
            name = traced.call.name
            if arg in (SIZE_ARG[name], SIZE_ARG[name] - 1):
                return "false"
        if source.kind is Kind.NAME:
            name = (value.string or b"").rpartition(b"/")[2]
            return quoted(name) if arg == 1 else "false"
        if source.kind is Kind.READY:
            return self.number(value) or "false"
        if source.kind is Kind.RESULT:
            drained = self.loops.get(self.plan.target(source.step))
            return "false" if drained is not None else self.number(value) or "false"
        if source.kind is Kind.CONST and (self.step_of(traced), arg) not in self.plan.by_arg:
            if self.plan.by_arg.get((traced.number, arg)) is None and self.takes_name(traced):
                return "false"
            return quoted(value.string) if value.string is not None else self.constant(value)
        return self.given(traced, arg, value)

    def takes_name(self, traced: TracedCall) -> bool:
        return any(source.kind is Kind.NAME for source in self.sources(traced))

    def constant(self, value: Value) -> str:
        return self.number(value) or "false"

    def given(self, traced: TracedCall, arg: int, value: Value) -> str:
        """The number or address of a program's input."""
        number = self.step_of(traced)
        source = self.plan.steps[number].args[arg]
        while source.kind is Kind.SHARED:
            number, arg = self.plan.target(source.step), source.arg
            source = self.plan.steps[number].args[arg]
        if source.kind is Kind.ADVANCE or source.letter in "fi":
            return self.number(value) or "false"
        around = [self.loops[first] for first in (*traced.turns, number) if first in self.loops]
        param = self.plan.by_arg.get((number, arg))
        if param is None or any(node.is_each or node.kind == "drain" for node in around):
            return "false"
        return self.known(param)

    def known(self, param: Param) -> str:
        found = [text for (of, _), text in self.of_param.items() if of == id(param)]
        return found[0] if len(found) == 1 else "false"

    # -- failures ----------------------------------------------------------------------

    def failures(self) -> Iterator[str]:
        for place, traced in enumerate(self.traced):
            for value in self.faults(traced):
                fields = ", ".join(f"[{k}] = {v}" for k, v in self.fields(traced, value))
                yield (
                    f"{{ call = {place + 1}, value = {value}, done = {traced.item},"
                    f" step = {self.step_of(traced) + 1},"
                    f" fields = {{ {fields} }} }},"
                )

    def faults(self, traced: TracedCall) -> list[int]:
        """Results with which the sequence does not continue."""
        step = self.plan.steps[traced.number]
        fault = OTHER_FAULT if "EIO" in (step.outcome, *step.passes) else FAULT
        found = [-fault]
        target = self.loops.get(self.step_of(traced))
        if target is not None and target.kind in ("drain", "search"):
            return found
        if expects(step) == "counted" and NONE not in step.passes:
            found.append(0)
        if step.full and (traced.call.ret or 0) > 1:
            found.append(traced.call.ret - 1)
        if step.short and (size := traced.args[SIZE_ARG[step.name]].number):
            found.append(size)
        if expects(step) not in (OK, "counted") and OK not in step.passes:
            found.append(7)
        return found

    def fields(self, traced: TracedCall, value: int) -> Iterator[tuple[int, str]]:
        """The item's fields after a failure."""
        number = self.step_of(traced)
        within = next((node for node in self.plan.nodes if number in numbers([node])), None)
        around = numbers([within]) if within is not None and within.is_loop else []
        for result in self.plan.item.results:
            place = self.plan.item.place(result)
            if result.step in around:
                continue
            if result.step > number:
                yield place, '"not made"'
            elif result.step == number and self.is_call(result):
                yield place, str(value)

    def is_call(self, result: Result) -> bool:
        return self.plan.by_step.get(result.step) is result

    # -- all of it -----------------------------------------------------------------------

    def ends(self) -> str:
        """The results of run()."""
        return f"{len(self.instances)}, 0, 0"

    def lua(self) -> str:
        size = self.plan.item.size
        lines: list[str] = []
        items = self.address(f"util.buffer({max(8, size * len(self.instances))})")
        for i in range(len(self.instances)):
            lines += self.record(self.plan.item, f"{items} + {i * size}", i, {})
        common = self.address(f"util.buffer({max(8, self.plan.common.size)})")
        lines += self.record(self.plan.common, common, 0, {})
        calls = list(self.expected())
        setup = [f"p[{i}] = {text}" for i, text in enumerate(self.addresses, 1)]
        return "\n".join(
            [
                "do local p = {}",
                *setup,
                "examples[#examples + 1] = {",
                f"items = {items}, n = {len(self.instances)}, common = {common}, size = {size},",
                f"ends = {{ {self.ends()} }},",
                "poke = function()",
                *lines,
                "end,",
                "calls = {",
                *calls,
                "},",
                "failures = {",
                *self.failures(),
                "} } end",
            ]
        )


def result_of(call: Call) -> str:
    if call.error is not None:
        return f"-errno.{call.error}"
    return str(call.ret)


def usable(plan: Plan, instances: list[Instance]) -> list[Instance]:
    """Instances up to one with foreign calls, hidden names, or an unusual end."""
    found = []
    for one in instances:
        calls = [one.tape.call(i) for i in range(one.begin, one.end)]
        cut = any(call.name in LISTERS and "..." in call.args[-40:] for call in calls)
        if one.foreign or cut or not (one.whole or passes(plan, one)):
            break
        found.append(one)
    return found


def passes(plan: Plan, one: Instance) -> bool:
    """Whether a step's outcome is one after which the program starts the next iteration."""
    step = next(step for step in plan.steps if step.path == (one.left_at,))
    return outcome(one.tape.call(one.parts[one.left_at][0])) in step.passes


def examples(plan: Plan, runs: list[list[Instance]]) -> Iterator[Example]:
    """Iterations from all over the trace, grouped like one call of the script."""
    size = ITEMS if plan.candidate.batched else 1
    chunks = [run[i : i + size] for run in runs for i in range(0, len(run), size)]
    chunks = [kept for chunk in chunks if (kept := usable(plan, chunk))]
    count = 0
    for chunk in chunks[:: -(-len(chunks) // EXAMPLES) or 1]:
        count += sum(one.end - one.begin for one in chunk)
        if count <= MOST_CALLS or chunk is chunks[0]:
            yield Example(plan, chunk)


def verify(plan: Plan, script: str, runs: list[list[Instance]]) -> Verified:
    """Run a script on examples of the trace."""
    chosen = list(examples(plan, runs))
    texts = [one.lua() for one in chosen]
    program = "\n".join(
        [
            HARNESS.read_text(),
            script,
            "local run_of_script, examples = run, {}",
            *texts,
            "function run() check(run_of_script, examples) end",
        ]
    )
    done = engine.run(program, ["run", "--time-limit", str(TIME_LIMIT), "--memory-limit", "16384"])
    if done.returncode:
        raise ConsolidateError(f"the script could not be tried: {done.stderr.strip()}")
    return judged(done.stdout, texts)


def judged(output: str, texts: list[str]) -> Verified:
    found = Verified()
    for line in output.splitlines():
        kind, _, text = line.partition(": ")
        if kind.startswith("failure"):
            found.problems.append(text)
        elif text == "same":
            found.same += 1
            steps = re.findall(r"\{ call = .* step = (\d+)", texts[int(kind.split()[1]) - 1])
            found.failures += len(steps)
            found.steps.update(map(int, steps))
        elif kind.startswith("example"):
            found.differences.append(text)
    return found


__all__ = ["FILLERS", "Verified", "calltable", "verify"]
