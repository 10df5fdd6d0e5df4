# SPDX-License-Identifier: GPL-2.0
"""Compiled sources are cached, and users do not evict those of others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from library import Library
from runner import TESTS, in_namespace
from tracing import functions_traced

SOURCE = b"function run() return 'kept' end"
library = Library()

# In a user namespace of a group member, five users register more sources than the cache holds.
MANY_IDS = f"""
import ctypes, os, sys
sys.path.insert(0, {str(TESTS)!r})
from library import Library
library = Library()
assert not ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
print(flush=True)
sys.stdin.readline()
for user in range(1, 6):
    if not os.fork():
        os.setresuid(user, user, user)
        for n in range(16):
            fd, text = library.register(b"function run() return %d, %d end" % (user, n))
            assert fd >= 0, text
            os.close(fd)
        os._exit(0)
    assert not os.wait()[1]
"""


def register(source: bytes) -> None:
    fd, text = library.register(source)
    assert fd >= 0, text
    os.close(fd)


@pytest.fixture
def added() -> Iterator[Path]:
    """A trace of the sources added to the cache."""
    with functions_traced("function", "cache_add") as trace:
        yield trace


def is_compiled(trace: Path) -> bool:
    """Must the source be compiled, or is it in the cache?"""
    trace.write_text("")
    register(SOURCE)
    return "cache_add" in trace.read_text()


def test_one_who_is_many(added: Path) -> None:
    """All IDs of a user in a namespace have one share."""
    assert is_compiled(added)
    assert not is_compiled(added)
    in_namespace([sys.executable, "-c", MANY_IDS], "member")
    assert not is_compiled(added)
