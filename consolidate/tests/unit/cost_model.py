# SPDX-License-Identifier: GPL-2.0
"""A cost model made up for tests of consolidate."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from consolidate import paths
from consolidate.cost import model
from consolidate.cost.model import CostModel

ITEMS = {"one": 1, "few": 10, "many": 200}


def cost_model(**middle: float) -> CostModel:
    samples = {name: [middle.get(name, 0.0)] * 3 for name in model.NAMES}
    return CostModel("6.1", "machine", "none", "kernel", samples, ITEMS)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Calibrate once per process: all measurements get the same cost model."""
    path = tmp_path_factory.mktemp("calibrated")
    command = [paths.CALIBRATE[0], "user", "2"]
    (path / "costs").write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    program = path / "calibrate"
    program.write_text(f"#!/bin/sh\ncat {path}/costs\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "CALIBRATE", (program,))
        yield
