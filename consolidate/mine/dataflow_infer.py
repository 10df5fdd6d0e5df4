# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Traces the data flow from call to call within a template.

Of the many templates that may become candidates, samples show it. Of a candidate, all instances
do: what is equal in samples may differ later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from consolidate import calltable
from consolidate.mine import dependences
from consolidate.mine.constants import Origin, origin
from consolidate.mine.dataflow import (
    DRAINED,
    DRAINERS,
    FILLERS,
    LISTERS,
    OFFSET_ARG,
    SIZE_ARG,
    Flow,
    Kind,
    Loop,
    Repeat,
    Source,
    Step,
    entries,
    names_in,
    ready,
)
from consolidate.mine.encoded_trace import OK, Symbols, Tape, character, outcome
from consolidate.mine.match import Instance, Matcher, Path, Run
from consolidate.mine.templates import Template, bare, symbol
from consolidate.trace import values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

# Limits of sampled runs, of instances in each, of repetitions in these, and of calls.
RUNS = 32
INSTANCES = 8
REPEATS = 6
SAMPLED = 700
# Limit of a candidate's calls, beyond which instances from all over the trace stand for all.
MOST_CALLS = 40000
# They open a path, or change the directory of names without one.
OPENING_PATHS = frozenset(["open", "openat", "openat2"])
CHANGING_DIRECTORY = frozenset(["chdir", "fchdir"])
AT_FDCWD = -100
# This many equal calls in a row are separate steps rather than a loop.
UNROLLED = 4
# Limit of the values of an argument that are kept.
SEEN = 128
# The share of instances that must agree; the others are exceptions, which are listed.
AGREE = 0.9
# If at least this many calls all moved the full amount, that is no accident.
FULL_FROM = 3


# A value's origin: its kind, step, and argument.
Key = tuple[Kind, int, int]
# An instance's begin and end, and whether it is whole.
Span = tuple[int, int, bool]


@dataclass(slots=True)
class Firing:
    """One step's call within an instance."""

    step: int
    call: Call
    args: list[Value]


def steps_of(template: Template, symbols: Symbols, path: Path = ()) -> Iterator[Step]:
    for i, node in enumerate(template):
        if isinstance(node, tuple):
            yield from steps_of(node, symbols, (*path, i))
        else:
            number = symbol(node)
            name, came_out = symbols.names[number], symbols.outcomes[number]
            yield Step((*path, i), number, name, came_out, node < 0)


def firings(
    instance: Instance, index: dict[Path, int], repeats: int | None, path: Path = ()
) -> Iterator[Firing]:
    for i, part in enumerate(instance.parts):
        for one in part[:repeats]:
            if isinstance(one, Instance):
                yield from firings(one, index, repeats, (*path, i))
            else:
                call = instance.tape.call(one)
                yield Firing(index[*path, i], call, values.of_call(call.name, call.args))


@dataclass(slots=True)
class Argument:
    """The observed values of one argument of a step."""

    seen: list[Value] = field(default_factory=list)
    # Other values that it was equal to, and how often.
    agreed: dict[Key, int] = field(default_factory=dict)
    by_instance: list[set[str]] = field(default_factory=list)
    by_run: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    starts: set[str] = field(default_factory=set)  # its first values in the instances

    @property
    def is_constant(self) -> bool:
        return len(set().union(*self.by_run.values())) == 1

    def add(self, value: Value, run: int) -> None:
        if not self.by_instance[-1]:
            self.starts.add(value.text)
        self.seen.append(value)
        self.by_instance[-1].add(value.text)
        self.by_run[run].add(value.text)

    def every(self, key: Key) -> bool:
        return self.agreed.get(key, 0) == len(self.seen)

    def always(self, key: Key) -> bool:
        return self.agreed.get(key, 0) >= AGREE * len(self.seen)

    def others(self, key: Key) -> int:
        """How often it was not equal."""
        return len(self.seen) - self.agreed.get(key, 0)


class Now:
    """The known values at a call within an instance, by step."""

    def __init__(self) -> None:
        self.of: dict[tuple, set[Key]] = defaultdict(set)
        self.held: dict[int, list[tuple]] = {}  # the values of each step's last call
        self.texts: dict[tuple[int, int], bytes] = {}  # contents of buffers
        self.paths: dict[int, bytes] = {}  # of opened files
        self.copied: dict[int, int] = {}  # descriptors of the same file
        self.cwd: int | bytes = b"."  # or what it was changed to

    def add(self, firing: Firing, kinds: str) -> None:
        for value, key in self.held.get(firing.step, ()):
            self.of[value].discard(key)
        held = self.held[firing.step] = [*self.given(firing, kinds), *self.got(firing)]
        for value, key in held:
            self.of[value].add(key)
        self.look_at_paths(firing)

    def look_at_paths(self, firing: Firing) -> None:
        name, number, args = firing.call.name, firing.call.ret, firing.args
        if firing.call.error is not None or not args:
            return  # damaged lines may lack arguments
        if name in OPENING_PATHS:
            self.paths[number] = text_in(firing)
            self.copied.pop(number, None)
        elif name.startswith("dup") or name == "fcntl" and "DUPFD" in firing.call.args:
            self.copied[number] = self.copied.get(args[0].number, args[0].number)
        elif name in CHANGING_DIRECTORY:
            self.cwd = text_in(firing) or args[0].number

    def given(self, firing: Firing, kinds: str) -> Iterator[tuple]:
        """The values passed to a call."""
        for arg, value in enumerate(firing.args):
            letter = kinds[arg] if arg < len(kinds) else "i"
            # Two buffers may have the same contents, or begin with the same.
            contents = value.cut or arg == FILLERS.get(firing.call.name)
            if value.number is not None or value.string is not None and not contents:
                yield (letter, value.text), (Kind.SHARED, firing.step, arg)

    def got(self, firing: Firing) -> Iterator[tuple]:
        """The values returned by a call: its result, names, ready descriptors, a buffer."""
        call, step = firing.call, firing.step
        if call.ret is not None and call.error is None:
            yield ("number", call.ret), (Kind.RESULT, step, -1)
        for number in ready(call):
            yield ("ready", number), (Kind.READY, step, -1)
        if call.name in LISTERS and firing.args:
            for directory in self.directories(firing.args[0]):
                for name in names_in(call.args):
                    yield ("name", directory, name), (Kind.NAME, step, -1)
        filled = FILLERS.get(call.name)
        if filled is not None and filled < len(firing.args):
            value = firing.args[filled]
            yield ("address", value.number), (Kind.SHARED, step, filled)
            if value.string:
                self.texts[step, filled] = value.string

    def directories(self, fd: Value) -> set[int | bytes]:
        """A listed directory: its descriptor, and its paths as far as the trace shows them."""
        opened = self.paths.get(fd.number, b"")
        number = self.copied.get(fd.number, fd.number)
        return {number, opened.rstrip(b"/") or opened, (fd.path or "").encode()} - {b""}

    def within(self, directory: bytes, at: Value | None) -> set[int | bytes]:
        """What a path's directory may be, by its text and the descriptor before it."""
        if directory:
            return {directory.rstrip(b"/") or directory}
        cwd = at is None or at.number == AT_FDCWD
        number = self.cwd if cwd else self.copied.get(at.number, at.number)
        return {number, (at and at.path or "").encode()} - {b""}

    def sources(
        self, letter: str, value: Value, at: Value | None, drains: bool
    ) -> Iterator[Iterable[Key]]:
        """Everything that has this value now, each once."""
        of = self.of.get
        shared = of((letter, value.text), ())
        yield shared
        if value.number is not None:
            yield of(("number", value.number), ())
            if letter == "f":
                yield of(("ready", value.number), ())
        elif value.string is not None:
            directory, slash, name = value.string.rpartition(b"/")
            places = self.within(directory + slash, at)
            yield set().union(*(of(("name", place, name), ()) for place in places))
        if drains and value.string is not None:
            yield {
                (Kind.SHARED, *key) for key, text in self.texts.items() if alike(text, value)
            }.difference(shared)
        elif drains and value.is_address:
            yield of(("address", value.number), set()).difference(shared)


def text_in(firing: Firing) -> bytes:
    """A call's first string, such as its path."""
    return next((value.string for value in firing.args if value.string is not None), b"")


def alike(text: bytes, value: Value) -> bool:
    """Whether two texts are equal as far as the trace shows them."""
    shorter = min(len(text), len(value.string))
    return shorter > 0 and text[:shorter] == value.string[:shorter]


def is_until(step: Step, after: Step) -> bool:
    """Whether a call is repeated until it has the outcome of the one after it."""
    if after.name != step.name or after.symbol == step.symbol:
        return False
    return after.outcome == OK or step.outcome == OK and step.name in DRAINED


def some_of(runs: list[Run]) -> Iterator[list[Span]]:
    """Spans of samples, by run."""
    count = 0
    for run in runs[:: len(runs) // RUNS + 1]:
        if count > SAMPLED:
            break
        spans = run.spans[:INSTANCES]
        count += sum(end - begin for begin, end, _ in spans)
        yield spans


def all_of(runs: list[Run]) -> Iterator[list[Span]]:
    """All spans, by run, or in long traces a few adjacent ones here and there."""
    each = sum(run.calls for run in runs) // MOST_CALLS + 1
    at = 0
    for run in runs:
        parts = [run.spans[i : i + INSTANCES] for i in range(0, len(run.spans), INSTANCES)]
        yield list(chain(*parts[-at % each :: each]))
        at += len(parts)


class Follower:
    """Determines the source of each argument of a template's steps."""

    def __init__(
        self,
        template: Template,
        matcher: Matcher,
        tape: Tape,
        runs: list[Run],
        samples: bool = False,
    ) -> None:
        self.steps = list(steps_of(template, tape.symbols))
        self.index = {step.path: i for i, step in enumerate(self.steps)}
        self.kinds = [calltable.kinds(step.name) for step in self.steps]
        self.flow = Flow(template, self.steps)
        self.turns = REPEATS if samples else None  # of each repetition
        chosen = some_of(runs) if samples else all_of(runs)
        self.runs = [[matcher.instance(tape, *span) for span in spans] for spans in chosen]
        self.flow.samples = sum(one.whole for run in self.runs for one in run)
        self.arguments: list[list[Argument]] = [[] for _ in self.steps]
        self.rets: list[list[Call]] = [[] for _ in self.steps]
        self.visible: list[list[int]] = []  # of each step, see visible_steps()

    def __call__(self) -> Flow:
        if not self.flow.samples:
            self.flow.refused = "it never comes in full"
            return self.flow
        self.look()
        if not all(self.rets):
            self.flow.refused = "a part of it never comes"
            return self.flow
        self.repeats()
        self.visible = self.visible_steps()
        self.find_passes()
        for number, step in enumerate(self.steps):
            step.args = [self.source(number, arg) for arg in range(len(self.arguments[number]))]
            step.full = self.sizes(number, lambda moved, size: moved == size)
            step.short = self.is_short(number)
        for one in [*self.steps, *self.flow.loops.values()]:
            if one.repeat is Repeat.TIMES and self.moving(one.path):
                one.repeat = Repeat.GIVEN
        self.find_links()
        self.find_hidden()
        self.flow.goes_on = self.goes_on()
        dependences.find_needs(self.flow, self.runs)
        return self.flow

    # -- what is seen ------------------------------------------------------------

    def look(self) -> None:
        """Collects all values, and others that are equal to them."""
        for number, run in enumerate(self.runs):
            for instance in run:
                if instance.whole:
                    for argument in chain(*self.arguments):
                        argument.by_instance.append(set())
                    self.look_at(instance, number)

    def look_at(self, instance: Instance, run: int) -> None:
        now = Now()
        for firing in firings(instance, self.index, self.turns):
            number, kinds = firing.step, self.kinds[firing.step]
            self.rets[number].append(firing.call)
            arguments = self.arguments[number]
            while len(arguments) < len(firing.args):
                arguments.append(Argument(by_instance=[set()]))
            drained = DRAINERS.get(firing.call.name)
            for arg, value in enumerate(firing.args):
                argument = arguments[arg]
                argument.add(value, run)
                letter = kinds[arg] if arg < len(kinds) else "i"
                agreed = argument.agreed
                at = firing.args[arg - 1] if arg and kinds[arg - 1 : arg] == "f" else None
                for keys in now.sources(letter, value, at, arg == drained):
                    for key in keys:
                        agreed[key] = agreed.get(key, 0) + 1
            self.advance(now, firing)
            now.add(firing, kinds)

    def advance(self, now: Now, firing: Firing) -> None:
        """Record whether an offset advanced by the previous call's result."""
        arg = OFFSET_ARG.get(firing.call.name)
        if arg is None or arg >= len(firing.args):
            return
        number = firing.args[arg].number or 0
        held = [key for _, key in now.held.get(firing.step, ())]
        before = self.rets[firing.step][-2] if held and len(self.rets[firing.step]) > 1 else None
        if before is not None:
            start = values.of_call(before.name, before.args)[arg].number or 0
        if before is None or number == start + (before.ret or 0):
            agreed, key = self.arguments[firing.step][arg].agreed, (Kind.ADVANCE, firing.step, -1)
            agreed[key] = agreed.get(key, 0) + 1

    # -- repetitions -----------------------------------------------------------

    def repeats(self) -> None:
        self.repeats_in(self.flow.template, (), [one for run in self.runs for one in run])

    def repeats_in(self, template: Template, path: Path, instances: list[Instance]) -> None:
        for i, node in enumerate(template):
            here = (*path, i)
            parts = [one.parts[i] for one in instances if one.whole and i < len(one.parts)]
            counts = [len(part) for part in parts]
            is_loop = isinstance(node, tuple)
            repeat, times = self.repeat(template, i, counts, is_loop, here)
            if is_loop:
                self.flow.loops[here] = Loop(here, repeat, times)
                self.repeats_in(node, here, [one for part in parts for one in part[: self.turns]])
            else:
                step = self.steps[self.index[here]]
                step.repeat, step.times = repeat, times

    def repeat(self, template, i: int, counts: list[int], is_loop: bool, here: Path):
        many = sum(count != 1 for count in counts)
        if self.over(here, Kind.READY):
            return Repeat.READY, 1
        if not is_loop and (not counts or many <= (1 - AGREE) * len(counts)):
            if self.step_of(symbol(template[i])).name not in calltable.QUERIES:
                self.add_exception(here, "once", many, len(counts))
            return Repeat.ONCE, 1
        first = template[i]
        while isinstance(first, tuple):
            first = first[0]
        first = symbol(first)
        step = self.step_of(first)
        name = step.name
        following = template[i + 1] if i + 1 < len(template) else first
        is_call = not isinstance(following, tuple)
        if is_call and is_until(step, self.step_of(symbol(following))):
            return Repeat.UNTIL, 1
        if self.over(here, Kind.NAME):
            return Repeat.NAMES, 1
        common, seen = Counter(counts).most_common(1)[0] if counts else (1, 0)
        if counts and seen >= AGREE * len(counts):
            self.add_exception(here, f"{common} times", len(counts) - seen, len(counts))
            return Repeat.TIMES, common
        if not is_loop and name in calltable.QUERIES:
            # A repeated query is rare: the program makes it outside the script.
            return Repeat.ONCE, 1
        return Repeat.GIVEN, 1

    def add_exception(self, here: Path, what: str, others: int, count: int) -> None:
        """Lists how often a rule that the script follows does not hold."""
        number = next(i for i, step in enumerate(self.steps) if step.path[: len(here)] == here)
        if others:
            text = f"step {number + 1}, {self.steps[number].name}(): {what}"
            self.flow.exceptions.append(f"{text}, but not in {others} of {count}")

    def step_of(self, symbol_: int) -> Step:
        return next(step for step in self.steps if step.symbol == symbol_)

    def over(self, here: Path, kind: Kind) -> bool:
        """Whether the repeated step works on the results of an earlier listing or wait."""
        if len(here) > 1:
            return False
        inside = [i for i, step in enumerate(self.steps) if step.path[: len(here)] == here]
        for number in inside:
            for argument in self.arguments[number][:3]:
                for step in range(inside[0]):
                    if argument.always((kind, step, -1)) and self.all_of(here, kind, step):
                        return True
        return False

    def all_of(self, here: Path, kind: Kind, step: int) -> bool:
        """Whether it is repeated for all of them, as a script would."""
        good = count = 0
        for run in self.runs:
            for one in run:
                if not one.whole or here[0] >= len(one.parts):
                    continue
                before = one.parts[self.steps[step].path[0]]
                if not before or isinstance(before[0], Instance):
                    return False
                calls = [one.tape.call(at) for at in before]
                size = sum(map(len, map(entries, calls))) if kind is Kind.NAME else calls[-1].ret
                count += 1
                good += len(one.parts[here[0]]) == size
        if good < AGREE * count:
            return False
        self.add_exception(here, f"for each {kind.value} of step {step + 1}", count - good, count)
        return True

    def find_passes(self) -> None:
        """Finds other outcomes with which an iteration, or a loop, simply ended."""
        for run in self.runs:
            self.passes_in(run, ())

    def passes_in(self, instances: list[Instance], path: Path) -> None:
        for one in instances[:-1]:
            left = one.left_at
            if left is not None and (*path, left) in self.index and one.parts[left]:
                call = one.tape.call(one.parts[left][0])
                self.steps[self.index[*path, left]].passes.add(outcome(call))
        for one in instances:
            for i, part in enumerate(one.parts):
                if part and isinstance(part[0], Instance):
                    self.passes_in(part, (*path, i))

    def sizes(self, number: int, compare: Callable[[int, int], bool]) -> bool:
        """Whether moved and requested sizes compare like this each time."""
        step = self.steps[number]
        size = SIZE_ARG.get(step.name)
        if size is None or step.name in LISTERS or step.outcome != OK:
            return False
        if size >= len(self.arguments[number]) or len(self.rets[number]) < FULL_FROM:
            return False
        # A damaged line may lack the number.
        sizes = (value.number for value in self.arguments[number][size].seen)
        pairs = zip(self.rets[number], sizes, strict=False)
        return all(size is not None and compare(call.ret, size) for call, size in pairs)

    def is_short(self, number: int) -> bool:
        """Whether a buffer was never full: then the program's reaction to a full one is unknown."""
        step = self.steps[number]
        if step.name not in FILLERS or step.repeat is Repeat.UNTIL:
            return False
        return self.sizes(number, lambda moved, size: moved < size)

    # -- arguments -------------------------------------------------------------

    def source(self, number: int, arg: int) -> Source:
        kinds = self.kinds[number]
        letter = kinds[arg] if arg < len(kinds) else "i"
        argument = self.arguments[number][arg]
        source = self.derived(number, arg, letter, argument)
        if source is None:
            # A number that never changed may still be a property of each item.
            steady = self.steady(argument) and not (letter == "i" and argument.is_constant)
            source = Source(Kind.PARAM, letter, steady=steady)
        elif source.kind is not Kind.CONST:
            self.add_exceptions_of(number, arg, source)
        # An odd step: odd and even iterations may differ.
        source.seen = argument.seen[:: len(argument.seen) // SEEN | 1]
        source.varies = not argument.is_constant
        source.most = max((value.number or 0 for value in argument.seen), default=0)
        if source.kind is Kind.PARAM:
            source.moves = any(len(texts) > 1 for texts in argument.by_instance)
        return source

    def derived(self, number: int, arg: int, letter: str, argument: Argument) -> Source | None:
        first = argument.seen[0]
        whose = origin(self.steps[number].name, arg, first)
        const = argument.is_constant and whose is not Origin.PROGRAM
        if letter == "f":
            if const and first.number == -100:
                return Source(Kind.CONST, letter, first)
            return (
                self.from_result(number, letter, argument, True)
                or self.from_ready(number, letter, argument)
                or self.shared(number, letter, argument)
            )
        if letter in "sp":
            source = self.pointer(number, arg, letter, argument, const)
            if source is not None and source.kind is Kind.CONST:
                source.assumed = whose is Origin.UNKNOWN
            return source
        advances = argument.always((Kind.ADVANCE, number, -1))
        if self.steps[number].repeat is Repeat.UNTIL and not const and advances:
            fixed = len(argument.starts) == 1 and whose is not Origin.PROGRAM
            return Source(Kind.ADVANCE, letter, first if fixed else None, step=number)
        found = self.from_result(number, letter, argument, False)
        if found is not None and (not const or self.steps[found.step].name in calltable.COUNTERS):
            return found
        if const:
            return Source(Kind.CONST, letter, first, assumed=whose is Origin.UNKNOWN)
        # Constant numbers are no evidence for each other.
        return found or (None if argument.is_constant else self.shared(number, letter, argument))

    def pointer(
        self, number: int, arg: int, letter: str, argument: Argument, const: bool
    ) -> Source | None:
        first = argument.seen[0]
        plain = not (first.is_address or first.is_struct or first.string is not None)
        if const and plain:
            # A constant that is not an address: fcntl(2) takes either.
            return Source(Kind.CONST, letter, first)
        if letter == "s" and self.within(number, Repeat.NAMES):
            for step in range(number - 1, -1, -1):
                if argument.always((Kind.NAME, step, -1)):
                    return Source(Kind.NAME, letter, step=step)
        if DRAINERS.get(self.steps[number].name) == arg:
            return self.drained(number, letter, argument)
        shared = self.shared(number, letter, argument)
        if shared is not None:
            return shared
        if letter == "s" and const and first.string is not None and not first.cut:
            return Source(Kind.CONST, letter, first)
        return None

    def add_exceptions_of(self, number: int, arg: int, source: Source) -> None:
        """Lists how often an argument has another source; one of a parameter never has."""
        where = f"step {source.step + 1}"
        what = {
            Kind.RESULT: f"the result of {where}",
            Kind.NAME: f"a name of {where}",
            Kind.READY: f"ready in {where}",
            Kind.ADVANCE: "where the call before ended",
            Kind.SHARED: f"the data of {where}",
        }[source.kind]
        argument = self.arguments[number][arg]
        others = argument.others((source.kind, source.step, source.arg))
        what = f"argument {arg + 1} is {what}"
        self.add_exception(self.steps[number].path, what, others, len(argument.seen))

    def within(self, number: int, repeat: Repeat) -> bool:
        """Whether a step is executed for each result of an earlier step."""
        step = self.steps[number]
        around = [loop for path, loop in self.flow.loops.items() if path == step.path[: len(path)]]
        return any(one.repeat is repeat for one in [step, *around])

    def visible_steps(self) -> list[list[int]]:
        """For each step the earlier ones whose values it can use, the nearest first.

        Values within a loop are lost after it.
        """
        around = [self.flow.around(number) for number in range(len(self.steps))]
        return [
            [step for step in reversed(range(number)) if loops[: len(around[step])] == around[step]]
            for number, loops in enumerate(around)
        ]

    def from_result(
        self, number: int, letter: str, argument: Argument, opened: bool
    ) -> Source | None:
        """The result of the nearest earlier step that always equals the argument."""
        for step in self.visible[number]:
            if not argument.always((Kind.RESULT, step, -1)) or self.flow.opens(step) != opened:
                continue
            if self.steps[step].outcome == OK and (opened or self.tells(step)):
                return Source(Kind.RESULT, letter, step=step)
        return None

    def tells(self, step: int) -> bool:
        """Whether a result can be distinguished from any small number."""
        results = {call.ret for call in self.rets[step]}
        return len(results) > 1 or any(result is not None and result > 8 for result in results)

    def from_ready(self, number: int, letter: str, argument: Argument) -> Source | None:
        """The earlier wait that found it ready."""
        if not self.within(number, Repeat.READY):
            return None
        for step in self.visible[number]:
            if argument.always((Kind.READY, step, -1)):
                return Source(Kind.READY, letter, step=step)
        return None

    def shared(self, number: int, letter: str, argument: Argument) -> Source | None:
        """An argument of an earlier step that it always equals."""
        for step in self.visible[number]:
            for other, source in enumerate(self.steps[step].args):
                own = source.letter == letter and source.kind in (Kind.PARAM, Kind.READY)
                key = Kind.SHARED, step, other
                # What is only mostly equal is so by chance: a mode, then a size.
                if own and argument.every(key):
                    return Source(Kind.SHARED, letter, step=step, arg=other)
        return None

    def drained(self, number: int, letter: str, argument: Argument) -> Source | None:
        """The buffer of an earlier step whose contents, or address, is sent."""
        for step in self.visible[number]:
            other = FILLERS.get(self.steps[step].name)
            if other is not None and argument.always((Kind.SHARED, step, other)):
                return Source(Kind.SHARED, letter, step=step, arg=other)
        return None

    def steady(self, argument: Argument) -> bool:
        """Whether a parameter is the same in all instances of each run."""
        several = [
            argument.by_run.get(number, ())
            for number, run in enumerate(self.runs)
            if sum(one.whole for one in run) > 1
        ]
        return bool(several) and all(len(texts) <= 1 for texts in several)

    def moving(self, path: Path) -> bool:
        """Whether the program passes another value in each repetition."""
        inside = [step for step in self.steps if step.path[: len(path)] == path]
        return any(
            source.kind is Kind.PARAM and source.moves and not dependences.is_filled(step, arg)
            for step in inside
            for arg, source in enumerate(step.args)
        )

    # -- what holds together ----------------------------------------------------

    def find_links(self) -> None:
        named: dict[int, int] = {}
        weak = set()
        for number, step in enumerate(self.steps):
            for source in step.args:
                if source.kind is Kind.SHARED and self.constant(source):
                    weak.add((source.step, number))
                elif source.kind in (Kind.RESULT, Kind.SHARED, Kind.NAME, Kind.READY):
                    self.flow.links.add((source.step, number))
                if source.kind is Kind.NAME:
                    # Steps with the same name belong together: they work on one entry.
                    self.flow.links.add((named.setdefault(source.step, number), number))
        # A descriptor that never changes, of a log or a directory, connects nothing unless nothing
        # else does.
        self.flow.links = self.flow.links or weak

    def find_hidden(self) -> None:
        """Descriptors that an earlier loop, or iteration, opened: the program passes them."""
        for number, step in enumerate(self.steps):
            for arg, source in enumerate(step.args):
                if source.kind is not Kind.PARAM or source.letter != "f":
                    continue
                argument = self.arguments[number][arg]
                for opener in filter(self.flow.opens, range(len(self.steps))):
                    same = argument.agreed.get((Kind.RESULT, opener, -1), 0)
                    if opener < number and same >= AGREE * len(argument.seen):
                        self.flow.needs.add((opener, number))
                    elif opener >= number and same >= AGREE * self.later_turns(number) > 0:
                        both = zip(self.flow.around(opener), self.flow.around(number), strict=False)
                        self.flow.apart |= {one for one, other in both if one == other}

    def goes_on(self) -> bool:
        """Whether its last step is the next iteration's first, followed by the second one."""
        if len(self.steps) < 2:
            return False
        second = character(self.steps[1].symbol)
        ends = [one for run in self.runs for one in run if one.whole]
        return 2 * sum(one.tape.text[one.end] == second for one in ends) > len(ends)

    def later_turns(self, number: int) -> int:
        """How often a step occurred again within an iteration."""
        came = sum(bool(texts) for texts in self.arguments[number][0].by_instance)
        return len(self.arguments[number][0].seen) - came

    def constant(self, source: Source) -> bool:
        """Whether a shared value is the same in all samples, in different runs."""
        texts = {value.text for value in self.arguments[source.step][source.arg].seen}
        return len(texts) == 1 and self.flow.samples > 1


def follow(template: Template, tape: Tape) -> Flow:
    """The data flow of a template, from samples of its instances."""
    flow = sampled(template, tape)
    for _ in range(UNROLLED):
        opened = bare(unrolled(flow))
        if opened == flow.template:
            break
        flow = sampled(opened, tape)
    return flow


def sampled(template: Template, tape: Tape) -> Flow:
    matcher = Matcher(template, tape)
    return Follower(template, matcher, tape, matcher.runs(), samples=True)()


def is_few(one: Step | Loop) -> bool:
    """Whether it is always executed the same few times."""
    counted = one.repeat is Repeat.TIMES or one.repeat is Repeat.GIVEN and one.times > 1
    return counted and one.times <= UNROLLED


def unrolled(flow: Flow) -> Template:
    """The template with a few consecutive calls of the same kind as separate steps.

    They differ in purpose: close two descriptors, get flags and set them.
    """
    steps = {step.path: step for step in flow.steps}

    def one(template: Template, path: Path) -> Template:
        found: list = []
        for i, node in enumerate(template):
            step = steps.get((*path, i))
            if step is None:
                loop, body = flow.loops.get((*path, i)), one(node, (*path, i))
                if loop is not None and is_few(loop):
                    found += body * loop.times
                else:
                    found.append(body)
            elif is_few(step) and step.times > 1:
                found += [~step.symbol] * step.times
            else:
                found.append(node)
        return tuple(found)

    return one(flow.template, ()) if len(flow.template) > 1 else flow.template
