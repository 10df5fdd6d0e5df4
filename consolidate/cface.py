# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes the C lines that call the script of a candidate."""

from __future__ import annotations

import re

from consolidate.plan import MOST_ARGS, Param, Plan
from consolidate.values import Value

COMMENTS = {"f": "a descriptor", "i": "a number"}


def c_name(param: Param) -> str:
    return re.sub(r"\W", "_", param.name)


def shown(value: Value) -> str:
    """A value of the trace, for a comment."""
    text = value.text.replace("*/", "* /")
    return text if len(text) <= 40 else text[:37] + "..."


def comment(plan: Plan, param: Param) -> str:
    """What a parameter is to the calls that get it."""
    if param.fills:
        return f"{param.size} bytes for each {param.fills}()"
    if param.constant:
        return f"always {param.constant}"
    if param.name.startswith("codes"):
        return "int32_t: the result of each call in the loop"
    if param.name.startswith("most"):
        return "how many repetitions the arrays have room for"
    if param.name.startswith("room"):
        return "bytes that the buffer has room for"
    users = ", ".join(
        f"argument {arg + 1} of {plan.steps[number].name}()" for number, arg in param.steps
    )
    example = f", as {shown(param.seen[0])}" if param.seen else ""
    return users + example


def c_type(param: Param) -> str:
    if param.letter in "fi":
        return "int64_t "
    return "const char *" if param.string and not param.fills else "void *"


def result_name(plan: Plan, place: int) -> str:
    step = plan.steps[plan.results[place]]
    same = [n for n in plan.results[:place] if plan.steps[n].name == step.name]
    return f"{step.name}_{len(same) + 1}" if same else step.name


def struct(plan: Plan, tag: str, params: list[Param], results: list[str]) -> list[str]:
    lines = [f"struct {tag} {{"]
    for param in params:
        declared = f"{c_type(param)}{c_name(param)};"
        # Every field is of 8 bytes, as the script has it.
        lines.append(f"\t{declared:<24}/* in: {comment(plan, param)} */")
    for name in results:
        lines.append(f"\tint64_t {name + '_result;':<16}/* out: or -errno */")
    lines.append("};")
    return lines


def lines(plan: Plan, name: str) -> str:
    """The C that registers and calls the script in a file `name`.lua."""
    found: list[str] = [f"/* Calls {name}.lua; cc ... $(pkg-config --cflags --libs libsyscript) */"]
    results = [result_name(plan, i) for i in range(len(plan.results))]
    call = plan.scope("call")
    listed = plan.scope("list")
    if listed:
        found += struct(plan, f"{name}_record", listed, ["call"])
    if plan.batched:
        found += ["/* All of it has to be set, the results to 0, before the call. */"]
        found += struct(plan, f"{name}_item", plan.scope("item"), results)
    head = [f"struct {name}_item *items", "int64_t n"] if plan.batched else []
    values = ["items", "n"] if plan.batched else []
    params = [f"{c_type(p)}{c_name(p)}" for p in call]
    arguments = [c_name(p) for p in call]
    if listed:
        params += [f"struct {name}_record *list", "int64_t n_list"]
        arguments += ["list", "n_list"]
    found += ["", *notes(plan, call)]
    width = MOST_ARGS - len(values)
    found.append(
        f"static int {name}({', '.join(['int script', *head, *params, 'int64_t results[8]'])})"
    )
    found.append("{")
    if len(arguments) > width:
        found.append(f"\tconst int64_t packed[] = {{ {cast(arguments)} }};")
        arguments = ["packed"]
    everything = cast([*values, *arguments])
    count = len(values) + len(arguments)
    array = f"{{ {everything} }}" if everything else "{ 0 }"
    found.append(f"\tconst int64_t args[] = {array};")
    found.append("")
    found.append(f"\treturn syscript_call(script, {count}, args, 8, results);")
    found.append("}")
    found += ["", "/*", f" * int script = syscript_register(source_of_{name}_lua, length, NULL,"]
    found.append(" *                                error, sizeof(error));")
    if plan.batched:
        found.append(
            " * results[0]: iterations done in full; results[1]: 0, or the step that stopped it,"
        )
        found.append(" * whose -errno is in the item behind these.")
    else:
        order = ", ".join(results) or "nothing"
        found.append(f" * results: of {order}; a failure, negative, is the last one.")
    found.append(" */")
    return "\n".join(found) + "\n"


def cast(names: list[str]) -> str:
    return ", ".join(f"(int64_t){name}" for name in names)


def notes(plan: Plan, params: list[Param]) -> list[str]:
    if not params:
        return []
    return ["/*", *(f" * @{c_name(p)}: {comment(plan, p)}" for p in params), " */"]
