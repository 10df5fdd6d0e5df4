# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Shows the results: a table, one candidate in full, a graph, JSON."""

from importlib.util import find_spec

if find_spec("rich") is None:
    raise SystemExit(
        "consolidate: Python's library rich, which draws tables, is missing:"
        " install the distribution's package python3-rich"
    )
