# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Chooses among the templates: candidates that do not overlap, best first.

What one covers is taken out of the streams before the next is looked for, so the
savings of all that are listed add up, and a part of a sequence is listed only for
where it comes without the rest.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from consolidate import flow, mine
from consolidate.flow import Flow, Kind, Repeat
from consolidate.match import Instance, Matcher, Run, leaves
from consolidate.mine import Found, Template
from consolidate.streams import NONE, OK, Stream, Streams

# Templates whose data is followed, most promising first.
FOLLOWED = 120
# How often what is left is looked at anew.
ROUNDS = 4
# Runs that tell the flow of a candidate.
RUNS = 24
# Calls in the part of a trace in which the best are found, and in one stretch of it.
SAMPLE = 40000
PART = 2000
# Places tried in one of them, per call in the trace: more take those that fail late
# again and again.
TRIES = 2


@dataclass(slots=True)
class Candidate:
    """A template, its flow, and where it stands."""

    number: int
    template: Template
    flow: Flow
    runs: list[Run] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        return sum(len(run.instances) for run in self.runs)

    @property
    def calls(self) -> int:
        return sum(run.size() for run in self.runs)

    def batched(self) -> bool:
        """Whether one call of its script does many iterations."""
        return not self.arrays() and self.iterations >= 2 * len(self.runs)

    def arrays(self) -> bool:
        """Whether one iteration alone takes arrays."""
        steps = self.flow.steps
        return any(s.repeat is Repeat.GIVEN for s in [*steps, *self.flow.loops.values()]) or any(
            step.repeat in (Repeat.UNTIL, Repeat.TIMES) and step.outcome not in (OK, NONE)
            for step in steps
        )

    def script_calls(self) -> int:
        return len(self.runs) if self.batched() else self.iterations

    def saved(self) -> int:
        return self.calls - self.script_calls()

    def failed(self) -> dict[int, int]:
        """The steps that came out otherwise and did not end the run, and how often."""
        found: dict[int, int] = {}
        top = {step.path[0]: i for i, step in enumerate(self.flow.steps) if len(step.path) == 1}
        for run in self.runs:
            for instance in run.instances[:-1]:
                if instance.left_at in top:
                    number = top[instance.left_at]
                    found[number] = found.get(number, 0) + 1
        return found


def covered(runs: list[Run]) -> dict[int, list[Instance]]:
    """The instances in each stream."""
    found: dict[int, list[Instance]] = defaultdict(list)
    for run in runs:
        for instance in run.instances:
            found[id(instance.stream)].append(instance)
    return found


def without(streams: list[Stream], runs: list[Run], joins: bool) -> list[Stream]:
    """What is left of the streams when the runs are taken out."""
    taken = covered(runs)
    left: list[Stream] = []
    for stream in streams:
        instances = taken.get(id(stream))
        if not instances:
            left.append(stream)
            continue
        at, parts = 0, []
        for instance in sorted(instances, key=lambda one: one.begin):
            if instance.begin > at:
                parts.append(stream.part(at, instance.begin))
            at = max(at, instance.end)
        if at < len(stream.calls):
            parts.append(stream.part(at, len(stream.calls)))
        left += [glued(parts)] if joins and parts else parts
    return left


def glued(parts: list[Stream]) -> Stream:
    """One stream again: what stood between calls whose order is free."""
    first = parts[0]
    found = Stream(first.thread, first.calls[:0])
    for part in parts:
        for token, symbol in enumerate(part.tokens):
            if not found.tokens or found.tokens[-1] != symbol:
                found.tokens.append(symbol)
                found.begins.append(len(found.calls))
            found.calls.extend(part.calls[part.begins[token] : part.begins[token + 1]])
    found.begins.append(len(found.calls))
    return found


class Chooser:
    """Follows the data of templates, then covers the trace with the best."""

    def __init__(self, streams: Streams, found: Found, progress: Callable[[str], None]) -> None:
        self.streams = streams
        self.found = found
        self.progress = progress
        self.flows: dict[Template, Flow] = {}
        self.left = list(streams.streams)
        self.totals: Counter[int] = Counter()
        for stream in streams.streams:
            for token, symbol in enumerate(stream.tokens):
                self.totals[symbol] += stream.run(token)
        self.budget = TRIES * streams.kept + 1000

    def follow(self) -> None:
        """The flows of the templates, and of the pieces that these fall into."""
        ranked = sorted(self.found.templates.items(), key=lambda one: -one[1])
        waiting = [template for template, _ in ranked[:FOLLOWED]]
        waiting.reverse()
        seen = set()
        while waiting:
            template = waiting.pop()
            if template in seen:
                continue
            seen.add(template)
            self.progress("following the data")
            found = flow.follow(template, self.streams)
            parts = flow.pieces(found)
            if parts == [found.template] and twice(found.template):
                waiting.append(found.template[: len(found.template) // 2])
            elif parts == [found.template]:
                self.flows[found.template] = found
                seen.add(found.template)
            else:
                waiting += [part for part in parts if part not in seen]

    def scan(self, template: Template, streams: list[Stream]) -> Candidate:
        found = self.flows[template]
        matcher = Matcher(template, self.streams.symbols, found.once(), self.budget)
        candidate = Candidate(0, template, found)
        for stream in streams:
            candidate.runs += matcher.runs(stream)
        return candidate

    def promise(self, template: Template) -> int:
        """Calls that it covers at most."""
        return sum(self.totals[symbol] for symbol in set(leaves(template)))

    def choose(self, most: int) -> list[Candidate]:
        """The candidates that save most calls, each of what the ones before left."""
        self.follow()
        chosen: list[Candidate] = []
        while len(chosen) < most:
            before = len(chosen)
            for template in self.best(sample(self.left)):
                self.progress("choosing")
                candidate = self.scan(template, self.left)
                if self.recurs(candidate):
                    # Now of what it really covers, from all over the trace.
                    runs = candidate.runs[:: len(candidate.runs) // RUNS + 1]
                    candidate.flow = flow.Follower(template, self.streams, runs)()
                    chosen.append(candidate)
                    self.take(candidate)
                if len(chosen) == most:
                    break
            if len(chosen) == before:
                break
        return chosen

    def take(self, candidate: Candidate) -> None:
        joins = Matcher(candidate.template, self.streams.symbols).queries
        self.left = without(self.left, candidate.runs, joins)

    def best(self, streams: list[Stream]) -> Iterator[Template]:
        """Templates in the order of what they save in a part of the trace."""
        heap = [
            (-self.promise(template), i, template)
            for i, template in enumerate(self.flows)
            if not self.flows[template].refused and writable(self.flows[template])
        ]
        heapq.heapify(heap)
        while heap:
            _, i, template = heapq.heappop(heap)
            candidate = self.scan(template, streams)
            if not self.recurs(candidate):
                continue
            if heap and candidate.saved() < -heap[0][0]:
                heapq.heappush(heap, (-candidate.saved(), i, template))
                continue
            yield template
            joins = Matcher(template, self.streams.symbols).queries
            streams = without(streams, candidate.runs, joins)

    def recurs(self, candidate: Candidate) -> bool:
        """Whether what is left of it is more than chance."""
        if candidate.saved() < mine.OFTEN or candidate.iterations < mine.OFTEN:
            return False
        tokens = tuple(leaves(candidate.template))
        if len(tokens) == 1:
            return self.found.chance.repeats(candidate.calls, len(candidate.runs))
        whole = sum(one.whole for run in candidate.runs for one in run.instances)
        return self.found.chance.beyond(tokens, whole)


def twice(template: Template) -> bool:
    """Whether it is the same two times."""
    half = len(template) // 2
    return half > 0 and template[:half] == template[half:]


def writable(found: Flow) -> bool:
    """Whether there is a form for its script: loops in it are of one call, or of names."""
    for path, loop in found.loops.items():
        body = [i for i, step in enumerate(found.steps) if step.path[: len(path)] == path]
        if loop.repeat in (Repeat.TIMES, Repeat.GIVEN) and len(body) > 1:
            return False
        if loop.repeat is Repeat.UNTIL and any(
            source.moves and source.letter != "p" for i in body for source in found.steps[i].args
        ):
            return False
        if loop.repeat is Repeat.NAMES and any(
            found.steps[i].repeat is not Repeat.ONCE
            or any(s.kind is Kind.RESULT and s.step in body for s in found.steps[i].args)
            for i in body
        ):
            return False
    return lists(found) < 2


def lists(found: Flow) -> int:
    """Loops in a template that take values of the program's own each time."""
    repeats = [(step.path, step.repeat) for step in found.steps]
    repeats += [(loop.path, loop.repeat) for loop in found.loops.values()]
    return sum(
        repeat is Repeat.GIVEN
        or repeat in (Repeat.UNTIL, Repeat.TIMES)
        and any(
            source.moves and source.letter != "p"
            for step in found.steps
            if step.path[: len(path)] == path
            for source in step.args
        )
        for path, repeat in repeats
    )


def sample(streams: list[Stream]) -> list[Stream]:
    """The streams, or of very long traces parts from all over them."""
    total = sum(len(stream.calls) for stream in streams)
    if total <= SAMPLE:
        return streams
    found, step, due = [], PART * total // SAMPLE, 0.0
    for stream in streams:
        size = len(stream.calls)
        if size < PART:
            # Of short ones every so manieth as a whole.
            due += SAMPLE / total
            if due >= 1:
                due -= 1
                found.append(stream)
            continue
        found += [stream.part(i, min(i + PART, size)) for i in range(0, size, step)]
    return found


def choose(streams: Streams, progress: Callable[[str], None], most: int = 20) -> list[Candidate]:
    """Looks again at what is left: what is rare shows when the frequent is gone."""
    chosen: list[Candidate] = []
    for _ in range(ROUNDS):
        chooser = Chooser(streams, mine.mine(streams), progress)
        found = chooser.choose(most - len(chosen))
        chosen += found
        if not found or len(chosen) == most:
            break
        kept = sum(len(stream.calls) for stream in chooser.left)
        streams = Streams(streams.symbols, chooser.left, kept=kept)
    for number, candidate in enumerate(chosen, 1):
        candidate.number = number
    return chosen
