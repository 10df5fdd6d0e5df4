# SPDX-License-Identifier: GPL-2.0
"""Scripts in the place of real programs, on other files: `make test-live`. Each program is recorded
on one set of files to derive scripts, and on another to try them. The second recording's calls are
replayed, then replayed again with scripts in their place. The resulting files must equal those that
the program itself left.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import homes  # noqa: E402
import programs  # noqa: E402

# Packages' commands with another name.
NEEDED = {"ripgrep": "rg", "git_gc": "git", "git_status": "git", "apt_cache": "apt-cache"}
NEEDED |= {
    "http_server": "python3",
    "mariadb": "mariadbd",
    "postgres": f"{programs.POSTGRES}/postgres",
}


@pytest.fixture(autouse=True)
def home() -> Iterator[None]:
    with homes.alone():
        yield


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_in_the_programs_place(name: str) -> None:
    if shutil.which(NEEDED.get(name, name)) is None:
        pytest.skip(f"{name} is not installed")
    found = homes.live(homes.archived(name, "one"), homes.record(name))
    print({key: value for key, value in found.items() if key not in ("tree", "wrong")})
    assert found["wrong"] == []
    assert found["not_as_the_program"] == []
