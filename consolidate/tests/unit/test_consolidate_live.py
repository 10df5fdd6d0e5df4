# SPDX-License-Identifier: GPL-2.0
"""Scripts of recorded programs in the programs' place, with real calls, on other files.

These programs need only a tree of files of other modes and sizes, some empty, missing or
unreadable. `make test-live` does the same for installed programs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "consolidate/tests/recorded"))

import homes  # noqa: E402

# Results that end scripts early.
ENDS = {
    "rsync": {"EACCES"},
    "ripgrep": {"EACCES"},
    "gpg": {"EACCES", "EISDIR"},
    "cp": {"EACCES"},
    "tar": {"EACCES"},
    "wc": {"EACCES", "EISDIR", "ENOENT"},
}


@pytest.fixture(autouse=True)
def home() -> Iterator[None]:
    with homes.alone():
        yield


def lived(name: str) -> dict:
    homes.prepare(name)
    return homes.live(homes.archived(name, "one"), homes.archived(name, "other"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ENDS)
def test_in_the_programs_place(name: str) -> None:
    found = lived(name)
    assert found["wrong"] == []
    assert found["whole"]
    assert set(found["outcomes"]) >= ENDS[name]
    assert found["kernel"] == (os.environ.get("SYSCRIPT_BACKEND") == "kernel")


def test_frozen_constants_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts with the first recording's modes and sizes as constants would be noticed."""
    monkeypatch.setenv("FROZEN", "1")
    wrong = lived("cp")["wrong"]
    assert any(text.startswith("file ") for text in wrong), wrong
