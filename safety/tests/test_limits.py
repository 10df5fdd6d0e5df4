# SPDX-License-Identifier: GPL-2.0
"""Rate limits of reports: what they suppress, and what they do not."""

from __future__ import annotations

import re
import time

import pytest
from test_kgcc import CASES, do

LIMIT, PERIOD = 20, 10  # reports of a kind in a period of seconds


def of_kind(kind: str) -> list[str]:
    return [name for name, report in CASES.items() if report.startswith(kind)]


@pytest.mark.planted
def test_limits_are_of_each_kind(load, kernel_log) -> None:
    """Overruns do not suppress a use after free, and are reported when they happen again."""

    def reported(kind: str) -> int:
        return len(re.findall(f"kgcc: violation: {kind}", kernel_log.read()))

    load("kgcc")
    load("pointers+kgcc")
    overruns = of_kind("overrun")
    for case in overruns:
        do(case, "bad")
    assert reported("overrun") == LIMIT < len(overruns)
    do(of_kind("use after free")[0], "bad")
    assert reported("use after free") == 1
    time.sleep(PERIOD + 1)
    do(overruns[-1], "bad")
    assert reported("overrun") == LIMIT + 1
