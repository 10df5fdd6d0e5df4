# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Asks the engine itself about constants, and whether a script is valid."""

from __future__ import annotations

import os
import shutil
import subprocess

from consolidate import paths
from consolidate.errors import ConsolidateError


def command() -> str:
    """The command syscript(1): from the tree, installed next to this one, or another."""
    found = paths.first(paths.COMMAND) or shutil.which("syscript")
    if found is None:
        raise ConsolidateError("the command syscript is missing: run `make cli`, or install it")
    return str(found)


# For a busy or emulated machine.
PATIENCE = "10s"


def run(script: str, verb: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYSCRIPT_BACKEND": "user"}
    argv = [command(), *verb, "-"]
    # A script may print any bytes.
    return subprocess.run(
        argv,
        input=script,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        env=environment,
        check=False,
    )


def unknown(names: set[str]) -> frozenset[str]:
    """Names of constants that scripts lack."""
    if not names:
        return frozenset()
    tests = "\n".join(
        f'if not pcall(function() return const.{name} end) then print("{name}") end'
        for name in sorted(names)
    )
    done = run(f"{tests}\nfunction run() end\n", ["run", "--time-limit", PATIENCE])
    if done.returncode:
        raise ConsolidateError(f"syscript cannot run scripts here: {done.stderr.strip()}")
    return frozenset(done.stdout.split()) & names


def check(script: str) -> None:
    """Compile a script; an error in it is a bug of consolidate."""
    done = run(script, ["check"])
    if done.returncode:
        raise ConsolidateError(
            f"the generated script is invalid: {done.stderr.strip()}\nplease report this"
            f" with the trace; the script:\n{script}"
        )
