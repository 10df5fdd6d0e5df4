# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Generates the script of a plan in Lua.

The script makes the traced calls as long as their outcomes equal those in the trace. At the first
different one it marks the calls that it has not made, and returns the step and its result: the
program continues from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from consolidate import calltable
from consolidate.emit.plan import Node, Param, Plan, Record, expects
from consolidate.emit.writer import NAME, RECLEN, PlanWriter
from consolidate.mine.dataflow import SIZE_ARG, WAITS, Kind
from consolidate.mine.encoded_trace import NONE, OK
from consolidate.trace.values import Value

RESULTS = {
    "read": "got", "pread64": "got", "recvfrom": "got", "recvmsg": "got",
    "write": "sent", "pwrite64": "sent", "sendto": "sent", "sendmsg": "sent",
    "writev": "sent", "getdents64": "listed", "epoll_wait": "ready", "epoll_pwait": "ready",
}  # fmt: skip
# Lua allows at most 60 upvalues and 200 variables in a function.
MOST_NAMED = 24
MOST_PARAMS = 80
# Sizes of struct pollfd and struct epoll_event, which is packed.
POLLFD, EPOLL_EVENT = 8, 12

HELPERS = """\
local function get(at, field) return peek(at + 8 * field, "i8") end
local function put(at, field, value) poke(at + 8 * field, "i8", value) end
"""
SKIP = """\
-- Marks the calls that were not made.
local function skip(at, first, last)
  for field = first, last do put(at, field, NOT_MADE) end
end
"""
DOTS = """\
-- Whether a name is that of the directory itself, or of the one above.
local function is_dots(name)
  local second = peek(name + 1, "u1")
  return peek(name, "u1") == 46 and (second == 0 or second == 46 and peek(name + 2, "u1") == 0)
end
"""


def quoted(text: bytes) -> str:
    """A Lua string."""
    parts = []
    for byte in text:
        c = chr(byte)
        parts.append(c if 32 <= byte < 127 and c not in '"\\' else f"\\{byte:03d}")
    return '"' + "".join(parts) + '"'


def literal(value: Value) -> str:
    """A constant argument."""
    if value.string is not None:
        return quoted(value.string)
    if value.number is not None:
        return "const.AT_FDCWD" if value.text == "AT_FDCWD" else str(value.number)
    parts = []
    for part in value.text.split("|"):
        if re.fullmatch(r"0[0-7]+", part):
            parts.append(str(int(part, 8)))
        else:
            parts.append(part if re.match(r"\d", part) else f"const.{part}")
    return parts[0] if len(parts) == 1 else f"bit.bor({', '.join(parts)})"


@dataclass(slots=True)
class Level:
    """A level of the script's loops: items, entries of a list, names."""

    record: Record | None  # None: its results are in an array
    at: str  # the variable with its address
    label: str  # label of its next iteration; empty for items
    node: Node | None = None


@dataclass(slots=True)
class Opened:
    """A descriptor that the sequence closes."""

    step: int
    variable: str
    level: int


class LuaWriter(PlanWriter):
    """Generates the script of one plan."""

    INDENT = "  "

    def __init__(self, plan: Plan, about: list[str]) -> None:
        super().__init__(plan)
        self.about = about
        self.constants: dict[str, str] = {}
        self.calls: set[str] = set()
        self.helpers: set[str] = set()
        self.opened: list[Opened] = []
        self.levels = [Level(plan.item, "item", "")]
        self.done: dict[int, int] = {}  # the results stored in each record
        params = sum(len(record.params) for record in plan.records())
        self.named = params <= MOST_PARAMS
        self.taken = {param.name for record in plan.records() for param in record.params}
        self.taken |= {step.name for step in plan.steps}
        self.taken |= {record.tag for record in plan.records()}
        self.variables()

    def __call__(self) -> str:
        self.iteration()
        body, self.lines = self.lines, []
        self.run()
        run, self.lines = self.lines, []
        self.header()
        return "\n".join([*self.lines, *body, "", *run]) + "\n"

    # -- names -------------------------------------------------------------------

    def variable(self, base: str) -> str:
        name, i = base, 1
        while name in self.taken:
            i += 1
            name = f"{base}{i}"
        self.taken.add(name)
        return name

    def variables(self) -> None:
        """Assigns a variable to the result of each step."""
        for number, step in enumerate(self.plan.steps):
            if number not in self.plan.alias:
                base = "file" if self.plan.flow.opens(number) else RESULTS.get(step.name, "ret")
                self.results[number] = self.variable(base)

    def call_name(self, name: str) -> str:
        self.calls.add(name)
        return name

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    # -- text --------------------------------------------------------------------

    def open(self, text: str) -> None:
        self.put(text)
        self.depth += 1

    def close(self, text: str = "end") -> None:
        self.depth -= 1
        self.put(text)

    # -- the iteration -----------------------------------------------------------

    def iteration(self) -> None:
        common = [param.name for param in self.plan.common.params]
        self.put("-- One item.  Returns 0, 0, or the step that came out otherwise and its result.")
        self.open(f"local function one({', '.join(['item', *common])})")
        self.load(self.plan.item, "item")
        self.nodes(self.plan.nodes)
        self.put("return 0, 0")
        self.close()

    def load(self, record: Record, at: str) -> None:
        """Loads the parameters of a record into variables."""
        if not self.named:
            return
        for first in range(0, len(record.params), 4):
            some = record.params[first : first + 4]
            values = [f"get({at}, {first + i})" for i in range(len(some))]
            names = ", ".join(param.name for param in some)
            self.put(f"local {names} = {', '.join(values)}")

    def value_of(self, param: Param) -> str:
        if self.named or param in self.plan.common.params:
            return param.name
        level = next(
            level for level in self.levels if level.record and param in level.record.params
        )
        return f"get({level.at}, {level.record.place(param)})"

    def single(self, node: Node) -> None:
        number = node.first
        result = self.results[number]
        self.put(f"local {result} = {self.call(number)}")
        self.keep_and_check(number, result)

    def call(self, number: int) -> str:
        name = self.plan.steps[number].name
        return f"{self.call_name(name)}({', '.join(self.arguments(number))})"

    def keep_and_check(self, number: int, result: str) -> None:
        """Store a call's result, and stop if its outcome differs from the trace."""
        step = self.plan.steps[number]
        self.keep(number, result)
        if step.name == "close" and step.args and step.args[0].kind is Kind.RESULT:
            target = self.plan.target(step.args[0].step)
            self.opened = [one for one in self.opened if one.step != target]
        self.otherwise(number, result, self.condition(number, result))
        if self.plan.flow.opens(number):
            self.opened.append(Opened(number, result, len(self.levels) - 1))

    def keep(self, number: int, result: str) -> None:
        level = self.levels[-1]
        field = self.plan.by_step.get(number)
        if level.record is None:
            node, counter = self.loops[-1]
            steps = [inner.first for inner in node.body]
            self.put(f'poke({self.in_array(node, counter, steps.index(number))}, "i4", {result})')
        elif field is not None:
            place = level.record.place(field)
            self.put(f"put({level.at}, {place}, {result})")
            self.done[id(level.record)] = place + 1

    def in_array(self, node: Node, counter: str, place: int) -> str:
        array, width = self.value_of(node.array), len(node.body)
        if width == 1:
            return f"{array} + {counter} * 4"
        return f"{array} + ({counter} * {width} + {place}) * 4"

    # -- what comes out otherwise --------------------------------------------------

    def condition(self, number: int, result: str) -> str:
        """The Lua condition for a result with which the sequence does not continue."""
        step = self.plan.steps[number]
        kind = expects(step)
        if number in self.plan.size_of:
            return f"{result} ~= {self.value_of(self.plan.size_of[number])}"
        if step.full and kind in (OK, "counted"):
            return f"{result} ~= {self.argument(number, SIZE_ARG[step.name])}"
        below = f"{result} < 0" if kind == OK else f"{result} <= 0"
        if step.short and kind in (OK, "counted"):
            return f"{below} or {result} >= {self.argument(number, SIZE_ARG[step.name])}"
        if kind in (OK, "counted"):
            return below
        return f"{result} ~= {0 if kind == NONE else self.error(kind)}"

    def came_out(self, number: int, result: str, outcome: str) -> str:
        """The Lua condition for a result having this outcome."""
        if outcome == OK:
            counted = self.plan.steps[number].name in calltable.COUNTERS
            return f"{result} > 0" if counted else f"{result} >= 0"
        return f"{result} == {0 if outcome == NONE else self.error(outcome)}"

    def error(self, name: str) -> str:
        return self.named_constant(name, f"-errno.{name}")

    def otherwise(self, number: int, result: str, condition: str) -> None:
        within = self.loops[-1][0].kind if self.loops else ""
        passes = self.plan.steps[number].passes if within not in ("drain", "times") else ()
        for outcome in sorted(passes):
            condition_ = self.came_out(number, result, outcome)
            self.open(f"if {condition_} then -- as in the trace: on with the next")
            self.leave(number)
            self.close()
        self.stop(number, result, condition)

    def stop(self, number: int, result: str, condition: str) -> None:
        """Stop, leaving files open: the program continues from here."""
        self.open(f"if {condition} then")
        for level in reversed(self.levels):
            self.mark(level, number)
        self.put(f"return {number + 1}, {result}")
        self.close()

    def leave(self, number: int) -> None:
        """End this item, or this iteration of a loop, and continue with the next."""
        level, opened, done = self.levels[-1], list(self.opened), dict(self.done)
        self.mark(level, number)
        for step in range(number + 1, len(self.plan.steps)):
            self.closed_in_any_case(step)
        self.opened, self.done = opened, done
        self.put(f"goto {level.label}" if level.label else "do return 0, 0 end")

    def closed_in_any_case(self, number: int) -> None:
        """Writes the step's close() for a descriptor that was opened for this item."""
        step = self.plan.steps[number]
        if step.name != "close" or not step.args or step.args[0].kind is not Kind.RESULT:
            return
        target = self.plan.target(step.args[0].step)
        if any(one.step == target and one.level == len(self.levels) - 1 for one in self.opened):
            self.put(f"local {self.results[number]} = {self.call(number)}")
            self.keep_and_check(number, self.results[number])

    def mark(self, level: Level, number: int) -> None:
        """Mark the steps after this one as not done, in the results."""
        if level.record is None:
            steps = [inner.first for inner in level.node.body]
            counter = next(counter for node, counter in self.loops if node is level.node)
            for place in range(steps.index(number) + 1 if number in steps else 0, len(steps)):
                at = self.in_array(level.node, counter, place)
                self.put(f'poke({at}, "i4", {self.not_made()})')
            return
        record = level.record
        first = self.done.get(id(record), len(record.params))
        for node, counter in self.loops:
            if node.result in record.results:
                self.put(f"put({level.at}, {record.place(node.result)}, {counter})")
        # A loop's own field comes after those of its contents.
        counts = [record.place(n.result) for n, _ in self.loops if n.result in record.results]
        first = max([first, *(place + 1 for place in counts)])
        if first < record.width:
            self.put(f"{self.helper('skip')}({level.at}, {first}, {record.width - 1})")

    def not_made(self) -> str:
        self.helpers.add("NOT_MADE")
        return "NOT_MADE"

    # -- loops -------------------------------------------------------------------

    def counted(self, node: Node, counter: str) -> None:
        """Store a loop's result."""
        level = self.levels[-1]
        if level.record is not None and node.result is not None:
            place = level.record.place(node.result)
            self.put(f"put({level.at}, {place}, {counter})")
            self.done[id(level.record)] = place + 1

    def drain(self, node: Node) -> None:
        number = node.first
        got = self.results[number]
        more = self.variable("more")
        self.put(f"local {got} = 0")
        counters = {
            id(inner): self.counter_of(inner) for inner in node.body if inner.kind == "names"
        }
        self.loops.append((node, got))
        self.open("while true do")
        if node.gathers:
            self.full(number, f"{got} >= {self.value_of(node.room)}")
        self.put(f"local {more} = {self.call(number)}")
        self.end_of_drain(node, more)
        if node.gathers == "each":
            self.put(f'poke({self.value_of(node.array)} + {got} * 4, "i4", {more})')
        self.results[number] = more
        for inner in node.body:
            if inner.kind == "names":
                base = self.base(number, 1)
                self.entries(inner, f"{base} + {got}", more, counters[id(inner)])
            else:
                self.nodes([inner])
        self.results[number] = got
        self.put(f"{got} = {got} + {'1' if node.gathers == 'each' else more}")
        self.close()
        self.loops.pop()
        for inner in node.body:
            if inner.kind == "names":
                self.counted(inner, counters[id(inner)])
        self.counted(node, got)

    def full(self, number: int, condition: str) -> None:
        """Stop if there is no room, instead of treating that as the end."""
        self.stop(number, "-errno.ENOBUFS", condition)

    def end_of_drain(self, node: Node, more: str) -> None:
        self.open(f"if {more} <= 0 then")
        expected = "0" if node.until in (NONE, OK) else self.error(node.until)
        self.stop(node.first, more, f"{more} ~= {expected}")
        self.put("break")
        self.close()

    def counter_of(self, node: Node) -> str:
        """Declare the counter of a listing's names; returns the variable."""
        counter = self.variable("count")
        self.put(f"local {counter} = 0")
        return counter

    def names(self, node: Node) -> None:
        """The names of one listing, without a loop around it."""
        steps = [inner.first for inner in node.body]
        lister = next(self.lister_of(n) for n in steps if self.lister_of(n) is not None)
        counter = self.counter_of(node)
        self.entries(node, self.argument(lister, 1), self.results[lister], counter)
        self.counted(node, counter)

    def entries(self, node: Node, base: str, size: str, counter: str) -> None:
        at, length = self.variable("at"), self.variable("length")
        label = self.variable("next")
        self.put(f"local {at} = 0")
        self.open(f"while {at} < {size} do")
        self.put(f"local record = {base} + {at}")
        self.put(f'local {length} = peek(record + {RECLEN}, "u2")')
        self.open(f"if not {self.helper('is_dots')}(record + {NAME}) then")
        self.each(node, counter, label)
        self.close()
        self.put(f"{at} = {at} + {length}")
        self.close()
        self.loops.pop()

    def ready(self, node: Node) -> None:
        """The descriptors that a wait found ready, from its array of events."""
        wait = self.waited(node)
        step = self.plan.steps[wait]
        counter, label, i = self.counter_of(node), self.variable("next"), self.variable("k")
        events = self.argument(wait, WAITS[step.name])
        polls = step.name in ("poll", "ppoll")
        size, last = (
            (POLLFD, self.argument(wait, 1)) if polls else (EPOLL_EVENT, self.results[wait])
        )
        self.open(f"for {i} = 0, {last} - 1 do")
        self.put(f"local event = {events} + {i} * {size}")
        if polls:
            self.open('if peek(event + 6, "u2") ~= 0 then -- .revents')
        self.put(f'local descriptor = peek(event{"" if polls else " + 4"}, "i4")')
        self.each(node, counter, label)
        if polls:
            self.close()
        self.close()
        self.loops.pop()
        self.counted(node, counter)

    def waited(self, node: Node) -> int:
        """The wait that found them."""
        sources = [s for inner in node.body for s in self.plan.steps[inner.first].args]
        return next(source.step for source in sources if source.kind is Kind.READY)

    def each(self, node: Node, counter: str, label: str) -> None:
        """Run the body for one name or descriptor."""
        self.loops.append((node, counter))
        self.full(node.first, f"{counter} >= {self.value_of(node.room)}")
        self.levels.append(Level(None, "", label, node))
        self.open("do")
        self.nodes(node.body)
        self.label(label)
        self.close()
        self.put(f"{counter} = {counter} + 1")
        self.leave_level()

    def label(self, name: str) -> None:
        if any(line.strip() == f"goto {name}" for line in self.lines):
            self.put(f"::{name}::")

    def leave_level(self) -> None:
        self.levels.pop()
        self.opened = [one for one in self.opened if one.level < len(self.levels)]

    def path_of_entry(self, number: int) -> str:
        # Through /proc.
        name = f'util.str_in(record + {NAME}, peek(record + {RECLEN}, "u2") - {NAME})'
        return f'("/proc/self/fd/%d/%s"):format({self.directory(number)}, {name}:match("^%Z*"))'

    def over_entries(self, node: Node) -> tuple[str, str]:
        """Begin a loop over the entries of a list; returns its counter and label."""
        record = node.record
        outer = next(level.record for level in reversed(self.levels) if level.record)
        array = next(param for param in outer.params if param.entries is record)
        count = outer.params[outer.place(array) + 1]
        i, label = self.variable("k"), self.variable("next")
        self.open(f"for {i} = 0, {self.value_of(count)} - 1 do")
        self.put(f"local {record.tag} = {self.value_of(array)} + {i} * {record.size}")
        self.levels.append(Level(record, record.tag, label, node))
        self.load(record, record.tag)
        return i, label

    def list(self, node: Node) -> None:
        counter = self.counter_of(node)
        self.loops.append((node, counter))
        i, label = self.over_entries(node)
        self.open("do")
        self.nodes(node.body)
        self.label(label)
        self.close()
        self.put(f"{counter} = {i} + 1")
        self.leave_level()
        self.close()
        self.loops.pop()
        self.counted(node, counter)

    def search(self, node: Node) -> None:
        """Tries entries until one succeeds."""
        number = node.first
        result = self.results[number]
        error = self.error(self.plan.steps[number].outcome)
        self.put(f"local {result} = {error}")
        self.over_entries(node)
        self.put(f"{result} = {self.call(number)}")
        self.put(f"put({node.record.tag}, {node.record.width - 1}, {result})")
        self.put(f"if {result} ~= {error} then break end")
        self.leave_level()
        self.close()
        self.counted(node, result)
        self.stop(number, result, f"{result} < 0")
        if self.plan.flow.opens(number):
            self.opened.append(Opened(number, result, len(self.levels) - 1))

    def times(self, node: Node) -> None:
        self.open(f"for _ = 1, {node.times} do")
        self.nodes(node.body)
        self.close()

    # -- run() -------------------------------------------------------------------

    def run(self) -> None:
        common = self.plan.common.params
        head = ["items", "n", "common"] if common else ["items", "n"]
        self.open(f"function run({', '.join(head)})")
        for i, param in enumerate(common):
            self.put(f"local {param.name} = get(common, {i})")
        args = [f"items + i * {self.plan.item.size}", *(param.name for param in common)]
        self.open("for i = 0, n - 1 do")
        self.put(f"local step, result = one({', '.join(args)})")
        self.put("if step ~= 0 then return i, step, result end")
        self.close()
        self.put("return n, 0, 0")
        self.close()

    # -- the top -----------------------------------------------------------------

    def constant(self, value: Value) -> str:
        text = literal(value)
        if "const." not in text:
            return text
        name = re.sub(r"\W+", "_", value.text)
        if len(name) > MOST_NAMED:
            name = f"FLAGS{sum(key.startswith('FLAGS') for key in self.constants) + 1}"
            name = next((k for k, v in self.constants.items() if v == text), name)
        return self.named_constant(name, text)

    def named_constant(self, name: str, text: str) -> str:
        if name not in self.constants and len(self.constants) >= MOST_NAMED:
            return text
        self.constants[name] = text
        return name

    def header(self) -> None:
        self.put("-- SPDX-License-Identifier: MIT")
        for line in self.about:
            self.put(f"-- {line}" if line else "--")
        self.put()
        for name in sorted(self.calls):
            self.put(f"local {name} = syscall.{name}")
        self.put("local peek, poke = util.peek, util.poke")
        for name, text in sorted(self.constants.items()):
            self.put(f"local {name} = {text}")
        if self.helpers & {"skip", "NOT_MADE"}:
            self.put("local NOT_MADE = -errno.ECANCELED")
        text = HELPERS
        for name, helper in (("skip", SKIP), ("is_dots", DOTS)):
            text += f"\n{helper}" if name in self.helpers else ""
        for line in ["", *text.splitlines(), ""]:
            self.put(line)
