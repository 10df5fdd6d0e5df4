# SPDX-License-Identifier: GPL-2.0
"""Random C programs, compiled plainly and as compounds: both must print the same.

usage: csmith.py [--seed N] [--count N] [--jobs N]

What csmith generates is one call that reads and writes the program's variables; that
call is the segment.  Programs that run too long are not counted.

A program alone costs a second, most of it for starting and linking compilers, and for
csmith's long programs.  So several are compiled as one file, and most of them are short.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COSY_CC = ROOT / "build" / "cosy-cc"
OPTIONS = ["--no-float", "--no-packed-struct", "--no-volatiles", "--no-argc", "--quiet"]
SHORT = ["--concise", "--max-funcs", "4", "--max-block-depth", "3"]
# One program in this many is as long as csmith makes them.
LONG_ONE_IN = 64
BATCH = 16
# Endless loops must stay: clang would assume that they end.
INCLUDE = ["-I/usr/include/csmith", "-w", "-fno-finite-loops"]
# Time limits: a program that ends within the first must end as a compound within the second.
SECONDS = 0.25
SECONDS_COSY = 60
# Names to make unique: everything global in a program.
NAME = re.compile(r"\b(?:func_\d+|g_\d+|[SU]\d+|main|__undefined)\b")


@dataclass
class Program:
    """Generated from @seed; @number within the programs of one file."""

    seed: int
    number: int

    def source(self) -> str:
        """The source with the segment marked, and with unique names."""
        size = SHORT if self.seed % LONG_ONE_IN else []
        command = ["csmith", "-s", str(self.seed), *OPTIONS, *size]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        call = "    func_1();\n"
        assert done.stdout.count(call) == 1
        marked = done.stdout.replace(call, f"    COSY_START;\n{call}    COSY_END;\n")
        return NAME.sub(lambda name: f"{name[0]}_{self.number}", marked)

    def run(self, binary: Path, seconds: float, **env: str) -> str | None:
        try:
            done = subprocess.run(
                [binary, str(self.number)],
                env=os.environ | env,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return None
        return f"{done.returncode} {done.stdout}{done.stderr}"


def source_of(programs: list[Program]) -> str:
    """A source file that runs the program with the given number."""
    cases = "".join(f"\tcase {p.number}: return main_{p.number}();\n" for p in programs)
    main = f"int main(int n, char **args)\n{{\n\tswitch (atoi(args[1])) {{\n{cases}\t}}\n}}\n"
    text = "\n".join(p.source() for p in programs)
    return f"#include <cosy.h>\n#include <stdlib.h>\n{text}\n{main}"


def build(source: Path, program: Path, *options: str) -> str:
    """The compiler's error, or ""."""
    command = [COSY_CC, *options, *INCLUDE, "-o", program, source]
    done = subprocess.run(command, capture_output=True, text=True)
    return f"does not compile {options}: {done.stderr[:2000]}" if done.returncode else ""


def judge(program: Program, plain: Path, cosy: Path, level: str) -> str:
    """'same', 'endless', or the difference."""
    want = program.run(plain, SECONDS)
    if want is None:
        return "endless"
    engine = os.environ.get("COSY_ENGINE", "user")
    got = program.run(cosy, SECONDS_COSY, COSY_ENGINE=engine, COSY_ARENA=str(1 << 22))
    return "same" if got == want else f"{level} prints {got!r}, and plain {want!r}"


def compare(seeds: range) -> list[str]:
    """A verdict for each seed. Only the compound is compiled with optimisation."""
    level = f"-O{seeds[0] // BATCH % 3}"
    programs = [Program(seed, number) for number, seed in enumerate(seeds)]
    with tempfile.TemporaryDirectory() as directory:
        source, plain, cosy = (Path(directory) / name for name in ("p.c", "plain", "cosy"))
        source.write_text(source_of(programs))
        wrong = build(source, plain, "--user", "-O0") or build(source, cosy, level)
        if not wrong:
            return [judge(program, plain, cosy, level) for program in programs]
    # Which one is it?
    return [wrong] if len(seeds) == 1 else [compare(seeds[i : i + 1])[0] for i in range(len(seeds))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    counts = {"same": 0, "endless": 0, "different": 0}
    end = args.seed + args.count
    batches = [range(n, min(n + BATCH, end)) for n in range(args.seed, end, BATCH)]
    print(f"seeds {args.seed} to {end - 1}", flush=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        for seeds, verdicts in zip(batches, pool.map(compare, batches), strict=True):
            for seed, verdict in zip(seeds, verdicts, strict=True):
                if verdict not in counts:
                    print(f"seed {seed}: {verdict}", flush=True)
                counts[verdict if verdict in counts else "different"] += 1
            done = sum(counts.values())
            if done % (50 * BATCH) == 0:
                print(f"{done} of {args.count}", file=sys.stderr, flush=True)
    print(f"{counts['same']} same, {counts['different']} different, {counts['endless']} endless")
    return bool(counts["different"])


if __name__ == "__main__":
    sys.exit(main())
