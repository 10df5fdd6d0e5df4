#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Results of the programs of tests/lua, interpreted in a process on this machine.

usage: corpus.py FILE: writes them to FILE for tests/vm/test_differential.py: in an emulated guest
these runs would take as long as those in the kernel.
"""

from __future__ import annotations

import json
import sys
from dataclasses import astuple
from pathlib import Path

from runner import COMMAND, CORPUS, CORPUS_LIMITS, USER, Outcome, Run, here, outcome

KNOWN = COMMAND.parent / "tests" / "corpus.json"


def interpreted(script: Path, run: Run) -> Outcome:
    return outcome(run, USER[1].command(script, *CORPUS_LIMITS))


def known(script: Path, run: Run) -> Outcome:
    """From the file, unless it is older than its script."""
    since = max(path.stat().st_mtime for path in (script, COMMAND))
    if not KNOWN.exists() or KNOWN.stat().st_mtime < since:
        return interpreted(script, run)
    return Outcome(*json.loads(KNOWN.read_text())[script.stem])


def main(path: str) -> None:
    found = {script.stem: astuple(interpreted(script, here)) for script in CORPUS}
    Path(path).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
