#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the tables of safety/docs/figures.md from safety/docs/figures.json, or from new results.

As bench/figures.py does for docs/figures.md; what the tools cost has a result for each kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("bench", "safety/bench")]

import figures  # noqa: E402
import user  # noqa: E402

from bench import RATIOS, Ratio  # noqa: E402

Json = dict[str, Any]

WORKLOADS = {"compile": "compilation", "mix": "PostMark"}
FILE_SYSTEMS = {"ecryptfs": "eCryptfs", "reiserfs": "ReiserFS"}
INSTRUCTIONS = {"elapsed": "all", "system": "all but the processes'"}


def row_of(key: Ratio) -> str:
    return f"{WORKLOADS[key.workload]} over {FILE_SYSTEMS[key.file_system]}"


def costs(tool: str) -> Callable[..., Json]:
    """The table of a tool's rows, from results of bench.py on several kernels."""

    def tables(*found: Json) -> Json:
        kernels = [result["kernel"] for result in found]
        rows = [
            [key.what.rpartition(", ")[0], row_of(key), INSTRUCTIONS[key.of]]
            + [f"{result[name]['median']:.3f}" if name in result else "" for result in found]
            + [f"{key.at_most:g}" if key.at_most else ""]
            for name, key in RATIOS.items()
            if tool in name.split(".") and any(name in result for result in found)
        ]
        header = ["with the tool / without", "", "instructions", *kernels, "at most"]
        return {
            "kernel": ", ".join(kernels),
            "tables": [{"header": header, "rows": rows}],
            "note": "",
        }

    return tables


def kasan(result: Json) -> Json:
    rows = [
        [f"{WORKLOADS[name]} over eCryptfs", f"{result[f'kasan.{name}']['median']:.2f}"]
        for name in WORKLOADS
    ]
    header = ["instructions", "a kernel with KASAN / the stock kernel"]
    return {"kernel": result["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


def in_user_space(result: Json) -> Json:
    counts, sizes = result["instructions"], result["bytes"]
    rows = [
        [text, f"{counts[name]:,}"]
        + [f"{found[name] / found['plain']:.2f}" for found in (counts, sizes)]
        for name, text in user.VARIANTS.items()
    ]
    header = ["memcached built", "instructions a GET", "ratio", "text and data"]
    return {"kernel": result["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


SUBJECTS = {
    **{
        tool: figures.Subject("make bench-safety-icount", costs(tool))
        for tool in ("kefence", "evmon", "kgcc")
    },
    "kasan": figures.Subject("make bench-safety-kasan-icount", kasan),
    "user": figures.Subject("make bench-safety-user-icount", in_user_space),
}

if __name__ == "__main__":
    sys.exit(figures.main(SUBJECTS, "safety/docs/figures.md"))
