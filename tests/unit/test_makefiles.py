# SPDX-License-Identifier: GPL-2.0
"""The dependencies that the makefiles state."""

from __future__ import annotations

import re
import subprocess

from conftest import ROOT

ASSIGNED = re.compile(r"^(?:export |override |private )*(\w+)\s*[:?+]?=", re.MULTILINE)


def test_prerequisites_are_defined_before_they_are_named() -> None:
    """A variable that a later makefile defines is no prerequisite, and none misses it."""
    command = ["make", "-n", "--warn-undefined-variables", "clean"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    undefined = set(re.findall(r"undefined variable '(\w+)'", done.stderr))
    assert "DESTDIR" in undefined
    files = [ROOT / "Makefile", *ROOT.glob("*/build.mk"), *ROOT.glob("*/*/build.mk")]
    defined = {name for file in files for name in ASSIGNED.findall(file.read_text())}
    assert undefined & defined == set()
