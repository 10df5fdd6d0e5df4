# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Inputs, steps and results of a candidate's script, for the writers of Lua and C.

A script iterates over items. An item is one iteration of the candidate: a record of eight-byte
fields, the program's inputs followed by the result of each call. Inputs that are the same for all
items of a run are in a separate record, `common`.

A loop over entries has a record for each entry; the array of these records is a field of the item.
A step whose outcome differs from the trace ends the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.mine import shape
from consolidate.mine.candidate import Candidate
from consolidate.mine.dataflow import LISTERS, SIZE_ARG, Flow, Kind, Source, Step
from consolidate.mine.encoded_trace import NONE, OK
from consolidate.mine.shape import STAT_SIZES, is_buffer, numbers
from consolidate.trace.values import Value

BUFFER_SIZE = 4096
FIELD = 8
# Each call returns the next part of one stream.
STREAMS = frozenset(["read", "getdents64", "getdents", "pread64"])
# The amount that they write is in structures that the script does not examine.
VECTORED = frozenset(["writev", "pwritev", "pwritev2", "sendmsg"])
WRITERS = frozenset(["write", "pwrite64", "sendto"])
# Names of calls' arguments, as in the manual.
ARGUMENTS = {
    "accept": "sock addr addrlen",
    "accept4": "sock addr addrlen flags",
    "access": "path mode",
    "chmod": "path mode",
    "connect": "sock addr addrlen",
    "copy_file_range": "in in_offset out out_offset size flags",
    "epoll_ctl": "epfd op fd event",
    "epoll_pwait": "epfd events most timeout sigmask sigsetsize",
    "epoll_wait": "epfd events most timeout",
    "fadvise64": "fd offset size advice",
    "fallocate": "fd mode offset size",
    "faccessat": "dirfd path mode",
    "fchmod": "fd mode",
    "fchown": "fd uid gid",
    "fcntl": "fd op arg",
    "fstat": "fd attributes",
    "ftruncate": "fd size",
    "getdents": "fd entries size",
    "getdents64": "fd entries size",
    "getpeername": "sock addr addrlen",
    "getsockname": "sock addr addrlen",
    "getsockopt": "sock level option value size",
    "getxattr": "path name buf size",
    "ioctl": "fd op arg",
    "lgetxattr": "path name buf size",
    "lseek": "fd offset whence",
    "lstat": "path attributes",
    "mkdir": "path mode",
    "mkdirat": "dirfd path mode",
    "newfstatat": "dirfd path attributes flags",
    "open": "path flags mode",
    "openat": "dirfd path flags mode",
    "poll": "fds nfds timeout",
    "pread64": "fd buf size offset",
    "pwrite64": "fd data size offset",
    "pwritev": "fd iov iovcnt offset",
    "read": "fd buf size",
    "readlink": "path buf size",
    "readlinkat": "dirfd path buf size",
    "readv": "fd iov iovcnt",
    "recvfrom": "sock buf size flags addr addrlen",
    "recvmsg": "sock msg flags",
    "rename": "from to",
    "renameat": "olddirfd from newdirfd to",
    "renameat2": "olddirfd from newdirfd to flags",
    "sendfile": "out in offset size",
    "sendmsg": "sock msg flags",
    "sendto": "sock data size flags addr addrlen",
    "setsockopt": "sock level option value size",
    "socket": "domain type protocol",
    "stat": "path attributes",
    "statx": "dirfd path flags mask attributes",
    "symlinkat": "target dirfd path",
    "unlinkat": "dirfd path flags",
    "utimensat": "dirfd path times flags",
    "write": "fd data size",
    "writev": "fd iov iovcnt",
}
# Names used by the script's own text, and calls that are keywords of Lua or C.
RESERVED = calltable.words(
    """
    item items n common step result done at get put skip peek poke i record event descriptor
    and break do else elseif end false for function goto if in local nil not or repeat return
    then true until while
    """
)


@dataclass(slots=True, eq=False)
class Param:
    """An input from the program."""

    name: str
    letter: str
    about: str = ""  # its meaning, unless it follows from the calls that get it
    seen: list[Value] = field(default_factory=list)
    fills: str = ""  # the call that writes into it, if it is a buffer
    size: int = 0  # of that buffer, in bytes per repetition
    steps: list[tuple[int, int]] = field(default_factory=list)  # that get it, and as which argument
    is_changed: bool = False  # the kernel reads it and overwrites it
    constant: str = ""  # a C constant that scripts lack
    entries: Record | None = None  # the record type, if it is an array

    @property
    def is_string(self) -> bool:
        return any(value.string is not None for value in self.seen)


@dataclass(slots=True, eq=False)
class Result:
    """A field for the result of a step, or of a loop."""

    name: str
    step: int
    about: str


@dataclass(slots=True, eq=False)
class Record:
    """Eight-byte fields: the program's inputs, then the results of the calls."""

    tag: str
    params: list[Param] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def place(self, of: Param | Result) -> int:
        """The index of a field."""
        if isinstance(of, Param):
            return self.params.index(of)
        return len(self.params) + self.results.index(of)

    @property
    def width(self) -> int:
        return len(self.params) + len(self.results)

    @property
    def size(self) -> int:
        return self.width * FIELD


@dataclass(slots=True)
class Node:
    """A node of the shape, with its fields in records."""

    kind: str
    first: int
    body: list[Node]
    times: int
    until: str
    record: Record | None = None  # of an entry, in a list or search
    gathers: str = ""  # a drain's use of its data: "stream", "each", or none
    room: Param | None = None  # its capacity: bytes, or a count
    array: Param | None = None  # int32_t: the results of the calls in the loop
    result: Result | None = None

    @property
    def is_loop(self) -> bool:
        return self.kind != "call"

    @property
    def is_each(self) -> bool:
        return self.kind in ("names", "ready")


def planned(node: shape.Node) -> Node:
    body = [planned(inner) for inner in node.body]
    return Node(node.kind, node.first, body, node.times, node.until)


@dataclass(slots=True)
class Plan:
    """An iteration with its inputs and results."""

    candidate: Candidate
    nodes: list[Node]
    item: Record
    common: Record
    by_arg: dict[tuple[int, int], Param]
    by_step: dict[int, Result]  # the field of a step's result, if it has one
    size_of: dict[int, Param]  # for vectored writes: the total number of bytes
    alias: dict[int, int]  # the step whose result stands for another's

    @property
    def flow(self) -> Flow:
        return self.candidate.flow

    @property
    def steps(self) -> list[Step]:
        return self.candidate.flow.steps

    def walk(self, nodes: list[Node] | None = None) -> Iterator[Node]:
        for node in self.nodes if nodes is None else nodes:
            yield node
            yield from self.walk(node.body)

    def records(self) -> Iterator[Record]:
        """Records of entries, inner ones first, then the item's and the common one."""
        yield from (node.record for node in self.walk() if node.record is not None)
        yield self.item
        if self.common.params:
            yield self.common

    def target(self, step: int) -> int:
        """The step whose result stands for another's."""
        return self.alias.get(step, step)


class Planner:
    """Makes the plan of a candidate."""

    def __init__(self, candidate: Candidate, unknown: frozenset[str]) -> None:
        self.candidate = candidate
        self.steps = candidate.flow.steps
        self.unknown = unknown
        self.batched = candidate.batched
        # A parameter must not shadow a call.
        self.names = dict.fromkeys([*RESERVED, *(step.name for step in self.steps)], 1)
        made = shape.shape(candidate.flow)
        nodes = [planned(node) for node in made.nodes]
        self.plan = Plan(candidate, nodes, Record("item"), Record("common"), {}, {}, {}, made.alias)

    def __call__(self) -> Plan:
        self.fields(self.plan.nodes, self.plan.item, [])
        return self.plan

    def name(self, base: str) -> str:
        self.names[base] = self.names.get(base, 0) + 1
        return base if self.names[base] == 1 else f"{base}{self.names[base]}"

    # -- fields ------------------------------------------------------------------

    def fields(self, nodes: list[Node], record: Record, loops: list[Node]) -> None:
        """The fields of these nodes in a record, in the order of the steps."""
        for node in nodes:
            if not node.is_loop:
                self.params(node.first, record, loops)
                self.result(node, record, loops)
                continue
            if node.kind in ("list", "search"):
                self.entries(node, record)
            inner = node.record or record
            inside = [*loops, node]
            if node.kind in ("drain", "search"):
                self.params(node.first, inner, inside)
            self.gather(node, record)
            self.fields(node.body, inner, inside)
            if node.kind == "search":
                self.entry_result(node.first, inner)
            if node.kind != "times":
                self.loop_result(node, record)

    def entries(self, node: Node, record: Record) -> None:
        tag = self.name("entry")
        node.record = Record(tag)
        array = Param(self.name("list"), "p", "", entries=node.record)
        array.about = f"struct ...{tag}[]: for each {self.steps[node.first].name}()"
        count = Param(self.name("count"), "i", f"how many there are in {array.name}")
        record.params += [array, count]

    def gather(self, node: Node, record: Record) -> None:
        """Adds a buffer for a loop's results, which may be full."""
        step = self.steps[node.first]
        if node.is_each:
            self.results_array(node, record)
        if node.kind != "drain" or self.passed_on(node):
            return
        if step.name in STREAMS:
            node.gathers = "stream"
            node.room = Param(
                self.name("room"), "i", "bytes that the buffer has room for, one more than needed"
            )
            record.params.append(node.room)
        else:
            node.gathers = "each"
            self.results_array(node, record)

    def results_array(self, node: Node, record: Record) -> None:
        node.room = Param(self.name("most"), "i", "how often there is room for it in the arrays")
        node.array = Param(self.name("results"), "p", "int32_t[]: the result of each call in it")
        record.params += [node.room, node.array]

    def passed_on(self, node: Node) -> bool:
        """Whether a drain's data is used only within it."""
        return any(
            source.kind is Kind.SHARED and source.step == node.first
            for inner in numbers(node.body)
            for source in self.steps[inner].args
        ) or bool(node.body and self.steps[node.first].name not in LISTERS)

    # -- results -----------------------------------------------------------------

    def result(self, node: Node, record: Record, loops: list[Node]) -> None:
        step = self.steps[node.first]
        if any(loop.is_each or loop.kind == "drain" for loop in loops):
            return  # in the array, or part of the total
        node.result = Result(
            self.name(f"{step.name}_result"), node.first, f"of {step.name}(), or -errno"
        )
        record.results.append(node.result)
        self.plan.by_step[node.first] = node.result

    def entry_result(self, number: int, record: Record) -> None:
        name = self.steps[number].name
        record.results.append(Result(f"{name}_result", number, f"of {name}(), or -errno"))

    def loop_result(self, node: Node, record: Record) -> None:
        name = self.steps[node.first].name
        base, about = {
            "drain": (f"{name}_total", f"bytes that {name}() got"),
            "search": (f"{name}_result", f"of the last {name}(), or -errno"),
            "list": (f"{name}_count", "entries that were done in full"),
            "names": (f"{name}_count", "names that were done in full"),
            "ready": (f"{name}_count", "descriptors that were done in full"),
        }[node.kind]
        if node.gathers == "each":
            base, about = f"{name}_count", f"how often {name}() got something"
        node.result = Result(self.name(base), node.first, about)
        record.results.append(node.result)

    # -- parameters --------------------------------------------------------------

    def params(self, number: int, record: Record, loops: list[Node]) -> None:
        if number in self.plan.alias:
            return
        step = self.steps[number]
        for arg, source in enumerate(step.args):
            if is_changed(step, arg, source):
                self.add(number, arg, source, record).is_changed = True
            elif source.kind is Kind.CONST:
                self.constant(number, arg, source)
            elif source.is_given and not self.is_room(number, arg, loops):
                self.param(number, arg, source, record, loops)
        if step.name in VECTORED:
            bytes_ = Param(self.name("bytes"), "i", f"that {step.name}() has to write in all")
            record.params.append(bytes_)
            self.plan.size_of[number] = bytes_

    def is_room(self, number: int, arg: int, loops: list[Node]) -> bool:
        """Whether an argument is a drain's read size, which the remaining room determines."""
        drained = loops and loops[-1].kind == "drain" and loops[-1].first == number
        return bool(
            drained
            and SIZE_ARG.get(self.steps[number].name) == arg
            and self.steps[number].name in STREAMS
            and not self.passed_on(loops[-1])
        )

    def constant(self, number: int, arg: int, source: Source) -> None:
        names = set(re.findall(r"[A-Z_][A-Z0-9_]+", source.value.text))
        symbolic = source.value.number is None and source.value.string is None
        if symbolic and not (names and not names & self.unknown):
            found = self.add(number, arg, source, self.plan.common)
            found.constant = source.value.text
            found.about = f"always {source.value.text}"

    def param(
        self, number: int, arg: int, source: Source, record: Record, loops: list[Node]
    ) -> None:
        step = self.steps[number]
        buffer = is_buffer(step, arg)
        if record is not self.plan.item:
            # An input that is the same for all entries is a field of the item.
            outer = self.plan.common if self.batched and source.steady else self.plan.item
            target = record if source.moves or buffer else outer
        else:
            target = self.plan.common if self.batched and source.steady and not buffer else record
        found = self.add(number, arg, source, target)
        if buffer:
            found.fills, found.size = step.name, buffer_size(step)
            many = any(loop.is_each or loop.gathers == "each" for loop in loops)
            found.about = f"{found.size} bytes for each {step.name}()" if many else ""
            found.about = found.about or f"where {step.name}() writes, {found.size} bytes"
            if loops and loops[-1].gathers == "stream" and loops[-1].first == number:
                found.about = f"where {step.name}() writes"

    def add(self, number: int, arg: int, source: Source, record: Record) -> Param:
        found = Param(self.name(base_name(self.steps[number], arg, source)), source.letter)
        found.seen = source.seen or ([source.value] if source.value is not None else [])
        found.steps.append((number, arg))
        record.params.append(found)
        self.plan.by_arg[number, arg] = found
        return found


def is_changed(step: Step, arg: int, source: Source) -> bool:
    """Whether the kernel overwrites an argument that it reads; never through NULL."""
    if arg not in calltable.IN_OUT.get(step.name, ()) or source.kind is Kind.RESULT:
        return False
    return any(value.number != 0 for value in (source.seen or [source.value]) if value is not None)


def base_name(step: Step, arg: int, source: Source) -> str:
    """The name of a parameter: from the manual, or by its kind."""
    known = ARGUMENTS.get(step.name, "").split()
    if arg < len(known):
        return known[arg]
    if source.letter in "sp":
        return "path" if source.seen and source.seen[0].string is not None else "ptr"
    return "fd" if source.letter == "f" else "value"


def buffer_size(step: Step) -> int:
    if step.name in STAT_SIZES:
        return STAT_SIZES[step.name]
    at = SIZE_ARG.get(step.name)
    if at is not None and at < len(step.args) and step.args[at].most > 0:
        return step.args[at].most
    return BUFFER_SIZE


def expects(step: Step) -> str:
    """The expected result of a step: "counted", "ok", "none", or an error's name."""
    if step.outcome == OK:
        return "counted" if step.name in calltable.COUNTERS else OK
    return step.outcome


def constants(candidate: Candidate) -> set[str]:
    """Constants that the script would use."""
    found = set()
    for step in candidate.flow.steps:
        for source in step.args:
            value = source.value
            if source.kind is Kind.CONST and value.number is None and value.string is None:
                found |= set(re.findall(r"[A-Z_][A-Z0-9_]+", value.text))
    return found


def plan(candidate: Candidate, unknown: frozenset[str]) -> Plan:
    return Planner(candidate, unknown)()


__all__ = ["NONE", "Node", "Param", "Plan", "Record", "Result", "expects", "is_buffer", "plan"]
