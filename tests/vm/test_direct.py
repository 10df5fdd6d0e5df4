# SPDX-License-Identifier: GPL-2.0
"""The library's batches that need no language, for a user who may open only the confined engine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("direct_user.py")
# Without Lua no script could run anywhere.
ENVIRONMENT = {"SYSCRIPT_BACKEND": "kernel", "SYSCRIPT_LUA_IMAGE": "/nowhere"}


def outsider(as_outsider: Callable, directory: Path, **env: str) -> dict:
    done = as_outsider([sys.executable, str(PROGRAM), str(directory)], env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    for number in range(700):
        (tmp_path / f"file{number}").write_text("x" * number)
    return tmp_path


def test_without_a_language(as_outsider: Callable, directory: Path) -> None:
    """The same as plain calls, also in a child of fork(), and after a descriptor was closed."""
    seen = outsider(as_outsider, directory, **ENVIRONMENT)
    sizes = {f"file{number}": number for number in range(700)}
    for who in ("parent", "closed", "child"):
        assert seen[who]["entries"] == sizes, who
        assert seen[who]["stats"] == [3, 5, -2], who
        assert seen[who]["read"] == [5, "xxxxx"], who
        assert seen[who]["dots"] == [".", ".."], who
    assert seen["scripts"] == ["batch"]


def test_on_the_engine_that_is_asked_for(as_outsider: Callable, directory: Path) -> None:
    env = {**ENVIRONMENT, "SYSCRIPT_ENGINE": "luajit"}
    assert outsider(as_outsider, directory, **env)["parent"]["entries"] == {"error": -13}
