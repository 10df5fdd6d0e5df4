# SPDX-License-Identifier: GPL-2.0
"""The faults of `make test-verify` and `make test-weakened` match the sources they change.

Both targets take hours of CPU time, so they are not run for every change.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.mutants import ARM64, ENGINE, X86, Architecture
from confined.weakened import SOURCES, weakened


def test_sources_are_there() -> None:
    names = [*X86.jit, *X86.rest, *ARM64.jit, *ARM64.rest, *SOURCES]
    assert [name for name in names if not (ENGINE / name).exists()] == []


@pytest.mark.parametrize("arch", [X86, ARM64], ids=lambda arch: arch.name)
def test_mutations_are_of_one_place(arch: Architecture) -> None:
    sources = [(ENGINE / name).read_text() for name in arch.jit]
    assert arch.breaks and arch.wrong
    assert [
        old
        for old, _ in (*arch.breaks, *arch.wrong)
        if sum(text.count(old) for text in sources) != 1
    ] == []


def test_each_weakening_changes_its_file() -> None:
    changes = list(weakened())
    assert len(changes) > 100
    assert [what for name, what, text in changes if text == (ENGINE / name).read_text()] == []
