# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The cost model: costs of system calls and of parts of scripts on a machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from consolidate import calltable
from consolidate.cost import library
from consolidate.errors import ConsolidateError

# Measured costs, see calibrate.c.
NAMES = (
    *("outer_fast", "inner_fast", "outer_slow", "inner_slow"),
    *("outer_path", "inner_path", "inner_string", "field_in", "field_out", "entry"),
    "batch_item",
    *("script_call", "outer_read", "outer_fstat", "outer_fstatat"),
)
# The library's scripts: by plain calls and by the script, for one, few and many files or entries.
SIZES = ("one", "few", "many")
NAMES += tuple(
    f"{script}.{way}.{size}"
    for script in library.MEASURED
    for way in ("plain", "script")
    for size in SIZES
)
# In a process the library's scripts save path lookups but no mode switches, and cost about as much
# as plain calls: which is cheaper depends on paths and files. So the range is widened by this share
# of the plain calls' cost.
IN_PROCESS = 0.3
# Stands for a guest's accelerator in the shipped model, see default_costs.py.
MODELLED = "modelled"
EMULATED = (
    "The cost model is of an emulated CPU (QEMU TCG), where a mode switch costs less than it\n"
    "does and a script more: calibrate (consolidate calibrate) where the scripts will run."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Nanoseconds: the median, and the range of the middle 80 % of the rounds."""

    low: float
    middle: float
    high: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.low + other.low, self.middle + other.middle, self.high + other.high)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.low - other.high, self.middle - other.middle, self.high - other.low)

    def times(self, count: float) -> Cost:
        return Cost(self.low * count, self.middle * count, self.high * count)


NONE = Cost(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class CostModel:
    """The costs of one kernel on one machine in one backend."""

    kernel: str
    machine: str
    accel: str
    backend: str
    samples: dict[str, list[float]]
    items: dict[str, int]  # of each of SIZES

    def cost(self, name: str) -> Cost:
        return spread(self.samples[name])

    def difference(self, one: str, other: str) -> Cost:
        """The extra cost of one over the other, within a round, where the load is the same."""
        pairs = zip(self.samples[one], self.samples[other], strict=True)
        return spread([a - b for a, b in pairs])

    def joined(self, name: str) -> Cost:
        """The saving from making a call in a script instead of outside."""
        if calltable.is_fast(name):
            return self.difference("outer_fast", "inner_fast")
        if name in calltable.PATHS:
            return self.difference("outer_path", "inner_path")
        return self.difference("outer_slow", "inner_slow")

    def item(self, fields: int) -> Cost:
        """The cost of an item with this many fields, in addition to its calls."""
        calls, width = 2, 4
        samples = zip(
            *(self.samples[n] for n in ("batch_item", "inner_slow", "field_in", "field_out")),
            strict=True,
        )
        more = fields - width
        return spread([b - calls * c + more * (i + o) for b, c, i, o in samples])

    def string(self) -> Cost:
        """The extra cost of a constant path or text over an address."""
        return self.difference("inner_string", "inner_path")

    def library(self, what: str, calls: float, items: float) -> Cost:
        """The saving by calls of a library script, with this many items in all of them."""
        if not calls:
            return NONE
        each = items / calls
        below, above = SIZES[:2] if each <= self.items["few"] else SIZES[1:]
        at = (each - self.items[below]) / (self.items[above] - self.items[below])
        ends = zip(self.saved(what, below), self.saved(what, above), strict=True)
        found = spread([calls * (a + at * (b - a)) for a, b in ends])
        if self.backend != "user":
            return found
        a, b = (self.cost(f"{what}.plain.{size}").middle for size in (below, above))
        unsure = IN_PROCESS * calls * (a + at * (b - a))
        return Cost(found.low - unsure, found.middle, found.high + unsure)

    def saved(self, what: str, size: str) -> list[float]:
        """The saving by one call of a library script, in each round."""
        ways = (self.samples[f"{what}.{way}.{size}"] for way in ("plain", "script"))
        return [plain - script for plain, script in zip(*ways, strict=True)]

    def title(self) -> str:
        if self.accel == MODELLED:
            return (
                f"modelled for {self.machine} from instructions counted on Linux {self.kernel},"
                f" {self.backend} backend; `consolidate calibrate` measures this machine's"
            )
        return f"Linux {self.kernel}, {self.accel}, {self.machine}, {self.backend} backend"


def spread(samples: list[float]) -> Cost:
    if len(samples) == 1:
        return Cost(samples[0], samples[0], samples[0])
    tenths = quantiles(samples, n=10, method="inclusive")
    return Cost(tenths[0], tenths[4], tenths[8])


def directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "syscript" / "cost-models"


def from_json(text: str, where: str) -> CostModel:
    try:
        raw: dict[str, Any] = json.loads(text)
        rounds = raw["rounds"]
        return CostModel(
            raw["kernel"],
            raw["machine"],
            raw["accel"],
            raw["backend"],
            {name: [float(r[name]) for r in rounds] for name in NAMES},
            {size: int(raw["items"][size]) for size in SIZES},
        )
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ConsolidateError(
            f"{where} is no cost model ({error}): make one with `consolidate calibrate`"
        ) from error


def suits(path: Path) -> tuple[bool, bool, float]:
    """How well a stored model fits this machine: its kernel, the kernel backend, the newest."""
    return (
        path.name.startswith(f"{os.uname().release}-"),
        path.name.endswith("-kernel.json"),
        path.stat().st_mtime,
    )


def load(path: Path | None, backend: str | None = None) -> CostModel | None:
    """The named model, or the stored one that fits this machine best."""
    if path is None:
        kept = directory().glob(f"*-{backend or '*'}.json")
        path = max(kept, key=suits, default=None)
    if path is None:
        return None
    try:
        return from_json(path.read_text(), str(path))
    except OSError as error:
        raise ConsolidateError(f"cannot read {path}: {error.strerror}") from error
