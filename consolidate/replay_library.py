# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes the replay of a candidate in whose place a script of the library can stand.

What has to come out alike is one number of each iteration: the bytes read or written,
the descriptor, the entries, or 0.
"""

from __future__ import annotations

from consolidate import library
from consolidate.flow import Repeat, Step
from consolidate.plan import Plan
from consolidate.replay import Program

# In one line: a batch of files.
BATCHES = {
    "read_many": "syscript_read_many({dirfd}, files, ITEMS, 0)",
    "open_write_close": (
        "syscript_write_many({dirfd}, files, ITEMS,"
        " {flags} & (O_CREAT | O_TRUNC | O_APPEND), {mode})"
    ),
    "open_fstat": "syscript_open_many({dirfd}, files, ITEMS, {flags}, {mode}, STATX_BASIC_STATS)",
    "stat_many": "syscript_stat_many({dirfd}, files, ITEMS, STATX_BASIC_STATS, {flags})",
}
# One by one.
SINGLES = {
    "open_read_close": (
        "syscript_open_read_close({dirfd}, (char *){path}, (void *)({data}), {size}, NULL)"
    ),
    "readdirplus": "listed({dirfd}, {path})",
}


class LibraryProgram(Program):
    """Plain calls beside a function of the library."""

    def __init__(self, plan: Plan, name: str, rounds: int) -> None:
        super().__init__(plan, "", rounds)
        self.name = name

    def numbers(self, *names: str) -> list[int]:
        """The steps that are calls of these names, each once."""
        steps = self.plan.steps
        return [n for n, s in enumerate(steps) if s.name in names and n not in self.plan.alias]

    def outcomes(self) -> list[str]:
        if self.name == "readdirplus":
            names = [n for n, s in enumerate(self.plan.steps) if s.repeat is Repeat.NAMES]
            return [self.results[names[0]]]
        moved = self.numbers("read", "write") or [0]
        return [" + ".join(self.results[number] for number in moved)]

    def descriptors(self) -> list[int]:
        return [0] if self.name == "open_fstat" else []

    def left_open(self) -> list[int]:
        return self.descriptors() if not self.numbers("close") else []

    def left_by_script(self) -> list[int]:
        """A descriptor that the program wanted is its own to close."""
        return self.descriptors()

    def by_script(self) -> str:
        words = self.words()
        if self.name in SINGLES:
            return each(f"f[INPUTS] = {SINGLES[self.name].format(**words)};")
        record = "files[i] = (struct syscript_file){{ {path}, {data}, {size}, 0 }};"
        lines = [
            each(record.format(**words)),
            "\tint64_t *f = items[0];",
            "",
            "\t(void)f;",
            f"\tchecked({BATCHES[self.name].format(**words)});",
            "\ttake_results();",
        ]
        return "\n".join(lines)

    def words(self) -> dict[str, str]:
        """C for what the library's functions take."""
        first = self.plan.steps[0]
        path = library.path_arg(first)
        words = {
            "dirfd": f"(int)({self.expression(0, 0)})" if path else "AT_FDCWD",
            "path": f"(int64_t)({self.expression(0, path)})",
            "data": "(int64_t)&attributes[i]",
            "size": "0",
            **self.options(first, path),
        }
        moved = self.numbers("read", "write")
        return {**words, **self.buffer(moved)} if moved else words

    def options(self, first: Step, path: int) -> dict[str, str]:
        if first.name == "creat":
            return {"flags": "(O_CREAT | O_TRUNC)", "mode": f"({self.expression(0, 1)})"}
        if first.name.startswith("open"):
            mode = f"({self.expression(0, path + 2)})" if len(first.args) > path + 2 else "0"
            return {"flags": f"({self.expression(0, path + 1)})", "mode": mode}
        if first.name == "lstat":
            return {"flags": "AT_SYMLINK_NOFOLLOW", "mode": "0"}
        arg = {"newfstatat": 3, "statx": 2}.get(first.name)
        flags = f"({self.expression(0, arg)}) & AT_SYMLINK_NOFOLLOW" if arg else "0"
        return {"flags": flags, "mode": "0"}

    def buffer(self, moved: list[int]) -> dict[str, str]:
        """Where the data are, all in one place, and how many there may be."""
        first = moved[0]
        param = self.plan.by_arg.get((first, 1))
        data = self.value_of(param) if param is not None else self.expression(first, 1)
        return {
            "data": f"(int64_t)({data})",
            "size": " + ".join(self.room_of(number) for number in moved),
        }

    def room_of(self, number: int) -> str:
        room = self.plan.room.get(number)
        return self.value_of(room) if room is not None else self.expression(number, 2)


def each(statement: str) -> str:
    """C that does something for each item."""
    lines = [
        "\tfor (int i = 0; i < ITEMS; i++) {",
        "\t\tint64_t *f = items[i];",
        "",
        "\t\t(void)f;",
        f"\t\t{statement}",
        "\t}",
    ]
    return "\n".join(lines)
