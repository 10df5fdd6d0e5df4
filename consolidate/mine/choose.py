# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Chooses candidates among the templates: they do not overlap, best first.

Calls that one covers are removed from the tape before the next is searched. So the savings of all
listed candidates add up, and a part of a sequence is listed only for its occurrences without the
rest.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator

from consolidate.mine import dataflow_infer, shape, templates
from consolidate.mine.candidate import Candidate, Scan, name_all
from consolidate.mine.dataflow import Flow
from consolidate.mine.dataflow_infer import Follower
from consolidate.mine.encoded_trace import Tape, character
from consolidate.mine.match import Matcher
from consolidate.mine.split import pieces
from consolidate.mine.templates import Found, Template, halved, leaves

# Templates whose data flow is traced, most promising first.
FOLLOWED = 100
# How often the rest is searched again.
ROUNDS = 4
# Calls in the part of a trace in which templates are searched, and in one stretch of it.
SAMPLE = 40000
PART = 2000
# Calls that a listed sequence must save: a minimum, and a share of all calls.
LEAST, SHARE = 8, 0.0005


def sample(tape: Tape) -> Tape:
    """The tape, or for a very long one, stretches from all over it."""
    size = len(tape.text)
    if size <= SAMPLE:
        return tape
    step = PART * size // SAMPLE
    return tape.pieces((at, min(at + PART, size)) for at in range(0, size, step))


class Chooser:
    """Traces the data flow of templates, then covers the tape with the best."""

    def __init__(self, tape: Tape, progress: Callable[[str], None]) -> None:
        self.tape = tape
        self.sample = sample(tape)
        self.found: Found = templates.mine(self.sample)
        self.progress = progress
        self.flows: dict[Template, Flow] = {}
        self.totals = Counter(self.sample.text)
        self.calls = self.sample.calls

    def follow(self) -> None:
        """Adds the flows of the templates, and of the pieces into which they are cut."""
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
            found = dataflow_infer.follow(template, self.sample)
            parts = pieces(found)
            half = halved(found.template)
            if parts == [found.template] and half is not None:
                waiting.append(half)
            elif parts == [found.template]:
                self.flows[found.template] = found
                seen.add(found.template)
            else:
                waiting += [part for part in parts if part not in seen]

    def scan(self, template: Template, tape: Tape) -> Scan:
        found = self.flows[template]
        return Scan(found, Matcher(template, tape, found.once()).runs())

    def promise(self, template: Template) -> int:
        """The most calls that it can cover."""
        return sum(self.totals[character(symbol)] for symbol in set(leaves(template)))

    def choose(self, most: int) -> list[Candidate]:
        """The candidates that save most calls, each from the rest that earlier ones left."""
        self.follow()
        chosen: list[Candidate] = []
        for template in self.best(self.sample):
            self.progress("choosing")
            candidate = self.candidate(template)
            if candidate is not None:
                chosen.append(candidate)
            if len(chosen) == most:
                break
        return chosen

    def candidate(self, template: Template) -> Candidate | None:
        """The runs on the remaining tape that a template covers; removes them from it."""
        once = self.flows[template].once()
        matcher = Matcher(template, self.tape, once)
        runs = matcher.runs()
        if not runs:
            return None
        # Derive data flow from the runs it really covers.
        found = Follower(template, matcher, self.tape, runs)()
        scan = Scan(found, runs)
        if not self.recurs(template, scan) or shape.refusal(found):
            return None
        candidate = scan.candidate(matcher, self.tape)
        self.tape = self.tape.without([(run.begin, run.end) for run in runs], matcher.queries)
        return candidate

    def best(self, tape: Tape) -> Iterator[Template]:
        """Templates ordered by their savings in a part of the trace."""
        heap = [
            (-self.promise(template), i, template)
            for i, template in enumerate(self.flows)
            if not shape.refusal(self.flows[template])
        ]
        heapq.heapify(heap)
        while heap:
            _, i, template = heapq.heappop(heap)
            scan = self.scan(template, tape)
            if not self.recurs(template, scan):
                continue
            if heap and scan.saved < -heap[0][0]:
                heapq.heappush(heap, (-scan.saved, i, template))
                continue
            yield template
            joins = Matcher(template, tape).queries
            tape = tape.without([(run.begin, run.end) for run in scan.runs], joins)

    def recurs(self, template: Template, scan: Scan) -> bool:
        """Whether its remaining runs are more frequent than chance."""
        least = max(LEAST, SHARE * self.calls)
        if scan.saved < least or scan.iterations < templates.OFTEN:
            return False
        tokens = tuple(leaves(template))
        if len(tokens) == 1:
            return self.found.chance.repeats(scan.calls, len(scan.runs))
        return self.found.chance.beyond(tokens, scan.whole)


def choose(tape: Tape, progress: Callable[[str], None], most: int = 20) -> list[Candidate]:
    """Searches the rest again: rare sequences appear when frequent ones are removed."""
    chosen: list[Candidate] = []
    for _ in range(ROUNDS):
        chooser = Chooser(tape, progress)
        found = chooser.choose(most - len(chosen))
        chosen += found
        tape = chooser.tape
        if not found or len(chosen) == most:
            break
    for number, candidate in enumerate(chosen, 1):
        candidate.number = number
    name_all(chosen)
    return chosen
