#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Tables and plots of bench/memcached's measurements, from its JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import results

NAMES = {
    "off": "unchanged",
    "mmsg": "recvmmsg, sendmmsg",
    "io_uring": "io_uring",
    "syscript_interp": "script, interpreted",
    "syscript": "script, LuaJIT",
    "confined": "script, confined",
    "syscript_wait": "script that waits",
    "frames": "frames, LuaJIT",
    "frames_confined": "frames, confined",
}
COLOURS = {
    "off": "#4c4c4c",
    "mmsg": "#5b8db8",
    "io_uring": "#8fbc8f",
    "syscript_interp": "#e6b566",
    "syscript": "#c8553d",
    "confined": "#7a9a3d",
    "syscript_wait": "#7a2e1f",
    "frames": "#8064a2",
    "frames_confined": "#5f8a8b",
}
# Relative to the instructions with recvmmsg(2) and sendmmsg(2): upper bound, and target.
FRAMES_GOAL = 0.68, 0.60
# Share of the time in which tasks wait for a CPU although nothing but this runs.
PRESSURE = 0.1
COLUMNS = {
    "throughput": ("GET/s", "{:.0f}"),
    "response_mean": ("mean us", "{:.0f}"),
    "p50": ("p50", "{:.0f}"),
    "p99": ("p99", "{:.0f}"),
    "cpu_us_per_get": ("CPU us/GET", "{:.1f}"),
}


class Plot(NamedTuple):
    """One of the two plots, in the style of the paper's figures."""

    name: str
    of: str
    title: str
    unit: str
    scale: float


PLOTS = (
    Plot("response", "response_mean", "Mean response time of GET requests", "us", 1),
    Plot("throughput", "throughput", "GET requests answered", "thousands a second", 1e-3),
)


class Goal(NamedTuple):
    """Upper bound and target of a ratio of v64_w16."""

    pair: str
    of: str
    at_least: float
    aim: float

    def verdict(self, value: float) -> str:
        more = self.of == "throughput"
        if value < self.at_least if more else value > self.at_least:
            return "MISSED"
        return "reaches the aim" if (value >= self.aim) == more else "within"


GOAL_CASE = "v64_w16"
GOALS = (
    Goal("syscript_over_off", "throughput", 1.44, 1.8),
    Goal("syscript_over_off", "response_mean", 0.67, 0.55),
    Goal("syscript_interp_over_off", "throughput", 1.37, 1.37),
    Goal("syscript_interp_over_off", "response_mean", 0.70, 0.70),
    Goal("syscript_over_mmsg", "throughput", 1.10, 1.25),
)

# Of all requests, GETs: the load's --ratio.
GETS = 0.9

Table = tuple[list[str], list[list[str]]]


def of_runs(result: dict[str, Any], mode: str, case: tuple[int, int], what: str) -> list[float]:
    """A figure of a mode, over all rounds."""
    return [
        run[what]
        for run in result["runs"]
        if run["mode"] == mode and (run["value_size"], run["outstanding"]) == case
    ]


def versus(result: dict[str, Any], mode: str, base: str, case: tuple[int, int]) -> list[str]:
    """Throughput and response time, as ratios."""
    pair = result["ratios"][f"v{case[0]}_w{case[1]}"].get(f"{mode}_over_{base}")
    if not pair:
        return ["", ""]
    return [f"{pair[of]['median']:.2f}" for of in ("throughput", "response_mean")]


def switches(result: dict[str, Any], mode: str, case: tuple[int, int]) -> str:
    counted = result["mode_switches_per_get"].get(f"v{case[0]}_w{case[1]}", {})
    return f"{counted[mode]:.2f}" if mode in counted else ""


def table(result: dict[str, Any], case: tuple[int, int]) -> Table:
    """All modes with one size and one number of requests; medians."""
    bases = [base for base in ("off", "mmsg") if base in result["modes"]]
    header = ["", *(name for name, _ in COLUMNS.values()), "switches/GET"]
    for base in bases:
        header += [f"rate/{base}", f"mean/{base}"]
    rows = []
    for mode in result["modes"]:
        cells = [
            form.format(median(of_runs(result, mode, case, what)))
            for what, (_, form) in COLUMNS.items()
        ]
        cells.append(switches(result, mode, case))
        for base in bases:
            cells += versus(result, mode, base, case)
        rows.append([NAMES[mode], *cells])
    for mode in result.get("refused", {}):
        rows.append([NAMES[mode], "forbidden", *[""] * (len(header) - 2)])
    return header, rows


def goals(result: dict[str, Any]) -> Table:
    """The goals, and the results."""
    header = [GOAL_CASE, "median", "min .. max", "to reach", "aim", ""]
    rows = []
    for goal in GOALS:
        found = result["ratios"].get(GOAL_CASE, {}).get(goal.pair)
        if found and result.get("keys_per_get", 1) == 1:
            value = found[goal.of]
            spread = f"{value['min']:.2f} .. {value['max']:.2f}"
            bounds = [f"{goal.at_least:g}", f"{goal.aim:g}", goal.verdict(value["median"])]
            what = f"{goal.pair.replace('_over_', ' / ')}, {goal.of.replace('_', ' ')}"
            rows.append([what, f"{value['median']:.2f}", spread, *bounds])
    return header, rows


def of_load(result: dict[str, Any]) -> str:
    """A description of the load, unless it is one key and one thread."""
    keys, threads = result["keys_per_get"], result["threads"]
    text = f", {keys} keys a GET" if keys > 1 else ""
    return text + (f", {threads} threads of the load" if threads > 1 else "")


def cases(result: dict[str, Any]) -> list[tuple[int, int]]:
    return [(size, out) for out in result["outstanding"] for size in result["sizes"]]


def notes(result: dict[str, Any]) -> str:
    """Explanations needed to read the tables."""
    faults = {
        name: sum(run[name] for run in result["runs"])
        for name in ("lost", "late", "duplicate", "stray", "unanswered")
    }
    busy = max(run["load_busy"] for run in result["runs"])
    text = (
        f"Medians of {result['rounds']} rounds; ratios are taken within a round.  CPU time\n"
        "is the worker's, SETs (a tenth of the requests) included; mode switches are\n"
        "counted in a run of GETs alone.  Every reply was checked byte by byte: none\n"
        f"was wrong; {', '.join(f'{count} {name}' for name, count in faults.items())}.\n"
        f"The load generator had something to do {busy:.0%} of the time at most."
    )
    pressure = result.get("cpu_pressure", 0)
    if pressure > PRESSURE:
        text += (
            f"\n\nTHIS MACHINE WAS BUSY: {pressure:.0%} of the time a task waited for a CPU.\n"
            "Server and load have to run at the same time; where they take turns on a CPU,\n"
            "response times are time slices.  Measure again when nothing else runs."
        )
    return text


def headline(result: dict[str, Any]) -> None:
    under = ", under the seccomp filter of containers" if result.get("seccomp") else ""
    results.headline(f"memcached, GETs over UDP{under}", result)
    for mode, said in result.get("refused", {}).items():
        print(f"The filter forbids {NAMES[mode]}: {said}\n")


def show(result: dict[str, Any]) -> None:
    """All tables, for people."""
    headline(result)
    for case in cases(result):
        print(f"values of {case[0]} bytes, {case[1]} requests out{of_load(result)}\n")
        results.show(*table(result, case))
        print()
    if goals(result)[1]:
        results.show(*goals(result))
    print(f"\n{notes(result)}")
    if result["accel"] == "tcg":
        print(f"\n{results.EMULATED}")


def show_instructions(result: dict[str, Any]) -> None:
    """The worker's CPU time per GET, where a ns is an instruction."""
    headline(result)
    for case in cases(result):
        count = {
            mode: 1000 * median(of_runs(result, mode, case, "cpu_us_per_get"))
            for mode in result["modes"]
        }
        bases = [base for base in ("off", "mmsg") if base in count]
        rows = [
            [NAMES[mode], f"{one:.0f}", switches(result, mode, case)]
            + [f"{one / count[base]:.3f}" for base in bases]
            for mode, one in count.items()
        ]
        header = ["", "instructions/GET", "switches/GET", *(f"over {base}" for base in bases)]
        print(f"values of {case[0]} bytes, {case[1]} requests out{of_load(result)}\n")
        results.show(header, rows)
        if {"frames", "mmsg"} <= count.keys() and result["keys_per_get"] == 1:
            over = count["frames"] / count["mmsg"]
            verdict = results.verdict(over, *FRAMES_GOAL)
            print("\nframes over mmsg: at most {:g}, aim {:g}: {}".format(*FRAMES_GOAL, verdict))
        print()
    print("The worker's, with what the kernel does in its time; of ten keys one is stored.")


def modelled_ns(result: dict[str, Any], mode: str, case: tuple[int, int]) -> list[float]:
    """The worker's modelled time for a GET, in each round."""
    switches = result["mode_switches_per_get"][f"v{case[0]}_w{case[1]}"][mode]
    counts = of_runs(result, mode, case, "cpu_us_per_get")
    return [results.modelled_ns(1000 * count, switches) for count in counts]


def response_us(result: dict[str, Any], mode: str, case: tuple[int, int]) -> list[float]:
    """Little's law: with so many requests out, of which the worker serves one after the other."""
    return [case[1] * GETS * ns / 1000 for ns in modelled_ns(result, mode, case)]


def per_second(result: dict[str, Any], mode: str, case: tuple[int, int]) -> list[float]:
    return [1e9 / ns for ns in modelled_ns(result, mode, case)]


def spread(samples: list[float], form: str = ",.0f") -> str:
    deviation = stdev(samples) if len(samples) > 1 else 0
    return f"{mean(samples):{form}}±{deviation:{form}}"


def paper_figure(
    result: dict[str, Any],
    title: str,
    of: str,
    modelled: Callable[[dict[str, Any], str, tuple[int, int]], list[float]],
) -> Table:
    """A figure of the paper: unchanged, the others as multiples of it in the same round, and the
    paper's multiples."""
    base, *others = result["modes"]
    rows = []
    for case in cases(result):
        samples = {mode: modelled(result, mode, case) for mode in result["modes"]}
        ratios = [
            [value / of_base for value, of_base in zip(samples[mode], samples[base], strict=True)]
            for mode in others
        ]
        cells = [spread(of_mode, ".2f") for of_mode in ratios]
        rows.append([f"{case[0]:,} bytes", spread(samples[base]), *cells])
    paper = {goal.pair: f"{goal.at_least:.2f}" for goal in GOALS if goal.of == of}
    of_paper = [paper.get(f"{mode}_over_{base}", "") for mode in others]
    rows.append(["*the paper, small values*", "", *of_paper])
    rows.append(["*the paper, 1,024 bytes*", "", *("1" if ratio else "" for ratio in of_paper)])
    return [title, *(NAMES[mode] for mode in result["modes"])], rows


def paper_counts(
    result: dict[str, Any], title: str, cell: Callable[[str, tuple[int, int]], str]
) -> Table:
    """A line for each size, a cell for each mode."""
    rows = [
        [f"{case[0]:,} bytes", *(cell(mode, case) for mode in result["modes"])]
        for case in cases(result)
    ]
    return [title, *(NAMES[mode] for mode in result["modes"])], rows


def paper_tables(result: dict[str, Any]) -> list[Table]:
    """Figures 3 and 4 of the paper, and what they come from: by mode and value size."""

    def median_of(mode: str, case: tuple[int, int], what: str) -> float:
        return median(of_runs(result, mode, case, what))

    def instructions(mode: str, case: tuple[int, int]) -> str:
        return f"{1000 * median_of(mode, case, 'cpu_us_per_get'):,.0f}; " + switches(
            result, mode, case
        )

    def emulated(mode: str, case: tuple[int, int]) -> str:
        mean_of, deviation = (
            median_of(mode, case, f"response_{what}") for what in ("mean", "stddev")
        )
        return f"{mean_of:,.0f}±{deviation:,.0f}"

    def buffers(mode: str, case: tuple[int, int]) -> str:
        seen = result["waits"][f"v{case[0]}_w{case[1]}"][mode]
        share = seen["wait"] / seen["response"]
        return f"{median_of(mode, case, 'depth'):.1f}; {seen['wait']:,.0f}, {share:.0%}"

    return [
        paper_figure(result, "Figure 3: modelled response time, us", "response_mean", response_us),
        paper_figure(result, "Figure 4: modelled GETs a second", "throughput", per_second),
        paper_counts(result, "instructions of a GET; mode switches", instructions),
        paper_counts(result, "emulated response time, us±standard deviation", emulated),
        paper_counts(result, "GETs of a batch; us in the socket, of the response", buffers),
    ]


def paper_load(result: dict[str, Any]) -> str:
    """How much was asked for the figures of the paper."""
    requests = sum(run["requests"] for run in result["runs"])
    return (
        f"{requests:,} requests, {result['outstanding'][0]} out, at most {result['batch']} in a"
        f" batch; {result['rounds']} rounds of {result['seconds']:g} s of the guest's clock."
    )


def show_paper(result: dict[str, Any]) -> None:
    for header, rows in paper_tables(result):
        results.show(header, rows)
        print()
    print(paper_load(result))


def show_short(result: dict[str, Any]) -> None:
    """A table, and its conclusion."""
    headline(result)
    for case in cases(result):
        results.show(*table(result, case))
        print()
    print(notes(result))
    for case in cases(result):
        gained = result["ratios"][f"v{case[0]}_w{case[1]}"].get("syscript_over_off")
        if not gained:
            continue
        more, time = (gained[of]["median"] for of in ("throughput", "response_mean"))
        print(
            f"\nWith a script memcached answers {more:.2f} times as many requests in a second,\n"
            f"and each takes {time:.2f} of the time ({case[0]} bytes, {case[1]} requests out)."
        )
    if result["accel"] == "tcg":
        print(f"\n{results.EMULATED}")


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(result: dict[str, Any]) -> str:
    """The same as Markdown."""
    parts = [
        "# memcached, GETs over UDP",
        f"Linux {result['kernel']}, accelerator {result['accel']}, {result['machine']}.",
    ]
    if result["accel"] == "tcg":
        parts.append(f"**{results.EMULATED}**")
    if goals(result)[1]:
        parts.append(markdown(*goals(result)))
    for case in cases(result):
        parts.append(f"## Values of {case[0]} bytes, {case[1]} requests out")
        parts.append(markdown(*table(result, case)))
    parts.append(notes(result))
    return "\n\n".join(parts) + "\n"


def missed(result: dict[str, Any]) -> list[str]:
    """The goals that were missed, in words."""
    return [
        f"{what}: {value}, to reach {bound}"
        for what, value, _, bound, _, verdict in goals(result)[1]
        if verdict == "MISSED"
    ]


def caption(result: dict[str, Any]) -> str:
    """Explanations for a picture that is shown on its own."""
    rounds = result["rounds"]
    lines = [f"n = {rounds} rounds: means, with standard deviations. {result['machine']}"]
    if result.get("cpu_pressure", 0) > PRESSURE:
        share = result["cpu_pressure"]
        lines.append(f"BUSY MACHINE: {share:.0%} of the time a task waited for a CPU; do not use")
    lines += [f"MISSED {GOAL_CASE}: {one}" for one in missed(result)]
    return "\n".join(lines)


def draw(result: dict[str, Any], plot: Plot, output: Path) -> None:
    """Bars for each mode by value size, with standard deviations."""
    # Only drawing needs it, and it takes a second to load.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    emulated = ", emulated" if result["accel"] == "tcg" else ""
    count = len(result["outstanding"])
    figure, axes = pyplot.subplots(1, count, figsize=(6.4 * count, 4), squeeze=False)
    for axis, outstanding in zip(axes[0], result["outstanding"], strict=True):
        bars(axis, result, plot, outstanding)
        axis.set_title(f"{outstanding} requests outstanding", fontsize=10)
        axis.set_xlabel("value size (bytes)")
        axis.set_ylabel(plot.unit)
    axes[0][0].legend(fontsize=8, frameon=False)
    figure.suptitle(f"{plot.title} (Linux {result['kernel']}{emulated})")
    text = caption(result)
    figure.text(0.01, 0.01, text, fontsize=7, va="bottom")
    figure.tight_layout(rect=(0, 0.03 * (2 + text.count("\n")), 1, 1))
    for suffix in (".svg", ".png"):
        figure.savefig(output.with_name(f"{output.stem}-{plot.name}{suffix}"), dpi=150)
    pyplot.close(figure)


def bars(axis: Any, result: dict[str, Any], plot: Plot, outstanding: int) -> None:
    modes, width = result["modes"], 0.8 / len(result["modes"])
    for i, mode in enumerate(modes):
        values = [
            [plot.scale * value for value in of_runs(result, mode, (size, outstanding), plot.of)]
            for size in result["sizes"]
        ]
        drawn = axis.bar(
            [at + (i - (len(modes) - 1) / 2) * width for at in range(len(values))],
            [mean(samples) for samples in values],
            width,
            yerr=[stdev(samples) if len(samples) > 1 else 0 for samples in values],
            capsize=2,
            error_kw={"elinewidth": 0.8},
            color=COLOURS[mode],
            label=NAMES[mode],
        )
        axis.bar_label(drawn, fmt="%.3g", fontsize=6, padding=2, rotation=90)
    axis.set_xticks(range(len(result["sizes"])), [str(size) for size in result["sizes"]])
    axis.set_ylim(bottom=0)
    axis.margins(y=0.15)
    axis.spines[["top", "right"]].set_visible(False)


def write(result: dict[str, Any], output: Path) -> None:
    """The page and the plots, next to the JSON."""
    output.with_suffix(".md").write_text(page(result))
    for plot in PLOTS:
        draw(result, plot, output)
    print(f"and {output.stem}.md, {output.stem}-{{response,throughput}}.{{svg,png}} next to it")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=Path, help="build/bench/memcached.json")
    parser.add_argument("--short", action="store_true", help="one table")
    args = parser.parse_args()
    try:
        result = json.loads(args.json.read_text())
    except (OSError, json.JSONDecodeError) as error:
        print(f"report: {args.json} cannot be read: {error}", file=sys.stderr)
        return 1
    if args.short:
        show_short(result)
    else:
        show(result)
        write(result, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
