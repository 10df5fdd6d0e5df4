# SPDX-License-Identifier: GPL-2.0
"""The pages on the papers: the commands that they name exist."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import BUILD, ROOT

PAGES = [ROOT / "docs/papers.md", ROOT / "safety/docs/papers.md"]
PAGE = "\n".join(page.read_text() for page in PAGES)
ROWS = [
    line
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| the paper |")
]
COMMANDS = sorted({found for row in ROWS for found in re.findall(r"`([^`]+)` \|$", row)})
NAMED = sorted(set(re.findall(r"`(make [\w-]+|man [\w/.-]+)`", PAGE)) | set(COMMANDS))


def goals() -> set[str]:
    """Targets of all makefiles, read as text, because make runs some recipes even with -n."""
    # Templates make some targets, but each public target has a line of help.
    found = set(re.findall(r"^##\+?([\w-]+) ", (ROOT / "Makefile").read_text(), re.M))
    for file in (ROOT / "Makefile", *ROOT.glob("**/*.mk")):
        if BUILD not in file.parents:
            for line in re.findall(r"^([^\s#:=][^:=]*):(?!=)(.*)$", file.read_text(), re.M):
                found.update(line[0].split())
                found.update(line[1].split() if line[0] == ".PHONY" else [])
    return found


GOALS = goals()


@pytest.mark.parametrize("command", NAMED)
def test_commands_exist(command: str) -> None:
    what, name, *rest = command.split()
    if what == "make":
        assert name in GOALS
    elif what == "man":
        # A page of the safety kit is next to its manual.
        assert any((base / name).exists() for base in (ROOT, ROOT / "safety"))
    else:
        assert what == "build/syscript", command
        help_text = subprocess.run([ROOT / what, name, "--help"], capture_output=True, text=True)
        assert help_text.stdout.startswith(f"Usage: syscript {name}"), rest


# Why a row has no command.
REASON = re.compile(r"\| (not built: |not for confinement: )")


def test_each_row_has_a_command_or_a_reason() -> None:
    # Rows of related work name pages.
    four = [row for row in ROWS if row.count("|") == 5]
    assert len(four) > 45
    for row in four:
        assert re.search(r"`[^`]+` \|$", row) or REASON.search(row), row


def test_the_table_is_read() -> None:
    assert len(ROWS) > 45
    assert len(COMMANDS) > 20
