# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Writes the C header of a candidate: its records, and functions that call its script.

All names have the script's as a prefix, so that it goes with any system header.
"""

from __future__ import annotations

from consolidate.emit.plan import Param, Plan, Record

KINDS = {"f": "a descriptor", "i": "a number", "s": "memory", "p": "memory"}

TOP = """\
/* SPDX-License-Identifier: MIT */
/*
{about}
 *
 * cc ... $(pkg-config --cflags --libs libsyscript)
 */
#ifndef {guard}
#define {guard}

#include <stdint.h>
#include <syscript.h>
"""
FUNCTIONS = """\
/* The result of a call. */
struct {name}_end {{
	int64_t done;	/* items done */
	int64_t step;	/* 0, or the step that ended the script, in item [done] */
	int64_t result;	/* of that step: -errno, or another unexpected result */
}};

static const char {name}_script[] =
{script};

/* Registers the script.  Returns its descriptor, or -errno and a text in error. */
static inline int {name}_register(char *error, size_t size)
{{
	return syscript_register({name}_script,
			sizeof({name}_script) - 1, NULL, error, size);
}}

/*
 * Runs the script on n items.  Returns 0, or -errno if the script itself failed:
 * syscript_error(script) says why.
 */
static inline int {name}_call(int script,
		struct {name}_item *items, int64_t n,
{parameters}		struct {name}_end *end)
{{
	const int64_t args[] = {{ {arguments} }};
	int64_t results[3] = {{ 0, 0, 0 }};
	int ret = syscript_call(script, {count}, args, 3, results);

	end->done = results[0];
	end->step = results[1];
	end->result = results[2];
	return ret < 0 ? ret : 0;
}}

/*
 * Does all n items.  If a step's result differs from those in the trace, go_on()
 * must do the rest of that item as the program does without a script: from that
 * step on, which was called and returned result.  The results of earlier steps
 * are in the item, files that they opened are open; later steps were not called.
 * Step 0: no step was called, because there is no script ({name}_register()
 * failed).  Then the script continues with the next item.
 *
 * Returns 0, the result of go_on() if that is not 0, or -errno if the script
 * was terminated in the middle (by a limit): syscript_error(script) says why.
 */
static inline int {name}_each(int script,
		struct {name}_item *items, int64_t n,
{parameters}		int (*go_on)(struct {name}_item *item, int step,
			int64_t result, void *context),
		void *context)
{{
	int ret = 0;

	while (n > 0 && !ret) {{
		struct {name}_end end = {{ 0, 0, 0 }};

		if (script >= 0) {{
			ret = {name}_call(script, items, n, {passed}&end);
			if (ret || !end.step)
				break;
		}}
		items += end.done;
		n -= end.done + 1;
		ret = go_on(items++, (int)end.step, end.result, context);
	}}
	return ret;
}}

#endif
"""


def comment(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


def about(plan: Plan, param: Param) -> str:
    """A parameter's use in the calls that get it."""
    if param.about:
        return param.about
    users = ", ".join(
        f"argument {arg + 1} of {plan.steps[number].name}()" for number, arg in param.steps
    )
    users += "; set it for each item" if param.is_changed else ""
    return users + (f", as {param.seen[0].brief}" if param.seen else "")


def c_type(param: Param, name: str) -> str:
    if param.entries is not None:
        return f"struct {name}_{param.entries.tag} *"
    if param.letter in "fi":
        return "int64_t "
    return "const char *" if param.is_string and not param.fills else "void *"


def struct(plan: Plan, name: str, record: Record) -> list[str]:
    lines = [f"struct {name}_{record.tag} {{"]
    for param in record.params:
        declared = f"{c_type(param, name)}{param.name};"
        way = "in and out" if param.is_changed else "in"
        lines.append(f"\t{declared:<31} /* {way}: {comment(about(plan, param))} */")
    for result in record.results:
        declared = f"int64_t {result.name};"
        lines.append(f"\t{declared:<31} /* out: {result.about} */")
    return [*lines, "};", ""]


def c_string(text: str) -> str:
    """A C string literal, one source line for each line."""
    parts = []
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        parts.append(f'"{escaped}\\n"'.replace("\t", "\\t"))
    return "\n".join(parts)


def header(plan: Plan, name: str, script: str, lines: list[str]) -> str:
    """C that registers and calls a script."""
    head = TOP.format(
        about="\n".join(f" * {comment(line)}".rstrip() for line in lines), guard=f"{name.upper()}_H"
    )
    structs = [line for record in plan.records() for line in struct(plan, name, record)]
    common = bool(plan.common.params)
    arguments = ["(intptr_t)items", "n", *(["(intptr_t)common"] if common else [])]
    functions = FUNCTIONS.format(
        name=name,
        script=c_string(script),
        parameters=f"\t\tconst struct {name}_common *common,\n" if common else "",
        passed="common, " if common else "",
        arguments=", ".join(arguments),
        count=len(arguments),
    )
    return "\n".join(
        [head, "/* Of eight-byte fields, as the script has them. */", *structs, functions]
    )
