# SPDX-License-Identifier: GPL-2.0
"""Compares compiled with interpreted code, in the user backend.

Random typed programs, and those of tests/lua and tests/fuzz/jit.corpus, are
interpreted and then compiled under random limits that are far too low: loops are
hot at once, side traces and constants run out, optimisations are off. All must print the same. The
compiler writes machine code for the kernel: a difference is a vulnerability.

Needs replay.c, built with SYSCRIPT_FUZZ (vm.c).
"""

from __future__ import annotations

import random
import re
import sys

from lua_fuzz import OVER, TESTS, Replayer, options, read_source, rounds
from lua_grammar import Generator

CORPUS = sorted([*TESTS.glob("lua/*.lua"), *TESTS.glob("fuzz/jit.corpus/*.lua")])
# Values to try for each parameter, in the order of LuaJIT's JIT_PARAMDEF.
PARAMETERS = {
    "maxtrace": [3, 20, 500],
    "maxrecord": [30, 200, 4000],
    "maxirconst": [5, 50, 500],
    "maxside": [1, 2, 100],
    "maxsnap": [3, 20, 500],
    "minstitch": [-1],
    "hotloop": [1, 2, 3],
    "hotexit": [1, 2],
    "tryside": [1, 4],
    "instunroll": [1, 4],
    "loopunroll": [0, 2, 15],
    "callunroll": [0, 3],
    "recunroll": [0, 2],
    "sizemcode": [-1],
    "maxmcode": [-1],
}
RARER = [name for name in PARAMETERS if not name.startswith("hot")]
TRIES = 8
# The share of corpus programs; the others are random.
KEPT = 0.1


def settings(rng: random.Random) -> str:
    """SYSCRIPT_JIT's value: the hot counts always, some of the other parameters."""
    chosen = ["hotloop", "hotexit", *rng.sample(RARER, rng.randint(0, 4))]
    values = [rng.choice(PARAMETERS[name]) if name in chosen else -1 for name in PARAMETERS]
    without = rng.choice([0, 0, 1 << rng.randrange(10), rng.randrange(1 << 10)])
    return " ".join(str(value) for value in [*values, without])


class JitFuzzer(Replayer):
    def compare(self, rng: random.Random, source: str) -> None:
        """Interpreted once, compiled several times."""
        chosen = [settings(rng) for _ in range(TRIES)]
        expected, *seen = self.replay(source, ["i", *("j" + text for text in chosen)]) or [None]
        # Which limit is exceeded, and where, depends on speed.
        if expected is None or re.search(OVER, expected[2]):
            return
        for text, outcome in zip(chosen, seen, strict=False):
            if re.search(OVER, outcome[2]):
                continue
            self.counts["compared"] += 1
            if outcome != expected:
                detail = f"j{text}\ncompiled:    {outcome}\ninterpreted: {expected}"
                self.report("jit", source, detail)
                return


def main() -> int:
    arguments = options(__doc__, "replay").parse_args()
    fuzzer = JitFuzzer(arguments.command, arguments.keep)
    for rng in rounds(arguments):
        one = random.Random(rng.getrandbits(64))
        if one.random() < KEPT:
            fuzzer.compare(one, read_source(one.choice(CORPUS)))
            continue
        fuzzer.counts["generated"] += 1
        fuzzer.compare(one, Generator(one).program())
    return fuzzer.verdict()


if __name__ == "__main__":
    sys.exit(main())
