#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Measure how long consolidate takes for a long trace."""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build" / "consolidate"
# Upper bound: seconds for a million lines.
AT_MOST = 60.0


def calls(chance: random.Random) -> Iterator[tuple[int, str, int | str]]:
    """Three processes: list directories with their files, search for files, read files."""
    count = 0
    while True:
        pid, count = chance.choice((100, 101, 102)), count + 1
        path = f"/srv/data/dir{count % 1000}"
        names = [f"f{i}" for i in range(chance.randrange(3, 30))]
        entries = ", ".join(f'{{d_ino=1, d_type=DT_REG, d_name="{name}"}}' for name in names)
        stat = "{st_mode=S_IFREG|0644, st_size=12, ...}"
        yield pid, f'openat(AT_FDCWD</srv>, "{path}", O_RDONLY|O_DIRECTORY)', f"3<{path}>"
        yield pid, f"getdents64(3<{path}>, [{entries}], 32768)", 24 * len(names)
        for name in names:
            yield pid, f'newfstatat(3<{path}>, "{name}", {stat}, AT_SYMLINK_NOFOLLOW)', 0
        yield pid, f"getdents64(3<{path}>, [], 32768)", 0
        yield pid, f"close(3<{path}>)", 0
        for _ in range(chance.randrange(4)):
            missing = "-1 ENOENT (No such file or directory)"
            yield pid, f'openat(AT_FDCWD</srv>, "/x/{count}.h", O_RDONLY)', missing
        yield pid, f'openat(AT_FDCWD</srv>, "/x/{count}.c", O_RDONLY)', 3
        yield pid, 'read(3, "#include <stdio.h>\\n"..., 4096)', 1200
        yield pid, 'read(3, "", 4096)', 0
        yield pid, "close(3)", 0


def write(path: Path, lines: int) -> None:
    now = 1795176158.0
    with path.open("w") as file:
        for _, (pid, call, result) in zip(range(lines), calls(random.Random(1)), strict=False):
            now += 0.00003
            file.write(f"{pid} {now:.6f} {call} = {result} <0.000009>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "trace"
        write(path, args.lines)
        size = path.stat().st_size / 1e6
        start = time.monotonic()
        done = subprocess.run([COMMAND, "report", path], check=False)
        elapsed = time.monotonic() - start
    # CPU time does not depend on the machine's load.
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"\n{args.lines} lines, {size:.0f} MB: {took:.1f} s of CPU time, {elapsed:.1f} s")
    if done.returncode:
        return done.returncode
    if took > AT_MOST * args.lines / 1e6:
        print(f"longer than {AT_MOST:g} s for a million lines", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
