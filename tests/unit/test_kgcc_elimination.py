# SPDX-License-Identifier: GPL-2.0
"""KGCC's elimination of checks: programs end the same way as with all checks (elimination/)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import kernels
import pytest
from kernels import BUILD, ROOT

HERE = ROOT / "safety" / "tests" / "elimination"
sys.path.insert(0, str(HERE))

import fuzz  # noqa: E402
import generate  # noqa: E402

# How each program ends: normally, at a violation, or by task_exit().
PROGRAMS = {
    # (2^61 + 1) words wrap to 8 bytes if multiplied without care.
    "length_wraps": ("v", "for (u64 i = 0; i < huge; i++) p[i] = 1;"),
    "length_wraps_down": ("v", "for (u64 i = huge; i--;) p[i - huge + 1] = 1;"),
    "length": ("e", "for (u64 i = 0; i < 2 + zero; i++) p[i] = 1;"),
    "length_over": ("v", "for (u64 i = 0; i < 3 + zero; i++) p[i] = 1;"),
    # Code after the end of a task does not read.
    "ends_before": ("l", "sink = p[0]; if (!zero) task_exit(); sink = p[2];"),
    "ends_after": ("v", "sink = p[0]; if (zero) task_exit(); sink = p[2];"),
    "freed_by_other": ("v", "sink = p[0]; helper_drop(p, 3 + zero); sink = p[0];"),
    "kept_by_other": ("e", "sink = p[0]; helper_drop(p, zero); sink = p[0];"),
    # The result of a lookup is compared later, but not after a free, nor before the root.
    "room": ("e", "sink = p[0]; if (zero) kfree(p); sink = p[1 + zero];"),
    "room_freed": ("v", "sink = p[0]; if (!zero) kfree(p); sink = p[1 + zero];"),
    "room_before": ("v", "sink = p[0]; sink = p[zero - 1];"),
    "room_across": ("v", "sink = p[0]; sink = *(u32 *)((u8 *)p + (zero - 2));"),
    "room_across_steps": ("v", "sink = p[0]; sink = *(u32 *)((u8 *)p + (zero - 2) + 4 * zero);"),
    "room_over": ("v", "for (long i = 0;; i++) if (p[i] == 77) break;"),
    # A reloaded pointer may be the same or another one.
    "loaded_again": ("e", "e->pointer[zero] = p; READ(0); e->pointer[zero] = p; READ(0);"),
    "loaded_another": ("v", "e->pointer[zero] = p; READ(0); e->pointer[zero] = q; READ(0);"),
    # A call does not free what the caller has on its stack.
    "argument_stays": ("e", "u32 local[4] = { 0 }; sink = helper_around(local, p, 1, 3 + zero);"),
    "argument_freed": ("v", "sink = helper_around((u32 *)p, p, 1, 3 + zero);"),
}


def source() -> str:
    texts = [
        f"static noinline long {name}(struct environment *e)\n{{\n"
        "\tvolatile long nothing = 0;\n\tlong zero = nothing;\n"
        "\tu64 huge = (1ul << 61) + 1 + zero, *p = __kmalloc(16 + zero, 0);\n"
        "\tu64 *q = __kmalloc(8 + zero, 0);\n\n"
        f"\t{text}\n\treturn 0;\n}}\n"
        for name, (_, text) in PROGRAMS.items()
    ]
    table = f"long (*const programs[])(struct environment *) = {{ {', '.join(PROGRAMS)} }};\n"
    count = f"const unsigned int n_programs = {len(PROGRAMS)};\n"
    read = "#define READ(i) (sink = ((u64 *)e->pointer[i])[1])\n"
    return "\n".join([generate.HEADER, read, *texts, table, count, generate.RESET])


@pytest.fixture(scope="module")
def plugin() -> Path:
    release = kernels.release_of(os.environ.get("KREL", "6.1"))
    path = BUILD / f"safety-{release}" / "kgcc" / "kgcc.so"
    if not path.exists():
        pytest.skip("KGCC's plugin is not built: make safety")
    return path


@pytest.fixture(scope="module")
def compiler(plugin: Path) -> str:
    """The compiler that the plugin was built for."""
    version = re.search(
        r"gcc/[^/]*/(\d+)/", (plugin.parent.parent / "kgcc-plugin/headers").read_text()
    )
    return f"gcc-{version[1]}" if version else "gcc"


@pytest.fixture(scope="module")
def run(plugin: Path, compiler: str, tmp_path_factory) -> Callable[[str, list[str]], list[str]]:
    """run(source, options): how each program ends, one per line."""
    top = tmp_path_factory.mktemp("elimination")
    runtime = top / "runtime.o"
    flags = ["-O2", "-fno-pie", "-c", str(HERE / "runtime.c"), "-o", str(runtime)]
    try:
        subprocess.run([compiler, *flags], check=True)
    except FileNotFoundError:
        pytest.skip(f"no {compiler}")

    def run(text: str, options: list[str]) -> list[str]:
        path = top / "programs.c"
        path.write_text(text)
        command = [compiler, *fuzz.flags_of(0, compiler, plugin)]
        fuzz.compile_with(command, plugin, options, path, top / "programs", runtime)
        return fuzz.ends(top / "programs")

    return run


@pytest.mark.parametrize("options", [["all-checks"], []], ids=["all", "left"])
def test_known(run, options: list[str]) -> None:
    ends = {
        name: set(line.split()[1:])
        for name, line in zip(PROGRAMS, run(source(), options), strict=True)
    }
    assert ends == {name: {end} for name, (end, _) in PROGRAMS.items()}


def test_random(run) -> None:
    """A few programs; `make fuzz-kgcc` runs as many as there is time for."""
    text = generate.source(int(os.environ.get("KGCC_SEED", "7")), 30)
    found = list(zip(run(text, ["all-checks"]), run(text, []), strict=True))
    assert all(fuzz.same(left, right) for left, right in found)
    ends = "".join(left for left, _ in found)
    assert ends.count("v") > 20 and ends.count("e") > 20
