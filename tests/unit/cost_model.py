# SPDX-License-Identifier: GPL-2.0
"""A cost model made up for tests of consolidate."""

from __future__ import annotations

import traces  # noqa: F401  (finds consolidate)

from consolidate.cost import model
from consolidate.cost.model import CostModel

ITEMS = {"one": 1, "few": 10, "many": 200}


def cost_model(**middle: float) -> CostModel:
    samples = {name: [middle.get(name, 0.0)] * 3 for name in model.NAMES}
    return CostModel("6.1", "machine", "none", "kernel", samples, ITEMS)
