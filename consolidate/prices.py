# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What system calls and the parts of scripts cost on a machine: measured, and kept."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from consolidate import calltable
from consolidate.errors import ConsolidateError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAMS = (ROOT / "build" / "consolidate-prices", HERE / "consolidate-prices")
GUEST = ROOT / "vm" / "guest"
# What the program measures, see prices.c.
NAMES = (
    *("outer_fast", "inner_fast", "outer_slow", "inner_slow"),
    *("outer_path", "inner_path", "inner_string", "field_in", "field_out", "entry"),
    "batch_item",
    *("script_call", "copy_64k", "copy_1", "outer_read", "outer_fstat", "outer_fstatat"),
)
# What scripts of the library do: by plain calls and by the script, of one file or
# entry, of a few and of many.
LIBRARY = (
    *("read_many", "open_read_close", "open_write_close", "open_fstat", "stat_many"),
    "readdirplus",
)
SIZES = ("one", "few", "many")
NAMES += tuple(
    f"{script}.{way}.{size}" for script in LIBRARY for way in ("plain", "script") for size in SIZES
)
ROUNDS = 24
GUEST_TIME = 300
EMULATED = (
    "Prices are of an emulated CPU (QEMU TCG), where a mode switch costs less than it does\n"
    "and a script more: measure them (consolidate prices) where the scripts will run."
)


@dataclass(frozen=True, slots=True)
class Price:
    """Nanoseconds: the middle, and the range in which most rounds were."""

    low: float
    middle: float
    high: float

    def __add__(self, other: Price) -> Price:
        return Price(self.low + other.low, self.middle + other.middle, self.high + other.high)

    def __sub__(self, other: Price) -> Price:
        return Price(self.low - other.high, self.middle - other.middle, self.high - other.low)

    def times(self, count: float) -> Price:
        return Price(self.low * count, self.middle * count, self.high * count)


NONE = Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of one kernel on one machine in one backend."""

    kernel: str
    machine: str
    accel: str
    backend: str
    samples: dict[str, list[float]]
    copied_bytes: int
    items: dict[str, int]  # of each of SIZES

    def price(self, name: str) -> Price:
        return spread(self.samples[name])

    def difference(self, one: str, other: str) -> Price:
        """What one costs more than the other: within a round, where load is the same."""
        pairs = zip(self.samples[one], self.samples[other], strict=True)
        return spread([a - b for a, b in pairs])

    def joined(self, name: str) -> Price:
        """What is saved by making a call in a script instead of outside."""
        if calltable.is_fast(name):
            return self.difference("outer_fast", "inner_fast")
        if name in calltable.PATHS:
            return self.difference("outer_path", "inner_path")
        return self.difference("outer_slow", "inner_slow")

    def item(self, fields: int) -> Price:
        """An item of a batch with so many fields, beside its calls."""
        calls, width = 2, 4
        samples = zip(
            *(self.samples[n] for n in ("batch_item", "inner_slow", "field_in", "field_out")),
            strict=True,
        )
        more = fields - width
        return spread([b - calls * c + more * (i + o) for b, c, i, o in samples])

    def string(self) -> Price:
        """What a constant path or text costs more than an address."""
        return self.difference("inner_string", "inner_path")

    def library(self, what: str, calls: float, items: float) -> Price:
        """What calls of a script of the library save, with so many items in all of them."""
        if not calls:
            return NONE
        each = items / calls
        below, above = SIZES[:2] if each <= self.items["few"] else SIZES[1:]
        at = (each - self.items[below]) / (self.items[above] - self.items[below])
        ends = zip(self.saved(what, below), self.saved(what, above), strict=True)
        return spread([calls * (a + at * (b - a)) for a, b in ends])

    def saved(self, what: str, size: str) -> list[float]:
        """By one call of a script of the library, in each round."""
        ways = (self.samples[f"{what}.{way}.{size}"] for way in ("plain", "script"))
        return [plain - script for plain, script in zip(*ways, strict=True)]

    def copied(self) -> Price:
        """One byte between the kernel and the process."""
        return self.difference("copy_64k", "copy_1").times(1 / self.copied_bytes)

    def title(self) -> str:
        return f"Linux {self.kernel}, {self.accel}, {self.machine}, {self.backend} backend"


def spread(samples: list[float]) -> Price:
    if len(samples) == 1:
        return Price(samples[0], samples[0], samples[0])
    tenths = quantiles(samples, n=10, method="inclusive")
    return Price(tenths[0], tenths[4], tenths[8])


def directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "syscript" / "prices"


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    return models[0] if models else os.uname().machine


def from_json(text: str, where: str) -> PriceList:
    try:
        raw: dict[str, Any] = json.loads(text)
        rounds = raw["rounds"]
        samples = {name: [float(r[name]) for r in rounds] for name in NAMES}
        return PriceList(
            raw["kernel"],
            raw["machine"],
            raw["accel"],
            raw["backend"],
            samples,
            raw["copied_bytes"],
            {size: int(raw["items"][size]) for size in SIZES},
        )
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ConsolidateError(
            f"{where} is no list of prices ({error}): make one with `consolidate prices`"
        ) from error


def measure(backend: str, guest: str | None, rounds: int = ROUNDS) -> tuple[PriceList, Path]:
    """Measure here, or in a guest, and keep the list."""
    program = next((path for path in PROGRAMS if path.exists()), None)
    if program is None:
        raise ConsolidateError("consolidate-prices is not built: run `make consolidate`")
    command = [str(program), backend, str(rounds)]
    if guest is not None:
        if not GUEST.exists():
            raise ConsolidateError("guests are started from syscript's source tree only")
        options = ["-k", guest, "-m", "--fair", "--timeout", str(GUEST_TIME)]
        command = [str(GUEST), *options, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConsolidateError(
            f"measuring failed (status {done.returncode}): {done.stderr.strip()}\n"
            "`syscript doctor` says what is missing here; --guest 6.1 measures in a guest, from"
            " the source tree; --backend user prices scripts that run in the process"
        )
    raw = {"machine": machine(), **json.loads(done.stdout)}
    text = json.dumps(raw, indent=2) + "\n"
    prices = from_json(text, "what was measured")
    path = directory() / f"{prices.kernel}-{prices.accel}-{prices.backend}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return prices, path


def load(path: Path | None) -> PriceList | None:
    """The list that is named, or this kernel's, or the newest there is."""
    if path is not None:
        try:
            return from_json(path.read_text(), str(path))
        except OSError as error:
            raise ConsolidateError(f"cannot read {path}: {error.strerror}") from error
    found = sorted(directory().glob("*-kernel.json"), key=lambda one: one.stat().st_mtime)
    here = [one for one in found if one.name.startswith(f"{os.uname().release}-")]
    chosen = (here or found)[-1:]
    return from_json(chosen[0].read_text(), str(chosen[0])) if chosen else None
