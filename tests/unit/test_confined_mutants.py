# SPDX-License-Identifier: GPL-2.0
"""A sample of the faults that `make test-verify` plants in the code generator."""

from __future__ import annotations

import subprocess
import sys

from conftest import TESTS


def test_faults_are_refused() -> None:
    # In a process that has not loaded the unmodified generator.
    command = [sys.executable, TESTS / "confined" / "mutants.py", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
