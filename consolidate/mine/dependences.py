# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds arguments that a program cannot know before an earlier call of the sequence.

A script gets all its inputs before it begins. If an input varies, and follows a call that brings
outside data, it may depend on that data: a reply to a request, a descriptor that a wait found
ready, a page that is modified and written back. The sequence is cut there. Arguments explained by
the data flow (dataflow.py) do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from consolidate import calltable
from consolidate.mine.dataflow import (
    DRAINERS,
    FILLERS,
    LISTERS,
    SIZE_ARG,
    WAITS,
    Flow,
    Kind,
    Source,
    Step,
    entries,
)
from consolidate.mine.encoded_trace import OK
from consolidate.mine.match import Instance
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

# Kinds of arguments: a call's data may determine some and not others.
FD, PATH, DATA, NUMBER, FLAGS = "fd", "path", "data", "number", "flags"
EVERYTHING = frozenset([FD, PATH, DATA, NUMBER, FLAGS])
SELECTS = frozenset(["select", "pselect6"])
ATTRIBUTES = calltable.words("stat lstat fstat newfstatat statx")
RECEIVERS = calltable.words("recvfrom recvmsg recvmmsg mq_timedreceive msgrcv")
READERS = calltable.words("read readv pread64 preadv preadv2")
CONTENTS = calltable.words("readlink readlinkat getxattr lgetxattr fgetxattr")
# The least share of samples with a path named by the data read, to exclude chance.
NAMED = 0.3
# Descriptors of files, whose contents usually name no other file.
FILE = "/"


def brings(flow: Flow, number: int) -> frozenset[str]:
    """The kinds of arguments that a call's data may determine."""
    step = flow.steps[number]
    if step.outcome != OK or not step.args:
        return frozenset()
    if step.name in WAITS or step.name in SELECTS or step.name in RECEIVERS:
        return EVERYTHING
    if step.name in CONTENTS:
        return frozenset([PATH, DATA, NUMBER])
    if step.name in ATTRIBUTES:
        return frozenset([NUMBER])
    if step.name in LISTERS:
        return frozenset([DATA])
    if step.name in READERS and changing(step):
        return frozenset([DATA, NUMBER]) if is_file(flow, step) else EVERYTHING
    return frozenset()


def changing(step: Step) -> bool:
    """Whether the data read varies."""
    at = FILLERS.get(step.name)
    if at is None or at >= len(step.args) or len(step.args[at].seen) < 2:
        return True
    source = step.args[at]
    return source.varies or any(value.string is None for value in source.seen)


def is_file(flow: Flow, step: Step) -> bool:
    """Whether a descriptor refers to a file, as far as the trace shows."""
    source = step.args[0]
    if source.kind is Kind.RESULT:
        return flow.steps[source.step].name.startswith(("open", "creat"))
    paths = [value.path for value in source.seen]
    return bool(paths) and all(path and path.startswith(FILE) for path in paths)


def needed(step: Step, arg: int, source: Source) -> str | None:
    """The kind of an argument, if it is a varying input of the program."""
    if source.kind is not Kind.PARAM or source.steady or not source.varies:
        return None
    if source.letter == "f":
        return FD
    if DRAINERS.get(step.name) == arg:
        return DATA
    if source.letter in "sp":
        if is_filled(step, arg):
            return None
        return PATH if source.seen[0].string is not None else DATA
    if any(values.FLAGS.match(value.text) for value in source.seen):
        return FLAGS
    is_room = SIZE_ARG.get(step.name) == arg and step.name not in DRAINERS
    return None if is_room else NUMBER


def is_filled(step: Step, arg: int) -> bool:
    """Whether the kernel writes there."""
    kinds = calltable.kinds(step.name)
    return arg < len(kinds) and kinds[arg] == "p" and step.name not in ("poll", "ppoll")


def is_known(flow: Flow, number: int, arg: int, bringer: int) -> bool:
    """Whether a path contains a name from a path before the call that brings data."""
    wanted = [name_of(value.string) for value in flow.steps[number].args[arg].seen]
    for step in flow.steps[: bringer + 1]:
        for source in step.args:
            there = [name_of(value.string) for value in source.seen if value.string]
            if there and len(there) == len(wanted) and there == wanted:
                return True
    return False


def name_of(path: bytes | None) -> bytes:
    return (path or b"").rstrip(b"/").rpartition(b"/")[2]


def find_needs(flow: Flow, runs: list[list[Instance]]) -> None:
    """Record which steps depend on an earlier one, within an iteration and across iterations."""
    brought = [brings(flow, number) for number in range(len(flow.steps))]
    for number, step in enumerate(flow.steps):
        for arg, source in enumerate(step.args):
            kind = needed(step, arg, source)
            bringers = [before for before, kinds in enumerate(brought) if kind in kinds]
            # The next iteration comes after all of them, also that of an inner loop.
            flow.carried = flow.carried or bool(bringers)
            if bringers and source.letter == "s" and source.seen[0].string is None:
                flow.blind = True
            for before in bringers:
                both = zip(flow.around(before), flow.around(number), strict=False)
                flow.apart |= {one for one, other in both if one == other and source.moves}
            flow.needs |= {
                (before, number)
                for before in bringers
                if before < number and not (kind == PATH and is_known(flow, number, arg, before))
            }
    flow.carried = flow.carried or continues(flow, runs)


def continues(flow: Flow, runs: list[list[Instance]]) -> bool:
    """Whether an iteration uses what the previous one opened, listed, or read the name of."""
    good = count = 0
    for run in runs:
        for one, other in zip(run, run[1:], strict=False):
            count += 1
            good += follows_on(flow, one, other)
    return count > 0 and good >= NAMED * count


def calls_of(instance: Instance) -> list[Call]:
    return [instance.tape.call(at) for at in range(instance.begin, instance.end)]


def follows_on(flow: Flow, one: Instance, other: Instance) -> bool:
    before, now = calls_of(one), calls_of(other)
    opened = {c.ret for c in before if c.name in calltable.OPENERS and c.error is None}
    opened -= {values.of_call(c.name, c.args)[0].number for c in before if c.name == "close"}
    listed = {name for c in before if c.name in LISTERS for name in entries(c)}
    texts = [text for text in map(text_of, before) if text]
    for call in now:
        for letter, value in with_letters(call):
            if letter == "f" and value.number in opened:
                return True
            name = name_of(value.string) if letter == "s" else b""
            if name in listed or len(name) > 2 and any(name in text for text in texts):
                return True
        # Descriptors and names from this iteration itself do not count.
        opened.discard(call.ret if call.name in calltable.OPENERS else None)
        listed -= entries(call) if call.name in LISTERS else frozenset()
    return False


def with_letters(call: Call) -> Iterator[tuple[str, Value]]:
    """A call's arguments with their kinds, except data that it sends."""
    kinds = calltable.kinds(call.name)
    for arg, value in enumerate(values.of_call(call.name, call.args)):
        if arg != DRAINERS.get(call.name):
            yield kinds[arg] if arg < len(kinds) else "i", value


def text_of(call: Call) -> bytes:
    """The data that a call read, as far as the trace shows it."""
    at = FILLERS.get(call.name)
    args = values.of_call(call.name, call.args) if at is not None else []
    return (args[at].string or b"") if at is not None and at < len(args) else b""
