# SPDX-License-Identifier: GPL-2.0
"""The trusted code in proof.md and SECURITY.md matches the sources, to some hundred lines."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.trusted import ROOT, in_no_list, parts

SLACK = 0.1


def close(said: str, lines: int) -> bool:
    return abs(int(said.replace(",", "")) - lines) <= max(SLACK * lines, 50)


def test_no_source_is_left_out() -> None:
    assert in_no_list() == set()


def test_lines_are_as_proof_says() -> None:
    text = (ROOT / "docs" / "design" / "proof.md").read_text()
    counts = dict(parts())
    for part, lines in (counts | {"in all": sum(counts.values())}).items():
        row = re.search(rf"^\| {part}[^|]*\| ([\d,]+) \|", text, re.M)
        assert row, f"{part} is not in the table"
        assert close(row[1], lines), f"{part}: {lines} lines, said to be {row[1]}"


def test_security_has_the_sum() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    said = re.search(r"Trusted are some ([\d,]+) lines", text)
    assert said and close(said[1], sum(dict(parts()).values()))


def test_machine_independent_part_is_small() -> None:
    engine = ROOT / "engine" / "confined"
    sources = [engine / name for name in ("verify_code.c", "verify_step.c")]
    assert sum(path.read_text().count("\n") for path in sources) <= 500
