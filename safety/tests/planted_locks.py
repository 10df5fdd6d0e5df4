# SPDX-License-Identifier: GPL-2.0
"""Faults with locks to order: modules/planted_locks, built with evmon."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

PLANTED = Path("/sys/kernel/debug/planted_locks")
SOURCE = Path(__file__).parent / "modules" / "planted_locks" / "planted_locks.c"
PARAMETERS = {
    "mutex": {"hold_ms": 50},
    "irq": {"limit_us": 25000},
    "alloc": {"modules": "planted_locks"},
}


def load_with(load: Callable[..., None], *monitors: str) -> None:
    """The module at fault, and these monitors before it: "spin", "mutex"."""
    load("evmon")
    for name in monitors:
        load(f"evmon/evmon_{name}", **PARAMETERS.get(name, {}))
    load("planted_locks+evmon")


def do(fault: str) -> None:
    """Have the module do it, "sound" or "sound 20"."""
    fd = os.open(PLANTED, os.O_WRONLY)
    try:
        os.write(fd, fault.encode())
    finally:
        os.close(fd)


def line_of(function: str, text: str, nth: int = 1) -> str:
    """Where the source has a text for the nth time after a function's head, as told."""
    lines = SOURCE.read_text().splitlines()
    head = re.compile(rf"static (?:void|int) {function}\(")
    start = next(i for i, line in enumerate(lines) if head.match(line))
    found = [i for i, line in enumerate(lines) if i > start and text in line]
    return f"planted_locks.c:{found[nth - 1] + 1} "
