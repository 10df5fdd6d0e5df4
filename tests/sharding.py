# SPDX-License-Identifier: GPL-2.0
"""Selects the tests of a pytest run: the gate's or all, and of them this run's share.

`--long` runs all. Without it tests marked `long` are skipped, and of the cases of a test marked
`sample(n)` one in n runs: on diagonals through its parameters, so that each value of two parameters
with at least n values occurs. `sample(n, spread=True)` begins at another value in each test, for
modules whose tests share a parameter.

`--share DIRECTORY` (a new directory) divides the tests among several runs, also in guests. A run
claims a chunk of tests by creating a directory with the chunk's name. So fast runs take more
chunks, and each test runs once: a claimed chunk must be run, or failed, by the claiming run.
"""

from __future__ import annotations

import gc
import hashlib
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

# Tests of a file in one chunk. Each chunk sets up the module's fixtures again.
CHUNK = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("syscript")
    group.addoption("--long", action="store_true", help="all tests, not those of the gate only")
    group.addoption("--share", type=Path, metavar="DIRECTORY", help="share the tests with others")


class Gate:
    """The tests that `make test` runs."""

    def __init__(self) -> None:
        # The place of each value of a function's parameter; some values have no hash.
        self.places: dict[tuple[object, str], dict[str, int]] = {}

    def place(self, function: object, parameter: str, value: object) -> int:
        places = self.places.setdefault((function, parameter), {})
        return places.setdefault(repr(value), len(places))

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
    """Deselect tests that are not in the gate."""
    if config.option.long:
        return
    gate, left, stay = Gate(), [], []
    for item in items:
        (stay if gate.has(item) else left).append(item)
    items[:] = stay
    if left:
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Make the collector of garbage ignore the tests: in a guest, looking at all takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def chunks(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    for _, group in groupby(items, key=lambda item: item.path):
        tests = list(group)
        for start in range(0, len(tests), CHUNK):
            yield tests[start : start + CHUNK]


def taken(items: list[pytest.Item], directory: Path) -> Iterator[list[pytest.Item]]:
    """The chunks that this run claims."""
    # Runs with different selections of tests share nothing.
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
    """Like pytest's own loop, except that tests are claimed in chunks."""
    options = session.config.option
    if options.share is None or options.collectonly or session.testsfailed:
        return None
    for chunk in taken(session.items, options.share):
        run_chunk(session, chunk)
    return True
