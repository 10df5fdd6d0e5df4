# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A finished build for ninja: sources, headers, objects and its logs.

The logs are as ninja would have left them (log version 5, deps version 4), so nothing needs to be
compiled.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

MASK = 2**64 - 1
COMMAND = "cc -c {source} -o {output}"


def hash_command(command: bytes) -> int:
    """MurmurHash64A, as in ninja's log."""
    m, r = 0xC6A4A7935BD1E995, 47
    h = 0xDECAFBADDECAFBAD ^ (len(command) * m & MASK)
    whole = len(command) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", command[:whole]):
        k = k * m & MASK
        k = (k ^ k >> r) * m & MASK
        h = (h ^ k) * m & MASK
    if command[whole:]:
        h = (h ^ int.from_bytes(command[whole:], "little")) * m & MASK
    h = (h ^ h >> r) * m & MASK
    return h ^ h >> r


class Deps:
    """The deps log."""

    def __init__(self) -> None:
        self.records = [b"# ninjadeps\n", struct.pack("<i", 4)]
        self.ids: dict[str, int] = {}

    def id_of(self, path: str) -> int:
        if path not in self.ids:
            number = self.ids[path] = len(self.ids)
            text = path.encode()
            text += bytes(-len(text) % 4)
            self.records.append(struct.pack("<I", len(text) + 4) + text)
            self.records.append(struct.pack("<I", ~number & 0xFFFFFFFF))
        return self.ids[path]

    def add(self, output: str, mtime: int, inputs: list[str]) -> None:
        numbers = [self.id_of(path) for path in (output, *inputs)]
        size = 4 * (len(numbers) + 2)
        self.records.append(
            struct.pack("<IIQ", size | 1 << 31, numbers[0], mtime)
            + struct.pack(f"<{len(inputs)}I", *numbers[1:])
        )


def create(path: str, seconds: int) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
    os.utime(path, (seconds, seconds))


def make_build(place: Path, sources: int, headers: int, each: int) -> list[str]:
    """Make a build in @place: @sources sources, each with an object and @each of the headers.

    Returns the paths that ninja checks.
    """
    place.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(place)
    names = [f"include/{n // 200}/header{n}.h" for n in range(headers)]
    for name in names:
        create(name, 1_000_000_000)
    rules = ["rule cc", f"  command = {COMMAND.format(source='$in', output='$out')}"]
    rules += ["  deps = gcc", "  depfile = $out.d"]
    log, deps, paths = ["# ninja log v5"], Deps(), list(names)
    for n in range(sources):
        source, output = f"src/{n // 100}/file{n}.c", f"obj/{n // 100}/file{n}.o"
        create(source, 1_000_000_000)
        create(output, 1_100_000_000)
        rules.append(f"build {output}: cc {source}")
        number = hash_command(COMMAND.format(source=source, output=output).encode())
        mtime = 1_100_000_000 * 10**9
        log.append(f"0\t1\t{mtime}\t{output}\t{number:x}")
        first = n * 7 % headers
        deps.add(output, mtime, [names[(first + k) % headers] for k in range(each)])
        paths += [source, output]
    Path("build.ninja").write_text("\n".join([*rules, ""]))
    Path(".ninja_log").write_text("\n".join([*log, ""]))
    Path(".ninja_deps").write_bytes(b"".join(deps.records))
    os.chdir(before)
    return paths
