# SPDX-License-Identifier: GPL-2.0
"""No interleaving lets a script run unwatched, and each part of the protocol is needed."""

from __future__ import annotations

import sys
from dataclasses import fields, replace

import pytest
from conftest import TESTS

sys.path.insert(0, str(TESTS / "model"))

from clock import OLD, TODAY, Protocol, explore  # noqa: E402

# More states than finding any of the faults below takes.
NEAR = 4_000


@pytest.mark.parametrize("most", [NEAR, pytest.param(None, marks=pytest.mark.long)])
def test_no_entry_is_unwatched(most: int | None) -> None:
    found = explore(TODAY, most)
    assert not found.wrong, f"{found.wrong}: {'; '.join(found.way)}"
    # Fewer would mean that the model has changed.
    assert found.states > (most or 50_000) - 1


def test_the_protocol_before() -> None:
    """A tick comes between the check and the switch to the engine's stack."""
    found = explore(OLD)
    assert found.wrong == "script code is not watched"
    assert found.way[-4:-1] == [
        "CPU 0: tick goes off",
        "CPU 0: tick armed = false",
        "CPU 0: tick run = NULL",
    ]
    assert found.way[-1].endswith(" enters")


@pytest.mark.parametrize("part", [field.name for field in fields(Protocol)])
def test_each_part_is_needed(part: str) -> None:
    expected = "a clock never goes off" if part == "knows_idle" else "script code is not watched"
    found = explore(replace(TODAY, **{part: False}))
    assert found.wrong == expected
    assert found.states < NEAR
