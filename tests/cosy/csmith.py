# SPDX-License-Identifier: GPL-2.0
"""Random C programs, compiled plainly and as compounds: they have to print the same.

usage: csmith.py [--seed N] [--count N] [--jobs N]

What csmith generates is one call that reads and writes the program's variables; that
call is the segment.  Programs that do not end soon are not counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COSY_CC = ROOT / "build" / "cosy-cc"
OPTIONS = ["--no-float", "--no-packed-struct", "--no-volatiles", "--no-argc"]
# Programs that never end have to stay so: clang would take an end for granted.
INCLUDE = ["-I/usr/include/csmith", "-w", "-fno-finite-loops"]
# What has ended plainly after the first does so as a compound before the second.
SECONDS = 1
SECONDS_COSY = 60


def program(seed: int) -> str:
    """With the segment marked."""
    generated = subprocess.run(
        ["csmith", "-s", str(seed), *OPTIONS], check=True, capture_output=True, text=True
    ).stdout
    call = "    func_1();\n"
    assert generated.count(call) == 1
    marked = generated.replace(call, f"    COSY_START;\n{call}    COSY_END;\n")
    return "#include <cosy.h>\n" + marked


def run(command: list[str | Path], seconds: int, **env: str) -> str | None:
    try:
        done = subprocess.run(
            command,
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    return f"{done.returncode} {done.stdout}{done.stderr}"


def build(source: Path, program: Path, *options: str) -> str:
    """What is wrong, or nothing."""
    command = [COSY_CC, *options, *INCLUDE, "-o", program, source]
    done = subprocess.run(command, capture_output=True, text=True)
    return f"does not compile {options}: {done.stderr[:2000]}" if done.returncode else ""


def compare(seed: int) -> str:
    """'same', 'endless', or what is wrong."""
    with tempfile.TemporaryDirectory() as directory:
        source, plain, cosy = (Path(directory) / name for name in ("p.c", "plain", "cosy"))
        source.write_text(program(seed))
        level = f"-O{seed % 3}"
        wrong = build(source, plain, "--user", level)
        if wrong:
            return wrong
        want = run([plain], SECONDS)
        if want is None:
            return "endless"
        wrong = build(source, cosy, level)
        if wrong:
            return wrong
        engine = os.environ.get("COSY_ENGINE", "user")
        got = run([cosy], SECONDS_COSY, COSY_ENGINE=engine, COSY_ARENA=str(1 << 22))
        return "same" if got == want else f"{level} prints {got!r}, and plain {want!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    counts = {"same": 0, "endless": 0, "different": 0}
    seeds = range(args.seed, args.seed + args.count)
    with ThreadPoolExecutor(args.jobs) as pool:
        for seed, verdict in zip(seeds, pool.map(compare, seeds), strict=True):
            if verdict not in counts:
                print(f"seed {seed}: {verdict}", flush=True)
                verdict = "different"
            counts[verdict] += 1
            if not sum(counts.values()) % 100:
                print(f"{sum(counts.values())} of {args.count}", file=sys.stderr, flush=True)
    print(f"{counts['same']} same, {counts['different']} different, {counts['endless']} endless")
    return bool(counts["different"])


if __name__ == "__main__":
    sys.exit(main())
