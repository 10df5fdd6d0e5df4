# SPDX-License-Identifier: GPL-2.0
"""Prices made up for tests of consolidate."""

from __future__ import annotations

import traces  # noqa: F401  (finds consolidate)

from consolidate import prices
from consolidate.prices import PriceList

ITEMS = {"one": 1, "few": 10, "many": 200}


def price_list(**middle: float) -> PriceList:
    samples = {name: [middle.get(name, 0.0)] * 3 for name in prices.NAMES}
    return PriceList("6.1", "machine", "none", "kernel", samples, 65536, ITEMS)
