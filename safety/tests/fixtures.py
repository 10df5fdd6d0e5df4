# SPDX-License-Identifier: GPL-2.0
"""A plugin with the fixtures of the repository's conftest.py, for a standalone kit.

The tests load faulty modules, as root: run them in a virtual machine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import kernlog
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "planted: loads modules at fault")
    config.addinivalue_line("markers", "boot: boots guests of its own")
    config.addinivalue_line("markers", "long: takes long")


@pytest.fixture
def kernel_log(request: pytest.FixtureRequest) -> Iterator[kernlog.KernelLog]:
    """kernel_log.read() returns the kernel's messages since the test began."""
    log = kernlog.KernelLog(f"{request.node.nodeid} reads the log")
    yield log
    log.close()


@pytest.fixture
def as_outsider() -> Callable[..., subprocess.CompletedProcess[str]]:
    """as_outsider(command) runs a command as an unprivileged user."""

    def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        return subprocess.run(words, user=65534, group=65534, extra_groups=[], check=False)

    return run


def loads(item: pytest.Item) -> bool:
    """Whether the test loads modules; other tests run on any machine."""
    return item.path.name != "test_reports.py"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test during which the kernel complained."""
    if not loads(item):
        return (yield)
    planted = item.get_closest_marker("planted") is not None
    with kernlog.watched(item.nodeid, planted, partial(pytest.fail, pytrace=False)):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if os.geteuid() and loads(item):
            item.add_marker(pytest.mark.skip(reason="loads modules: as root, in a virtual machine"))
