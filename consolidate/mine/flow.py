# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The data within a template.

Each argument of each step comes from somewhere: it is always the same, it is the
result of a step before, a name that getdents listed, a descriptor that a wait found
ready, a buffer that a step before filled, or the program's own: a parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from consolidate import calltable
from consolidate.mine.match import Path
from consolidate.mine.tape import OK
from consolidate.mine.templates import Template
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

ENTRY_NAME = re.compile(r'd_name="((?:[^"\\]|\\.)*)"')
EVENT = re.compile(r"(?:data=\{(?:u32=|fd=)|\{fd=)(-?\d+)")
LISTERS = frozenset(["getdents", "getdents64"])
# What a loop can get one after the other: parts of a stream, messages, connections.
DRAINED = calltable.COUNTERS | {"accept", "accept4"}
# They say which descriptors are ready, in this argument.
WAITS = {"epoll_wait": 1, "epoll_pwait": 1, "epoll_pwait2": 1, "poll": 0, "ppoll": 0}
# Read data into an address, write data from one: the argument that it is.
FILLERS = {"read": 1, "pread64": 1, "recvfrom": 1, "readlink": 1, "readlinkat": 2, "getxattr": 2}
DRAINERS = {"write": 1, "pwrite64": 1, "sendto": 1}
SIZE_ARG = {"read": 2, "pread64": 2, "recvfrom": 2, "write": 2, "pwrite64": 2, "sendto": 2}
SIZE_ARG |= {"getdents64": 2, "getdents": 2, "readlinkat": 3, "readlink": 2, "getxattr": 3}
SIZE_ARG |= {"lgetxattr": 3, "fgetxattr": 3}
OFFSET_ARG = {"pread64": 3, "pwrite64": 3}


class Kind(Enum):
    """Where an argument comes from."""

    CONST = "const"
    RESULT = "result"  # of the step `step`
    SHARED = "shared"  # the same as argument `arg` of `step`
    NAME = "name"  # of an entry that the step `step` listed
    READY = "ready"  # a descriptor that the step `step` found ready
    ADVANCE = "advance"  # one's own last value and the last result
    PARAM = "param"

    # By identity, not by name: millions of keys have one in them.
    __hash__ = object.__hash__


class Repeat(Enum):
    """How often a step, or a loop in a template, is gone through."""

    ONCE = "once"
    UNTIL = "until"  # until the result of its first call differs, as it does in the end
    NAMES = "names"  # for each name that the step before listed
    READY = "ready"  # for each descriptor that the step before found ready
    TIMES = "times"  # the same number always
    GIVEN = "given"  # as often as the program says


@dataclass(slots=True)
class Source:
    """Where one argument comes from."""

    kind: Kind
    letter: str
    value: Value | None = None
    step: int = -1
    arg: int = -1
    steady: bool = False  # of a parameter: the same in all of a run
    moves: bool = False  # another value in each repetition
    assumed: bool = False  # of a constant: it may be one of this trace only
    seen: list[Value] = field(default_factory=list)

    def moving(self) -> bool:
        """Whether it had more than one value in the samples."""
        return len({value.text for value in self.seen}) > 1


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
    # Outcomes with which the iteration was over, and the program went on with the next.
    passes: set[str] = field(default_factory=set)
    full: bool = False  # it always moved as many bytes as it was to
    short: bool = False  # it never got as many bytes as there was room for


@dataclass(slots=True)
class Loop:
    """A loop within a template."""

    path: Path
    repeat: Repeat
    times: int = 1


@dataclass(slots=True)
class Flow:
    """A template with the data between its steps."""

    template: Template
    steps: list[Step]
    loops: dict[Path, Loop] = field(default_factory=dict)
    links: set[tuple[int, int]] = field(default_factory=set)
    samples: int = 0
    refused: str = ""  # why no script can be written for it
    # Steps that need what a step before brings the program, see depend.py.
    needs: set[tuple[int, int]] = field(default_factory=set)
    carried: bool = False  # an iteration needs what the one before brought
    blind: bool = False  # it may: the trace has no paths
    apart: set[Path] = field(default_factory=set)  # loops of which that is true
    goes_on: bool = False  # what follows it is its second step: its last is the first again

    def once(self) -> frozenset[Path]:
        """Steps that are never repeated, as the matcher wants them."""
        return frozenset(step.path for step in self.steps if step.repeat is Repeat.ONCE)

    def opens(self, number: int) -> bool:
        """Whether the result of a step is a new descriptor."""
        step = self.steps[number]
        if step.outcome != OK:
            return False
        if step.name == "fcntl":
            args = step.args
            return len(args) > 1 and args[1].kind is Kind.CONST and "DUPFD" in args[1].value.text
        return step.name in calltable.OPENERS

    def around(self, number: int) -> list[Path]:
        """The loops that a step stands in, itself included if it is repeated."""
        step = self.steps[number]
        found = [step.path[:i] for i in range(1, len(step.path)) if step.path[:i] in self.loops]
        return found if step.repeat in (Repeat.ONCE, Repeat.UNTIL) else [*found, step.path]


@lru_cache(maxsize=4096)
def names_in(args: str) -> frozenset[bytes]:
    return frozenset(values.unescape(name) for name in ENTRY_NAME.findall(args))


def entries(call: Call) -> frozenset[bytes]:
    """The names that a call listed, but for those of the directory itself and the one above."""
    return names_in(call.args) - {b".", b".."}


def ready(call: Call) -> list[int]:
    """The descriptors that a wait found ready, as far as it says so."""
    arg = WAITS.get(call.name)
    if arg is None or not call.ret or call.ret < 0:
        return []
    if call.name in ("poll", "ppoll"):
        # What was ready comes after the result.
        return [int(fd) for fd in EVENT.findall(call.result)]
    return [int(fd) for fd in EVENT.findall(call.args)]
