# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds templates: recurring sequences, and the bodies of loops.

Loops come first: repetitions are folded, innermost first. Then sequences of any length in the
result: those of 2, 3, 4, 6, 8, 12 ... calls are named by the names of their halves, and recurring
ones are extended as long as the same call follows or precedes. Sequences that would occur as often
by chance are dropped.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import log

from consolidate.mine.encoded_trace import END, FIRST_LOOP, FIRST_SYMBOL, Tape

# A template is a tuple of symbols and, for loops in it, of tuples. A symbol stands for any number
# of equal calls in a row; its complement (~) for exactly one.
Template = tuple

# Tokens in a loop's body, at most, and passes of folding.
LONGEST_BODY = 32
FOLDS = 4
LONGEST_SEQUENCE = 48
# Limits of steps in a template with loops, and of nesting.
MOST_STEPS = 64
DEEPEST = 1
# A sequence must occur at least this often.
OFTEN = 3
# Templates of each length to examine closely: those that cover most.
KEPT = 150
# Average number of equal calls in a row that makes them a loop.
LONG_RUN = 4
# A call that follows a sequence with at least this share becomes part of it.
SHARE = 0.6
# Odds against chance, as a logarithm, in addition to one for each symbol of a sequence.
ODDS = 7.0
SEPARATOR = ord(END)

IN_A_ROW = re.compile(r"(.)\1*")
REPEATED = re.compile(rf"(.{{2,{LONGEST_BODY}}}?)\1+")


def evidence(seen: float, expected: float) -> float:
    """How far `seen` is beyond chance: minus the log of its probability (Chernoff bound)."""
    if seen <= expected or seen <= 0:
        return 0.0
    if expected <= 0:
        return float("inf")
    return seen * log(seen / expected) - seen + expected


@dataclass(slots=True)
class Chance:
    """Expected frequencies if calls followed each other at random."""

    counts: Counter
    total: int

    @property
    def kinds(self) -> int:
        return max(2, len(self.counts))

    def expected(self, tokens: tuple) -> float:
        found = float(self.total)
        for token in tokens:
            found *= self.counts[token] / self.total if self.total else 0
        return found

    def repeats(self, calls: int, runs: int) -> bool:
        """Whether a call follows itself more often than by chance."""
        # A program that makes hardly any other call repeats it on purpose.
        if calls >= LONG_RUN * runs:
            return True
        return evidence(calls - runs, calls * calls / (self.total + calls - runs)) > ODDS

    def beyond(self, tokens: tuple, seen: float) -> bool:
        return evidence(seen, self.expected(tokens)) > len(tokens) * log(self.kinds) + ODDS


class Folder:
    """Folds repetitions; equal bodies get equal characters, whatever their counts."""

    def __init__(self) -> None:
        self.of_body: dict[str, str] = {}
        self.bodies: dict[str, str] = {}
        self.repeats: Counter[str] = Counter()

    def character(self, body: str) -> str:
        found = self.of_body.get(body)
        if found is None:
            found = self.of_body[body] = chr(FIRST_LOOP + len(self.of_body))
            self.bodies[found] = body
        return found

    def fold(self, text: str) -> str:
        """The text with repetitions folded."""
        text = IN_A_ROW.sub(r"\1", text)
        for _ in range(FOLDS):
            folded = IN_A_ROW.sub(r"\1", REPEATED.sub(self.folded, text))
            for body, loop in self.of_body.items():
                # Executed once, it is still the same loop.
                if self.repeats[loop] >= OFTEN:
                    folded = folded.replace(body, loop)
            if folded == text:
                break
            text = IN_A_ROW.sub(r"\1", folded)
        return text

    def folded(self, found: re.Match[str]) -> str:
        loop = self.character(found[1])
        self.repeats[loop] += len(found[0]) // len(found[1]) - 1
        return loop

    def expand(self, character: str) -> tuple | int:
        body = self.bodies.get(character)
        if body is None:
            return ord(character) - FIRST_SYMBOL
        return tuple(self.expand(part) for part in body)


@dataclass(slots=True)
class Grams:
    """Recurring sequences in a folded text, by length."""

    text: str
    chance: Chance

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Each sequence with its frequency; the longest last."""
        tokens = list(map(ord, self.text))
        ids = self.level([token if token != SEPARATOR else None for token in tokens], often=1)
        length, half = 2, ids
        while length <= LONGEST_SEQUENCE:
            ids = self.level(pairs(half, length // 2, len(tokens), length))
            if all(i < 0 for i in ids):
                return
            yield from self.best(ids, length)
            between = length + length // 2
            yield from self.best(self.level(pairs(ids, length // 2, len(tokens), between)), between)
            length, half = length * 2, ids

    def level(self, keys: list, often: int = OFTEN) -> list[int]:
        """Numbers for frequent keys; -1 for others."""
        counts = Counter(keys)
        numbers = {
            key: number
            for number, (key, count) in enumerate(counts.items())
            if count >= often and key is not None
        }
        return [numbers.get(key, -1) for key in keys]

    def best(self, ids: list[int], length: int) -> Iterator[tuple[str, int]]:
        places = defaultdict(list)
        for at, number in enumerate(ids):
            if number >= 0:
                places[number].append(at)
        ranked = sorted(places.values(), key=len, reverse=True)
        for found in ranked[:KEPT]:
            yield from self.grown(apart(found, length), length)

    def grown(self, places: list[int], length: int) -> Iterator[tuple[str, int]]:
        """A sequence, and its extensions by its neighbours."""
        if len(places) < OFTEN:
            return
        begin = places[0]
        yield self.text[begin : begin + length], len(places)
        grown = places
        for step in (1, -1):
            grown, length = self.grow(grown, length, step)
        if grown is not places and len(grown) >= OFTEN:
            begin = grown[0]
            yield self.text[begin : begin + length], len(grown)

    def grow(self, places: list[int], length: int, step: int) -> tuple[list[int], int]:
        text = self.text
        while length < LONGEST_SEQUENCE:
            at = length if step > 0 else -1
            next_to = Counter(text[p + at] for p in places if 0 <= p + at < len(text))
            if not next_to:
                break
            token, count = next_to.most_common(1)[0]
            by_chance = len(places) * self.chance.counts[token] / max(1, self.chance.total)
            if token == END or count < max(OFTEN, SHARE * len(places)):
                break
            if evidence(count, by_chance) <= log(self.chance.kinds) + ODDS:
                break
            places = [p for p in places if 0 <= p + at < len(text) and text[p + at] == token]
            places = places if step > 0 else [p - 1 for p in places]
            length += 1
        return places, length


def pairs(ids: list[int], shift: int, size: int, length: int) -> list:
    """Keys of sequences: the names of two shorter ones, `shift` apart."""
    last = size - length
    return [
        (ids[i], ids[i + shift]) if i <= last and ids[i] >= 0 and ids[i + shift] >= 0 else None
        for i in range(size)
    ]


def apart(places: list[int], length: int) -> list[int]:
    """The places that do not overlap."""
    found, end = [], -1
    for place in places:
        if place >= end:
            found.append(place)
            end = place + length
    return found


@dataclass(slots=True)
class Found:
    """Templates, the calls that each seems to cover, and symbols' chances."""

    templates: dict[Template, int]
    chance: Chance


def mine(tape: Tape) -> Found:
    folder = Folder()
    rows = Counter(), Counter()  # by symbol: occurrences, and runs of it
    for row in IN_A_ROW.finditer(tape.text):
        rows[0][row[1]] += row.end() - row.start()
        rows[1][row[1]] += 1
    counts = Counter({ord(c) - FIRST_SYMBOL: count for c, count in rows[1].items()})
    chance = Chance(counts, sum(counts.values()))
    templates: Counter = Counter()
    for c, count in rows[0].items():
        # A single call: it follows itself more often than by chance.
        more = count - rows[1][c]
        if more >= OFTEN and chance.repeats(count, rows[1][c]):
            templates[bare((ord(c) - FIRST_SYMBOL,))] += more
    folded = folder.fold(tape.text)
    for loop, count in folder.repeats.items():
        body = bare(folder.expand(loop))
        # Twice: the data flow shows where an iteration really begins.
        templates[body + body] += (count + 1) * size(body)
    of_folded = Counter(folded.replace(END, ""))
    by_chance = Chance(of_folded, sum(of_folded.values()))
    for text, count in Grams(folded, by_chance):
        if by_chance.beyond(tuple(text), count):
            template = bare(tuple(folder.expand(c) for c in text))
            templates[template] = max(templates[template], count * size(template))
    plain = {t: n for t, n in templates.items() if size(t) <= MOST_STEPS and depth(t) <= DEEPEST}
    return Found(plain, chance)


def symbol(node: int) -> int:
    return node if node >= 0 else ~node


def leaves(template: Template) -> Iterator[int]:
    """The symbols of a template."""
    for node in template:
        if isinstance(node, tuple):
            yield from leaves(node)
        else:
            yield symbol(node)


def size(template: Template) -> int:
    """The number of steps."""
    return sum(size(node) if isinstance(node, tuple) else 1 for node in template)


def depth(template: Template) -> int:
    """The nesting depth of loops."""
    return max((1 + depth(node) for node in template if isinstance(node, tuple)), default=0)


def bare(template: Template) -> Template:
    """Replaces a template that is only a loop by its body: the runs have the count."""
    while len(template) == 1 and isinstance(template[0], tuple):
        template = template[0]
    return (~symbol(template[0]),) if len(template) == 1 else template


def halved(template: Template) -> Template | None:
    """One half, if both halves are equal; else None."""
    half = len(template) // 2
    return bare(template[:half]) if half and template[:half] == template[half:] else None
