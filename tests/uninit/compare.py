#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare what two builds of LuaJIT say that differ in what is in objects before they are set.

On the C stack the compiler puts zeros there in one, and a pattern in the other.  Whatever
reads such an object, most likely on the way to an error, says something else then.

usage: compare.py SYSCRIPT SYSCRIPT [TEXT]     TEXT: only cases whose names have it
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
LIMITS = ["--time-limit", "9s", "--wall-limit", "100s", "--memory-limit", "16M"]
RUN = ["run", "--backend", "user", "--engine", "luajit"]
# Depends on time, or is an address.
VARIES = re.compile(rb"0x[0-9a-f]{6,}")
PATTERN = re.compile(
    rb"-?(1431655766|6148914691236517206|2863311530|12297829382473034410|aaaaaaaa)"
)


def output(command: Path, *words: str | Path, source: bytes | None = None) -> bytes:
    done = subprocess.run(
        [command, *RUN, *LIMITS, *words], input=source or b"", capture_output=True, timeout=300
    )
    text = b"exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr)
    return VARIES.sub(b"...", text)


def sources() -> list[bytes]:
    """Scripts of the corpus, the shorter half of them."""
    texts = sorted((path.read_bytes() for path in (TESTS / "lua").glob("*.lua")), key=len)
    return texts[: len(texts) // 2]


def errors() -> bytes:
    texts = b",\n".join(b"[======[\n%s]======]" % text for text in sources())
    return b"local SOURCES = {\n%s}\n%s" % (texts, (HERE / "errors.lua").read_bytes())


def cases(command: Path) -> dict[str, tuple[list[str | Path], bytes | None]]:
    """By name: the words of a command, and what it reads."""
    parser = errors()
    done = subprocess.run(
        [command, *RUN, *LIMITS, "-", "0"], input=parser, capture_output=True, check=True
    )
    found: dict[str, tuple[list[str | Path], bytes | None]] = {
        f"parser {n}": (["-", f"{n}"], parser) for n in range(1, int(done.stdout) + 1)
    }
    for mode in ([], ["--no-jit"]):
        what = "interpreted" if mode else "compiled"
        found[f"grid {what}"] = ([*mode, TESTS / "confined" / "grid.lua", "0"], None)
        for path in sorted([*(TESTS / "attack").glob("*.lua"), *(TESTS / "lua").glob("*.lua")]):
            # Neither those that only a limit of time ends, nor long ones without errors.
            if b"ETIME" not in path.read_bytes() and not path.stem.startswith("bench_"):
                found[f"{path.stem} {what}"] = ([*mode, path], None)
    return found


def main() -> int:
    zero, pattern = map(Path, sys.argv[1:3])
    text = "".join(sys.argv[3:])
    wrong = 0

    def both(case: tuple[list[str | Path], bytes | None]) -> list[bytes]:
        words, source = case
        return [output(command, *words, source=source) for command in (zero, pattern)]

    found = {name: case for name, case in cases(zero).items() if text in name}
    with ThreadPoolExecutor(2) as pool:
        for name, (said, other) in zip(found, pool.map(both, found.values()), strict=True):
            # Where a limit of time ends a script depends on the machine.
            late = b"over the time limit" in said or b"over the wall" in said
            if (said == other or late) and not PATTERN.search(other):
                continue
            wrong += 1
            lines = zip(said.splitlines(), other.splitlines(), strict=False)
            first = next(((a, b) for a, b in lines if a != b), (said[-200:], other[-200:]))
            print(f"{name}: {first[0]!r}, and {first[1]!r}", flush=True)
    print(f"{len(found)} cases, {wrong} of them read what is not set")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
