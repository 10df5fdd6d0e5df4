# SPDX-License-Identifier: GPL-2.0
"""Tests scripts derived from one recording on another recording of the program.

The program ran on other files and made other calls, with other arguments. A script gets the
arguments and the kernel's results of the second recording. It must make the program's calls with
the program's arguments, all of them or the first few; in the latter case it must say at which step
it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from consolidate.emit import engine, verify, write
from consolidate.emit.verify import Example
from consolidate.emit.write import Written
from consolidate.mine import advice, encoded_trace, startup
from consolidate.mine.candidate import Candidate, sequence
from consolidate.mine.dataflow import Kind, Source
from consolidate.mine.encoded_trace import Symbols, Tape
from consolidate.mine.match import Instance, Matcher
from consolidate.mine.templates import Template, symbol
from consolidate.report import report
from consolidate.trace import reader, values
from consolidate.trace.call import Call
from consolidate.trace.values import Value

# The most iterations of another recording on which to try each script.
MOST = 40
# Iterations per process.
AT_ONCE = 8
# Runs each script, and reports which of its calls equal the program's.
JUDGE = """
function run()
  for i, example in ipairs(examples) do
    begin(example)
    local results = { pcall(run_of_script, example.items, example.n, example.common) }
    local step = results[1] and results[3] or -1
    print(("%d|%d|%d|%d|%s"):format(i, at, #calls, step, wrong or results[1] or results[2]))
  end
end
"""


@dataclass(slots=True)
class Crossed:
    """The results of one recording's scripts on another."""

    scripts: int = 0
    tried: int = 0  # iterations
    whole: int = 0  # of these, done whole
    stopped: int = 0  # stopped and reported the step
    outcomes: set[str] = field(default_factory=set)  # errno of the calls at which they stopped
    assumed: int = 0  # scripts that are not written without --assume
    told: int = 0  # iterations in which a script with --assume was wrong
    wrong: list[str] = field(default_factory=list)


class Elsewhere(Example):
    """An iteration of another recording, which may end early."""

    def failures(self) -> Iterator[str]:
        return iter(())


def tape_of(path: Path) -> Tape:
    """The tape as `report` makes it."""
    trace = reader.read([path])
    aside = {thread.tid: startup.starts(thread) for thread in trace.threads.values()}
    advice.advise(trace, aside)
    return encoded_trace.cut(trace, encoded_trace.GAP, aside)


def translated(template: Template, mine: dict[int, tuple[str, str]], other: Symbols) -> Template:
    """A template in the symbols of another tape."""

    def one(node: int | tuple) -> int | tuple:
        if isinstance(node, tuple):
            return tuple(map(one, node))
        number = other.id(*mine[symbol(node)])
        return number if node >= 0 else ~number

    return tuple(map(one, template))


def instances(candidate: Candidate, other: Tape) -> list[Instance]:
    """Positions where the program makes the same calls, or the first of them."""
    names = {step.symbol: (step.name, step.outcome) for step in candidate.flow.steps}
    template = translated(candidate.template, names, other.symbols)
    matcher = Matcher(template, other, candidate.flow.once())
    runs = matcher.runs()
    each = max(1, MOST // max(1, len(runs)))
    some = runs[:: len(runs) // MOST + 1]
    return [one for run in some for one in matcher.instances(other, run, each)]


def usable(candidate: Candidate, one: Instance) -> bool:
    """Whether the recording has all of its data, and the call site in the program is the same."""
    calls = [one.tape.call(at) for at in range(one.begin, one.end)]
    cut = any("getdents" in call.name and "..." in call.args[-40:] for call in calls)
    return not one.foreign and not cut and same_place(candidate, one)


def same_place(candidate: Candidate, one: Instance) -> bool:
    """Whether flags and kinds of descriptors equal the candidate's.

    Calls with others come from another place in the program, which no script would replace.
    """
    return not any(
        is_other(source, value)
        for step, part in zip(candidate.flow.steps, one.parts, strict=False)
        if part and not isinstance(part[0], Instance)
        for source, value in zip(step.args, arguments(one.tape.call(part[0])), strict=False)
    )


def arguments(call: Call) -> list[Value]:
    return values.of_call(call.name, call.args)


def is_other(source: Source, value: Value) -> bool:
    if source.letter == "f":
        return kind_of(value) not in set(map(kind_of, source.seen))
    flags = source.kind is Kind.CONST and source.value.number is None
    return flags and source.value.string is None and source.value.text != value.text


def kind_of(value: Value) -> str:
    """The kind of file behind a descriptor."""
    other = advice.OTHER_KINDS.match(value.path or "")
    return other[0] if other else "file"


def cross(script: Written, other: Tape, result: Crossed) -> None:
    """Try one script on the iterations of a tape."""
    candidate = script.plan.candidate
    chosen = [one for one in instances(candidate, other) if usable(candidate, one)]
    examples = [Elsewhere(script.plan, [one]) for one in chosen]
    for first in range(0, len(examples), AT_ONCE):
        some = examples[first : first + AT_ONCE]
        for number, *counts, said in outcomes(script, some):
            judge(script, some[number - 1], counts, said, result)


def outcomes(script: Written, examples: list[Elsewhere]) -> Iterator[tuple]:
    program = [verify.HARNESS.read_text(), script.lua, "local run_of_script, examples = run, {}"]
    texts = [example.lua() for example in examples]
    options = ["--time-limit", str(verify.TIME_LIMIT), "--memory-limit", "16384"]
    done = engine.run("\n".join([*program, *texts, JUDGE]), ["run", *options])
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        *numbers, said = line.split("|", 4)
        yield *map(int, numbers), said


def judge(
    script: Written, example: Elsewhere, counts: list[int], said: str, result: Crossed
) -> None:
    made, calls, step = counts
    result.tried += 1
    if goes_on(example, made, calls, said) or (said, step, made) == ("true", 0, calls):
        result.whole += 1
    elif said == "true" and step > 0:
        result.stopped += 1
        result.outcomes.add(encoded_trace.outcome(example.traced[made - 1].call))
    elif script.assumed:
        result.told += 1
    else:
        call = example.traced[min(made, calls) - 1].call
        text = sequence(script.plan.candidate)
        result.wrong.append(f"{text}: {said}, {made} of {calls} ({call.name}({call.args[:80]}))")


def goes_on(example: Elsewhere, made: int, calls: int, said: str) -> bool:
    """Whether the script's loop continues as the program did, beyond the match."""
    wanted = re.search(rf"call {calls + 1} is (\w+), not there", said)
    if made != calls + 1 or wanted is None:
        return False
    one = example.instances[-1]
    if one.tape.text[one.end] == encoded_trace.END:
        return False
    following = one.tape.call(one.end)
    before = example.traced[-1].call
    return following.name == wanted[1] == before.name


def crossed(one: Path, other: Path) -> Crossed:
    """Tries one recording's scripts on another."""
    made, _ = report.make([one], None, 20, encoded_trace.GAP)
    result, elsewhere = Crossed(), tape_of(other)
    for candidate in made.candidates:
        script = write.script(candidate, one.name)
        result.scripts += 1
        result.assumed += bool(script.assumed)
        cross(script, elsewhere, result)
    return result
