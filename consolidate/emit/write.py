# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A candidate's script, verified, with its description and C header."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from consolidate.emit import c, engine, lua, plan, steps, verify
from consolidate.emit.plan import Plan, Record
from consolidate.emit.verify import Verified
from consolidate.errors import ConsolidateError
from consolidate.mine import constants
from consolidate.mine.candidate import Candidate, sequence

WIDTH = 76
RETURNS = """\
Returns three numbers: how many items were gone through, 0 or the number of the
step that ended the script, and that step's result: -errno, or what it returned
where the traced program always got something else.  What the item has opened is
open then; fields of calls that were not made are -ECANCELED; items after the one
that ended it are as they were."""
ASSUMED = "ASSUMED, WHICH THE TRACE CANNOT SHOW. Wrong where it is not so:"


@dataclass(frozen=True, slots=True)
class Written:
    """A script, and its sources."""

    name: str
    lua: str
    header: str
    plan: Plan
    tried: Verified

    @property
    def assumed(self) -> list[str]:
        """Assumptions that the trace cannot prove, and exceptions in the trace."""
        differences = (f"not as in a run of the trace: {one}" for one in self.tried.differences)
        return [*constants.assumptions(self.plan.candidate.flow), *differences]


def about(made: Plan, title: str) -> list[str]:
    """The comment at the head of the script."""
    found = textwrap.wrap(f"{title}: {sequence(made.candidate)}.", WIDTH)
    for line in constants.assumptions(made.candidate.flow):
        found += ([] if ASSUMED in found else ["", ASSUMED]) + [f"  {line}"]
    found += ["", "Calls, by the numbers of its steps:", *steps.lines(made)]
    found += ["", f"Takes items, n{', common' if made.common.params else ''}:"]
    for record in made.records():
        found += fields(made, record)
    return [line.rstrip() for line in [*found, "", *RETURNS.splitlines()]]


def fields(made: Plan, record: Record) -> list[str]:
    found = ["", f"{record.tag}: {record.width} fields of 8 bytes"]
    for param in record.params:
        text = f"  {param.name:<12} {c.about(made, param)}"
        found += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 15)
    for result in record.results:
        found.append(f"  {result.name:<12} out: {result.about}")
    return found


def name_of(candidate: Candidate) -> str:
    """A name for the script, from its calls."""
    names = list(dict.fromkeys(step.name for step in candidate.flow.steps))
    return re.sub(r"\W", "_", "_".join(["seq", *names[:4]]))


def planned(candidate: Candidate) -> Plan:
    return plan.plan(candidate, engine.unknown(plan.constants(candidate)))


def script(candidate: Candidate, trace: str, name: str | None = None) -> Written:
    """The Lua, checked by the engine, and the C header."""
    made = planned(candidate)
    if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ConsolidateError(f"{name!r} is no name in C: letters, digits and underscores are")
    name = name or name_of(candidate)
    lines = about(made, f"Candidate {candidate.name} of {trace}")
    tried = tried_out(made, lua.LuaWriter(made, lines)())
    lines += ["", *textwrap.wrap(f"Tried on the system calls of the trace: {tried.text()}.", WIDTH)]
    text = lua.LuaWriter(made, lines)()
    return Written(name, text, c.header(made, name, text, lines), made, tried)


def tried_out(made: Plan, text: str) -> Verified:
    """Compile a script and run it on examples from the trace."""
    engine.check(text)
    tried = verify.verify(made, text, [one.instances for one in made.candidate.examples])
    if tried.problems:
        raise ConsolidateError(
            f"the generated script is wrong: {tried.problems[0]}\nplease report this"
            f" with the trace; the script:\n{text}"
        )
    return tried
