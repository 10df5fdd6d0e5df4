# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Remembers what the last report was of, so that its numbers mean something later."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path

from consolidate import prices
from consolidate.errors import ConsolidateError

KEPT = ("most", "gap")


def file() -> Path:
    return prices.directory().parent / "last-report.json"


def keep(args: argparse.Namespace) -> None:
    kept = {key: getattr(args, key) for key in KEPT}
    kept["trace"] = [os.path.abspath(path) for path in args.trace]  # noqa: PTH100
    kept["prices"] = os.path.abspath(args.prices) if args.prices else None  # noqa: PTH100
    # A convenience: a report is no worse for a home that cannot be written.
    with contextlib.suppress(OSError):
        file().parent.mkdir(parents=True, exist_ok=True)
        file().write_text(json.dumps(kept))


def fill(args: argparse.Namespace) -> None:
    """Where no trace is named, take the last report's, and its options."""
    if args.trace:
        return
    try:
        kept = json.loads(file().read_text())
        args.trace = [Path(path) for path in kept["trace"]]
        args.prices = args.prices or (Path(kept["prices"]) if kept["prices"] else None)
        for key in KEPT:
            setattr(args, key, kept[key])
    except (OSError, ValueError, KeyError) as error:
        raise ConsolidateError(
            "name the trace too: there was no `consolidate report` before"
        ) from error
