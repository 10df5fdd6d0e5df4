# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What a candidate would save: calls, and time at a machine's prices."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles

from consolidate import calltable, library
from consolidate.choose import Candidate
from consolidate.flow import Flow, Kind, Repeat, Step
from consolidate.prices import NONE, Price, PriceList
from consolidate.trace import Trace

# Of the traced program's time, what is worth a change of the program.
WORTH = 0.001
SMALLEST = 0.1


@dataclass(frozen=True, slots=True)
class Clock:
    """How long the traced program ran, as recorded and, estimated, without the tracer."""

    recorded: float | None
    untraced: float | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one candidate, over the whole trace."""

    calls: int
    script_calls: int
    script: str | None  # the library's that is priced; None: the one that is written
    saved: Price | None  # ns, all in all
    per_second: Price | None  # ns for each second of the program
    verdict: str

    @property
    def calls_saved(self) -> int:
        return self.calls - self.script_calls

    def per_hour(self) -> Price | None:
        """Seconds for each hour of the program."""
        return self.per_second.times(3600e-9) if self.per_second is not None else None


def clock(trace: Trace) -> Clock:
    """The tracer stops a thread twice for each call: that is most of a short call's time."""
    recorded = trace.span()
    if recorded is None:
        return Clock(None, None)
    slowest = 0.0
    for thread in trace.threads.values():
        took = [call.took for call in thread.calls if call.took is not None]
        starts = [(c.start, c.took) for c in thread.calls if c.start is not None and c.took]
        gaps = [b[0] - a[0] - a[1] for a, b in zip(starts, starts[1:], strict=False)]
        if len(took) > 20 and len(gaps) > 20:
            least = quantiles(took, n=20)[0] + max(0.0, quantiles(gaps, n=20)[0])
            slowest = max(slowest, least * len(took))
    return Clock(recorded, max(recorded - slowest, SMALLEST * recorded))


def iteration_cost(flow: Flow, prices: PriceList, batched: bool) -> Price:
    """What a script does in one iteration beside its calls: read arguments, write results."""
    cost = NONE
    if batched:
        fields = sum(
            source.kind is Kind.PARAM and not source.steady
            for step in flow.steps
            for source in step.args
        )
        results = sum(step.name != "close" for step in flow.steps)
        cost += prices.item(fields + results)
    strings = sum(
        source.kind is Kind.CONST and source.value is not None and source.value.string is not None
        for step in flow.steps
        for source in step.args
    )
    return cost + prices.string().times(strings)


def step_calls(candidate: Candidate) -> dict[tuple[int, ...], int]:
    """How often each step was called, all in all."""
    counts = {step.path: 0 for step in candidate.flow.steps}

    def count(instance, path: tuple) -> None:
        for i, part in enumerate(instance.parts):
            here = (*path, i)
            if here in counts:
                counts[here] += len(part)
            else:
                for one in part:
                    count(one, here)

    for run in candidate.runs:
        for instance in run.instances:
            count(instance, ())
    return counts


def of_library(
    script: str, flow: Flow, counts: list[float], items: float, calls: float, prices: PriceList
) -> Price:
    """What its script saves in the place of iterations whose steps have these counts."""
    steps = list(zip(flow.steps, counts, strict=True))
    if script == "readdirplus":
        items = sum(count for step, count in steps if step.repeat is Repeat.NAMES)
    saved = prices.library(script, calls, items)
    for step, count in steps:
        if library.is_fstat(step):
            call = "outer_fstat" if step.name == "fstat" else "outer_fstatat"
            saved += prices.price(call).times(count)
    # One of each is in the price of such a script.
    if script == "open_fstat":
        return saved - prices.price("outer_fstat").times(items)
    reads = sum(count for step, count in steps if step.name == "read")
    return saved + prices.price("outer_read").times(max(0.0, reads - items))


def saving_by_library(script: str, candidate: Candidate, prices: PriceList) -> Price:
    """Nanoseconds over the whole trace."""
    flow, counts = candidate.flow, step_calls(candidate)
    whole = sum(one.whole for run in candidate.runs for one in run.instances)
    saved = of_library(
        script,
        flow,
        [counts[step.path] for step in flow.steps],
        whole,
        library.calls(script, candidate),
        prices,
    )
    # Of the others the first call failed, and fails in the script.
    return saved + joined(flow.steps[0], prices).times(candidate.iterations - whole)


def saving(candidate: Candidate, prices: PriceList) -> Price:
    """Nanoseconds over the whole trace, by the script that is written."""
    counts = step_calls(candidate)
    found = NONE
    for step in candidate.flow.steps:
        found += joined(step, prices).times(counts[step.path])
    found -= iteration_cost(candidate.flow, prices, candidate.batched()).times(candidate.iterations)
    names = sum(
        counts[step.path]
        for step in candidate.flow.steps
        if step.repeat is Repeat.NAMES or len(step.path) > 1
    )
    found -= prices.price("entry").times(names)
    return found - prices.price("script_call").times(candidate.script_calls())


def joined(step: Step, prices: PriceList) -> Price:
    return prices.joined(step.name) if calltable.why_not(step.name) is None else NONE


def predict(candidate: Candidate, prices: PriceList | None, time: Clock) -> Prediction:
    script = library.replacement(candidate)
    saved = None
    if prices is not None and script is not None:
        saved = saving_by_library(script, candidate, prices)
    elif prices is not None:
        saved = saving(candidate, prices)
    per_second = None
    if saved is not None and time.recorded is not None and time.untraced is not None:
        # In the program's own time, which the tracer stretches.
        rates = [1 / time.recorded, 1 / time.untraced]
        ends = [saved.low * rate for rate in rates] + [saved.high * rate for rate in rates]
        per_second = Price(min(ends), saved.middle / time.untraced, max(ends))
    return Prediction(
        candidate.calls,
        library.calls(script, candidate),
        script,
        saved,
        per_second,
        verdict(saved, per_second),
    )


def verdict(saved: Price | None, per_second: Price | None) -> str:
    if saved is None:
        return "not priced"
    if saved.middle <= 0:
        return "not worth it: a script call costs more than it saves"
    if per_second is not None and per_second.middle < WORTH * 1e9:
        return "not worth it: too rare"
    return "worth it" if saved.low > 0 else "perhaps: within the spread of the prices"
