# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Generates a C program that runs a candidate's calls plainly and by a script, in an equivalent
setting.

The setting follows the trace: files of the size that was read, directories of as many entries as
were listed, missing paths where opening failed, sockets with as many queued packets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from consolidate.emit.plan import Node, Param, Plan
from consolidate.emit.writer import NAME, RECLEN, PlanWriter
from consolidate.errors import ConsolidateError
from consolidate.mine.candidate import Candidate
from consolidate.mine.dataflow import LISTERS, Kind, Step
from consolidate.mine.encoded_trace import NONE, OK
from consolidate.trace.values import Value

TEMPLATE = Path(__file__).resolve().parent / "replay.c.in"
MOST_ITEMS = 256
MOST_ENTRIES = 500
MOST_BYTES = 1 << 20
DEFAULT_BYTES = 1000
LISTING = 32768
OF_FILES = frozenset(
    ["read", "pread64", "write", "pwrite64", "lseek", "fstat", "fcntl", "fsync", "fdatasync"]
)
READERS = frozenset(["read", "pread64", "recvfrom", "recvmsg"])
WRITERS = frozenset(["write", "pwrite64", "sendto", "sendmsg"])


@dataclass(slots=True)
class Setting:
    """Quantities of the setting."""

    items: int
    entries: int
    size: int
    repeats: dict[int, float]  # how often a step occurs per iteration


def per_iteration(candidate: Candidate) -> dict[int, float]:
    """How often each step is called in a whole iteration, on average."""
    calls = enumerate(candidate.step_calls)
    return {number: count / max(1, candidate.whole) for number, count in calls}


def setting(plan: Plan) -> Setting:
    candidate = plan.candidate
    repeats = per_iteration(candidate)
    for node in plan.walk():
        if node.gathers == "stream":
            # There is room for all of them at once.
            repeats[node.first] = 1
    items = min(MOST_ITEMS, round(candidate.lengths)) if candidate.batched else 1
    named = [repeats[n] for n, step in enumerate(plan.steps) if from_name(step)]
    entries = min(MOST_ENTRIES, round(max(named, default=0)))
    return Setting(max(1, items), entries, size_of_files(plan), repeats)


def size_of_files(plan: Plan) -> int:
    """The average amount read; if nothing was read, the amount written."""
    reads = any(step.name in READERS for step in plan.steps)
    sizes = []
    for instance in plan.candidate.instances():
        calls = [instance.tape.call(i) for i in range(instance.begin, instance.end)]
        moved = [c.ret for c in calls if c.name in (READERS if reads else WRITERS)]
        sizes.append(sum(ret for ret in moved if ret and ret > 0))
    return min(MOST_BYTES, round(mean(sizes))) if sizes and mean(sizes) else DEFAULT_BYTES


def from_name(step: Step) -> bool:
    return any(source.kind is Kind.NAME for source in step.args)


class Program(PlanWriter):
    """Generates the C code of one plan: the plain calls, its script, the setting."""

    def __init__(self, plan: Plan, script: str, rounds: int) -> None:
        super().__init__(plan)
        self.script = script
        self.rounds = rounds
        self.setting = setting(plan)
        self.depth = 1
        self.results = [f"r{plan.target(i)}" for i in range(len(plan.steps))]
        self.of_result: dict[int, str] = {}  # the variable for a field

    # -- the plain calls ---------------------------------------------------------

    def plain(self) -> str:
        self.lines = []
        self.nodes(self.plan.nodes)
        body, self.lines = self.lines, []
        names = sorted({*self.results, *self.of_result.values()})
        self.put(f"int64_t {', '.join(f'{name} = -ECANCELED' for name in names)};")
        self.lines += body
        self.put("goto out;")
        self.lines.append("out:")
        base = len(self.plan.item.params)
        for i, result in enumerate(self.outcomes()):
            self.put(f"f[{base + i}] = {result};")
        return "\n".join(self.lines)

    def outcomes(self) -> list[str]:
        """The results that both variants must produce."""
        return [self.of_result[id(result)] for result in self.plan.item.results]

    def single(self, node: Node) -> None:
        step = self.plan.steps[node.first]
        result = self.results[node.first]
        self.put(f"{result} = {self.call(node.first)};")
        if node.result is not None:
            self.of_result[id(node.result)] = result
        if step.outcome in (OK, NONE):
            self.put(f"if ({result} < 0)")
            self.put("\tgoto out;")

    def call(self, number: int) -> str:
        args = [f"(long)({text})" for text in self.arguments(number)]
        return f"made({', '.join([f'SYS_{self.plan.steps[number].name}', *args])})"

    def constant(self, value: Value) -> str:
        if value.string is not None:
            return c_string(value.string)
        return value.text if value.number is None or value.text == "AT_FDCWD" else str(value.number)

    def value_of(self, param: Param) -> str:
        if param in self.plan.common.params:
            return f"common[{self.plan.common.place(param)}]"
        return f"f[{self.plan.item.place(param)}]"

    def path_of_entry(self, number: int) -> str:
        return f"of_entry({self.directory(number)}, record + {NAME})"

    def open(self, text: str) -> None:
        self.put(text)
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.put("}")

    def drain(self, node: Node) -> None:
        number, result = node.first, self.results[node.first]
        self.put(f"{result} = 0;")
        for inner in node.body:
            if inner.kind == "names":
                self.count(inner)
        self.loops.append((node, result))
        room = f"{result} < {self.value_of(node.room)}" if node.gathers else "1"
        self.open(f"while ({room}) {{")
        self.put(f"int64_t more = {self.call(number)};")
        self.put("if (more <= 0)")
        self.put("\tbreak;")
        self.results[number] = "more"
        for inner in node.body:
            if inner.kind == "names":
                self.entries(inner, f"{self.base(number, 1)} + {result}", "more")
            else:
                self.nodes([inner])
        self.results[number] = result
        self.put(f"{result} += {'1' if node.gathers == 'each' else 'more'};")
        self.close()
        self.loops.pop()
        self.of_result[id(node.result)] = result

    def count(self, node: Node) -> str:
        counter = f"count{node.first}"
        self.put(f"{counter} = 0;")
        self.of_result[id(node.result)] = counter
        return counter

    def names(self, node: Node) -> None:
        self.count(node)
        steps = [inner.first for inner in node.body]
        lister = next(self.lister_of(n) for n in steps if self.lister_of(n) is not None)
        self.entries(node, self.argument(lister, 1), self.results[lister])

    def entries(self, node: Node, base: str, size: str) -> None:
        counter = f"count{node.first}"
        self.loops.append((node, counter))
        self.put(f"int64_t base = {base}, size = {size};")
        self.open("for (int64_t at = 0; at < size;) {")
        self.put("int64_t record = base + at;")
        self.put(f"const char *name = (char *)(record + {NAME});")
        self.open('if (strcmp(name, ".") && strcmp(name, "..")) {')
        for inner in node.body:
            self.put(f"{self.call(inner.first)};")
        self.put(f"{counter}++;")
        self.close()
        self.put(f"at += *(uint16_t *)(record + {RECLEN});")
        self.close()
        self.loops.pop()

    def times(self, node: Node) -> None:
        self.open(f"for (int i = 0; i < {node.times}; i++) {{")
        self.nodes(node.body)
        self.close()

    def ready(self, node: Node) -> None:
        raise ConsolidateError(self.cannot("it waits for others"))

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
        params = enumerate(self.plan.item.params)
        return "\n".join(f"\tf[{i}] = {self.sample(param)};" for i, param in params)

    def common(self) -> str:
        params = enumerate(self.plan.common.params)
        return "\n".join(f"\tcommon[{i}] = {self.sample(param)};" for i, param in params)

    def sample(self, param: Param) -> str:
        """A C expression for a value like those in the trace."""
        of_loop = self.of_loop(param)
        if of_loop or param.constant:
            return of_loop or param.constant
        if param.fills:
            size = max(param.size * (self.setting.entries + 2), self.setting.size + 65536)
            return f"memory({size})"
        if param.steps:
            number, arg = param.steps[0]
            step = self.plan.steps[number]
            if param.letter == "f":
                return self.descriptor(param)
            if param.is_string:
                return self.path(number, arg, step)
            # fcntl(2) takes a number or a pointer.
            plain = all(one.number is not None and not one.is_address for one in param.seen)
            if param.seen and (param.letter == "i" or plain):
                texts = [value.text for value in param.seen]
                return max(set(texts), key=texts.count)
        raise ConsolidateError(
            self.cannot("it takes a structure that the trace does not have in full")
        )

    def of_loop(self, param: Param) -> str:
        """A loop's capacity, or the array for its results; empty for other parameters."""
        entries = self.setting.entries + 2
        for node in self.plan.walk():
            if param is node.room and node.gathers == "stream":
                return str(max(self.setting.size + 64, LISTING if self.lists() else 0))
            if param is node.room:
                return str(entries)
            if param is node.array:
                return f"memory({entries * 4 * 8})"
        return ""

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
        """A descriptor of the same kind as in the trace."""
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
        values = {
            "SCRIPT": c_string(self.script.encode()).replace("\\n", '\\n"\n\t"'),
            "ITEMS": self.setting.items,
            "WIDTH": len(plan.item.params) + len(self.outcomes()),
            "INPUTS": len(plan.item.params),
            "ENTRIES": self.setting.entries,
            "SIZE": self.setting.size,
            "ROUNDS": self.rounds,
            "COMMON": len(plan.common.params),
            "PLAIN": plain,
            "VALUES": self.values(),
            "COMMON_VALUES": self.common(),
            "BY_SCRIPT": self.by_script(),
            "DESCRIPTORS": braces(self.descriptors()),
            "LEFT_BY_CALLS": braces(self.left_open()),
            "LEFT_BY_SCRIPT": braces(self.left_by_script()),
        }
        text = TEMPLATE.read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        return text

    # -- the script --------------------------------------------------------------

    def by_script(self) -> str:
        """C that handles all items by the script."""
        return "\tby_written();"

    def descriptors(self) -> list[int]:
        """Results that are descriptors or addresses, which may differ."""
        return self.outcomes_of(
            lambda number: self.plan.flow.opens(number) or self.plan.steps[number].name == "mmap"
        )

    def left_open(self) -> list[int]:
        """Results that are files which an iteration opens and leaves open."""
        steps = self.plan.steps
        closed = {step.args[0].step for step in steps if step.name == "close" and step.args}
        return self.outcomes_of(
            lambda number: self.plan.flow.opens(number) and number not in closed
        )

    def left_by_script(self) -> list[int]:
        return self.left_open()

    def outcomes_of(self, belongs: Callable[[int], bool]) -> list[int]:
        results = self.plan.item.results
        return [i for i, result in enumerate(results) if belongs(result.step)]


def braces(numbers: list[int]) -> str:
    """A C initializer of result numbers, with its end mark."""
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
