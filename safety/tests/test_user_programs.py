# SPDX-License-Identifier: GPL-2.0
"""Faults in user space that the compiler's own checks find: with them, safety/docs/kgcc.md decides

whether `kgcc --user` is needed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "user" / "faults.c"
DESIGN = Path(__file__).parents[1] / "docs" / "kgcc.md"

ADDRESS = ["-fsanitize=address"]
BOTH = ["-fsanitize=address,bounds", "-fno-sanitize-recover=all"]
TRAP = ["-fsanitize=bounds,object-size", "-fsanitize-undefined-trap-on-error"]

# For each fault, which of three builds find it: address, address and bounds, traps.
FOUND = {
    "heap_overrun": (True, True, True),
    "heap_underrun": (True, True, True),
    "heap_neighbour": (False, False, True),
    "heap_use_after_free": (True, True, False),
    "heap_free_twice": (True, True, True),
    "heap_strcpy": (True, True, False),
    "pool_overrun": (False, False, False),
    "global_overrun": (True, True, True),
    "local_overrun": (True, True, True),
    "member_overrun": (False, True, True),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("user")
    programs = []
    for number, flags in enumerate((ADDRESS, BOTH, TRAP)):
        programs.append(top / f"faults{number}")
        command = ["cc", "-O1", "-g", "-w", "-fno-builtin", *flags, SOURCE, "-o", programs[-1]]
        subprocess.run(command, check=True)
    return programs


@pytest.mark.parametrize("fault", FOUND)
def test_found(fault: str, built: list[Path]) -> None:
    ends = [subprocess.run([p, fault], capture_output=True).returncode for p in built]
    assert tuple(status != 0 for status in ends) == FOUND[fault]


def test_all_faults(built: list[Path]) -> None:
    done = subprocess.run([built[0]], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(FOUND)


def test_the_page_says_so() -> None:
    rows = [line.split("|")[1:-1] for line in DESIGN.read_text().splitlines()]
    page = {
        row[0].strip(" `"): [cell.strip() for cell in row[1:4]] for row in rows if len(row) == 5
    }
    for fault, found in FOUND.items():
        assert page[fault] == ["found" if one else "-" for one in found], fault
