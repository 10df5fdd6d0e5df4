# SPDX-License-Identifier: GPL-2.0
"""The Lua corpus and the attacks in the user backend, compiled and interpreted.

The guest tests run the same files in the kernel: tests/vm/test_differential.py,
tests/vm/test_attacks.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from runner import ATTACKS, CORPUS, CORPUS_LIMITS, USER, Attack, Mode, counter, here, outcome


def test_corpus_is_there() -> None:
    assert len(CORPUS) >= 100
    assert len(ATTACKS) >= 150


@pytest.mark.parametrize("script", CORPUS, ids=lambda path: path.stem)
def test_corpus(script: Path) -> None:
    seen = {str(m): outcome(here, m.command(script, *CORPUS_LIMITS)) for m in USER}
    compiled, interpreted = seen.values()
    assert compiled.kind() == "ok", compiled
    assert compiled == interpreted
    # A full output buffer would hide a difference.
    assert len(compiled.stdout) < 15000
    assert compiled.stderr == ""


@pytest.mark.sample(4)
@pytest.mark.parametrize("mode", USER, ids=str)
@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack(path: Path, mode: Mode) -> None:
    attack = Attack.read(path)
    if not attack.suits(mode):
        pytest.skip("only for the kernel backend: it harms its own process")
    attack.check(here, mode)


def test_nojit_is_not_the_scripts_choice(tmp_path: Path) -> None:
    """A script registered as interpreted cannot turn its compiler on."""
    script = tmp_path / "on.lua"
    script.write_text(
        "function run() if jit then pcall(jit.on) pcall(jit.on, run, true) end\n"
        "local s = 0 for i = 1, 100000 do s = s + i end return s end\n"
    )
    traces = {}
    for mode in USER:
        seen = outcome(here, mode.command(script, "--info"))
        assert seen.status == 0, seen
        traces[mode.jit] = counter(seen.info, "traces")
    assert traces[True] > 0
    assert traces[False] == 0
