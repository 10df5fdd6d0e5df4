# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes the script of a candidate in Lua."""

from __future__ import annotations

import re

from consolidate import calltable
from consolidate.flow import LISTERS, Kind, Step
from consolidate.plan import FIELD, MOST_ARGS, Node, Param, Plan
from consolidate.streams import OK
from consolidate.values import Value
from consolidate.writing import NAME, RECLEN, PlanWriter

RESULTS = {
    "read": "got", "pread64": "got", "recvfrom": "got", "recvmsg": "got",
    "write": "put", "pwrite64": "put", "sendto": "put", "sendmsg": "put",
    "getdents64": "listed", "epoll_wait": "ready", "epoll_pwait": "ready",
}  # fmt: skip
NOT_MADE = "ECANCELED"
CHUNK = 64


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


def result_names(plan: Plan) -> list[str]:
    """A variable for the result of each step."""
    taken = {param.name for param in plan.params}
    taken |= {step.name for step in plan.steps}
    names = []
    for number, step in enumerate(plan.steps):
        if number in plan.alias:
            names.append(names[plan.alias[number]])
            continue
        base = "file" if step.name in calltable.OPENERS else RESULTS.get(step.name, "ret")
        name, i = base, 1
        while name in taken:
            i += 1
            name = f"{base}{i}"
        taken.add(name)
        names.append(name)
    return names


class Writer(PlanWriter):
    """Writes the script of one plan."""

    INDENT = "  "

    def __init__(self, plan: Plan, about: list[str]) -> None:
        super().__init__(plan, result_names(plan))
        self.about = about
        self.constants: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.opened: list[tuple[int, str]] = []  # and not yet closed
        # Of a loop that gives its result another name meanwhile.
        self.returned: list[str] = []
        self.dots = False

    # -- names -------------------------------------------------------------------

    def call_name(self, name: str) -> str:
        self.calls[name] = name
        return name

    # -- text --------------------------------------------------------------------

    def open(self, text: str) -> None:
        self.put(text)
        self.depth += 1

    def close(self, text: str = "end") -> None:
        self.depth -= 1
        self.put(text)

    def __call__(self) -> str:
        self.iteration()
        body, self.lines = self.lines, []
        self.run()
        run, self.lines = self.lines, []
        self.header()
        return "\n".join([*self.lines, "", *body, "", *run]) + "\n"

    # -- the iteration -----------------------------------------------------------

    def one_params(self) -> list[Param]:
        """The parameters of an iteration, as locals."""
        return [param for param in self.plan.params if param.scope != "list"]

    def iteration(self) -> None:
        lists = ["list", "n_list"] if self.plan.scope("list") else []
        names = [param.name for param in self.one_params()] + lists
        self.open(f"local function one({', '.join(names)})")
        declared = [self.results[n] for n in self.plan.results]
        if declared:
            self.put(f"local {', '.join(declared)}")
        for node in self.plan.nodes:
            self.node(node)
        if declared:
            self.put(f"return {', '.join(declared)}")
        self.close()

    def single(self, node: Node) -> None:
        step = self.plan.steps[node.first]
        if step.name == "close":
            self.closing(node.first)
            return
        result = self.results[node.first]
        self.put(f"{self.declare(node.first)}{result} = {self.call(node.first)}")
        if step.outcome in (OK, "none"):
            self.check(node.first)
        if step.name in calltable.OPENERS:
            self.opened.append((node.first, result))

    def declare(self, number: int) -> str:
        return "" if number in self.plan.results else "local "

    def giving_up(self) -> str:
        names = self.returned or [self.results[n] for n in self.plan.results]
        return f"return {', '.join(names)}"

    def closing(self, number: int) -> None:
        source = self.plan.steps[number].args[0]
        if source.kind is Kind.RESULT:
            target = self.plan.alias.get(source.step, source.step)
            self.opened = [one for one in self.opened if one[0] != target]
        self.put(self.call(number))

    def check(self, number: int) -> None:
        """Stop as the program did: what it opened and always closes is closed."""
        result = self.results[number]
        closers = [name for step, name in self.opened if self.is_closed(step, number)]
        self.open(f"if {result} < 0 then")
        for name in closers:
            self.put(f"{self.call_name('close')}({name})")
        if not self.forgiven(number):
            self.put(f"stop = {number + 1}")
        returned = [self.results[n] for n in self.plan.results]
        if number not in self.plan.results:
            returned.append(result)
        self.put(f"return {', '.join(returned)}")
        self.close()

    def is_closed(self, opener: int, after: int) -> bool:
        return any(
            step.name == "close"
            and step.args[0].kind is Kind.RESULT
            and self.plan.alias.get(step.args[0].step, step.args[0].step) == opener
            for step in self.plan.steps[after + 1 :]
        )

    def forgiven(self, number: int) -> bool:
        """Whether the traced program went on with the next iteration behind such a failure."""
        return number in self.plan.candidate.failed()

    def call(self, number: int) -> str:
        step = self.plan.steps[number]
        args = [self.expression(number, arg) for arg in range(len(step.args))]
        return f"{self.call_name(step.name)}({', '.join(args)})"

    # -- arguments ---------------------------------------------------------------

    def constant(self, value: Value) -> str:
        text = literal(value)
        if "const." not in text:
            return text
        name = re.sub(r"\W+", "_", value.text)
        if len(name) > 24:
            name = f"FLAGS{sum(key.startswith('FLAGS') for key in self.constants) + 1}"
            name = next((k for k, v in self.constants.items() if v == text), name)
        self.constants[name] = text
        return name

    def value_of(self, param: Param) -> str:
        return param.name

    def listed(self, place: int) -> str:
        return f'peek(record + {place * FIELD}, "i8")'

    def path_of_entry(self, number: int) -> str:
        # Through /proc.
        return f'("/proc/self/fd/%d/%s"):format({self.directory(number)}, name)'

    # -- loops -------------------------------------------------------------------

    def drain(self, node: Node) -> None:
        number = node.first
        result = self.results[number]
        gathers = self.plan.gathers.get(number)
        once = "more" if gathers == "stream" else "new"
        self.put(f"{result} = 0")
        room = f"{result} < {self.plan.room[number].name}" if gathers else "true"
        for inner in node.body:
            self.counters(inner)
        self.open(f"while {room} do")
        if gathers == "each":
            self.offsets[number] = result
        self.put(f"local {once} = {self.call(number)}")
        self.end_of_drain(node, once)
        if gathers == "each":
            self.put(f'poke({self.plan.codes[number].name} + {result} * 4, "i4", {once})')
            self.put(f"{result} = {result} + 1")
        self.returned = [self.results[n] for n in self.plan.results]
        saved, self.results[number] = self.results[number], once
        start = saved if gathers == "stream" else None
        for inner in node.body:
            self.inside(inner, number, start)
        self.results[number] = saved
        self.returned = []
        if gathers != "each":
            self.put(f"{result} = {result} + {once}")
        self.close()

    def inside(self, node: Node, drain: int, start: str | None) -> None:
        """A node in a drain; names are looked for in what it has just listed."""
        if node.kind != "names":
            self.node(node)
            return
        buffer = self.plan.by_arg.get((drain, 1))
        base = buffer.name if buffer is not None else self.expression(drain, 1)
        self.entries(node, f"{base} + {start}" if start else base, self.results[drain])

    def end_of_drain(self, node: Node, once: str) -> None:
        number = node.first
        result = self.results[number]
        expected = [node.until] if node.until not in ("none", OK) else []
        self.open(f"if {once} <= 0 then")
        condition = f"{once} < 0"
        if expected:
            condition += f" and {once} ~= -errno.{expected[0]}"
        self.open(f"if {condition} then")
        for step, name in self.opened:
            if self.is_closed(step, number):
                self.put(f"{self.call_name('close')}({name})")
        self.put(f"stop, {result} = {number + 1}, {once}")
        self.put(self.giving_up())
        self.close()
        self.put("break")
        self.close()

    def counters(self, node: Node) -> None:
        if node.kind == "names":
            self.put(f"{self.results[node.first]} = 0")
            self.put("local code = {}")

    def names(self, node: Node) -> None:
        """Names of one listing, without a loop around it."""
        lister = next(
            self.lister_of(n) for n in self.numbers(node) if self.lister_of(n) is not None
        )
        self.counters(node)
        self.entries(node, self.expression(lister, 1), self.results[lister])

    def entries(self, node: Node, base: str, size: str) -> None:
        counter = self.results[node.first]
        most = self.plan.room[node.first].name
        inner = [n.first for n in node.body]
        self.put(f"local base, bytes, at = {base}, {size}, 0")
        self.put("local text = util.str_in(base, bytes)")
        self.open("while at < bytes do")
        self.put(f"local low, high = text:byte(at + {RECLEN + 1}, at + {RECLEN + 2})")
        # By bytes: what is compiled has no string.match().
        self.put(f"local a, b, c = text:byte(at + {NAME + 1}, at + {NAME + 3})")
        self.open("if a ~= DOT or b ~= 0 and (b ~= DOT or c ~= 0) then")
        self.dots = True
        if any(self.by_path(number) for number in inner):
            self.put(f'local name = text:match("^%Z*", at + {NAME + 1})')
        self.open(f"if {counter} == {most} then")
        for step, name in self.opened:
            if self.is_closed(step, node.first):
                self.put(f"{self.call_name('close')}({name})")
        self.put(f"stop, {counter} = {node.first + 1}, -errno.ENOBUFS")
        self.put(self.giving_up())
        self.close()
        for i, number in enumerate(inner):
            self.offsets[number] = counter
            at = f"{counter} * {len(inner)} + {i + 1}" if len(inner) > 1 else f"{counter} + 1"
            self.put(f"code[{at}] = {self.call(number)}")
        self.put(f"{counter} = {counter} + 1")
        self.close()
        self.put("at = at + low + high * 256")
        self.close()
        codes = self.plan.codes[node.first].name
        count = f"{counter} * {len(inner)}" if len(inner) > 1 else counter
        self.put(f'util.copyout(code, {codes}, {count}, "i4")')

    def by_path(self, number: int) -> bool:
        """Whether a call takes the name of an entry with a path before it."""
        args = self.plan.steps[number].args
        return any(source.kind is Kind.NAME and arg != 1 for arg, source in enumerate(args))

    def numbers(self, node: Node) -> list[int]:
        return [node.first, *(n.first for n in node.body)]

    def record(self) -> int:
        return (len(self.plan.scope("list")) + self.list_results()) * FIELD

    def list_results(self) -> int:
        return max(1, sum(node.kind in ("list", "search") for node in self.plan.nodes))

    def search(self, node: Node) -> None:
        """Until one succeeds."""
        result = self.results[node.first]
        self.put(f"{result} = -errno.{self.plan.steps[node.first].outcome}")
        self.open("for i = 0, n_list - 1 do")
        self.put(f"local record = list + i * {self.record()}")
        self.put(f"{result} = {self.call(node.first)}")
        fields = len(self.plan.scope("list"))
        self.put(f'poke(record + {fields * FIELD}, "i8", {result})')
        self.put(f"if {result} >= 0 then break end")
        self.close()
        self.check(node.first)
        if self.plan.steps[node.first].name in calltable.OPENERS:
            self.opened.append((node.first, result))

    def list(self, node: Node) -> None:
        """For each record of the program's; how many were done is the result."""
        counter = self.results[node.first]
        fields = len(self.plan.scope("list"))
        self.put(f"{counter} = 0")
        self.open("for i = 0, n_list - 1 do")
        self.put(f"local record = list + i * {self.record()}")
        saved = list(self.results)
        inner = [n.first for n in node.body]
        for place, number in enumerate(inner):
            name = f"done{place + 1}" if len(inner) > 1 else "done"
            self.results[number] = name
            self.put(f"local {name} = {self.call(number)}")
            if place == len(inner) - 1:
                self.put(f'poke(record + {fields * FIELD}, "i8", {name})')
            self.open(f"if {name} < 0 then")
            self.put(f"stop = {number + 1}")
            for step, opened in self.opened:
                if self.is_closed(step, number):
                    self.put(f"{self.call_name('close')}({opened})")
            self.put(f"return {', '.join(saved[n] for n in self.plan.results)}")
            self.close()
        self.results = saved
        self.put(f"{counter} = i + 1")
        self.close()

    def times(self, node: Node) -> None:
        self.open(f"for _ = 1, {node.times} do")
        for inner in node.body:
            self.results[inner.first] = "again"
            self.put(f"local again = {self.call(inner.first)}")
            self.open("if again < 0 then")
            self.put(f"stop = {inner.first + 1}")
            self.put(self.giving_up())
            self.close()
        self.close()

    # -- run() -------------------------------------------------------------------

    def run(self) -> None:
        if self.plan.batched:
            self.run_batch()
            return
        params = [param.name for param in self.one_params()]
        params += ["list", "n_list"] if self.plan.scope("list") else []
        packed = len(params) > MOST_ARGS
        self.open(f"function run({'args' if packed else ', '.join(params)})")
        self.put("stop = nil")
        values = [f'peek(args + {i * FIELD}, "i8")' for i in range(len(params))]
        self.put(f"return one({', '.join(values if packed else params)})")
        self.close()

    def run_batch(self) -> None:
        """Records are read and written many at a time: each access by itself is dear."""
        steady = [param.name for param in self.plan.scope("call")]
        items = self.plan.scope("item")
        packed = len(steady) > MOST_ARGS - 2
        width = len(items) + len(self.plan.results)
        head = ["items", "n", "args"] if packed else ["items", "n", *steady]
        self.open(f"function run({', '.join(head)})")
        self.put("stop = nil")
        if packed:
            for i, name in enumerate(steady):
                self.put(f'local {name} = peek(args + {i * FIELD}, "i8")')
        self.open("for first = 0, n - 1, CHUNK do")
        self.put("local count = math.min(CHUNK, n - first)")
        self.put(f"local at = items + first * {width * FIELD}")
        self.put(f'local f = util.copyin(at, count * {width}, "i8")')
        self.open("for i = 0, count - 1 do")
        self.put(f"local k = i * {width}")
        place = {id(param): i + 1 for i, param in enumerate(items)}
        args = [f"f[k + {place[id(p)]}]" if id(p) in place else p.name for p in self.one_params()]
        results = [f"r{i + 1}" for i in range(len(self.plan.results))]
        call = f"one({', '.join(args)})"
        self.put(f"local {', '.join(results)} = {call}" if results else call)
        for i, name in enumerate(results):
            self.put(f"f[k + {len(items) + i + 1}] = {name} or NOT_MADE")
        self.open("if stop then")
        self.put(f'util.copyout(f, at, (i + 1) * {width}, "i8")')
        self.put("return first + i, stop")
        self.close()
        self.close()
        self.put(f'util.copyout(f, at, count * {width}, "i8")')
        self.close()
        self.put("return n, 0")
        self.close()

    # -- the top -----------------------------------------------------------------

    def header(self) -> None:
        self.put("-- SPDX-License-Identifier: MIT")
        for line in self.about:
            self.put(f"-- {line}" if line else "--")
        self.put()
        for name in sorted(self.calls):
            self.put(f"local {name} = syscall.{name}")
        self.put("local peek, poke = util.peek, util.poke")
        if self.dots:
            self.put("local DOT = 46 -- entries . and .. are left out")
        for name, text in sorted(self.constants.items()):
            self.put(f"local {name} = {text}")
        if self.plan.batched:
            self.put(f"local NOT_MADE = -errno.{NOT_MADE}")
            self.put(f"local CHUNK = {CHUNK} -- items that are read and written at once")
        self.put("-- The step that failed, where the program did not expect it.")
        self.put("local stop")


__all__ = ["LISTERS", "Step", "Writer", "quoted"]
