#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Counts the lines of code that must be trusted if strangers may run compounds: make trusted.

docs/design/proof.md has the table, in hundreds of lines; test_confined_trusted.py compares it, and
checks that each source of the module is in one of the lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFINED = "engine/confined/"
PARTS = {
    "the verifier": ["engine/confined/verify*", "engine/confined/arch/x86/verify*"],
    # The code it generates is not trusted; its own memory accesses are.
    "the code generator": [
        *(
            CONFINED + name
            for name in ("arch/x86/jit*", "arch/x86/emit*", "jit*", "fuel.c", "liveness.c")
        ),
    ],
    "machine code's ends": [
        *(
            CONFINED + name
            for name in (
                "arch/x86/stubs.[Sh]",
                "machine.*",
                "port.h",
                "arch/registers.h",
                "arch/x86/registers.h",
            )
        ),
        "include/uapi/syscript_image.h",
    ],
    "arenas, code and images": [
        *(
            CONFINED + name
            for name in (
                *("kernel/[!ps]*", "kernel/platform.c", "kernel/stacks.*", "arch/*/arch_code.h"),
                *("engine.c", "vm.h", "validate_image.*"),
            )
        ),
    ],
    "runs, system calls, observers": [
        "core/[!t]*.[ch]",
        "core/types.h",
        "core/kernel/*.[ch]",
        "core/arch/**/*.h",
        "kernel/[!p]*.[chS]",
        "kernel/sys/*.[ch]",
        "kernel/arch/**/*.[chS]",
        "core/syscalls.def",
    ],
    "programs of subsystems": [
        "kernel/prog_*.[ch]",
        *(
            f"kernel/embed/{name}.[ch]"
            for name in ("netfilter", "nf_attach", "nf_nat", "process", "rewrite")
        ),
        "core/table.[ch]",
        CONFINED + "kernel/percpu_ctx.[ch]",
    ],
    "batches": [
        "core/fs/*.[ch]",
        "kernel/fs/*.[ch]",
        "core/net/*.[ch]",
        "kernel/net/*.[ch]",
        CONFINED + "batch_*.[ch]",
        "include/uapi/syscript_image_batch.h",
    ],
}
# Files that are not trusted, or not reachable for other users.
OTHERS = [
    *(CONFINED + name for name in ("interpret.c", "print.*")),
    *("core/user/**/*", "engine/confined/user/*", "engine/luajit/**/*"),
    # Concerns the whole machine: for its administrator only.
    *(f"kernel/embed/{name}" for name in ("cpufreq.*", "events.h", "files.c", "threads.c")),
    "kernel/embed/timer.c",
]


def files(patterns: list[str]) -> set[Path]:
    """Those in the module for x86-64."""
    found = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    return {path for path in found if "/arch/arm64/" not in path.as_posix()}


def lines(paths: set[Path]) -> int:
    return sum(path.read_text().count("\n") for path in paths)


def parts() -> Iterator[tuple[str, int]]:
    for name, patterns in PARTS.items():
        yield name, lines(files(patterns))


def in_no_list() -> set[Path]:
    """Sources of the engine and of the module's core that are in no list."""
    all_of_them = files(["core/**/*.[chS]", "engine/confined/**/*.[chS]", "kernel/**/*.[chS]"])
    return all_of_them - files([p for patterns in PARTS.values() for p in patterns] + OTHERS)


if __name__ == "__main__":
    total = 0
    for part, count in parts():
        total += count
        print(f"{count:6,}  {part}")
    print(f"{total:6,}  in all")
