# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The script of a candidate, with what it is said to be, and its C lines."""

from __future__ import annotations

import re
import textwrap

from consolidate import cface, engine, library, lua, plan
from consolidate.choose import Candidate
from consolidate.plan import Plan
from consolidate.report import sequence

WIDTH = 76


def about(made: Plan, title: str) -> list[str]:
    """The comment at the head of the script."""
    candidate = made.candidate
    found = textwrap.wrap(f"{title}: {sequence(candidate)}.", WIDTH)
    found += ["", "Takes:"] if made.params else [""]
    if made.batched:
        found.append("  items   records of 8-byte fields, in this order; n of them")
    for param in made.params:
        where = {"item": "  (item) ", "call": "  ", "list": "  (list) "}[param.scope]
        text = f"{where}{param.name:<8} {cface.comment(made, param)}"
        found += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 12)
    names = [cface.result_name(made, i) for i in range(len(made.results))]
    if made.batched:
        found.append(
            "Each item's last fields get the results of " + (", ".join(names) or "nothing")
        )
        found.append("or -errno; -ECANCELED is of calls that were not made any more.  Returns how")
        found.append("many items were done in full and 0, or the step that stopped it.")
    else:
        found += textwrap.wrap(
            f"Returns the results of {', '.join(names) or 'nothing'}, or -errno of the one that"
            " failed as the last.",
            WIDTH,
        )
    return [line.rstrip() for line in found]


def name_of(candidate: Candidate) -> str:
    """A name for the script: of what it calls."""
    names = list(dict.fromkeys(step.name for step in candidate.flow.steps))
    short = "_".join(names[:4])
    return re.sub(r"\W", "_", short)


def planned(candidate: Candidate) -> Plan:
    return plan.plan(candidate, engine.unknown(plan.constants(candidate)))


def script(candidate: Candidate, trace: str) -> tuple[str, str, Plan]:
    """The Lua, checked by the engine, and the C; and the plan that they are of."""
    made = planned(candidate)
    title = f"Candidate {candidate.number} of {trace}"
    text = lua.Writer(made, about(made, title))()
    engine.check(text)
    return text, cface.lines(made, name_of(candidate)), made


def ready(candidate: Candidate) -> str | None:
    """What the library has for it already."""
    found = library.script_for(candidate)
    return f"{library.path_of(found)}" if found is not None else None
