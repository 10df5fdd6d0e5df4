# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Bytes that a script copies between process and kernel, compared with plain calls.

A generated script reads its fields from the process's memory and writes results there, which plain
calls pass in registers. The library's batches fill one record per entry or file; names found by a
listing are not copied back to query their attributes.
"""

from __future__ import annotations

from consolidate.mine.candidate import Candidate
from consolidate.mine.dataflow import Kind, Repeat
from consolidate.trace.copied import STAT, STATX

FIELD = 8
# See <linux/syscript_files.h>; a file's record is copied in, and out with its result.
RECORD, ATTRIBUTES, FILE = 152, 136, 32
STATS = {"stat": STAT, "lstat": STAT, "fstat": STAT, "newfstatat": STAT, "statx": STATX}
OF_MANY = frozenset(["read_many", "open_write_close", "open_fstat", "stat_many"])


def fields(candidate: Candidate) -> float:
    """For a generated script: parameters (those of a batch once) and results."""
    flow = candidate.flow
    params = sum(
        count
        for step, count in zip(flow.steps, candidate.step_calls, strict=True)
        for source in step.args
        if source.kind is Kind.PARAM and not (candidate.batched and source.steady)
    )
    return FIELD * (params + sum(candidate.step_calls))


def by_readdirplus(candidate: Candidate) -> float:
    """Paths of directories, and a record and name for each entry."""
    steps = candidate.flow.steps
    entries, names = 0.0, 0.0
    for step, count, size in zip(steps, candidate.step_calls, candidate.step_bytes, strict=True):
        if step.repeat is Repeat.NAMES:
            entries = max(entries, count)
            names = max(names, size - count * STATS.get(step.name, 0))
    return candidate.step_bytes[0] + entries * RECORD + names


def attributes(candidate: Candidate) -> tuple[float, float]:
    """Bytes of attribute structures, and their number."""
    counted = [
        (STATS[step.name] * count, count)
        for step, count in zip(candidate.flow.steps, candidate.step_calls, strict=True)
        if step.name in STATS
    ]
    return sum(size for size, _ in counted), sum(count for _, count in counted)


def by_script(script: str | None, candidate: Candidate) -> float:
    """Bytes over the whole trace, by the library's script, or (None) by a generated one."""
    copied = sum(candidate.step_bytes)
    if script is None:
        return copied + fields(candidate)
    if script == "readdirplus":
        return by_readdirplus(candidate)
    if script in OF_MANY:
        copied += 2 * FILE * candidate.iterations
    # The caller only wanted the size from a descriptor's attributes, unless the script is for
    # attributes.
    size, count = attributes(candidate)
    copied -= size
    return copied + (count * ATTRIBUTES if script in ("open_fstat", "stat_many") else 0)
