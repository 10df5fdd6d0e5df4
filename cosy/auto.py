#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Mark the segments that make a program cheaper, and prove it: cosy-cc --auto.

advise.py finds possible marks. The program is compiled with each, run, and compared with the
program without marks; marks with the same behaviour at a lower cost are kept. The result is a
patch.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

import advise
from advise import AdviseError, Source, Span, overlap, say

HERE = Path(__file__).resolve().parent
DEVICE = Path("/dev/syscript")
# In the source tree: counts instructions.
GUEST = HERE.parents[1] / "vm" / "guest"
INSTRUCTIONS, TIME = "instructions", "time"
ROUNDS = {INSTRUCTIONS: 2, TIME: 15}


class Candidate(NamedTuple):
    """A possible mark: the file, the statements, and the calls concerned."""

    source: Source
    span: Span
    text: str

    def __str__(self) -> str:
        return f"{self.source.path}:{self.span.first} to {self.span.last}"


@dataclass
class Builder:
    """Compiles the program with some of the candidates marked."""

    sources: list[Source]
    compiler: list[str]
    directory: Path
    built: int = 0

    def __call__(self, marked: Sequence[Candidate]) -> Path:
        self.built += 1
        where = self.directory / str(self.built)
        where.mkdir()
        files = [where / source.path.name for source in self.sources]
        for source, file in zip(self.sources, files, strict=True):
            spans = [one.span for one in marked if one.source is source]
            lines = advise.mark(source.lines, spans) if spans else source.lines
            file.write_text("".join(lines), "utf-8", "surrogateescape")
        quotes = [f"-iquote{source.path.resolve().parent}" for source in self.sources]
        program = where / "program"
        done = advise.run([*self.compiler, *quotes, "-o", program, *files])
        if done.returncode:
            raise AdviseError(f"the program cannot be built:\n{done.stderr.strip()}")
        return program


class Meter:
    """Runs the command with several programs: on this machine, or in a guest."""

    def __init__(self, command: str, directory: Path) -> None:
        self.command = command
        self.directory = directory
        self.unit = TIME
        given = os.environ.get("COSY_METER")
        if given is not None:
            self.front = shlex.split(given)
            self.unit = INSTRUCTIONS if "--icount" in self.front else TIME
        elif os.access(DEVICE, os.R_OK | os.W_OK):
            self.front = []
        elif GUEST.exists():
            self.front = [str(GUEST), "-m", "--icount", "--"]
            self.unit = INSTRUCTIONS
        else:
            raise AdviseError(
                f"{DEVICE} is not there, and no source tree with a guest: nothing to measure with"
            )

    def __call__(self, programs: Sequence[Path]) -> list[Measured]:
        """Compares the other programs with the first, which has no marks."""
        words = [str(ROUNDS[self.unit]), str(self.directory), self.command, *map(str, programs)]
        done = advise.run([*self.front, "python3", HERE / "meter.py", *words])
        try:
            seen = json.loads(done.stdout)
            took = [seen["took"][str(program)] for program in programs]
            did = [seen["did"][str(program)] for program in programs]
        except (json.JSONDecodeError, KeyError, TypeError):
            raise AdviseError(f"measuring failed: {done.stderr.strip()[-2000:]}") from None
        if len(set(did[0])) != 1:
            raise AdviseError("the program without marks does not do the same in each run")
        return [
            Measured(took[0], ours, same=set(what) == set(did[0]))
            for ours, what in zip(took, did, strict=True)
        ]


class Measured(NamedTuple):
    """The costs without marks and with them, and whether the behaviour was the same."""

    plain: list[int]
    ours: list[int]
    same: bool

    @property
    def ratio(self) -> float:
        return median(b / max(a, 1) for a, b in zip(self.plain, self.ours, strict=True))

    def gains(self, percent: float) -> bool:
        """The median improves by this much, and no round is a loss."""
        never_loses = all(b < a for a, b in zip(self.plain, self.ours, strict=True))
        return self.same and never_loses and self.ratio <= 1 - percent / 100

    def describe(self, unit: str) -> str:
        if not self.same:
            return "does not do the same"
        counts = f"{median(self.plain):.0f} to {median(self.ours):.0f}"
        return f"{self.ratio:.3f} of the {unit}" + (f", {counts}" if unit == INSTRUCTIONS else "")


def candidates(sources: list[Source], report: advise.Node, most: int) -> Iterator[Candidate]:
    """All marks that compile, for the sequences that cost most."""
    for one in list(advise.sequences(report))[:most]:
        text = f"{one.calls} calls, {one.text}"
        spans = [(source, span) for source in sources for span in advise.choices(source, one)]
        if not spans:
            say(f"{text}: does not come from statements of one of the files")
        for source, span in spans:
            refused = advise.refused(source, [span])
            if refused:
                say(f"{text}: {refused[0]}")
            else:
                yield Candidate(source, span, text)


def best_of(measured: dict[Candidate, Measured], percent: float) -> list[Candidate]:
    """Marks that gain and do not overlap, the better ones first."""
    kept: list[Candidate] = []
    for one in sorted(measured, key=lambda one: measured[one].ratio):
        others = [other.span for other in kept if other.source is one.source]
        if measured[one].gains(percent) and not overlap(one.span, others):
            kept.append(one)
    return kept


def choose(
    found: list[Candidate], build: Builder, measure: Meter, percent: float
) -> tuple[list[Candidate], Measured | None]:
    """The marks to keep, and their total gain; prints the result for each candidate."""
    plain = build([])
    seen = measure([plain, *(build([one]) for one in found)])[1:]
    measured = dict(zip(found, seen, strict=True))
    for one, result in measured.items():
        verdict = "" if result.gains(percent) else ": not kept"
        say(f"{one}: {one.text}: {result.describe(measure.unit)}{verdict}")
    kept = best_of(measured, percent)
    if len(kept) < 2:
        return kept, measured[kept[0]] if kept else None
    together = measure([plain, build(kept)])[1]
    say(f"all of these together: {together.describe(measure.unit)}")
    best = kept[0]
    if not together.gains(percent) or together.ratio > measured[best].ratio:
        return [best], measured[best]
    return kept, together


def patch(source: Source, spans: list[Span]) -> Iterator[str]:
    names = [f"{side}/{source.path}" for side in "ab"]
    return difflib.unified_diff(source.lines, advise.mark(source.lines, spans), *names)


def write(kept: list[Candidate], sources: list[Source], worth: str) -> None:
    """The patch, with a summary of its effect at the top."""
    print(f"Compounds for the calls that cost most: {worth}.\n")
    for one in kept:
        print(f"* {one}: {one.text}")
    print("---")
    for source in sources:
        spans = [one.span for one in kept if one.source is source]
        if spans:
            sys.stdout.writelines(patch(source, spans))


def auto(args: argparse.Namespace, sources: list[Source], options: list[str]) -> None:
    report = advise.report_of(args.auto)
    found = list(candidates(sources, report, args.most))
    for other in report["advice"]:
        say(f"{other['calls']} calls need no compound: {other['text']}")
    if not found:
        raise AdviseError("nothing to mark")
    # Not in /tmp, which guests do not share.
    directory = Path(tempfile.mkdtemp(prefix=".cosy-auto-", dir=Path.cwd()))
    try:
        build = Builder(sources, [args.compiler, *options], directory)
        measure = Meter(args.run, Path.cwd())
        kept, result = choose(found, build, measure, args.gain)
    finally:
        shutil.rmtree(directory)
    if not result:
        raise AdviseError("nothing gains: leave the program as it is")
    write(kept, sources, result.describe(measure.unit))


def main() -> int:
    parser = argparse.ArgumentParser(prog="cosy-cc", allow_abbrev=False)
    parser.add_argument("--auto", type=Path, required=True, metavar="TRACE")
    parser.add_argument("--run", metavar="COMMAND", help="with the program in $PROGRAM")
    parser.add_argument("--most", type=int, default=3, metavar="N", help="sequences")
    parser.add_argument("--gain", type=float, default=2, metavar="PERCENT", help="at least")
    parser.add_argument("--clang", required=True)
    parser.add_argument("--compiler", required=True, metavar="COSY-CC")
    args, rest = parser.parse_known_args()
    options = [arg for arg in rest if not arg.endswith(".c") and arg != "-c"]
    try:
        files = [Path(arg) for arg in rest if arg.endswith(".c")]
        if not files or not args.run:
            raise AdviseError(
                "--auto takes all C files of a program, the options to build it with, and"
                " --run=COMMAND"
            )
        if len({file.name for file in files}) != len(files):
            raise AdviseError("two of the C files have the same name")
        compiling = [arg for arg in options if not arg.endswith((".o", ".a", ".so"))]
        sources = [Source(file, args.clang, args.compiler, compiling) for file in files]
        auto(args, sources, options)
    except AdviseError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
