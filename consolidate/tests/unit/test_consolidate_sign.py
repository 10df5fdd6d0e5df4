# SPDX-License-Identifier: GPL-2.0 OR MIT
"""consolidate measure: whether a prediction has a sign, by made-up costs and measurements.

consolidate/tests/vm/test_measured_sign.py compares it with real ones.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_model import ITEMS, cost_model
from traces import Writer

from consolidate.cost import measure
from consolidate.cost.measure import Measured
from consolidate.cost.replay import Program
from consolidate.report import report

# ns a file, by plain calls
PLAIN = 1000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The tutorial's: short files of one directory."""
    writer = Writer(3)
    for i in range(200):
        fd = writer.random.randrange(3, 60)
        writer.call(f'openat(AT_FDCWD, "notes/{i}", O_RDONLY)', fd)
        writer.call(f'read({fd}, "{i}"..., 512)', 8)
        writer.call(f"close({fd})", 0)
    trace = writer.write(tmp_path_factory.mktemp("tutorial") / "t")
    found, _ = report.make([trace], None, 20, 0.02, None)
    return measure.program_of(found.candidates[0], "t", 3, written=False)


def judged(program: Program, backend: str, calibrated: int, measured: int) -> Measured:
    """Where its script takes this many ns a file."""
    ways = {"plain": PLAIN, "script": calibrated}
    name = "read_many.{}.{}".format
    costs = cost_model(
        **{name(way, size): ns * ITEMS[size] for way, ns in ways.items() for size in ITEMS}
    )
    rounds = [{"plain": PLAIN, "script": measured, measure.YARDSTICK: 1}] * 3
    raw = {"rounds": rounds, "items": program.setting.items, "calls": 3}
    return measure.judged(program, replace(costs, backend=backend), raw)


@pytest.mark.parametrize(
    ("backend", "calibrated", "sign"),
    [
        ("user", 690, "gain"),
        ("user", 710, "unknown"),
        ("user", 1290, "unknown"),
        ("user", 1310, "loss"),
        ("kernel", 990, "gain"),
        ("kernel", 1010, "loss"),
    ],
)
def test_sign_of_the_tutorial(program: Program, backend: str, calibrated: int, sign: str) -> None:
    """In a process the library's script may cost more for short files of one directory."""
    # What was seen: calibrated as 134 ns faster, measured as 210 slower.
    found = judged(program, backend, calibrated, measured=1210)
    assert found.name == "read_many"
    assert found.saved.middle == pytest.approx(-210)
    assert found.predicted.middle == pytest.approx(PLAIN - calibrated)
    assert found.predicts() == sign
