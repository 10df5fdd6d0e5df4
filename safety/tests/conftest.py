# SPDX-License-Identifier: GPL-2.0
"""Fixtures of the safety kit's tests: loading modules in the guest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kit import ALONE
from modules_in_guest import MODULES, insmod, path_of, rmmod

if ALONE:
    from fixtures import *  # noqa: F403

__all__ = ["MODULES", "load", "load_module"]


def loader() -> Iterator[Callable[..., None]]:
    """A load() that removes its modules when it ends."""
    loaded: list[str] = []

    def load(directory: str, **parameters: object) -> None:
        path = path_of(directory)
        if not path.exists():
            pytest.skip(f"there is no {path.name}")
        loaded.append(insmod(directory, **parameters))

    yield load
    for name in reversed(loaded):
        rmmod(name)


@pytest.fixture
def load() -> Iterator[Callable[..., None]]:
    """load("ecryptfs+kefence", **parameters): loaded until the end of the test.

    "evmon/evmon_spin" names one of several modules in a directory.
    """
    yield from loader()


@pytest.fixture(scope="module")
def load_module() -> Iterator[Callable[..., None]]:
    """Like load(), until the end of the file's tests."""
    yield from loader()
