# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The README's commands, and the command where it is installed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from conftest import ROOT
from documents import blocks
from traces import Writer


def done(*argv: str | Path, cwd: Path = ROOT) -> str:
    ended = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_readme_commands(tmp_path: Path) -> None:
    text = next(text for _, text in blocks(ROOT / "consolidate/README.md"))
    commands = [line for line in text.splitlines() if line.startswith("build/")]
    cache = f"XDG_CACHE_HOME={tmp_path / 'cache'}"
    output = done("env", cache, "bash", "-euc", "\n".join(commands))
    assert "saves" in output and "function run(items" in output


def test_installed_consolidate_measures(tmp_path: Path) -> None:
    """With the library installed next to it, without the source tree."""
    prefix = tmp_path / "prefix"
    goals = ("install-lib", "install-cli", "install-consolidate")
    done("make", "-s", *goals, f"PREFIX={prefix}", f"LIBDIR_BUILT={prefix}/lib")
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    trace.write(tmp_path / "t")
    options = ["--here", "--backend", "user", "--rounds", "2", "--json"]
    found = done(prefix / "bin/consolidate", "measure", "1", "t", *options, cwd=tmp_path)
    assert json.loads(found)["calls_per_iteration"] == 4
    (prefix / "lib/libsyscript.a").unlink()
    command = [str(prefix / "bin/consolidate"), "measure", "1", "t", *options]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "libsyscript.a" in ended.stderr and "make install" in ended.stderr
