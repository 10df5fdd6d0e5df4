# SPDX-License-Identifier: GPL-2.0
"""The table of planted faults (plants.def), and the location of each in the source."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROW = re.compile(r'^PLANT\((\w+), "(.*?)", "(.*?)", "(.*?)"\)$', re.MULTILINE)
# A line that starts a function, or a macro that defines one.
HEAD = re.compile(
    r"^(?:(?:static )?(?:noinline )?[\w ]+\**\b(\w+)\([^;\n]*\)|[A-Z_]+\((\w+),.*)$", re.MULTILINE
)
SOUND = "sound"
MEMORY = (
    *("heap overrun", "heap underrun", "global overrun", "global underrun", "stack overrun"),
    *("stack underrun", "stack after return", "uninitialised", "wild pointer", "use after free"),
    *("double free", "invalid free", "library", "length that wraps", "leak", "leak of a counter"),
)


class Plant(NamedTuple):
    name: str
    kind: str
    wrong: str
    tools: tuple[str, ...]  # tools whose manual claims to find it

    @property
    def is_sound(self) -> bool:
        return self.kind == SOUND

    @property
    def is_of_memory(self) -> bool:
        return self.kind in MEMORY

    @property
    def is_leak(self) -> bool:
        """Reported when its module is removed."""
        return self.kind.startswith("leak")


@cache
def plants() -> list[Plant]:
    rows = ROW.findall((HERE / "plants.def").read_text())
    return [Plant(name, kind, wrong, tuple(tools.split())) for name, kind, wrong, tools in rows]


@cache
def functions() -> list[tuple[str, int, str]]:
    """File, line and name of each function of the plants."""
    found = []
    for path in sorted(HERE.glob("*.c")):
        text = path.read_text()
        for match in HEAD.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((path.name, line, match[1] or match[2]))
    return found


def function_at(file: str, line: int) -> str | None:
    """The function that contains a line."""
    before = [name for where, at, name in functions() if where == file and at <= line]
    return before[-1] if before else None


def is_of(plant: Plant, text: str) -> bool:
    """Whether a report names one of the plant's functions or lines."""
    if re.search(rf"\b{plant.name}(_of)?(\.\w+)*\+0x", text):
        return True
    places = re.findall(r"\b(\w+\.c):(\d+)", text)
    names = {function_at(file, int(line)) for file, line in places}
    return bool(names & {plant.name, f"{plant.name}_of"})
