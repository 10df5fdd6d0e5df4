# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Stores the last report, so that the next command can refer to its numbers."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from consolidate.codec import Codec
from consolidate.cost import model
from consolidate.cost.model import Cost
from consolidate.cost.predict import Clock, Prediction
from consolidate.errors import ConsolidateError
from consolidate.mine.advice import Advice
from consolidate.mine.candidate import Candidate, Example, Recording
from consolidate.mine.dataflow import Flow, Kind, Loop, Repeat, Source, Step
from consolidate.mine.match import Instance
from consolidate.report.report import Program, Report
from consolidate.trace.call import Call
from consolidate.trace.values import Value

# Version of the stored format.
VERSION = 5
CODEC = Codec(
    *(
        Report,
        Program,
        Clock,
        Prediction,
        Cost,
        Advice,
        Candidate,
        Example,
        Recording,
        Instance,
        Call,
    ),
    *(Flow, Loop, Step, Source, Value, Kind, Repeat),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The input of a report."""

    traces: tuple[Path, ...]
    cost_model: Path | None
    backend: str | None  # of the cost model
    most: int
    gap: float
    seconds: float | None

    def key(self) -> list:
        """Equal as long as the report would be; missing files give another key."""
        files = [(str(path), stamp(path)) for path in self.traces]
        own = str(self.cost_model) if self.cost_model else None
        return json.loads(
            json.dumps([VERSION, files, own, self.backend, self.most, self.gap, self.seconds])
        )


def stamp(path: Path) -> list[int]:
    with contextlib.suppress(OSError):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]
    return []


def file() -> Path:
    return model.directory().parent / "last-report.json"


def keep(asked: Asked, report: Report) -> None:
    # Only a convenience: a report must not fail for an unwritable home.
    with contextlib.suppress(OSError):
        file().parent.mkdir(parents=True, exist_ok=True)
        temporary = file().with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"key": asked.key(), "report": CODEC.encode(report)}))
        temporary.replace(file())


def last(asked: Asked | None) -> Report | None:
    """The last report, if it is about the request, or no traces are named."""
    try:
        kept = json.loads(file().read_text())
        if kept["key"][0] != VERSION or asked is not None and kept["key"] != asked.key():
            return None
        report = CODEC.decode(kept["report"])
        for candidate in report.candidates:
            for example in candidate.examples:
                example.join()
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return report


def required() -> Report:
    report = last(None)
    if report is None:
        raise ConsolidateError("name the trace too: there was no `consolidate report` before")
    return report
