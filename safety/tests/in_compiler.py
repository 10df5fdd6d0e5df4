# SPDX-License-Identifier: GPL-2.0
"""Compiles a few lines of C as a kernel module's, with KGCC's plugin."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from kit import ALONE, SHARED
from modules_in_guest import MODULES

PLUGIN = MODULES / "kgcc" / "kgcc.so"


def kernel_compiler() -> str:
    if ALONE:
        return "gcc"
    command = [SHARED / "kernels.py", "cc", MODULES.name.removeprefix("safety-")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def compiled(source: str, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Compile to assembly with the compiler of the guest's kernel."""
    (directory / "test.c").write_text(source)
    compiler = kernel_compiler()
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    return subprocess.run(
        [compiler, "-S", "-O2", "-fno-pic", "-mcmodel=kernel"]
        + ["-mpreferred-stack-boundary=3", f"-fplugin={PLUGIN}"]
        + [f"-fplugin-arg-kgcc-{option}" for option in options]
        + ["-o", "-", "test.c"],
        cwd=directory,
        capture_output=True,
        text=True,
    )
