# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds where a template stands in the streams.

A step that comes out otherwise than usual, an open that fails, leaves the
template: at the next of its steps that does follow, or for good.  Either is an
instance; that is what a branch on an error is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.mine import Template, symbol
from consolidate.streams import Stream, Symbols

# Calls that may stand between two iterations whose order is free.
BETWEEN = 8


@dataclass(slots=True)
class Instance:
    """One match: the calls of each step, as offsets into the stream."""

    stream: Stream
    begin: int
    end: int
    # For a step its calls, for a loop its iterations; as far as the match goes.
    parts: list[list] = field(default_factory=list)
    left_at: int | None = None  # the first step with another outcome
    whole: bool = False
    foreign: int = 0  # calls in between that it does not make

    def size(self) -> int:
        return self.end - self.begin - self.foreign


@dataclass(slots=True)
class Run:
    """Iterations that follow each other: what one call of a script can do."""

    instances: list[Instance]

    def size(self) -> int:
        return sum(instance.size() for instance in self.instances)


class Matcher:
    """Matches one template; `once` has the steps that are never repeated."""

    def __init__(
        self,
        template: Template,
        symbols: Symbols,
        once: frozenset = frozenset(),
        budget: float = float("inf"),
    ) -> None:
        self.budget = budget  # instances that may be tried
        self.template = template
        self.symbols = symbols
        self.once = once
        first = template
        while isinstance(first, tuple):
            first = first[0]
        self.first = symbol(first)
        self.exact = first < 0
        self.queries = all(symbols.names[s] in calltable.QUERIES for s in leaves(template))

    def at(self, stream: Stream, offset: int, template: Template, path: tuple = ()):
        """The instance that begins at an offset, or None."""
        found = Instance(stream, offset, offset)
        self.budget -= 1
        step = 0
        while step < len(template):
            node = template[step]
            if isinstance(node, tuple):
                found.parts.append(self.loop(stream, found, node, (*path, step)))
                step += 1
                continue
            token = self.token(stream, found.end)
            seen = stream.tokens[token] if token is not None else None
            if seen is not None and seen == symbol(node):
                end = stream.begins[token + 1]
                end = found.end + 1 if node < 0 or (*path, step) in self.once else end
                found.parts.append(list(range(found.end, end)))
                found.end = end
                step += 1
                continue
            step = self.leave(stream, found, template, step, seen)
            if step is None:
                return found if self.worth(found) else None
        found.whole = found.left_at is None
        return found if found.end > offset else None

    def leave(self, stream, found: Instance, template: Template, step: int, seen):
        """The step to go on with behind one that came out otherwise; None if there is none."""
        names = self.symbols.names
        if seen is None or names[seen] != names[symbol(template[step])]:
            return None
        if found.left_at is None:
            found.left_at = len(found.parts)
        following = self.token(stream, found.end + 1)
        if seen in template[step + 1 :]:
            # The end of a loop that was never gone through: read a file of no length.
            found.parts.append([])
            return step + 1
        found.parts.append([found.end])
        found.end += 1
        if following is not None:
            for later in range(step + 1, len(template)):
                if head(template[later]) == stream.tokens[following]:
                    found.parts += [[] for _ in range(later - step - 1)]
                    return later
        return None

    def worth(self, found: Instance) -> bool:
        return found.left_at is not None and found.end > found.begin

    def loop(self, stream: Stream, found: Instance, body: Template, path: tuple) -> list:
        iterations = []
        while found.end < len(stream.calls) and self.budget > 0:
            one = self.at(stream, found.end, body, path)
            if one is None or not (one.whole or one.left_at is not None):
                break
            if one.parts and not one.whole and self.is_end(one, body):
                break
            iterations.append(one)
            found.end = one.end
            found.foreign += one.foreign + self.skip(stream, found, body)
        return iterations

    def skip(self, stream: Stream, found: Instance, body: Template) -> int:
        """Pass by queries that only some iterations of a loop of queries make."""
        names = self.symbols.names
        if not all(names[leaf] in calltable.QUERIES for leaf in leaves(body)):
            return 0
        begin = found.end
        end = min(begin + BETWEEN, len(stream.calls))
        while found.end < end:
            seen = stream.tokens[stream.token_at(found.end)]
            if seen == head(body) or names[seen] not in calltable.QUERIES:
                break
            found.end += 1
        return found.end - begin

    def is_end(self, one: Instance, body: Template) -> bool:
        """Whether an iteration is only the call that ends the loop."""
        return one.left_at == 0

    def token(self, stream: Stream, offset: int) -> int | None:
        return stream.token_at(offset) if offset < len(stream.calls) else None

    def runs(self, stream: Stream, longest: int = 1 << 30) -> Iterator[Run]:
        """The iterations in a stream, in order, at most so many in one run."""
        if len(self.template) == 1 and not isinstance(self.template[0], tuple):
            yield from self.single(stream, longest)
            return
        token, size, at = self.next(stream, 0), len(stream.tokens), 0
        run: list[Instance] = []
        failed = {s for s in self.starts() if s != self.first}
        while token < size and self.budget > 0:
            one = None
            if stream.tokens[token] == self.first or (run and stream.tokens[token] in failed):
                one = self.at(stream, self.entry(stream, token, at), self.template)
            if one is None or not (one.whole or run or one.left_at):
                token = token + 1 if run and self.queries else self.next(stream, token + 1)
                continue
            if run and (len(run) >= longest or not self.adjacent(run[-1], one)):
                yield from self.finished(run)
                run = []
            if one.whole or run or one.left_at:
                run.append(one)
            at = one.end
            token = stream.token_at(at) if at < len(stream.calls) else size
        yield from self.finished(run)

    def next(self, stream: Stream, token: int) -> int:
        """The next token that begins the template."""
        try:
            return stream.tokens.index(self.first, token)
        except ValueError:
            return len(stream.tokens)

    def starts(self) -> list[int]:
        """The first step's symbols, whatever its outcome."""
        names = self.symbols.names
        return [s for s, name in enumerate(names) if name == names[self.first]]

    def entry(self, stream: Stream, token: int, at: int) -> int:
        """Where in a row of calls, from `at` on, the sequence begins: with the last first one."""
        if stream.tokens[token] == self.first and (self.exact or (0,) in self.once):
            return stream.begins[token + 1] - 1
        return max(stream.begins[token], at)

    def finished(self, run: list[Instance]) -> Iterator[Run]:
        # What fails at once in front or behind is not the sequence, but may be another.
        while run and not run[-1].whole and run[-1].left_at == 0:
            run.pop()
        if any(instance.whole for instance in run):
            yield Run(run)

    def adjacent(self, one: Instance, other: Instance) -> bool:
        if one.end == other.begin:
            return True
        if not self.queries or other.begin - one.end > BETWEEN:
            return False
        between = range(one.end, other.begin)
        return all(one.stream.call(i).name in calltable.QUERIES for i in between)

    def single(self, stream: Stream, longest: int) -> Iterator[Run]:
        """Runs of one call: each is an iteration."""
        run: list[Instance] = []
        token = self.next(stream, 0)
        while token < len(stream.tokens) and self.budget > 0:
            self.budget -= 1
            begin, end = stream.begins[token], stream.begins[token + 1]
            end = min(end, begin + longest)
            ones = [Instance(stream, i, i + 1, [[i]], None, True) for i in range(begin, end)]
            if run and (len(run) >= longest or not self.adjacent(run[-1], ones[0])):
                yield Run(run)
                run = []
            run += ones
            token = self.next(stream, token + 1)
        if run:
            yield Run(run)


def head(node) -> int:
    while isinstance(node, tuple):
        node = node[0]
    return symbol(node)


def leaves(template: Template) -> Iterator[int]:
    for node in template:
        if isinstance(node, tuple):
            yield from leaves(node)
        else:
            yield symbol(node)
