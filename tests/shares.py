# SPDX-License-Identifier: GPL-2.0
"""Which of the tests a run of pytest makes: those of the gate or all, and of these its share.

`--long` makes all.  Without it tests marked `long` are left out, and of the cases of a test
marked `sample(n)` one in n is made: on diagonals through its parameters, so that of two
parameters with n values and more each value is met.  `sample(n, spread=True)` begins at
another value in each test, for a module whose tests have the same parameter.

`--share DIRECTORY`, a new one, has several runs make the same tests together, in guests as
well.  A run takes a chunk of tests by making a directory with its name there.  So a run that
is done early takes more, however slow the machine, and each test is made once: a chunk that
another run has taken is that run's to make, or to fail.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

# Tests of a file that one run makes together.  The fixtures of a module are set up for each.
CHUNK = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("syscript")
    group.addoption("--long", action="store_true", help="all tests, not those of the gate only")
    group.addoption("--share", type=Path, metavar="DIRECTORY", help="share the tests with others")


class Gate:
    """Which tests `make test` makes."""

    def __init__(self) -> None:
        # The values of a function's parameter, in the order in which they come.
        self.values: dict[tuple[object, str], list[object]] = {}

    def place(self, function: object, parameter: str, value: object) -> int:
        values = self.values.setdefault((function, parameter), [])
        if value not in values:
            values.append(value)
        return values.index(value)

    def has(self, item: pytest.Item) -> bool:
        if item.get_closest_marker("long"):
            return False
        sample = item.get_closest_marker("sample")
        case = getattr(item, "callspec", None)
        if not sample or not case:
            return True
        places = (self.place(item.function, *of) for of in case.params.items())
        begin = zlib.crc32(item.function.__name__.encode()) if "spread" in sample.kwargs else 0
        return (begin + sum(places)) % sample.args[0] == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the gate does without."""
    if config.option.long:
        return
    gate, left, stay = Gate(), [], []
    for item in items:
        (stay if gate.has(item) else left).append(item)
    items[:] = stay
    if left:
        config.hook.pytest_deselected(items=left)


def chunks(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    for _, group in groupby(items, key=lambda item: item.path):
        tests = list(group)
        for start in range(0, len(tests), CHUNK):
            yield tests[start : start + CHUNK]


def taken(items: list[pytest.Item], directory: Path) -> Iterator[list[pytest.Item]]:
    """The chunks that are this run's."""
    # Runs that were told to make other tests have nothing to share.
    names = "\n".join(item.nodeid for item in items)
    which = hashlib.sha256(names.encode()).hexdigest()[:16]
    for number, chunk in enumerate(chunks(items)):
        try:
            (directory / f"{which}-{number}").mkdir()
        except FileExistsError:
            continue
        yield chunk


def run_chunk(session: pytest.Session, chunk: list[pytest.Item]) -> None:
    for item, following in zip(chunk, [*chunk[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """As pytest's own, which goes on from None."""
    options = session.config.option
    if options.share is None or options.collectonly or session.testsfailed:
        return None
    for chunk in taken(session.items, options.share):
        run_chunk(session, chunk)
    return True
