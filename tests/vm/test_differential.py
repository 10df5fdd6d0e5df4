# SPDX-License-Identifier: GPL-2.0
"""The Lua corpus has the same output in the kernel and in user space, compiled or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import known
from runner import CORPUS, CORPUS_LIMITS, KERNEL, USER, Mode, Run, in_turn, outcome

# Runs covered by tests/unit/test_lua_corpus.py on this machine are repeated by test-long only.
PROGRAMS = [(script, KERNEL) for script in CORPUS]


@pytest.mark.sample(8)
@pytest.mark.parametrize(("script", "mode"), in_turn(PROGRAMS, lambda script: script.stem))
def test_differential(script: Path, mode: Mode, as_user: Run) -> None:
    reference = known(script, as_user)
    assert reference.kind() == "ok", reference
    assert outcome(as_user, mode.command(script, *CORPUS_LIMITS)) == reference


@pytest.mark.long
@pytest.mark.parametrize("mode", USER, ids=str)
@pytest.mark.parametrize("script", CORPUS, ids=lambda script: script.stem)
def test_differential_in_a_process(script: Path, mode: Mode, as_user: Run) -> None:
    assert outcome(as_user, mode.command(script, *CORPUS_LIMITS)) == known(script, as_user)
