#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold KGCC's elimination of checks against all checks, on random programs.

Each file of programs is compiled with all checks and with those that are left after
elimination, by the compiler that the kernel was built with.  Both have to end each run in
the same way: at a violation, or not.  What differs is printed with the program.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

# As kbuild has them, as far as checks are concerned.
FLAGS = [
    *("-std=gnu11", "-O2", "-w", "-fno-pie", "-fno-strict-aliasing"),
    *("-fno-strict-overflow", "-fno-delete-null-pointer-checks", "-fno-allow-store-data-races"),
    *("-fno-stack-protector", "-fcf-protection=none", "-mno-red-zone", "-ffreestanding"),
]
# What comes after the plugin takes a third of the compiler's time.  It is done in full, and
# debug information written, for one file in so many only.
IN_FULL = 8
QUICK = [
    *("-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-ivopts", "-fno-gcse"),
    *("-fno-rerun-cse-after-loop", "-fno-schedule-insns2", "-fno-peephole2", "-fno-ipa-ra"),
    *("-fno-reorder-blocks-and-partition", "-fno-crossjumping", "-fno-cprop-registers"),
]
RUNS = 8
# A run that took too long says nothing.
UNKNOWN = "t"


def flags_of(seed: int) -> list[str]:
    return [*FLAGS, *(QUICK if seed % IN_FULL else ["-g"])]


def compile_with(
    command: list[str], plugin: Path, options: list[str], source: Path, out: Path, runtime: Path
) -> None:
    arguments = [f"-fplugin={plugin}", *(f"-fplugin-arg-{plugin.stem}-{o}" for o in options)]
    subprocess.run(
        [*command, *arguments, f"-I{HERE}", "-c", str(source), "-o", str(out.with_suffix(".o"))],
        check=True,
    )
    subprocess.run(
        [command[0], "-no-pie", str(out.with_suffix(".o")), str(runtime), "-o", str(out)],
        check=True,
    )


def ends(program: Path) -> list[str]:
    done = subprocess.run([program, str(RUNS)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def same(left: str, right: str) -> bool:
    return all(
        a == b or UNKNOWN in (a, b) for a, b in zip(left.split(), right.split(), strict=True)
    )


def compare(args: argparse.Namespace, seed: int, runtime: Path, top: Path) -> tuple[int, int]:
    """Compile and run a file; how many programs differ, and how many violations there were."""
    source = top / "programs.c"
    source.write_text(generate.source(seed, args.programs))
    for name, options in (("all", ["all-checks"]), ("left", args.options)):
        compile_with([args.cc, *flags_of(seed)], args.plugin, options, source, top / name, runtime)
    differ = violations = 0
    for i, (left, right) in enumerate(zip(ends(top / "all"), ends(top / "left"), strict=True)):
        violations += left.count("v")
        if same(left, right):
            continue
        differ += 1
        print(f"seed {seed}, program {i}: all checks {left}, after elimination {right}")
        print(generate.Program(f"{seed}/{i}").text(f"program{i}"), flush=True)
    return differ, violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugin", type=Path, help="kgcc.so")
    parser.add_argument("--cc", default="gcc", help="the compiler that it is for")
    parser.add_argument("--seed", type=int, default=1, help="of the first file")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100, help="in each file")
    parser.add_argument("--seconds", type=float, help="begin no file after this time")
    parser.add_argument("--options", nargs="*", default=[], help="of the plugin's, for elimination")
    args = parser.parse_args()
    began, files, differ, violations = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        runtime = top / "runtime.o"
        subprocess.run(
            [args.cc, "-O2", "-fno-pie", "-c", HERE / "runtime.c", "-o", runtime], check=True
        )
        for seed in range(args.seed, args.seed + args.files):
            if args.seconds and time.monotonic() - began > args.seconds:
                break
            more, seen = compare(args, seed, runtime, top)
            files, differ, violations = files + 1, differ + more, violations + seen
    programs = files * args.programs
    print(f"{programs} programs, {programs * RUNS} runs, {violations} violations: {differ} differ")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
