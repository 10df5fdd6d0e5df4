# SPDX-License-Identifier: GPL-2.0
"""A sample of the faults that `make test-verify` plants in the code generator."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined import mutants


def test_faults_are_refused() -> None:
    assert mutants.check(every=12) == 0
