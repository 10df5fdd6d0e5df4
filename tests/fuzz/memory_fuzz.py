# SPDX-License-Identifier: GPL-2.0
"""Allocations that fail, in the user backend under sanitizers.

A script is run again and again with another allocation failing each time: of the
heap (objects, stacks, buffers, traces) or of machine code, interpreted or
compiled, while it is loaded or while it runs. Each run must end as without the failure, if the
allocation was optional, or with "no memory": a script must not survive a failed allocation, and
none may crash the engine.

Needs replay.c, built with SYSCRIPT_FUZZ (vm.h).
"""

from __future__ import annotations

import random
import re
import sys

from lua_fuzz import OVER, Replayer, options, rounds, sources
from lua_grammar import Generator

# Random allocations, and a run of consecutive ones.
ANYWHERE, NEIGHBOURS = 24, 24
# The last allocation to try; few scripts make more.
LAST = 30000
NO_MEMORY = re.compile(r"no memory for (the|a new) script")
ENOMEM = -12


def numbers(rng: random.Random) -> list[int]:
    anywhere = {int(LAST ** rng.random()) for _ in range(ANYWHERE)}
    first = int(LAST ** rng.random())
    return sorted({*anywhere, *range(first, first + NEIGHBOURS)})


class MemoryFuzzer(Replayer):
    def check(self, rng: random.Random, source: str, mode: str) -> None:
        tried = numbers(rng)
        expected, *seen = self.replay(source, [mode, *(f"{mode}f{n}" for n in tried)]) or [None]
        if expected is None or re.search(OVER, expected[2]):
            return
        for number, outcome in zip(tried, seen, strict=False):
            self.counts["compared"] += 1
            if outcome[0] == ENOMEM and NO_MEMORY.search(outcome[2]):
                self.counts["ended"] = self.counts.get("ended", 0) + 1
            elif outcome != expected and not re.search(OVER, outcome[2]):
                detail = f"allocation {number}, mode '{mode}': {outcome}\nnot {expected}"
                self.report("memory", source, detail)
                return


def main() -> int:
    arguments = options(__doc__, "replay").parse_args()
    fuzzer, corpus = MemoryFuzzer(arguments.command, arguments.keep), sources()
    for rng in rounds(arguments):
        one = random.Random(rng.getrandbits(64))
        fuzzer.counts["generated"] += 1
        source = rng.choice(corpus) if rng.random() < 0.3 else Generator(one).program()
        fuzzer.check(one, source, rng.choice(["", "i"]))
    if not fuzzer.counts.get("ended"):
        print("no allocation failed: is replay built with SYSCRIPT_FUZZ?")
        return 1
    return fuzzer.verdict()


if __name__ == "__main__":
    sys.exit(main())
