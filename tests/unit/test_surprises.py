# SPDX-License-Identifier: GPL-2.0
"""What findings/ and docs/surprises.md say of themselves."""

from __future__ import annotations

import re

from conftest import ROOT

FINDINGS = ROOT / "findings"
SOURCED = {"lib.sh", "lua.sh"}
README = (FINDINGS / "README.md").read_text()
SURPRISES = (ROOT / "docs" / "surprises.md").read_text()
HEAD = ["Versions", "Guess", "Behaviour", "Seen", "Here"]


def test_findings_are_listed() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1\.sh\) \| .+ \|$", README, re.M)
    assert listed == sorted(path.stem for path in FINDINGS.glob("*.sh") if path.name not in SOURCED)


def test_findings_have_heads() -> None:
    """A guess is written down, and the script compares something with what was seen."""
    for path in FINDINGS.glob("*.sh"):
        text = path.read_text()
        if path.name not in SOURCED:
            assert re.findall(r"^# (\w+): +\S", text, re.M)[:5] == HEAD, path.name
            assert re.search(r"^\t*expect ", text, re.M), path.name


def test_rows_name_what_shows_them() -> None:
    rows = [line.split(" | ") for line in SURPRISES.splitlines() if line.startswith("| ")]
    for guess, *_, shown in (row for row in rows if row[0] != "| the guess"):
        files = re.findall(r"`((?:\w+/)?tests/[\w./]+)`", shown)
        assert files or "make " in shown or "../findings/" in shown, guess
        assert all((ROOT / file).exists() for file in files), guess
