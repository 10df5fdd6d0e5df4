# SPDX-License-Identifier: GPL-2.0
"""The Lua corpus gives the same in the kernel and in user space, compiled or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner import CORPUS, CORPUS_LIMITS, KERNEL, USER, Run, outcome


@pytest.mark.parametrize("script", CORPUS, ids=lambda path: path.stem)
def test_differential(script: Path, as_user: Run) -> None:
    modes = [*USER, *KERNEL]
    seen = {str(m): outcome(as_user, m.command(script, *CORPUS_LIMITS)) for m in modes}
    reference = seen[str(USER[1])]
    assert reference.kind() == "ok", reference
    assert [name for name, found in seen.items() if found != reference] == [], seen
