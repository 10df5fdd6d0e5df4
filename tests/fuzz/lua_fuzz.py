# SPDX-License-Identifier: GPL-2.0
"""Random Lua sources for the engine, in the user backend.

Half are *generated* from a grammar, so that most run to their end: compiled and interpreted, they
must print the same. Half are *mutated* from the corpus, so that most fail in new ways: they must
end with a proper error. No source may crash the engine, hang it, or cause a sanitizer report.
Failing sources are kept in --keep, with the command that reproduces the failure.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lua_grammar import NUMBERS, Generator

TESTS = Path(__file__).resolve().parent.parent
BUILD = TESTS.parent / "build"
HANG = 60
LIMITS = ["--time-limit", "200", "--memory-limit", "4096"]
OVER = "over the time limit|over the memory limit"
# The sanitizers' exit status 77 cannot be taken for a script's error.
CRASH_STATUS = 77
# The VM runs on a stack of its own, unknown to ASan.
REMARK = re.compile(r"==\d+==WARNING: ASan is ignoring.*\n(False positive.*\n)?(For details.*\n)?")
SANITIZER = re.compile(r"AddressSanitizer|runtime error:|LeakSanitizer|SUMMARY:")


def change(rng: random.Random, tokens: list[str], other: list[str]) -> None:
    """Replace a run of tokens by some of another source's."""
    at, n = rng.randrange(len(tokens)), rng.randint(1, 8)
    there = rng.randrange(len(other))
    names = [i for i, token in enumerate(tokens) if token.isidentifier()] or [at]
    noise = "".join(chr(rng.randrange(256)) for _ in range(n))
    new = rng.choice(
        [
            [],
            tokens[at : at + n] * 2,
            other[there : there + n],
            [rng.choice(NUMBERS)],
            [tokens[rng.choice(names)]],
            [noise],
            [tokens[at]] * rng.choice([2, 10, 300]),
        ]
    )
    tokens[at : at + n] = new


def mutate(rng: random.Random, corpus: list[str]) -> str:
    """A source of the corpus, with a few of its tokens changed."""
    tokens, other = (re.findall(r"\w+|\s+|[^\w\s]", rng.choice(corpus)) for _ in range(2))
    # Mostly small changes: a source that still compiles gets further.
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
        if numbers and rng.random() < 0.6:
            tokens[rng.choice(numbers)] = rng.choice(NUMBERS)
        elif tokens:
            change(rng, tokens, other)
    return "".join(tokens) or "x"


class Fuzzer:
    def __init__(self, command: Path, keep: Path) -> None:
        self.command = command
        self.keep = keep
        self.found = 0
        self.counts = {"generated": 0, "compared": 0, "mutated": 0, "accepted": 0}

    def run(self, source: str, *options: str, **environment: str) -> tuple[int | None, str, str]:
        """Exit status (None for a hang) and both outputs."""
        command = [str(self.command), "run", "--backend", "user", *LIMITS, *options, "-"]
        env = {
            "ASAN_OPTIONS": f"exitcode={CRASH_STATUS}:detect_leaks=0",
            "UBSAN_OPTIONS": f"exitcode={CRASH_STATUS}:print_stacktrace=1",
            **environment,
        }
        try:
            done = subprocess.run(
                command,
                input=source.encode("latin-1"),
                capture_output=True,
                timeout=HANG,
                env=env,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, "", ""
        stderr = REMARK.sub("", done.stderr.decode("latin-1"))
        return done.returncode, done.stdout.decode("latin-1"), stderr

    def report(self, what: str, source: str, detail: str) -> None:
        self.found += 1
        self.keep.mkdir(parents=True, exist_ok=True)
        path = self.keep / f"{what}-{self.found}.lua"
        path.write_bytes(source.encode("latin-1"))
        limits = " ".join(LIMITS)
        print(f"{what}: {self.command} run --backend user {limits} {path}\n{detail[:2000]}")

    def sound(self, source: str, status: int | None, stderr: str) -> bool:
        if status is None:
            self.report("hang", source, f"still running after {HANG} s")
        elif status not in (0, 1) or SANITIZER.search(stderr):
            self.report("crash", source, f"exit status {status}\n{stderr}")
        else:
            return True
        return False

    def verdict(self) -> int:
        """Prints the counts; returns the exit status."""
        print(", ".join(f"{count} {name}" for name, count in self.counts.items()))
        if self.found:
            print(f"{self.found} findings, kept in {self.keep}")
            return 1
        # Sources that all exceeded a limit prove nothing.
        return 0 if self.counts["compared"] else 1

    def generated(self, rng: random.Random) -> None:
        source = Generator(rng).program()
        self.counts["generated"] += 1
        seen = []
        for options in ([], ["--no-jit"]):
            status, stdout, stderr = self.run(source, *options)
            if not self.sound(source, status, stderr):
                return
            seen.append((status, stdout, stderr))
        # Which limit is exceeded, and where, depends on speed.
        if any(re.search(OVER, stderr) for _, _, stderr in seen):
            return
        self.counts["compared"] += 1
        if seen[0] != seen[1]:
            self.report("difference", source, f"compiled:    {seen[0]}\ninterpreted: {seen[1]}")

    def mutated(self, rng: random.Random, corpus: list[str]) -> None:
        source = mutate(rng, corpus)
        self.counts["mutated"] += 1
        status, _, stderr = self.run(source, *rng.choice([[], ["--no-jit"]]))
        if self.sound(source, status, stderr) and status == 0:
            self.counts["accepted"] += 1


class Replayer(Fuzzer):
    """Runs a source many times in one process, with replay.c: @command is its path."""

    def replay(self, source: str, settings: list[str]) -> list[tuple[int, str, str]]:
        """Status and both outputs for each setting; fewer after a crash, which is reported."""
        env = {"ASAN_OPTIONS": f"exitcode={CRASH_STATUS}:detect_leaks=0"}
        try:
            done = subprocess.run(
                [str(self.command), *settings],
                input=source.encode("latin-1"),
                capture_output=True,
                timeout=HANG + len(settings),
                env={**env, "UBSAN_OPTIONS": f"exitcode={CRASH_STATUS}:print_stacktrace=1"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.report("hang", source, f"with one of {settings}")
            return []
        seen, rest = [], done.stdout
        while rest:
            head, _, rest = rest.partition(b"\n")
            status, out, err = map(int, head.split())
            texts = rest[:out].decode("latin-1"), rest[out : out + err].decode("latin-1")
            seen.append((status, *texts))
            rest = rest[out + err :]
        if done.returncode or len(seen) < len(settings):
            stderr = REMARK.sub("", done.stderr.decode("latin-1"))
            at = settings[len(seen)] if len(seen) < len(settings) else "its end"
            self.report("crash", source, f"at {at!r}: status {done.returncode}\n{stderr}")
        return seen


def read_source(path: Path) -> str:
    return path.read_text(encoding="latin-1")


def sources() -> list[str]:
    """Sources to mutate: not those with system calls, which might make any other call."""
    paths = sorted([*TESTS.glob("lua/*.lua"), *TESTS.glob("attack/*.lua")])
    texts = [read_source(path) for path in paths]
    return [text for text in texts if "syscall" not in text and "\n-- raw: " not in text]


def options(doc: str, command: str) -> argparse.ArgumentParser:
    """Options of every fuzzer; @command is the command built with sanitizers."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--command", type=Path, default=BUILD / "asan" / command)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--keep", type=Path, default=BUILD / "fuzz")
    return parser


def rounds(arguments: argparse.Namespace) -> Iterator[random.Random]:
    """The same generator in each round, until the time is over."""
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        yield rng


def main() -> int:
    parser = options(__doc__, "syscript")
    parser.add_argument("--show", action="store_true", help="print one generated source")
    arguments = parser.parse_args()
    if arguments.show:
        print(Generator(random.Random(arguments.seed)).program())
        return 0
    fuzzer, corpus = Fuzzer(arguments.command, arguments.keep), sources()
    for rng in rounds(arguments):
        fuzzer.generated(random.Random(rng.getrandbits(64)))
        fuzzer.mutated(random.Random(rng.getrandbits(64)), corpus)
    return fuzzer.verdict()


if __name__ == "__main__":
    sys.exit(main())
