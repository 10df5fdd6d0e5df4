# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Progress on standard error, if it is a terminal and the work takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class Progress:
    """A bar for reading, and a line for later work."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        console = Console(stderr=True)
        self.bar = Bar(
            *columns,
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = None

    def __enter__(self) -> Progress:
        self.bar.start()
        self.task = self.bar.add_task("reading", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def reading(self, paths: list[Path]) -> Callable[[BinaryIO], None]:
        sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
        self.bar.update(self.task, total=sum(sizes) or None)
        done, last = 0, 0

        def progress(file: BinaryIO) -> None:
            nonlocal done, last
            raw = getattr(file, "fileobj", file)
            at = raw.tell() if raw is not file else file.tell()
            if at < last:
                done += last
            last = at
            self.bar.update(self.task, completed=done + at)

        return progress

    def __call__(self, what: str) -> None:
        """Later work, of which no part is known: a bar that moves, without a percentage."""
        self.bar.tasks[0].total = None
        self.bar.update(self.task, description=what)
