# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds the instances of a template on a tape, by a regular expression.

A step with an unusual outcome, such as an open that fails, ends the iteration; open files are
closed then. Either kind is an instance: this is how a branch on an error appears. Consecutive
instances form a run: the work of one script call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from consolidate import calltable
from consolidate.mine.encoded_trace import Tape, character
from consolidate.mine.templates import Template, leaves, symbol

# Order-independent calls that may come between two iterations, at most.
BETWEEN = 8

Path = tuple[int, ...]


@dataclass(slots=True)
class Instance:
    """One match: the calls of each step, as positions on the tape."""

    begin: int
    end: int
    whole: bool  # no step had another outcome
    tape: Tape | None = field(default=None, repr=False, metadata={"kept": False})
    # A step's calls, or a loop's iterations; as far as the match goes.
    parts: list[list] = field(default_factory=list)
    left_at: int | None = None  # the step that had another outcome
    foreign: int = 0  # calls in between that do not belong to it


@dataclass(slots=True)
class Run:
    """Consecutive iterations, by begin and end, and whether each is whole."""

    spans: list[tuple[int, int, bool]]
    gaps: int = 0  # calls between them that do not belong to it

    @property
    def begin(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[-1][1]

    @property
    def calls(self) -> int:
        return self.end - self.begin - self.gaps


def some_of(symbols: Iterable[int]) -> str:
    """A regular expression for any of these symbols."""
    text = "".join(map(character, sorted(symbols)))
    return f"[{text}]" if len(text) > 1 else text or r"(?!)"


class Matcher:
    """Matches one template; `once` has the steps that are never repeated."""

    def __init__(self, template: Template, tape: Tape, once: frozenset[Path] = frozenset()) -> None:
        self.template = template
        self.tape = tape
        self.once = once
        symbols = tape.symbols
        self.queries = all(symbols.names[s] in calltable.QUERIES for s in leaves(template))
        self.first = re.compile(self.iteration(template, (), in_run=False))
        self.next = re.compile(self.iteration(template, (), in_run=True))
        self.between = None
        if self.queries:
            queries = some_of(symbols.named(calltable.QUERIES))
            self.between = re.compile(rf"{queries}{{1,{BETWEEN}}}?(?={self.next.pattern})")
        self.nodes: dict[Path, re.Pattern[str]] = {}

    # -- regular expressions -----------------------------------------------------

    def others(self, node: int, following: object) -> str:
        """Outcomes of the same call with which a step does not continue."""
        names = self.tape.symbols.names
        usual = {symbol(node)}
        if not isinstance(following, tuple | None):
            usual.add(symbol(following))
        same = self.tape.symbols.named([names[symbol(node)]])
        return some_of(s for s in same if s not in usual)

    def step(self, template: Template, i: int, path: Path) -> str:
        """The expression for one node and its repetition."""
        node = template[i]
        if isinstance(node, tuple):
            body = f"{self.iteration(node, (*path, i), in_run=False)}{self.skipped(node)}"
            # A directory may be empty; but an instance may not.
            return f"(?>{body}){'*+' if i else '++'}"
        c = character(symbol(node))
        if node < 0 or (*path, i) in self.once:
            return c
        # An until-loop may run zero times.
        return f"{c}*+" if self.has_end(template, i) else f"{c}{c}*+"

    def has_end(self, template: Template, i: int) -> bool:
        """Whether the next step is the same call with another outcome."""
        names = self.tape.symbols.names
        following = template[i + 1] if i + 1 < len(template) else None
        if following is None or isinstance(following, tuple) or isinstance(template[i], tuple):
            return False
        one, other = symbol(template[i]), symbol(following)
        return one != other and names[one] == names[other]

    def skipped(self, body: Template) -> str:
        """Queries that only some iterations of a loop of queries make."""
        names = self.tape.symbols.names
        if not all(names[leaf] in calltable.QUERIES for leaf in leaves(body)):
            return ""
        queries = some_of(self.tape.symbols.named(calltable.QUERIES))
        first = character(next(leaves(body)))
        return f"(?:{queries}{{0,{BETWEEN}}}?(?={first}))?"

    def closers(self, template: Template, i: int) -> str:
        """Closing steps after a step with another outcome."""
        names = self.tape.symbols.names
        return "".join(
            f"{character(symbol(node))}?+"
            for node in template[i + 1 :]
            if not isinstance(node, tuple) and names[symbol(node)] == "close"
        )

    def iteration(self, template: Template, path: Path, in_run: bool) -> str:
        """All steps, or those up to one with another outcome, which has no group."""
        text = "()" if not path else ""
        for i in reversed(range(len(template))):
            here = f"{self.step(template, i, path)}{text}"
            node = template[i]
            if isinstance(node, tuple) or i == 0 and not in_run:
                text = here
                continue
            following = template[i + 1] if i + 1 < len(template) else None
            others = self.others(node, following)
            text = f"(?:{here}|{others}{self.closers(template, i)})"
        return text

    # -- runs ---------------------------------------------------------------------

    def runs(self, tape: Tape | None = None) -> list[Run]:
        """All runs on a tape."""
        tape = tape or self.tape
        found, at = [], 0
        while match := self.first.search(tape.text, at):
            if match.end() == match.start():
                raise ValueError("a template that nothing at all matches")
            run = self.run(tape.text, match)
            at = run.end
            if any(whole for _, _, whole in run.spans):
                found.append(run)
        return found

    def run(self, text: str, match: re.Match[str]) -> Run:
        """A match, with all consecutive ones."""
        run = Run([])
        while match is not None:
            run.spans.append((match.start(), match.end(), match[1] is not None))
            following = self.next.match(text, match.end())
            if following is None and self.between is not None:
                gap = self.between.match(text, match.end())
                if gap is not None:
                    run.gaps += len(gap[0])
                    following = self.next.match(text, gap.end())
            if following is not None and following.end() == following.start():
                break
            match = following
        # A failure at once at the end is not this sequence, but may be another.
        while len(run.spans) > 1 and self.fails_at_once(run.spans[-1]):
            run.spans.pop()
        return run

    def fails_at_once(self, span: tuple[int, int, bool]) -> bool:
        begin, end, whole = span
        return not whole and end - begin == 1

    # -- what is in an instance ------------------------------------------------------

    def instance(self, tape: Tape, begin: int, end: int, whole: bool) -> Instance:
        found = Instance(begin, end, whole, tape)
        at = self.parse(found, self.template, (), begin)
        found.foreign += end - at
        return found

    def pattern(self, template: Template, i: int, path: Path) -> re.Pattern[str]:
        found = self.nodes.get((*path, i))
        if found is None:
            found = self.nodes[*path, i] = re.compile(self.step(template, i, path))
        return found

    def parse(self, found: Instance, template: Template, path: Path, at: int) -> int:
        """Parse an instance; returns its end."""
        text = found.tape.text
        for i, node in enumerate(template):
            if isinstance(node, tuple):
                at = self.parse_loop(found, node, (*path, i), at)
                continue
            match = self.pattern(template, i, path).match(text, at, found.end)
            if match is None:
                return self.parse_rest(found, template, i, at)
            found.parts.append(list(range(at, match.end())))
            at = match.end()
        return at

    def parse_loop(self, found: Instance, body: Template, path: Path, at: int) -> int:
        pattern = self.nodes.get((*path, -1))
        if pattern is None:
            pattern = re.compile(self.iteration(body, path, in_run=False))
            self.nodes[*path, -1] = pattern
        skip = re.compile(self.skipped(body))
        iterations = []
        while match := pattern.match(found.tape.text, at, found.end):
            if match.end() == at:
                break
            one = Instance(at, match.end(), True, found.tape)
            at = self.parse(one, body, path, at)
            one.whole = one.left_at is None
            iterations.append(one)
            skipped = skip.match(found.tape.text, at, found.end)
            found.foreign += one.foreign + len(skipped[0])
            at = skipped.end()
        found.parts.append(iterations)
        return at

    def parse_rest(self, found: Instance, template: Template, i: int, at: int) -> int:
        """Parse the rest from a step that had another outcome."""
        found.left_at = i
        found.parts.append([at])
        at += 1
        for node in template[i + 1 :]:
            closes = not isinstance(node, tuple) and (
                self.tape.symbols.names[symbol(node)] == "close"
            )
            found.parts.append([])
            if (
                closes
                and found.tape.text[at : at + 1] == character(symbol(node))
                and at < found.end
            ):
                found.parts[-1].append(at)
                at += 1
        return at

    def instances(self, tape: Tape, run: Run, most: int) -> Iterator[Instance]:
        for begin, end, whole in run.spans[:most]:
            yield self.instance(tape, begin, end, whole)
