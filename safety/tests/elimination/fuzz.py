#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare KGCC's elimination of checks with all checks, on random programs.

Each file of programs is compiled with all checks, and with those left after elimination, by the
compiler of the kernel. Each run must end the same way in both: at a violation, or not. Programs
that differ are printed.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

# kbuild's flags, as far as they concern checks.
FLAGS = [
    *("-std=gnu11", "-w", "-fno-pie", "-fno-strict-aliasing"),
    *("-fno-strict-overflow", "-fno-delete-null-pointer-checks", "-fno-allow-store-data-races"),
    *("-fno-stack-protector", "-fcf-protection=none", "-mno-red-zone", "-ffreestanding"),
    # As in kernels: checks preserve no vector registers, but a vectorized loop keeps its sum there.
    "-mgeneral-regs-only",
    # The compiler's process is too short-lived to collect garbage.
    *("--param", "ggc-min-expand=1000", "--param", "ggc-min-heapsize=1048576"),
]
# Passes after the plugin take half of the compiler's time. Only one file in this many is compiled
# with all of them and with debug information.
IN_FULL = 8
QUICK = [
    *("-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-ivopts", "-fno-gcse"),
    *("-fno-rerun-cse-after-loop", "-fno-schedule-insns2", "-fno-peephole2", "-fno-ipa-ra"),
    *("-fno-reorder-blocks-and-partition", "-fno-crossjumping", "-fno-cprop-registers"),
    "-fno-move-loop-invariants",
]
PLUGINS_PASS = "tree-kgcc_check"
# Passes to skip in the other files. Compilers differ in how many instances each pass has.
OF_TREES = (
    "dse dce sccp cddce ivcanon copyprop lim cunroll fre reassoc slsr thread dom strlen "
    "threadfull vrp ccp wrestrict forwprop sink phiopt widening_mul store-merging tailc "
    "local-pure-const modref uncprop"
)
OF_RTL = "cse fwprop ce dse combine ree cmpelim csa bbro compgotos"
LEFT_OUT = {f"tree-{name}" for name in OF_TREES.split()} | {f"rtl-{n}" for n in OF_RTL.split()}
RUNS = 8
# A run that timed out counts as neither.
UNKNOWN = "t"
# With all checks a run may fault where the other one reports: GCC may move a load before its check,
# to a point that every path reaches. No report is lost then.
FAULTED_ONLY = ("!", "v")


@functools.cache
def left_out(compiler: str, plugin: Path) -> list[str]:
    """Options that skip the passes which the compiler has."""
    command = [compiler, "-O2", f"-fplugin={plugin}", "-fdump-passes", "-S", "-o", os.devnull]
    done = subprocess.run(
        [*command, "-xc", "-"], input="int x(void) { return 0; }", capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    _, found, after = done.stderr.partition(PLUGINS_PASS)
    if not found:
        raise SystemExit(f"{plugin}: {compiler} has no {PLUGINS_PASS}")
    passes = re.findall(r"^ *((?:tree|rtl)-[a-z_-]+)(\d*) ", after, re.MULTILINE)
    return [f"-fdisable-{name}{number}" for name, number in passes if name in LEFT_OUT]


def flags_of(seed: int, compiler: str, plugin: Path) -> list[str]:
    """Kernels are compiled with -O2; -O1 keeps more of the program's structure."""
    if seed % IN_FULL == 0:
        return [*FLAGS, "-O2", "-g"]
    return [*FLAGS, "-O1" if seed % 2 else "-O2", *QUICK, *left_out(compiler, plugin)]


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stderr}")


def compile_with(
    command: list[str], plugin: Path, options: list[str], source: Path, out: Path, runtime: Path
) -> None:
    arguments = [f"-fplugin={plugin}", *(f"-fplugin-arg-{plugin.stem}-{o}" for o in options)]
    compiled = out.with_suffix(".o")
    run(*command, *arguments, f"-I{HERE}", "-c", source, "-o", compiled)
    run(command[0], "-no-pie", compiled, runtime, "-o", out)


def ends(program: Path) -> list[str]:
    done = subprocess.run([program, str(RUNS)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def same(every: str, left: str) -> bool:
    """Did the program end the same way with all checks and with those left?"""
    return all(
        a == b or UNKNOWN in (a, b) or (a, b) == FAULTED_ONLY
        for a, b in zip(every.split(), left.split(), strict=True)
    )


def differences(args: argparse.Namespace, seed: int, runtime: Path) -> tuple[list[str], int]:
    """Compile and run a file; returns the programs that differ, and the number of violations."""
    different, violations = [], 0
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        source = top / "programs.c"
        source.write_text(generate.source(seed, args.programs))
        command = [args.cc, *flags_of(seed, args.cc, args.plugin)]
        for name, options in (("all", ["all-checks"]), ("left", args.options)):
            compile_with(command, args.plugin, options, source, top / name, runtime)
        pairs = zip(ends(top / "all"), ends(top / "left"), strict=True)
    for i, (left, right) in enumerate(pairs):
        violations += left.count("v")
        if not same(left, right):
            text = generate.Program(f"{seed}/{i}").text(f"program{i}")
            ways = f"all checks {left}, after elimination {right}"
            different.append(f"seed {seed}, program {i}: {ways}\n{text}")
    return different, violations


def compare(args: argparse.Namespace, runtime: Path) -> Iterator[tuple[list[str], int]]:
    """Compare files, several in parallel."""
    seeds = iter(range(args.seed, args.seed + args.files))
    end = time.monotonic() + (args.seconds or float("inf"))
    running: set[Future[tuple[list[str], int]]] = set()
    with ThreadPoolExecutor(args.jobs) as pool:
        while True:
            while len(running) < args.jobs and time.monotonic() < end:
                seed = next(seeds, None)
                if seed is None:
                    break
                running.add(pool.submit(differences, args, seed, runtime))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugin", type=Path, help="kgcc.so")
    parser.add_argument("--cc", default="gcc", help="the compiler that it is for")
    parser.add_argument("--seed", type=int, default=1, help="of the first file")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100, help="in each file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files at a time")
    parser.add_argument("--seconds", type=float, help="begin no file after this time")
    parser.add_argument("--options", nargs="*", default=[], help="of the plugin's, for elimination")
    args = parser.parse_args()
    args.plugin = args.plugin.resolve()
    began, files, differ, violations = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        runtime = Path(directory) / "runtime.o"
        run(args.cc, "-O2", "-fno-pie", "-c", HERE / "runtime.c", "-o", runtime)
        for different, seen in compare(args, runtime):
            files, differ, violations = files + 1, differ + len(different), violations + seen
            print("".join(different), end="", flush=True)
    programs = files * args.programs
    rate = programs / (time.monotonic() - began)
    print(f"{programs} programs, {programs * RUNS} runs, {violations} violations, "
          f"{rate:.0f} programs a second: {differ} differ")  # fmt: skip
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
