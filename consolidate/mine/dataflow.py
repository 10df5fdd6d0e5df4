# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The data flow within a template.

Each argument of each step has a source: a constant, the result of an earlier step, a name that
getdents listed, a descriptor that a wait found ready, a buffer that an earlier step filled, or else
the program, as a parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from consolidate import calltable
from consolidate.mine.encoded_trace import OK
from consolidate.mine.match import Path
from consolidate.mine.templates import Template
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

ENTRY_NAME = re.compile(r'd_name="((?:[^"\\]|\\.)*)"')
EVENT = re.compile(r"(?:data=\{(?:u32=|fd=)|\{fd=)(-?\d+)")
LISTERS = frozenset(["getdents", "getdents64"])
# Calls that a loop may repeat to get parts of a stream, messages, or connections.
DRAINED = calltable.COUNTERS | {"accept", "accept4"}
# They report ready descriptors in this argument.
WAITS = {"epoll_wait": 1, "epoll_pwait": 1, "epoll_pwait2": 1, "poll": 0, "ppoll": 0}
# Calls that read data into an address, or write data from one: the argument's index.
FILLERS = {"read": 1, "pread64": 1, "recvfrom": 1, "readlink": 1, "readlinkat": 2, "getxattr": 2}
DRAINERS = {"write": 1, "pwrite64": 1, "sendto": 1}
SIZE_ARG = {"read": 2, "pread64": 2, "recvfrom": 2, "write": 2, "pwrite64": 2, "sendto": 2}
SIZE_ARG |= {"getdents64": 2, "getdents": 2, "readlinkat": 3, "readlink": 2, "getxattr": 3}
SIZE_ARG |= {"lgetxattr": 3, "fgetxattr": 3}
OFFSET_ARG = {"pread64": 3, "pwrite64": 3}


class Kind(Enum):
    """The source of an argument."""

    CONST = "const"
    RESULT = "result"  # of the step `step`
    SHARED = "shared"  # equal to argument `arg` of `step`
    NAME = "name"  # of an entry listed by the step `step`
    READY = "ready"  # a descriptor that the step `step` found ready
    ADVANCE = "advance"  # its own last value plus the last result, from `value` or a parameter on
    PARAM = "param"

    # By identity: millions of keys contain one.
    __hash__ = object.__hash__


class Repeat(Enum):
    """How often a step, or a loop in a template, is executed."""

    ONCE = "once"
    UNTIL = "until"  # until the outcome of its first call differs, as at the end
    NAMES = "names"  # for each name listed by the step before
    READY = "ready"  # for each descriptor found ready by the step before
    TIMES = "times"  # always the same number of times
    GIVEN = "given"  # as often as the program requests


@dataclass(slots=True)
class Source:
    """The source of one argument."""

    kind: Kind
    letter: str
    value: Value | None = None
    step: int = -1
    arg: int = -1
    steady: bool = False  # a parameter that is the same throughout a run
    moves: bool = False  # another value in each repetition
    assumed: bool = False  # a constant that may hold for this trace only
    seen: list[Value] = field(default_factory=list)  # some of its values
    most: int = 0  # the largest of all
    varies: bool = False  # it has several

    @property
    def is_given(self) -> bool:
        """Whether the program gives its value, or its first one."""
        return self.kind is Kind.PARAM or self.kind is Kind.ADVANCE and self.value is None


@dataclass(slots=True)
class Step:
    """One system call of a template."""

    path: Path
    symbol: int
    name: str
    outcome: str
    exact: bool = False
    repeat: Repeat = Repeat.ONCE
    times: int = 1
    args: list[Source] = field(default_factory=list)
    # Outcomes that ended the iteration, after which the program started the next.
    passes: set[str] = field(default_factory=set)
    full: bool = False  # it always moved as many bytes as requested
    short: bool = False  # it never filled its buffer


@dataclass(slots=True)
class Loop:
    """A loop within a template."""

    path: Path
    repeat: Repeat
    times: int = 1


@dataclass(slots=True)
class Flow:
    """A template with the data flow between its steps."""

    template: Template
    steps: list[Step]
    loops: dict[Path, Loop] = field(default_factory=dict)
    links: set[tuple[int, int]] = field(default_factory=set)
    samples: int = 0
    refused: str = ""  # the reason why no script can be generated for it
    # Steps that depend on an earlier step's data, see dependences.py.
    needs: set[tuple[int, int]] = field(default_factory=set)
    carried: bool = False  # an iteration depends on the one before
    blind: bool = False  # it may depend on it: the trace has no paths
    # What its steps do, except in a few instances.
    exceptions: list[str] = field(default_factory=list)
    apart: set[Path] = field(default_factory=set)  # loops with such a dependence
    goes_on: bool = False  # the second step follows: the last step is the first one again

    def once(self) -> frozenset[Path]:
        """Steps that are never repeated, for the matcher."""
        return frozenset(step.path for step in self.steps if step.repeat is Repeat.ONCE)

    def opens(self, number: int) -> bool:
        """Whether a step's result is a new descriptor."""
        step = self.steps[number]
        if step.outcome != OK:
            return False
        if step.name == "fcntl":
            args = step.args
            return len(args) > 1 and args[1].kind is Kind.CONST and "DUPFD" in args[1].value.text
        return step.name in calltable.OPENERS

    def around(self, number: int) -> list[Path]:
        """The loops around a step, including itself if it is repeated."""
        step = self.steps[number]
        found = [step.path[:i] for i in range(1, len(step.path)) if step.path[:i] in self.loops]
        return found if step.repeat in (Repeat.ONCE, Repeat.UNTIL) else [*found, step.path]


@lru_cache(maxsize=4096)
def names_in(args: str) -> frozenset[bytes]:
    return frozenset(values.unescape(name) for name in ENTRY_NAME.findall(args))


def entries(call: Call) -> frozenset[bytes]:
    """The names that a call listed, except dots."""
    return names_in(call.args) - {b".", b".."}


def ready(call: Call) -> list[int]:
    """The descriptors that a wait found ready, as far as the trace shows them."""
    arg = WAITS.get(call.name)
    if arg is None or not call.ret or call.ret < 0:
        return []
    if call.name in ("poll", "ppoll"):
        # Ready descriptors follow the result.
        return [int(fd) for fd in EVENT.findall(call.result)]
    return [int(fd) for fd in EVENT.findall(call.args)]
