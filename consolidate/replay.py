# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes a C program that does a candidate both ways, in an equivalent setting.

The setting is made of what the trace shows: files of the size that was read,
directories of as many entries as were listed, paths that do not exist where opening
failed, sockets with as many packets waiting.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from consolidate import calltable
from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.flow import LISTERS, Kind, Step
from consolidate.lua import CHUNK
from consolidate.match import Instance
from consolidate.plan import Node, Param, Plan
from consolidate.streams import OK
from consolidate.values import Value
from consolidate.writing import NAME, RECLEN, PlanWriter

TEMPLATE = Path(__file__).resolve().parent / "replay.c.in"
MOST_ITEMS = 4 * CHUNK
MOST_ENTRIES = 500
MOST_BYTES = 1 << 20
DEFAULT_BYTES = 1000
OF_FILES = frozenset(
    ["read", "pread64", "write", "pwrite64", "lseek", "fstat", "fcntl", "fsync", "fdatasync"]
)
READERS = frozenset(["read", "pread64", "recvfrom", "recvmsg"])
WRITERS = frozenset(["write", "pwrite64", "sendto", "sendmsg"])
C_CONSTANT = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(slots=True)
class Setting:
    """How much of everything there is."""

    items: int
    entries: int
    size: int
    repeats: dict[int, float]  # how often a step comes in an iteration


def per_iteration(candidate: Candidate) -> dict[int, float]:
    """How often each step is called in a whole iteration, on the average."""
    index = {step.path: i for i, step in enumerate(candidate.flow.steps)}
    counts = dict.fromkeys(index.values(), 0)
    total = 0

    def count(instance: Instance, path: tuple) -> None:
        for i, part in enumerate(instance.parts):
            if (*path, i) in index:
                counts[index[*path, i]] += len(part)
            else:
                for one in part:
                    count(one, (*path, i))

    for run in candidate.runs:
        for instance in run.instances:
            if instance.whole:
                total += 1
                count(instance, ())
    return {number: found / max(1, total) for number, found in counts.items()}


def setting(plan: Plan) -> Setting:
    candidate = plan.candidate
    repeats = per_iteration(candidate)
    for number, kind in plan.gathers.items():
        if kind == "stream":
            # There is room for all at once.
            repeats[number] = 1
    lengths = [len(run.instances) for run in candidate.runs]
    items = min(MOST_ITEMS, round(median(lengths))) if plan.batched else 1
    named = [repeats[n] for n, step in enumerate(plan.steps) if from_name(step)]
    entries = min(MOST_ENTRIES, round(max(named, default=0)))
    return Setting(max(1, items), entries, size_of_files(plan), repeats)


def size_of_files(plan: Plan) -> int:
    """As much as was read on the average; where nothing was, as was written."""
    reads = any(step.name in READERS for step in plan.steps)
    sizes = []
    for run in plan.candidate.runs[:50]:
        for instance in run.instances[:8]:
            calls = [instance.stream.call(i) for i in range(instance.begin, instance.end)]
            moved = [c.ret for c in calls if c.name in (READERS if reads else WRITERS)]
            sizes.append(sum(ret for ret in moved if ret and ret > 0))
    return min(MOST_BYTES, round(mean(sizes))) if sizes and mean(sizes) else DEFAULT_BYTES


def from_name(step: Step) -> bool:
    return any(source.kind is Kind.NAME for source in step.args)


class Program(PlanWriter):
    """Writes the C of one plan: the plain calls, its script, the setting."""

    def __init__(self, plan: Plan, script: str, rounds: int) -> None:
        super().__init__(plan, [f"r{i}" for i in range(len(plan.steps))])
        self.script = script
        self.rounds = rounds
        self.setting = setting(plan)
        self.depth = 1
        for number, target in plan.alias.items():
            self.results[number] = self.results[target]
        self.place = {id(p): i for i, p in enumerate(self.fields())}

    def fields(self) -> list[Param]:
        """What an iteration takes, in the order of a record; the rest in `call`."""
        return self.plan.scope("item" if self.plan.batched else "call")

    # -- the plain calls ---------------------------------------------------------

    def plain(self) -> str:
        self.lines = []
        declared = sorted(set(self.results))
        self.put(f"int64_t {', '.join(f'{name} = 0' for name in declared)};")
        for node in self.plan.nodes:
            self.node(node)
        self.put("goto out;")
        self.lines.append("out:")
        base = len(self.fields())
        for i, result in enumerate(self.outcomes()):
            self.put(f"f[{base + i}] = {result};")
        return "\n".join(self.lines)

    def outcomes(self) -> list[str]:
        """What both ways have to come to."""
        return [self.results[number] for number in self.plan.results]

    def single(self, node: Node) -> None:
        step = self.plan.steps[node.first]
        result = self.results[node.first]
        self.put(f"{result} = {self.call(node.first)};")
        if step.name != "close" and step.outcome in (OK, "none"):
            self.put(f"if ({result} < 0)")
            self.put("\tgoto out;")

    def call(self, number: int) -> str:
        step = self.plan.steps[number]
        args = [f"(long)({self.expression(number, arg)})" for arg in range(len(step.args))]
        return f"made({', '.join([f'SYS_{step.name}', *args])})"

    def constant(self, value: Value) -> str:
        if value.string is not None:
            return c_string(value.string)
        return value.text if value.number is None or value.text == "AT_FDCWD" else str(value.number)

    def value_of(self, param: Param) -> str:
        if id(param) in self.place:
            return f"f[{self.place[id(param)]}]"
        return f"steady[{self.plan.scope('call').index(param)}]"

    def listed(self, place: int) -> str:
        return f"record[{place}]"

    def path_of_entry(self, number: int) -> str:
        return f"of_entry({self.directory(number)}, base + at + {NAME})"

    def drain(self, node: Node) -> None:
        number, result = node.first, self.results[node.first]
        gathers = self.plan.gathers.get(number)
        room = f"{result} < {self.value_of(self.plan.room[number])}" if gathers else "1"
        self.put(f"while ({room}) {{")
        self.depth += 1
        if gathers == "each":
            self.offsets[number] = result
        self.put(f"int64_t more = {self.call(number)};")
        self.put("if (more <= 0)")
        self.put("\tbreak;")
        saved, self.results[number] = result, "more"
        for inner in node.body:
            if inner.kind == "names":
                buffer = self.plan.by_arg.get((number, 1))
                base = self.value_of(buffer) if buffer is not None else self.expression(number, 1)
                self.entries(inner, f"{base} + {saved}", "more")
            else:
                self.node(inner)
        self.results[number] = saved
        self.put(f"{result} += {'1' if gathers == 'each' else 'more'};")
        self.depth -= 1
        self.put("}")

    def names(self, node: Node) -> None:
        inner = [node.first, *(n.first for n in node.body)]
        listers = [s.step for n in inner for s in self.plan.steps[n].args if s.kind is Kind.NAME]
        self.entries(node, self.expression(listers[0], 1), self.results[listers[0]])

    def entries(self, node: Node, base: str, size: str) -> None:
        counter = f"{self.results[node.first]}"
        self.put(f"int64_t base = {base}, size = {size};")
        self.put("for (int64_t at = 0; at < size;) {")
        self.depth += 1
        self.put(f"const char *name = (char *)(base + at + {NAME});")
        self.put('if (strcmp(name, ".") && strcmp(name, "..")) {')
        self.depth += 1
        for inner in node.body:
            self.offsets[inner.first] = counter
            self.put(f"{self.call(inner.first)};")
        self.put(f"{counter}++;")
        self.depth -= 1
        self.put("}")
        self.put(f"at += *(uint16_t *)(base + at + {RECLEN});")
        self.depth -= 1
        self.put("}")

    def times(self, node: Node) -> None:
        self.put(f"for (int i = 0; i < {node.times}; i++) {{")
        self.depth += 1
        for inner in node.body:
            self.put(f"{self.call(inner.first)};")
        self.depth -= 1
        self.put("}")

    def search(self, node: Node) -> None:
        raise ConsolidateError(self.cannot("it looks for the first that succeeds"))

    def list(self, node: Node) -> None:
        raise ConsolidateError(self.cannot("its repetitions take values that only it knows"))

    def cannot(self, why: str) -> str:
        return (
            f"candidate {self.plan.candidate.number} cannot be replayed: {why}. Its script can"
            " be measured in the program itself"
        )

    # -- the setting -------------------------------------------------------------

    def values(self) -> str:
        """C that fills the record of item i."""
        lines = []
        for param in self.fields():
            lines.append(f"\tf[{self.place[id(param)]}] = {self.made(param)};")
        return "\n".join(lines)

    def steady(self) -> str:
        if not self.plan.batched:
            return ""
        params = self.plan.scope("call")
        return "\n".join(
            f"\tsteady[{i}] = {self.made(param, 'steady')};" for i, param in enumerate(params)
        )

    def made(self, param: Param, which: str = "f") -> str:
        """A C expression for a value like those that the trace has."""
        size, entries = self.setting.size, self.setting.entries
        if param.constant:
            return param.constant
        if param.name.startswith("room"):
            return str(max(size + 64, 32768 if self.lists() else 0))
        if param.name.startswith("most"):
            return str(entries + 2)
        if param.name.startswith("codes"):
            return f"memory({(entries + 2) * 4 * 8})"
        if param.fills:
            many = max(1, entries + 2)
            return f"memory({max(param.size * many, size + 65536)})"
        number, arg = param.steps[0]
        step = self.plan.steps[number]
        if param.letter == "f":
            return self.descriptor(param)
        if param.string:
            return self.path(number, arg, step)
        if param.letter == "i":
            texts = [value.text for value in param.seen]
            return max(set(texts), key=texts.count)
        raise ConsolidateError(
            self.cannot(f"{step.name}() takes a structure that the trace does not have in full")
        )

    def lists(self) -> bool:
        return any(step.name in LISTERS for step in self.plan.steps)

    def path(self, number: int, arg: int, step: Step) -> str:
        if step.outcome not in (OK, "none"):
            return '(int64_t)"/nonexistent/file"'
        if step.name in ("write", "pwrite64", "sendto"):
            return f"memory({self.setting.size + 4096})"
        if step.name.startswith("open") and self.is_directory(number):
            return "directory(i)"
        flags = " ".join(s.value.text for s in step.args if s.value is not None)
        if "O_EXCL" in flags:
            raise ConsolidateError(self.cannot("it creates a file that must not be there yet"))
        creates = "O_CREAT" in flags or step.name == "creat"
        return "new_path(i)" if creates else "file(i)"

    def is_directory(self, opener: int) -> bool:
        listed = any(
            step.name in LISTERS and step.args[0].kind is Kind.RESULT
            and step.args[0].step == opener
            for step in self.plan.steps
        )  # fmt: skip
        texts = [v.text for s in self.plan.steps[opener].args for v in s.seen]
        return listed or any("O_DIRECTORY" in text for text in texts)

    def descriptor(self, param: Param) -> str:
        """A descriptor of the kind that it was."""
        about = next((value.path for value in param.seen if value.path), "")
        users = {
            self.plan.steps[n].name
            for n, step in enumerate(self.plan.steps)
            for a, s in enumerate(step.args)
            if (n, a) in param.steps or (s.kind is Kind.SHARED and (s.step, s.arg) in param.steps)
        }
        if "close" in users:
            raise ConsolidateError(self.cannot("it closes what it did not open"))
        if users & {"newfstatat", "statx", "openat", "readlinkat"}:
            return "tree()"
        if users <= OF_FILES and (about.startswith("/") or not about):
            return "large_file()"
        raise ConsolidateError(
            self.cannot(f"it takes a descriptor of {about or 'an unknown kind'} with a partner")
        )

    def __call__(self) -> str:
        plan = self.plan
        plain = self.plain()
        width = len(self.fields()) + len(self.outcomes())
        text = TEMPLATE.read_text().replace(
            "@SCRIPT@", c_string(self.script.encode()).replace("\\n", '\\n"\n\t"')
        )
        values = {
            "ITEMS": self.setting.items,
            "WIDTH": width,
            "INPUTS": len(self.fields()),
            "ENTRIES": self.setting.entries,
            "SIZE": self.setting.size,
            "ROUNDS": self.rounds,
            "STEADY": len(plan.scope("call")) if plan.batched else 0,
            "BATCHED": int(plan.batched),
            "PLAIN": plain,
            "VALUES": self.values(),
            "STEADY_VALUES": self.steady(),
            "BY_SCRIPT": self.by_script(),
            "DESCRIPTORS": braces(self.descriptors()),
            "LEFT_BY_CALLS": braces(self.left_open()),
            "LEFT_BY_SCRIPT": braces(self.left_by_script()),
        }
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        return text

    # -- the script --------------------------------------------------------------

    def by_script(self) -> str:
        """C that does all items by the script."""
        return "\tby_written();"

    def descriptors(self) -> list[int]:
        """Outcomes that are descriptors or addresses: they may differ."""
        openers = ("open", "dup", "mmap", "socket", "accept", "epoll_create")
        return self.outcomes_of(lambda number: self.plan.steps[number].name.startswith(openers))

    def left_open(self) -> list[int]:
        """Outcomes that are files which an iteration opens and leaves open."""
        steps = self.plan.steps
        closed = {step.args[0].step for step in steps if step.name == "close"}
        return self.outcomes_of(
            lambda number: steps[number].name in calltable.OPENERS and number not in closed
        )

    def left_by_script(self) -> list[int]:
        return self.left_open()

    def outcomes_of(self, belongs: Callable[[int], bool]) -> list[int]:
        return [i for i, number in enumerate(self.plan.results) if belongs(number)]


def braces(numbers: list[int]) -> str:
    """A list of outcomes, with its end."""
    return f"{{ {', '.join(map(str, [*numbers, -1]))} }}"


def c_string(text: bytes) -> str:
    parts = []
    for byte in text:
        c = chr(byte)
        if c == "\n":
            parts.append("\\n")
        else:
            parts.append(c if 32 <= byte < 127 and c not in '"\\?' else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'
