#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fetch a program as built in Debian's newest suite, with the libraries that it needs.

For rivals that no older suite has. Their version changes with the suite: it is written next to the
program, for comparisons.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vm"))

import kernels  # noqa: E402

LIBRARY = re.compile("lib|zlib")


class Program(NamedTuple):
    path: str
    libraries: list[str]


# By package; only the first library, its dependencies follow.
PROGRAMS = {
    "nsd": Program(
        "usr/sbin/nsd",
        [
            "libbpf1",
            "libevent-2.1-7t64",
            "libfstrm0",
            "libprotobuf-c1",
            "libssl3t64",
            "libsystemd0",
            "libxdp1",
        ],
    ),
}


def fetch(package: str, out: Path) -> None:
    """Unpack it at the place where it runs, with that suite's C library."""
    suite = kernels.Suite(kernels.SUITES["newest"])
    # Old package lists may name a revision that is gone.
    (suite.state / "updated").unlink(missing_ok=True)
    suite.state.mkdir(parents=True, exist_ok=True)
    suite.update()
    shown = kernels.run("apt-cache", *suite.options(), "show", package)
    program = PROGRAMS[package]
    libraries = {name for first in program.libraries for name in suite.closure(first)}
    shutil.rmtree(out, ignore_errors=True)
    suite.unpack([package, *sorted(filter(LIBRARY.match, libraries))], out)
    binary = out / program.path
    place = out.resolve() / "usr/lib/x86_64-linux-gnu"
    interpreter = ["--set-interpreter", place / "ld-linux-x86-64.so.2"]
    kernels.run("patchelf", *interpreter, "--force-rpath", "--set-rpath", place, binary)
    (out / package).symlink_to(program.path)
    (out / "version").write_text(re.search(r"^Version: (.*)$", shown, re.MULTILINE)[1] + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=PROGRAMS)
    parser.add_argument("out", type=Path, help="the directory to unpack it to")
    args = parser.parse_args()
    try:
        fetch(args.package, args.out)
    except kernels.KernelError as error:
        print(f"built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
