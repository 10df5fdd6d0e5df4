# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A candidate's predicted savings: calls, and time by a machine's cost model."""

from __future__ import annotations

from dataclasses import dataclass

from consolidate import calltable
from consolidate.cost import bytes_saved, library
from consolidate.cost.model import NONE, Cost, CostModel
from consolidate.mine.candidate import Candidate
from consolidate.mine.dataflow import Flow, Kind, Repeat, Step

# The share of the program's time that makes a change worth while.
WORTH = 0.005
# The prediction exceeds the program's time: no such figure is meaningful.
MISFIT = "unknown: by this cost model it saves more than the program takes"


@dataclass(frozen=True, slots=True)
class Clock:
    """How long the traced program ran, in seconds: as recorded, and without the tracer."""

    recorded: float | None
    untraced: float | None  # None: unknown, since a tracer slows calls by a factor of 3 to 50

    @property
    def seconds(self) -> float | None:
        """The basis of rates: waiting for people and devices takes as long under a tracer."""
        return self.untraced or self.recorded


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for one candidate, over the whole trace."""

    calls: int
    script_calls: int
    copied: float  # bytes copied between process and kernel by these calls
    script_copied: float  # and by the script's
    script: str | None  # the library script that was costed; None: the generated one
    saved: Cost | None  # ns, all in all
    share: Cost | None  # of the program's time
    verdict: str

    @property
    def calls_saved(self) -> int:
        return self.calls - self.script_calls

    @property
    def pays(self) -> bool:
        """Whether a script is faster, as far as is known."""
        return self.saved is None or self.saved.middle > 0


def iteration_cost(flow: Flow, costs: CostModel, batched: bool) -> Cost:
    """A script's work per iteration besides its calls: reading fields, writing results."""
    fields = sum(
        source.kind is Kind.PARAM and not (batched and source.steady)
        for step in flow.steps
        for source in step.args
    )
    cost = costs.item(fields + len(flow.steps))
    strings = sum(
        source.kind is Kind.CONST and source.value is not None and source.value.string is not None
        for step in flow.steps
        for source in step.args
    )
    return cost + costs.string().times(strings)


def of_library(
    script: str, flow: Flow, counts: list[float], items: float, calls: float, costs: CostModel
) -> Cost:
    """The script's saving for iterations whose steps occurred this often."""
    steps = list(zip(flow.steps, counts, strict=True))
    if script == "readdirplus":
        items = sum(count for step, count in steps if step.repeat is Repeat.NAMES)
    saved = costs.library(script, calls, items)
    for step, count in steps:
        if library.is_fstat(step):
            call = "outer_fstat" if step.name == "fstat" else "outer_fstatat"
            saved += costs.cost(call).times(count)
    # The cost of such a script contains one of each.
    if script == "open_fstat":
        return saved - costs.cost("outer_fstat").times(items)
    reads = sum(count for step, count in steps if step.name == "read")
    return saved + costs.cost("outer_read").times(max(0.0, reads - items))


def saving_by_library(script: str, candidate: Candidate, costs: CostModel) -> Cost:
    """The saving in nanoseconds over the whole trace, by a library script."""
    flow, whole = candidate.flow, candidate.whole
    saved = of_library(
        script,
        flow,
        candidate.step_calls,
        whole,
        library.calls(script, candidate),
        costs,
    )
    # In the other iterations the first call failed, and fails in the script, too.
    return saved + joined(flow.steps[0], costs).times(candidate.iterations - whole)


def saving(candidate: Candidate, costs: CostModel) -> Cost:
    """The saving in nanoseconds over the whole trace, by the generated script."""
    found = NONE
    for step, count in zip(candidate.flow.steps, candidate.step_calls, strict=True):
        found += joined(step, costs).times(count)
    found -= iteration_cost(candidate.flow, costs, candidate.batched).times(candidate.iterations)
    names = sum(
        count
        for step, count in zip(candidate.flow.steps, candidate.step_calls, strict=True)
        if step.repeat is Repeat.NAMES or len(step.path) > 1
    )
    found -= costs.cost("entry").times(names)
    return found - costs.cost("script_call").times(candidate.script_calls)


def joined(step: Step, costs: CostModel) -> Cost:
    return costs.joined(step.name) if calltable.why_not(step.name) is None else NONE


def predict(candidate: Candidate, costs: CostModel | None, time: Clock) -> Prediction:
    script = library.replacement(candidate)
    saved = None
    if costs is not None and script is not None:
        saved = saving_by_library(script, candidate, costs)
    elif costs is not None:
        saved = saving(candidate, costs)
    share = share_of(saved, time)
    return Prediction(
        candidate.calls,
        library.calls(script, candidate),
        sum(candidate.step_bytes),
        bytes_saved.by_script(script, candidate),
        script,
        saved,
        share,
        verdict(saved, share, time),
    )


def share_of(saved: Cost | None, time: Clock) -> Cost | None:
    """The share of the program's time; None if unknown, or less than the saving."""
    if saved is None or not time.untraced:
        return None
    share = saved.times(1e-9 / time.untraced)
    return Cost(share.low, share.middle, min(share.high, 1.0)) if share.middle < 1 else None


def verdict(saved: Cost | None, share: Cost | None, time: Clock) -> str:
    """The verdict; empty if the cost or the program's time is unknown."""
    if saved is None:
        return ""
    if saved.middle <= 0:
        return "no: a script costs more than it saves"
    if share is None:
        return MISFIT if time.untraced else ""
    if share.middle < WORTH:
        return "no: too little"
    return "yes" if saved.low > 0 else "perhaps: within the spread of the cost model"
