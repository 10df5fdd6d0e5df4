# SPDX-License-Identifier: GPL-2.0 OR MIT
"""One candidate in full: its steps, and its places in the trace and in the program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from consolidate.cost.predict import Prediction
from consolidate.mine import constants
from consolidate.mine.candidate import Candidate, Example, sequence, text, where
from consolidate.mine.dataflow import Flow, Kind, Source
from consolidate.report.report import Report
from consolidate.report.table import remarks, saves, size
from consolidate.trace.call import Call

# Number of examples shown, the length up to which they are, lines of each, characters of a line,
# and stacks.
EXAMPLES, SHORT, LINES, WIDTH = 2, 8, 24, 160
STACKS, FRAMES = 3, 6
# Frames of the C library, which tell nothing about the program.
LIBC = re.compile(r"/(?:libc|libpthread|ld-linux[\w-]*|libm)[-.][^/]*\(")
FRAME = re.compile(r"^(\S*?)\(([^)]*)\)")


def show(report: Report, candidate: Candidate, prediction: Prediction) -> None:
    print(f"{candidate.number}. {candidate.name}: {sequence(candidate)}")
    for line in facts(report, candidate, prediction):
        print(f"   {line}")
    print("\nsteps:")
    for line in steps(candidate.flow):
        print(f"  {line}")
    assumed = constants.assumptions(candidate.flow)
    if assumed:
        print("\nassumed, as no trace can show it (see --assume of `consolidate script`):")
    for line in assumed:
        print(f"  {line}")
    print("\nin the trace:")
    for line in lines(report, candidate.examples):
        print(f"  {line}")
    print("\nin the program:")
    for line in origins(candidate):
        print(f"  {line}")


def facts(report: Report, candidate: Candidate, prediction: Prediction) -> Iterator[str]:
    """The counts, and the assumptions."""
    early = candidate.iterations - candidate.whole
    yield (
        f"{candidate.iterations} times in {candidate.runs} runs of {where(candidate)}"
        + (f", {early} of them ended early" if early else "")
    )
    note = remarks(candidate, prediction, report)
    yield (
        f"{prediction.calls} calls would be {prediction.script_calls} of a script;"
        f" saves {saves(prediction)}" + (f"; {note}" if note else "")
    )
    yield (
        f"{size(prediction.copied)} copied between user and kernel space would be"
        f" {size(prediction.script_copied)}"
    )
    if candidate.batched:
        yield "assumes that all arguments of a batch are known before its first call"
    elif candidate.flow.blind:
        yield (
            "one iteration per call: the trace has no paths, so it cannot show whether the"
            " program knows them all beforehand (strace has them, and perf trace where it may"
            " read the program's memory)"
        )
    elif candidate.flow.carried:
        yield "one iteration per call: each needs results of the one before"


def steps(flow: Flow) -> Iterator[str]:
    for number, step in enumerate(flow.steps, 1):
        args = ", ".join(source_text(flow, source) for source in step.args)
        passes = f"  on {', '.join(sorted(step.passes))}: the next" if step.passes else ""
        yield f"{number:>3} {'  ' * (len(step.path) - 1)}{text(step)}({args}){passes}"


def source_text(flow: Flow, source: Source) -> str:
    """The source of an argument in words."""
    if source.kind is Kind.CONST:
        return source.value.text
    if source.kind is Kind.PARAM:
        return "?" if source.varies or not source.seen else f"? as {source.seen[0].brief}"
    words = {
        Kind.RESULT: f"result of {source.step + 1}",
        Kind.SHARED: f"as in {source.step + 1}",
        Kind.NAME: f"name from {source.step + 1}",
        Kind.READY: f"ready in {source.step + 1}",
        Kind.ADVANCE: "on from there",
    }
    return words[source.kind]


def lines(report: Report, examples: list[Example]) -> Iterator[str]:
    """Calls of a few iterations, with their lines."""
    middle = len(examples) // 2
    size = len(examples[middle].recording.calls) if examples else 0
    for example in examples[middle : middle + (EXAMPLES if size <= SHORT else 1)]:
        name = report.names[0] if len(report.names) == 1 else f"thread {example.recording.tid}"
        one = example.instances[0]
        calls = [example.recording.call(at) for at in range(one.begin, one.end)]
        for call in calls[:LINES]:
            yield f"{name}:{call.line}: {call_text(call)}"
        if len(calls) > LINES:
            yield f"... and {len(calls) - LINES} more"
        yield ""


def call_text(call: Call) -> str:
    line = f"{call.name}({call.args}) = {call.result}"
    return (
        line
        if len(line) <= WIDTH
        else f"{call.name}({call.args}"[: WIDTH - 20]
        + "...) = "
        + (str(call.ret) if call.error is None else call.error)
    )


def origins(candidate: Candidate) -> Iterator[str]:
    """The stacks of the first calls of iterations, most frequent first."""
    stacks: Counter[tuple[str, ...]] = Counter()
    for example in candidate.examples:
        for one in example.instances:
            stack = own_frames(example.recording.call(one.begin))
            if stack:
                stacks[stack] += 1
    if not stacks:
        yield "not known: record it with --stacks"
    for stack, count in stacks.most_common(STACKS):
        yield f"{count} of {sum(stacks.values())} times from"
        for frame in stack:
            yield f"    {frame}"


def outside_libc(call: Call) -> tuple[str, ...]:
    return tuple(frame for frame in call.stack if not LIBC.search(frame))


def own_frames(call: Call) -> tuple[str, ...]:
    frames = outside_libc(call) or call.stack
    return tuple(frame_text(frame) for frame in frames[:FRAMES])


def frame_text(frame: str) -> str:
    """A frame as `function+offset in file`, or its offset if it has no name."""
    found = FRAME.match(frame)
    if found is None:
        return frame
    file, function = found.groups()
    return f"{function or frame.rpartition(' ')[2]} in {file}"
