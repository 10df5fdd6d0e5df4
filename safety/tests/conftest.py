# SPDX-License-Identifier: GPL-2.0
"""What the tests of the safety kit share: modules that come and go in the guest."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator

import pytest
from kit import ALONE, REPOSITORY
from modules_in_guest import MODULES, insmod, path_of, rmmod

if ALONE:
    from fixtures import *  # noqa: F403
else:

    def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
        """What all tests of the repository share."""
        path = REPOSITORY / "tests" / "conftest.py"
        spec = importlib.util.spec_from_file_location("repository", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["repository"] = module
        spec.loader.exec_module(module)
        pluginmanager.register(module, "repository")


__all__ = ["MODULES", "load", "load_module"]


def loader() -> Iterator[Callable[..., None]]:
    """What load() does, until its end."""
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
    """load("ecryptfs+kefence", **parameters): until the end of the test.

    "evmon/evmon_spin" is one of several modules that a directory has.
    """
    yield from loader()


@pytest.fixture(scope="module")
def load_module() -> Iterator[Callable[..., None]]:
    """The same until the end of the file's tests."""
    yield from loader()
