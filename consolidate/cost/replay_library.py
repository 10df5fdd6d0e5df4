# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Generates the replay of a candidate that a script of the library can replace.

One number per iteration must agree: the bytes read or written, the descriptor, the entries, or 0.
"""

from __future__ import annotations

from consolidate.cost import library
from consolidate.cost.replay import Program
from consolidate.emit.plan import Plan
from consolidate.mine.dataflow import Step


class LibraryProgram(Program):
    """Plain calls, compared with a function of the library."""

    def __init__(self, plan: Plan, name: str, rounds: int) -> None:
        super().__init__(plan, "", rounds)
        self.name = name

    def numbers(self, *names: str) -> list[int]:
        """The steps that call these names, each once."""
        steps = self.plan.steps
        return [n for n, s in enumerate(steps) if s.name in names and n not in self.plan.alias]

    def outcomes(self) -> list[str]:
        if self.name == "readdirplus":
            names = next(node for node in self.plan.walk() if node.kind == "names")
            return [self.of_result[id(names.result)]]
        moved = self.numbers("read", "write") or [0]
        return [" + ".join(self.results[number] for number in moved)]

    def descriptors(self) -> list[int]:
        return [0] if self.name == "open_fstat" else []

    def left_open(self) -> list[int]:
        return self.descriptors() if not self.numbers("close") else []

    def left_by_script(self) -> list[int]:
        """The program wanted the descriptor, and closes it itself."""
        return self.descriptors()

    def by_script(self) -> str:
        words = self.words()
        call = library.BY_NAME[self.name].call.format(**words)
        if library.is_one_each(self.name):
            return each(f"f[INPUTS] = {call};")
        record = "files[i] = (struct syscript_file){{ {path}, {data}, {size}, 0 }};"
        lines = [
            each(record.format(**words)),
            "\tint64_t *f = items[0];",
            "",
            "\t(void)f;",
            f"\tchecked({call});",
            "\ttake_results();",
        ]
        return "\n".join(lines)

    def words(self) -> dict[str, str]:
        """C arguments of the library's functions."""
        first = self.plan.steps[0]
        path = library.path_arg(first)
        words = {
            "dirfd": f"(int)({self.argument(0, 0)})" if path else "AT_FDCWD",
            "path": f"(int64_t)({self.argument(0, path)})",
            "data": "(int64_t)&attributes[i]",
            "size": "0",
            **self.options(first, path),
        }
        moved = self.numbers("read", "write")
        return {**words, **self.buffer(moved)} if moved else words

    def options(self, first: Step, path: int) -> dict[str, str]:
        if first.name == "creat":
            return {"flags": "(O_CREAT | O_TRUNC)", "mode": f"({self.argument(0, 1)})"}
        if first.name.startswith("open"):
            mode = f"({self.argument(0, path + 2)})" if len(first.args) > path + 2 else "0"
            return {"flags": f"({self.argument(0, path + 1)})", "mode": mode}
        if first.name == "lstat":
            return {"flags": "AT_SYMLINK_NOFOLLOW", "mode": "0"}
        arg = {"newfstatat": 3, "statx": 2}.get(first.name)
        flags = f"({self.argument(0, arg)}) & AT_SYMLINK_NOFOLLOW" if arg else "0"
        return {"flags": flags, "mode": "0"}

    def buffer(self, moved: list[int]) -> dict[str, str]:
        """The buffer of the data, in one place, and its capacity."""
        first = moved[0]
        param = self.plan.by_arg.get((first, 1))
        data = self.value_of(param) if param is not None else self.argument(first, 1)
        return {
            "data": f"(int64_t)({data})",
            "size": " + ".join(self.room_of(number) for number in moved),
        }

    def room_of(self, number: int) -> str:
        rooms = [node.room for node in self.plan.walk() if node.first == number and node.room]
        return self.value_of(rooms[0]) if rooms else self.argument(number, 2)


def each(statement: str) -> str:
    """C that executes a statement for each item."""
    lines = [
        "\tfor (int i = 0; i < ITEMS; i++) {",
        "\t\tint64_t *f = items[i];",
        "",
        "\t\t(void)f;",
        f"\t\t{statement}",
        "\t}",
    ]
    return "\n".join(lines)
