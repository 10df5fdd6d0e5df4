# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Finds templates: sequences that recur, and the bodies of loops.

Loops first: what stands behind itself again is folded, innermost first.  Then
sequences of any length among what is left: those of 2, 3, 4, 6, 8, 12 ... calls
are named by the names of their halves, and those that recur are made longer for
as long as the same call follows or precedes.  What chance alone would bring about
as often is dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import log

from consolidate.streams import Streams

# A template is a tuple of symbols and, for loops in it, of tuples.  A symbol stands
# for as many calls in a row as there are; its complement (~) for exactly one.
Template = tuple

# Tokens in the body of a loop, at most.
LONGEST_BODY = 32
LONGEST_SEQUENCE = 48
# Steps of a template with loops in it, and loops within loops.
MOST_STEPS = 64
DEEPEST = 1
# Occurrences from which a sequence is one.
OFTEN = 3
# Templates of each length that are looked at more closely, those that cover most.
KEPT = 150
# Calls of a kind in a row, on the average, from which they are a loop.
LONG_RUN = 4
# Of what follows a sequence, the share that makes it part of the sequence.
SHARE = 0.6
# Odds against chance, as a logarithm, beside one for each symbol of a sequence.
ODDS = 7.0
# Steps in the body of a loop that is tried from each of them on.
LONGEST_TURNED = 6
SEPARATOR = -1


def evidence(seen: float, expected: float) -> float:
    """How far `seen` is beyond chance: minus the log of its probability (Chernoff)."""
    if seen <= expected or seen <= 0:
        return 0.0
    if expected <= 0:
        return float("inf")
    return seen * log(seen / expected) - seen + expected


@dataclass(slots=True)
class Chance:
    """How often things would come if calls followed each other at random."""

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
        """Whether one call stands behind itself more often than by chance."""
        # A program that does nothing else is no chance.
        if calls >= LONG_RUN * runs:
            return True
        return evidence(calls - runs, calls * calls / (self.total + calls - runs)) > ODDS

    def beyond(self, tokens: tuple, seen: float) -> bool:
        return evidence(seen, self.expected(tokens)) > len(tokens) * log(self.kinds) + ODDS


class Folder:
    """Folds repetitions; equal bodies get equal numbers, whatever their counts."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.ids: dict[tuple, int] = {}
        self.bodies: dict[int, tuple] = {}
        self.repeats: Counter = Counter()

    def id(self, body: tuple) -> int:
        found = self.ids.get(body)
        if found is None:
            found = self.ids[body] = self.next
            self.bodies[found] = body
            self.next += 1
        return found

    def fold(self, tokens) -> list[int]:
        stack: list[int] = []
        for token in tokens:
            stack.append(token)
            while self.reduce(stack):
                pass
        return stack

    def reduce(self, stack: list[int]) -> bool:
        """Fold what has just become a repetition at the end."""
        top, size = stack[-1], len(stack)
        bodies = self.bodies
        for length in range(1, min(LONGEST_BODY, size - 1) + 1):
            below = stack[-1 - length]
            body = bodies.get(below)
            if body is not None and len(body) == length and body[-1] == top:
                if body == tuple(stack[-length:]):
                    del stack[-length:]
                    self.repeats[below] += 1
                    return True
            elif (
                below == top
                and size >= 2 * length > 2
                and stack[-length:] == stack[-2 * length : -length]
            ):
                found = self.id(tuple(stack[-length:]))
                stack[-2 * length :] = [found]
                self.repeats[found] += 1
                return True
        return False

    def expand(self, token: int) -> tuple | int:
        body = self.bodies.get(token)
        if body is None:
            return token
        return tuple(self.expand(part) for part in body)


@dataclass(slots=True)
class Grams:
    """Sequences that recur in the folded streams, by length."""

    tokens: list[int]
    chance: Chance

    def __iter__(self):
        """(tokens, occurrences) of each, longest sequences last."""
        ids = self.level([(token, None) for token in self.tokens], first=True)
        level = {1: ids}
        length = 2
        while length <= LONGEST_SEQUENCE:
            half = level[length // 2]
            ids = self.level(pairs(half, length // 2, len(self.tokens), length))
            if all(i < 0 for i in ids):
                return
            level[length] = ids
            yield from self.best(ids, length)
            if length >= 2:
                between = length + length // 2
                ids = self.level(pairs(level[length], length // 2, len(self.tokens), between))
                yield from self.best(ids, between)
            length *= 2

    def level(self, keys: list, first: bool = False) -> list[int]:
        """Numbers for keys that come often; -1 for others."""
        often = OFTEN if not first else 1
        counts = Counter(keys)
        numbers = {
            key: number
            for number, (key, count) in enumerate(counts.items())
            if count >= often and key is not None and SEPARATOR not in key
        }
        return [numbers.get(key, -1) for key in keys]

    def best(self, ids: list[int], length: int):
        places = defaultdict(list)
        for at, number in enumerate(ids):
            if number >= 0:
                places[number].append(at)
        ranked = sorted(places.values(), key=len, reverse=True)
        for found in ranked[:KEPT]:
            yield from self.grown(apart(found, length), length)

    def grown(self, places: list[int], length: int):
        """A sequence, and what it becomes when its neighbours are taken in."""
        if len(places) < OFTEN:
            return
        begin = places[0]
        yield tuple(self.tokens[begin : begin + length]), len(places)
        grown = places
        for step in (1, -1):
            grown, length = self.grow(grown, length, step)
        if grown is not places and len(grown) >= OFTEN:
            begin = grown[0]
            yield tuple(self.tokens[begin : begin + length]), len(grown)

    def grow(self, places: list[int], length: int, step: int) -> tuple[list[int], int]:
        tokens = self.tokens
        while length < LONGEST_SEQUENCE:
            at = length if step > 0 else -1
            beside = Counter(tokens[p + at] for p in places if 0 <= p + at < len(tokens))
            if not beside:
                break
            token, count = beside.most_common(1)[0]
            by_chance = len(places) * self.chance.counts[token] / max(1, self.chance.total)
            if token == SEPARATOR or count < max(OFTEN, SHARE * len(places)):
                break
            if evidence(count, by_chance) <= log(self.chance.kinds) + ODDS:
                break
            places = [p for p in places if 0 <= p + at < len(tokens) and tokens[p + at] == token]
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
    """Those that do not overlap."""
    found, end = [], -1
    for place in places:
        if place >= end:
            found.append(place)
            end = place + length
    return found


@dataclass(slots=True)
class Found:
    """Templates, how often each seems to come, and the chance of symbols."""

    templates: dict[Template, int]
    chance: Chance


def mine(streams: Streams) -> Found:
    folder = Folder(len(streams.symbols.names))
    flat: list[int] = []
    counts: Counter = Counter()
    repeats: Counter = Counter()
    for stream in streams.streams:
        counts.update(stream.tokens)
        for token, begin, end in zip(stream.tokens, stream.begins, stream.begins[1:], strict=False):
            repeats[token] += end - begin - 1
        flat += folder.fold(stream.tokens)
        flat.append(SEPARATOR)
    chance = Chance(counts, sum(counts.values()))
    templates: Counter = Counter()
    for token, count in repeats.items():
        # Of one call: it stands behind itself more often than chance has it.
        total = counts[token] + count
        if count >= OFTEN and chance.repeats(total, counts[token]):
            templates[(token,)] += count
    for loop, count in folder.repeats.items():
        body = folder.expand(loop)
        # Twice: where a loop begins is seen where the data of the first time ends.
        templates[body + body] += (count + 1) * size(body)
        for rotated in rotations(body):
            templates[rotated] += (count + 1) * size(body)
    folded = Chance(Counter(token for token in flat if token >= 0), len(flat))
    for tokens, count in Grams(flat, folded):
        if folded.beyond(tokens, count):
            template = tuple(folder.expand(token) for token in tokens)
            templates[template] = max(templates[template], count * size(template))
    plain = {t: n for t, n in templates.items() if size(t) <= MOST_STEPS and depth(t) <= DEEPEST}
    return Found(plain, chance)


def symbol(node: int) -> int:
    return node if node >= 0 else ~node


def size(template: Template) -> int:
    """How many steps it has."""
    return sum(size(node) if isinstance(node, tuple) else 1 for node in template)


def depth(template: Template) -> int:
    """How many loops are within each other."""
    return max((1 + depth(node) for node in template if isinstance(node, tuple)), default=0)


def rotations(body: tuple) -> list[tuple]:
    """A short loop can be entered anywhere; which way is best shows the cover."""
    if len(body) > LONGEST_TURNED:
        return [body]
    return [body[i:] + body[:i] for i in range(len(body))]
