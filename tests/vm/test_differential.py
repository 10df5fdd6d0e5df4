# SPDX-License-Identifier: GPL-2.0
"""The Lua corpus gives the same in the kernel and in user space, compiled or not.

What tests/unit/test_lua_corpus.py compares on this machine is not compared again: a
program's reference is what the interpreter does with it in a process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from runner import CORPUS, CORPUS_LIMITS, KERNEL, USER, Mode, Run, in_turn, outcome

PROGRAMS = [(script, KERNEL) for script in CORPUS]


@pytest.mark.parametrize(("script", "mode"), in_turn(PROGRAMS, lambda script: script.stem))
def test_differential(script: Path, mode: Mode, as_user: Run) -> None:
    reference, seen = (outcome(as_user, m.command(script, *CORPUS_LIMITS)) for m in (USER[1], mode))
    assert reference.kind() == "ok", reference
    assert seen == reference
