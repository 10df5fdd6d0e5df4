# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Follows the data from call to call within a template.

Each argument of each step comes from somewhere: it is always the same, it is the
result of a step before, a name that getdents told, a buffer that a step before
filled, or the program's own: a parameter.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from consolidate import calltable, values
from consolidate.match import Instance, Matcher, Run
from consolidate.mine import Template, symbol
from consolidate.streams import Stream, Streams
from consolidate.trace import Call
from consolidate.values import Value

# Instances that are looked at to find out, and repetitions in each.
SAMPLES = 32
REPEATS = 6
# Calls of a template that are looked at, in all of its samples.
MOST_CALLS = 1500
# Calls of a kind in a row that are so many steps rather than a loop.
UNROLLED = 4
# Places that are tried to find them.
BUDGET = 3000
# The share of them that has to agree.
AGREE = 0.9

ENTRY_NAME = re.compile(r'd_name="((?:[^"\\]|\\.)*)"')
LISTERS = frozenset(["getdents", "getdents64"])
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
    ADVANCE = "advance"  # one's own last value and the last result
    PARAM = "param"


class Repeat(Enum):
    """How often a step, or a loop in a template, is gone through."""

    ONCE = "once"
    UNTIL = "until"  # until its first call comes out otherwise, as it then does
    NAMES = "names"  # for each name that the step before listed
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
    seen: list[Value] = field(default_factory=list)

    def moving(self) -> bool:
        """Whether it had more than one value in the samples."""
        return len({value.text for value in self.seen}) > 1


@dataclass(slots=True)
class Step:
    """One system call of a template."""

    path: tuple[int, ...]
    symbol: int
    name: str
    outcome: str
    repeat: Repeat = Repeat.ONCE
    times: int = 1
    args: list[Source] = field(default_factory=list)
    # What other outcomes there were, and how often; and what followed them.
    branches: Counter = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    """A loop within a template."""

    path: tuple[int, ...]
    repeat: Repeat
    times: int = 1


@dataclass(slots=True)
class Firing:
    """One step's call within an instance, and those that came before it."""

    step: int
    call: Call
    args: list[Value]


@dataclass(slots=True)
class Flow:
    """A template with the data between its steps."""

    template: Template
    steps: list[Step]
    loops: dict[tuple[int, ...], Loop]
    links: set[tuple[int, int]]
    weak: set[tuple[int, int]]
    samples: int
    refused: str = ""  # why no script can be written for it

    def once(self) -> frozenset:
        """Steps that are never repeated, as the matcher wants them."""
        return frozenset(step.path for step in self.steps if step.repeat is Repeat.ONCE)


def steps_of(template: Template, streams: Streams, path: tuple = ()) -> Iterator[Step]:
    names, outcomes = streams.symbols.names, streams.symbols.outcomes
    for i, node in enumerate(template):
        if isinstance(node, tuple):
            yield from steps_of(node, streams, (*path, i))
        else:
            yield Step((*path, i), symbol(node), names[symbol(node)], outcomes[symbol(node)])


def samples(matcher: Matcher, streams: list[Stream], limit: int = SAMPLES) -> list[Run]:
    """Some runs, from all over the trace; whole instances only count."""
    found: list[Run] = []
    count = 0
    for stream in streams:
        for run in matcher.runs(stream, SAMPLES):
            found.append(run)
            count += min(8, sum(instance.whole for instance in run.instances))
            if count >= limit or matcher.budget <= 0:
                return found
    return found


def firings(instance: Instance, index: dict[tuple, int], path: tuple = ()) -> Iterator[Firing]:
    for i, part in enumerate(instance.parts):
        for one in part[:REPEATS]:
            if isinstance(one, Instance):
                yield from firings(one, index, (*path, i))
            else:
                call = instance.stream.call(one)
                step = index[(*path, i)]
                yield Firing(step, call, values.of_call(call.name, call.args))


class Follower:
    """Finds out where the arguments of a template's steps come from."""

    def __init__(self, template: Template, streams: Streams, runs: list[Run]) -> None:
        self.steps = list(steps_of(template, streams))
        self.index = {step.path: i for i, step in enumerate(self.steps)}
        self.flow = Flow(template, self.steps, {}, set(), set(), 0)
        self.runs = runs
        # Per run, per whole instance, what it called.
        self.fired: list[list[list[Firing]]] = []
        count = 0
        for run in runs:
            self.fired.append([])
            for one in self.sampled(run):
                if count < MOST_CALLS:
                    self.fired[-1].append(list(firings(one, self.index)))
                    count += len(self.fired[-1][-1])
        self.flow.samples = sum(map(len, self.fired))
        # Where each step fired: in which sample, at which place.
        self.places: list[list[tuple[list[Firing], int]]] = [[] for _ in self.steps]
        self.order: dict[int, dict[int, list[int]]] = {}
        for fired in self.all():
            order = self.order[id(fired)] = defaultdict(list)
            for at, firing in enumerate(fired):
                self.places[firing.step].append((fired, at))
                order[firing.step].append(at)

    def sampled(self, run: Run) -> list[Instance]:
        whole = [instance for instance in run.instances if instance.whole]
        return whole[:8]

    def __call__(self) -> Flow:
        if not self.flow.samples:
            self.flow.refused = "it never comes in full"
            return self.flow
        self.repeats()
        for number, step in enumerate(self.steps):
            width = self.width(number)
            step.args = [self.source(number, arg) for arg in range(width)]
        self.find_links()
        return self.flow

    def width(self, number: int) -> int:
        widths = [len(fired[at].args) for fired, at in self.places[number]]
        return max(widths, default=0)

    def all(self) -> Iterator[list[Firing]]:
        for run in self.fired:
            yield from run

    # -- repetitions -----------------------------------------------------------

    def repeats(self) -> None:
        whole = [instance for run in self.runs for instance in self.sampled(run)]
        self.repeats_in(self.flow.template, (), whole)

    def repeats_in(self, template: Template, path: tuple, instances: list[Instance]) -> None:
        for i, node in enumerate(template):
            here = (*path, i)
            parts = [one.parts[i] for one in instances if i < len(one.parts)]
            counts = [len(part) for part in parts]
            is_loop = isinstance(node, tuple)
            repeat, times = self.repeat(template, i, counts, is_loop, here)
            if is_loop:
                self.flow.loops[here] = Loop(here, repeat, times)
                nested = [one for part in parts for one in part[:REPEATS] if one.whole]
                self.repeats_in(node, here, nested)
            else:
                step = self.steps[self.index[here]]
                step.repeat, step.times = repeat, times

    def repeat(self, template, i: int, counts: list[int], is_loop: bool, here: tuple):
        many = sum(count != 1 for count in counts)
        if not is_loop and (not counts or many <= (1 - AGREE) * len(counts)):
            return Repeat.ONCE, 1
        first = template[i]
        while isinstance(first, tuple):
            first = first[0]
        following = template[i + 1] if i + 1 < len(template) else None
        first = symbol(first)
        name = next(step.name for step in self.steps if step.symbol == first)
        if following is not None and not isinstance(following, tuple):
            behind = next(step.name for step in self.steps if step.symbol == symbol(following))
            if behind == name:
                return Repeat.UNTIL, 1
        if len(here) == 1 and self.lists_names(here):
            return Repeat.NAMES, 1
        common, seen = Counter(counts).most_common(1)[0] if counts else (1, 0)
        if counts and seen >= AGREE * len(counts):
            return Repeat.TIMES, common
        if not is_loop and name in calltable.QUERIES:
            # Now and then one more: that is made outside.
            return Repeat.ONCE, 1
        return Repeat.GIVEN, 1

    def lists_names(self, here: tuple) -> bool:
        """Whether what is repeated works on the names that a step before listed."""
        inside = [i for i, step in enumerate(self.steps) if step.path[: len(here)] == here]
        before = [i for i, step in enumerate(self.steps) if i < inside[0] and step.name in LISTERS]
        return bool(before) and any(
            self.from_names(number, arg) is not None
            for number in inside
            for arg in range(min(3, self.width(number)))
        )

    # -- arguments -------------------------------------------------------------

    def seen(self, number: int, arg: int) -> Iterator[tuple[list[Firing], int, Value]]:
        """Each value of an argument, with what fired before it."""
        for fired, at in self.places[number]:
            args = fired[at].args
            if arg < len(args):
                yield fired, at, args[arg]

    def agrees(self, number: int, arg: int, test) -> bool:
        good = count = 0
        for fired, at, value in self.seen(number, arg):
            count += 1
            good += bool(test(fired, at, value))
            if count - good > (1 - AGREE) * len(self.places[number]):
                return False
        return count > 0 and good >= AGREE * count

    def last(self, fired: list[Firing], at: int, step: int) -> Firing | None:
        order = self.order[id(fired)][step]
        before = bisect_left(order, at)
        return fired[order[before - 1]] if before else None

    def source(self, number: int, arg: int) -> Source:
        kinds = calltable.kinds(self.steps[number].name)
        letter = kinds[arg] if arg < len(kinds) else "i"
        seen = [value for _, _, value in self.seen(number, arg)]
        source = self.derived(number, arg, letter, seen)
        if source is None:
            source = Source(Kind.PARAM, letter, steady=self.steady(number, arg))
        source.seen = seen[: 4 * SAMPLES]
        if source.kind is Kind.PARAM:
            source.moves = self.moves(number, arg)
        return source

    def derived(self, number: int, arg: int, letter: str, seen: list[Value]) -> Source | None:
        first = seen[0]
        const = all(value.text == first.text for value in seen)
        if letter == "f":
            if const and first.number == -100:
                return Source(Kind.CONST, letter, first)
            return self.from_result(number, arg, letter, True) or self.shared(number, arg, letter)
        if letter in "sp":
            return self.pointer(number, arg, letter, first, const)
        if self.advances(number, arg):
            return Source(Kind.ADVANCE, letter, step=number)
        found = self.from_result(number, arg, letter, False)
        if found is not None and (not const or self.steps[found.step].name in calltable.COUNTERS):
            return found
        if const:
            return Source(Kind.CONST, letter, first)
        return found or self.shared(number, arg, letter)

    def pointer(self, number, arg, letter, first: Value, const: bool) -> Source | None:
        name = self.steps[number].name
        plain = not (first.is_address or first.is_struct or first.string is not None)
        if const and plain:
            # No address at all: fcntl(2) takes either.
            return Source(Kind.CONST, letter, first)
        listed = self.from_names(number, arg) if letter == "s" else None
        if listed is not None:
            return Source(Kind.NAME, letter, step=listed)
        if DRAINERS.get(name) == arg:
            return self.drained(number, arg, letter)
        shared = self.shared(number, arg, letter)
        if shared is not None:
            return shared
        if letter == "s" and const and first.string is not None and not first.cut:
            return Source(Kind.CONST, letter, first)
        return None

    def from_result(self, number: int, arg: int, letter: str, opened: bool) -> Source | None:
        """The result of the nearest step before that always equals the argument."""
        for step in range(number - 1, -1, -1):
            if self.opens(step) != opened:
                continue
            if self.steps[step].outcome != "ok":
                continue

            def same(fired, at, value, step=step):
                last = self.last(fired, at, step)
                return last is not None and value.number == last.call.ret

            if self.agrees(number, arg, same) and (opened or self.tells(step)):
                return Source(Kind.RESULT, letter, step=step)
        return None

    def opens(self, step: int) -> bool:
        """Whether the result is a descriptor."""
        if self.steps[step].name == "fcntl":
            args = self.steps[step].args
            return len(args) > 1 and args[1].kind is Kind.CONST and "DUPFD" in args[1].value.text
        return self.steps[step].name in calltable.OPENERS

    def tells(self, step: int) -> bool:
        """Whether a result can be told from any small number."""
        results = {fired[at].call.ret for fired, at in self.places[step]}
        return len(results) > 1 or any(result is not None and result > 8 for result in results)

    def shared(self, number: int, arg: int, letter: str) -> Source | None:
        """An argument of a step before that it always equals."""
        for step in range(number - 1, -1, -1):
            for other, source in enumerate(self.steps[step].args):
                if source.letter != letter or source.kind is not Kind.PARAM:
                    continue

                def same(fired, at, value, step=step, other=other):
                    last = self.last(fired, at, step)
                    return (
                        last is not None
                        and other < len(last.args)
                        and last.args[other].text == value.text
                        and (value.string is not None or value.number is not None)
                    )

                if self.agrees(number, arg, same):
                    return Source(Kind.SHARED, letter, step=step, arg=other)
        return None

    def drained(self, number: int, arg: int, letter: str) -> Source | None:
        """The buffer of a step before whose text, or address, is what is sent."""
        for step in range(number - 1, -1, -1):
            other = FILLERS.get(self.steps[step].name)
            if other is None or other >= len(self.steps[step].args):
                continue

            def same(fired, at, value, step=step, other=other):
                last = self.last(fired, at, step)
                if last is None or other >= len(last.args):
                    return False
                filled = last.args[other]
                if value.string is None or filled.string is None:
                    return value.is_address and value.number == filled.number
                shorter = min(len(value.string), len(filled.string))
                return shorter > 0 and value.string[:shorter] == filled.string[:shorter]

            if self.agrees(number, arg, same):
                return Source(Kind.SHARED, letter, step=step, arg=other)
        return None

    def from_names(self, number: int, arg: int) -> int | None:
        """The step that listed the names that the argument, a path, ends with."""
        for step in range(number - 1, -1, -1):
            if self.steps[step].name not in LISTERS:
                continue

            def listed(fired, at, value, step=step):
                last = self.last(fired, at, step)
                if last is None or value.string is None:
                    return False
                return value.string.rpartition(b"/")[2] in names_in(last.call.args)

            if self.agrees(number, arg, listed):
                return step
        return None

    def advances(self, number: int, arg: int) -> bool:
        """Whether an offset moves on by what the call before has done."""
        step = self.steps[number]
        if OFFSET_ARG.get(step.name) != arg or step.repeat is Repeat.ONCE:
            return False

        def moved(fired, at, value):
            last = self.last(fired, at, number)
            if last is None:
                return True
            return value.number == (last.args[arg].number or 0) + (last.call.ret or 0)

        firsts = [fired for fired in self.all() if sum(f.step == number for f in fired) > 1]
        return bool(firsts) and self.agrees(number, arg, moved)

    def moves(self, number: int, arg: int) -> bool:
        """Whether a parameter differs from repetition to repetition."""
        texts: dict[int, set[str]] = defaultdict(set)
        for fired, _, value in self.seen(number, arg):
            texts[id(fired)].add(value.text)
        return any(len(found) > 1 for found in texts.values())

    def steady(self, number: int, arg: int) -> bool:
        """Whether a parameter is the same in all instances of each run."""
        good = count = 0
        for run in self.fired:
            texts = {
                f.args[arg].text
                for fired in run
                for f in fired
                if f.step == number and arg < len(f.args)
            }
            if len(run) > 1:
                count += 1
                good += len(texts) == 1
        return count > 0 and good >= AGREE * count

    # -- what holds together ----------------------------------------------------

    def find_links(self) -> None:
        named: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for source in step.args:
                if source.kind is Kind.SHARED and self.constant(source):
                    self.flow.weak.add((source.step, number))
                elif source.kind in (Kind.RESULT, Kind.SHARED, Kind.NAME):
                    self.flow.links.add((source.step, number))
                if source.kind is Kind.NAME:
                    # The same name: what works on one entry holds together, too.
                    self.flow.links.add((named.setdefault(source.step, number), number))
        # A descriptor that is always the same, of a log or a directory, holds nothing
        # together unless nothing else does.
        self.flow.links = self.flow.links or self.flow.weak

    def constant(self, source: Source) -> bool:
        """Whether what is shared is the same in all samples, in different runs."""
        texts = {value.text for _, _, value in self.seen(source.step, source.arg)}
        return len(texts) == 1 and self.flow.samples > 1


@lru_cache(maxsize=1024)
def names_in(args: str) -> frozenset[bytes]:
    return frozenset(values.unescape(name) for name in ENTRY_NAME.findall(args))


def follow(template: Template, streams: Streams) -> Flow:
    """The flow of a template, from samples of where it stands."""
    flow = sampled(template, streams)
    for _ in range(UNROLLED):
        opened = unrolled(flow)
        if opened == flow.template:
            break
        flow = sampled(opened, streams)
    return flow


def sampled(template: Template, streams: Streams) -> Flow:
    matcher = Matcher(template, streams.symbols, budget=BUDGET)
    return Follower(template, streams, samples(matcher, streams.streams))()


def unrolled(flow: Flow) -> Template:
    """The template with a few calls of the same kind in a row as so many steps.

    They do different things: close two descriptors, get flags and set them.
    """
    steps = {step.path: step for step in flow.steps}

    def one(template: Template, path: tuple) -> Template:
        found: list = []
        for i, node in enumerate(template):
            step = steps.get((*path, i))
            if step is None:
                loop, body = flow.loops.get((*path, i)), one(node, (*path, i))
                if loop is not None and loop.repeat is Repeat.TIMES and loop.times <= UNROLLED:
                    found += body * loop.times
                else:
                    found.append(body)
            elif step.repeat is Repeat.TIMES and 1 < step.times <= UNROLLED:
                found += [~step.symbol] * step.times
            else:
                found.append(node)
        return tuple(found)

    return one(flow.template, ()) if len(flow.template) > 1 else flow.template


def pieces(flow: Flow) -> list[Template]:
    """Cut a template where no data goes over: what holds together is a sequence."""
    template = flow.template
    if len(template) == 1 and isinstance(template[0], tuple):
        return [template[0]]
    for i, node in enumerate(template):
        if isinstance(node, tuple) and len(cuts(flow, (i,), len(node))) > 2:
            return [part for part in (template[:i], node, template[i + 1 :]) if part]
    places = cuts(flow, (), len(template))
    if len(places) == 2 or not flow.links:
        return [template]
    parts = [template[a:b] for a, b in zip(places, places[1:], strict=False)]
    return joined(parts, flow)


def cuts(flow: Flow, path: tuple, size: int) -> list[int]:
    """Where between the nodes under a path no data goes over, both ends included."""
    depth = len(path)
    spans = []
    for link in flow.links:
        ends = [flow.steps[number].path for number in link]
        if all(end[:depth] == path for end in ends):
            low, high = sorted(end[depth] for end in ends)
            spans.append((low, high))
    inside = [i for i in range(1, size) if not any(low < i <= high for low, high in spans)]
    return [0, *inside, size]


def joined(parts: list[Template], flow: Flow) -> list[Template]:
    """Single calls go with the piece behind them, or before, unless they belong elsewhere."""
    found: list[Template] = []
    waiting: Template = ()
    at, closed = 0, True
    for part in parts:
        if len(part) == 1 and isinstance(part[0], tuple):
            # A loop of its own: it is a batch, and nothing goes with it.
            found.append(part[0])
            waiting, closed = (), True
        elif len(part) > 1 or not alone(flow, (at,)):
            found.append(waiting + part)
            waiting, closed = (), False
        elif dangling(flow, (at,)):
            waiting = ()
        else:
            waiting += part
        at += len(part)
    if waiting and not closed:
        found[-1] += waiting
    elif waiting:
        found.append(waiting)
    return found


def alone(flow: Flow, path: tuple) -> bool:
    """Whether there is one call, once, at a place of the template."""
    return any(step.path == path and step.repeat is Repeat.ONCE for step in flow.steps)


def dangling(flow: Flow, path: tuple) -> bool:
    """Whether a call works on some descriptor or other of which the rest knows nothing."""
    step = next(step for step in flow.steps if step.path == path)
    return any(
        source.letter == "f"
        and (
            source.kind is Kind.PARAM
            and (step.name == "close" or source.moving())
            or source.kind is Kind.SHARED
        )
        for source in step.args
    )
