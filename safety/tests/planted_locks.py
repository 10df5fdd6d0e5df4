# SPDX-License-Identifier: GPL-2.0
"""Lock faults on request: modules/planted_locks, built with evmon."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

PLANTED = Path("/sys/kernel/debug/planted_locks")
SOURCES = Path(__file__).parent / "modules" / "planted_locks"
PARAMETERS = {
    "mutex": {"hold_ms": 50},
    "irq": {"limit_us": 25000},
    "alloc": {"modules": "planted_locks"},
}


def load_with(load: Callable[..., None], *monitors: str) -> None:
    """Load monitors such as "spin" and "mutex", then the faulty module."""
    load("evmon")
    for name in monitors:
        load(f"evmon/evmon_{name}", **PARAMETERS.get(name, {}))
    load("planted_locks+evmon")


def do(fault: str) -> None:
    """Trigger a fault: "sound", or "sound 20"."""
    fd = os.open(PLANTED, os.O_WRONLY)
    try:
        os.write(fd, fault.encode())
    finally:
        os.close(fd)


def line_of(function: str, text: str, nth: int = 1) -> str:
    """file:line of the nth line with `text` after a function's head, as reports print it."""
    head = re.compile(rf"^(?:static )?(?:void|int) {function}\(.*\)$", re.MULTILINE)
    (file,) = (path for path in SOURCES.glob("*.c") if head.search(path.read_text()))
    lines = file.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if head.match(line))
    found = [i for i, line in enumerate(lines) if i > start and text in line]
    return f"{file.name}:{found[nth - 1] + 1} "
