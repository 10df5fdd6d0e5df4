# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A sequence that a script could do: its template, its data flow, and its coverage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median

from consolidate.mine.dataflow import WAITS, Flow, Repeat, Step
from consolidate.mine.encoded_trace import OK, Tape
from consolidate.mine.match import Instance, Matcher, Path, Run
from consolidate.mine.templates import Template
from consolidate.trace import copied
from consolidate.trace.call import Call

# Limits of example runs, of instances in each, and of calls in all.
EXAMPLES = 24
INSTANCES = 8
MOST_CALLS = 800
# Instances counted to find how often each step occurs.
COUNTED = 1000


@dataclass(slots=True)
class Recording:
    """A few consecutive calls of a thread, from which examples are made."""

    tid: int
    command: str
    calls: list[Call]

    def call(self, at: int) -> Call:
        return self.calls[at]


@dataclass(slots=True)
class Example:
    """A few consecutive iterations, as recorded."""

    recording: Recording
    instances: list[Instance]

    def join(self) -> None:
        """Sets the recording that the instances belong to."""
        waiting = list(self.instances)
        while waiting:
            one = waiting.pop()
            one.tape = self.recording
            waiting += [
                inner for part in one.parts for inner in part if isinstance(inner, Instance)
            ]


@dataclass(slots=True)
class Candidate:
    """A template, its data flow, and its coverage of the trace."""

    number: int
    template: Template
    flow: Flow
    batched: bool  # one call of its script handles many iterations
    iterations: int
    whole: int  # those without a step of another outcome
    runs: int
    calls: int
    script_calls: int
    lengths: float  # iterations per run: the median
    step_calls: list[float]  # how often each step was called in total
    step_bytes: list[float]  # what that copied
    commands: Counter[str]  # its programs, with the number of runs of each
    took: float | None  # seconds in these calls, as recorded
    examples: list[Example] = field(default_factory=list)
    name: str = ""  # independent of the number, see name_all()

    @property
    def saved(self) -> int:
        return self.calls - self.script_calls

    def instances(self) -> list[Instance]:
        return [one for example in self.examples for one in example.instances]


@dataclass(slots=True)
class Scan:
    """The positions of a template."""

    flow: Flow
    runs: list[Run]

    @property
    def iterations(self) -> int:
        return sum(len(run.spans) for run in self.runs)

    @property
    def whole(self) -> int:
        return sum(whole for run in self.runs for _, _, whole in run.spans)

    @property
    def calls(self) -> int:
        return sum(run.calls for run in self.runs)

    @property
    def batched(self) -> bool:
        return not self.flow.carried and self.iterations >= 2 * len(self.runs)

    @property
    def script_calls(self) -> int:
        return len(self.runs) if self.batched else self.iterations

    @property
    def saved(self) -> int:
        return self.calls - self.script_calls

    def candidate(self, matcher: Matcher, tape: Tape) -> Candidate:
        commands = Counter()
        for run in self.runs:
            thread = tape.thread(run.begin)
            commands[thread.command or str(thread.tid)] += 1
        return Candidate(
            0,
            self.flow.template,
            self.flow,
            self.batched,
            self.iterations,
            self.whole,
            len(self.runs),
            self.calls,
            self.script_calls,
            median(len(run.spans) for run in self.runs),
            *self.step_totals(matcher, tape),
            commands,
            self.took(tape),
            self.examples(matcher, tape),
        )

    def took(self, tape: Tape) -> float | None:
        calls = [tape.call(at) for run in self.runs for b, e, _ in run.spans for at in range(b, e)]
        took = [call.took for call in calls if call.took is not None]
        return sum(took) if took else None

    def step_totals(self, matcher: Matcher, tape: Tape) -> tuple[list[float], list[float]]:
        """Calls of each step, and bytes copied, from instances all over the trace."""
        steps = Steps({step.path: i for i, step in enumerate(self.flow.steps)}, tape)
        spans = [span for run in self.runs for span in run.spans]
        some = spans[:: len(spans) // COUNTED + 1]
        for span in some:
            steps.count(matcher.instance(tape, *span), ())
        scale = self.calls / max(1.0, sum(steps.calls))
        return [n * scale for n in steps.calls], [n * scale for n in steps.bytes]

    def examples(self, matcher: Matcher, tape: Tape) -> list[Example]:
        found, calls = [], 0
        for run in self.runs[:: len(self.runs) // EXAMPLES + 1]:
            spans = run.spans[:INSTANCES]
            calls += spans[-1][1] - spans[0][0]
            if found and calls > MOST_CALLS:
                break
            found.append(recorded(list(matcher.instances(tape, run, INSTANCES)), tape))
        return found


class Steps:
    """Counts the calls of instances, by step."""

    def __init__(self, index: dict[Path, int], tape: Tape) -> None:
        self.index, self.tape = index, tape
        self.calls = [0.0] * len(index)
        self.bytes = [0.0] * len(index)

    def count(self, instance: Instance, path: Path) -> None:
        for i, part in enumerate(instance.parts):
            here = (*path, i)
            step = self.index.get(here)
            if step is None:
                for one in part:
                    self.count(one, here)
                continue
            self.calls[step] += len(part)
            self.bytes[step] += sum(copied.of_call(self.tape.call(at)) for at in part)


def recorded(instances: list[Instance], tape: Tape) -> Example:
    """The same instances, in a recording without other calls."""
    begin, end = instances[0].begin, instances[-1].end
    thread = tape.thread(begin)
    calls = [tape.call(at) for at in range(begin, end)]
    recording = Recording(thread.tid, thread.command, calls)
    return Example(recording, [moved(one, recording, begin) for one in instances])


def moved(one: Instance, recording: Recording, by: int) -> Instance:
    parts = [
        [moved(at, recording, by) if isinstance(at, Instance) else at - by for at in part]
        for part in one.parts
    ]
    return Instance(
        one.begin - by, one.end - by, one.whole, recording, parts, one.left_at, one.foreign
    )


def text(step: Step) -> str:
    name = step.name if step.outcome == OK else f"{step.name}:{step.outcome}"
    if step.repeat is Repeat.TIMES:
        return f"{name} x{step.times}"
    return name if step.repeat is Repeat.ONCE else f"{name}+"


def sequence(candidate: Candidate) -> str:
    """The steps on one line; loops in brackets."""
    steps = {step.path: step for step in candidate.flow.steps}

    def one(template: Template, path: Path) -> str:
        parts = []
        for i, node in enumerate(template):
            here = (*path, i)
            parts.append(f"({one(node, here)})+" if isinstance(node, tuple) else text(steps[here]))
        return " ".join(parts)

    line = one(candidate.template, ())
    return f"[{line}]*" if candidate.batched else line


def signature(candidate: Candidate) -> str:
    """The basis of a name: everything that determines the sequence's calls, except counts."""
    steps = [f"{step.path}{step.name}:{step.outcome}" for step in candidate.flow.steps]
    return " ".join(steps)


def name_all(candidates: list[Candidate]) -> None:
    """Names that do not depend on the order of the candidates.

    The first call, and a few digits that distinguish sequences which begin with it.
    """
    names: Counter[str] = Counter()
    for candidate in candidates:
        digits = sha256(signature(candidate).encode()).hexdigest()[:4]
        name = f"{candidate.flow.steps[0].name}-{digits}"
        names[name] += 1
        candidate.name = name if names[name] == 1 else f"{name}-{names[name]}"


def is_event_loop(candidate: Candidate) -> bool:
    """Whether it waits for descriptors, like an iteration of a server's event loop."""
    return any(step.name in WAITS for step in candidate.flow.steps)


def where(candidate: Candidate) -> str:
    """Program name and count of others."""
    most, _ = candidate.commands.most_common(1)[0]
    others = len(candidate.commands) - 1
    return f"{most} +{others}" if others else most
