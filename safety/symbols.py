# SPDX-License-Identifier: GPL-2.0
"""Places in kernel modules, symbol+offset as the kernel prints them, as file:line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

# access_write+0x5/0x10 [planted]
PLACE = re.compile(
    r"(?P<symbol>[\w.]+)\+0x(?P<offset>[0-9a-f]+)/0x(?P<size>[0-9a-f]+) \[(?P<module>\w+)"
)
# Functions as `nm -f sysv` lists them.
SYMBOL = re.compile(r"^(\S+)\s*\|([0-9a-f]+)\|\s*[tTwW]\s*\|\s*FUNC\|([0-9a-f]*)\|\s*\|(\S+)", re.M)


class SymbolError(Exception):
    """Debug information cannot be read; the text says what to do."""


def run(*argv: str | Path) -> str:
    try:
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise SymbolError(f"{argv[0]} is missing: install binutils") from missing
    if done.returncode:
        raise SymbolError(done.stderr.strip() or f"{argv[0]} failed")
    return done.stdout


@dataclass(frozen=True)
class Module:
    """A module's file and its debug information."""

    path: Path

    @cached_property
    def functions(self) -> dict[str, list[tuple[str, int, int]]]:
        """Section, address and size by function name; static functions may share one."""
        found: dict[str, list[tuple[str, int, int]]] = {}
        for name, value, size, section in SYMBOL.findall(run("nm", "-f", "sysv", self.path)):
            found.setdefault(name, []).append((section, int(value, 16), int(size or "0", 16)))
        return found

    def lines(self, symbol: str, offset: int, size: int) -> list[str]:
        """file:line of the place and of its inlined callers; [] if unknown."""
        for section, start, length in self.functions.get(symbol, []):
            # The kernel's symbol sizes include padding up to the next symbol.
            if length <= size and offset < size:
                text = run(
                    *("addr2line", "-i", "-e", self.path, "-j", section, hex(start + offset))
                )
                return [line.split(" (")[0] for line in text.splitlines() if "?" not in line]
        return []


def files_below(top: Path, depth: int | None = None) -> Iterable[Path]:
    """Module files below a directory, at most `depth` levels down."""
    for path, directories, names in os.walk(top):
        directories.sort()
        if depth is not None and len(Path(path).relative_to(top).parts) >= depth:
            directories.clear()
        yield from (Path(path, name) for name in sorted(names) if name.endswith(".ko"))


@dataclass
class Modules:
    """Search path of module files: those given, the current directory, and the kernel's own."""

    release: str
    given: list[Path] = field(default_factory=list)
    # The tool whose own frames are skipped.
    tool: str = ""
    # Reasons why places have no file and line.
    problems: set[str] = field(default_factory=set)

    def files(self) -> Iterable[Path]:
        for path in self.given:
            yield from [path] if path.is_file() else files_below(path)
        # The current directory may be the root of a large tree: two levels only.
        yield from files_below(Path.cwd(), depth=2)
        yield from files_below(Path("/lib/modules", self.release))

    @cached_property
    def modules(self) -> dict[str, Module]:
        """Modules by name; the first file found wins."""
        found: dict[str, Module] = {}
        for path in self.files():
            found.setdefault(path.stem.replace("-", "_"), Module(path))
        return found

    def resolve(self, text: str, returned: bool = False) -> list[str]:
        """file:line of the place in a text; `returned`: it is a return address."""
        place = PLACE.search(text)
        if not place:
            return []
        if self.tool in (place["module"], place["module"].partition("_")[0]):
            return []
        module = self.modules.get(place["module"])
        if not module:
            self.problems.add(
                f"no file of module {place['module']} was found, so its places have no file "
                "and line: name it, or its directory, with -m"
            )
            return []
        size = int(place["size"], 16)
        lines = module.lines(place["symbol"], int(place["offset"], 16) - returned, size)
        if not lines:
            self.problems.add(
                f"{module.path} has no line for {place['symbol']}+0x{place['offset']}/"
                f"0x{place['size']}: it is another build than the one that was loaded, or has "
                "no debug information: name the right file with -m"
            )
        return [short(line) for line in lines]


def short(line: str) -> str:
    """The path without directories that say nothing about the module's source."""
    path = Path(line)
    return line if len(path.parts) < 3 or not path.is_absolute() else "/".join(path.parts[-2:])


def table(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A text table: the first columns left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [
            f"{cell:<{width}}" if i < left else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    width = shutil.get_terminal_size((200, 24)).columns
    return "\n".join(line[:width] for line in lines)
