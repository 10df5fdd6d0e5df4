# SPDX-License-Identifier: GPL-2.0
"""Writes safety/docs/detection.md, which tool finds what, from the results of runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from plants_table import Plant, plants

PAGE = Path(__file__).resolve().parents[2] / "docs" / "detection.md"
KIT = {"kgcc": "KGCC", "evmon": "evmon", "kefence": "Kefence"}
# Columns by their names in results; "kit" is any tool of the kit.
COLUMNS = {
    **KIT,
    "stock": "no tool",
    "kasan": "KASAN",
    "ubsan": "UBSAN",
    "kmemleak": "kmemleak",
    "lockdep": "lockdep",
    "sleep": "sleep check",
    "others": "its own",
    "gcc": "`-Wall`",
    "analyzer": "`-fanalyzer`",
}
DEBUG = ["kasan", "ubsan", "kmemleak", "lockdep", "sleep", "others"]
FOUND, MISSED, NONE = "+", "**missed**", ""
Results = dict[str, dict[str, str]]


def said(results: Results, those: Iterable[Plant], column: str) -> int:
    return sum(column in results[plant.name] for plant in those)


def is_found(results: Results, plant: Plant, columns: Iterable[str]) -> bool:
    return any(column in results[plant.name] for column in columns)


def columns(results: Results) -> list[str]:
    """Columns with results: the debug kernel's only if it was built."""
    return [name for name in COLUMNS if any(name in found for found in results.values())]


def row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(header: list[str], rows: list[list[object]]) -> str:
    return "\n".join([row(header), row(["---"] * len(header)), *map(row, rows)])


def titles(results: Results) -> list[str]:
    return [COLUMNS[name] for name in columns(results)]


def false_reports(results: Results, tool: str) -> list[str]:
    return [
        f"`{plant.name}`" for plant in plants() if plant.is_sound and tool in results[plant.name]
    ]


def claims(results: Results) -> str:
    """How many of the faults that its manual claims each tool finds."""
    rows = []
    for tool, name in KIT.items():
        if tool not in columns(results):
            continue
        those = [plant for plant in plants() if tool in plant.tools]
        found = said(results, those, tool)
        missed = [f"`{plant.name}`" for plant in those if tool not in results[plant.name]]
        false = false_reports(results, tool)
        share = f"{100 * found / len(those):.0f} %"
        rows.append([name, len(those), found, share, ", ".join(missed), ", ".join(false) or "none"])
    header = ["", "faults that its manual covers", "found", "", "missed", "false reports"]
    return table(header, rows)


def kinds(results: Results) -> str:
    by_kind: dict[str, list[Plant]] = {}
    for plant in plants():
        by_kind.setdefault(plant.kind, []).append(plant)
    rows = []
    for kind, those in by_kind.items():
        kit = sum(is_found(results, plant, KIT) for plant in those)
        debug = sum(is_found(results, plant, DEBUG) for plant in those)
        counts = [said(results, those, column) or "" for column in columns(results)]
        rows.append([kind, len(those), kit or "", debug or "", *counts])
    header = ["kind", "faults", "the kit", "debug kernel", *titles(results)]
    return table(header, rows)


def beside(results: Results) -> str:
    """Faults that only the kit, or only the debug kernel, finds."""
    if not set(DEBUG) & set(columns(results)):
        return "Not run yet: `make debug-kernel bench-safety-detection`."
    faults = [plant for plant in plants() if not plant.is_sound]
    return "\n\n".join(
        [
            compared(results, "faults of memory", [p for p in faults if p.is_of_memory]),
            compared(
                results,
                "faults of locks, sleep, interrupts, sections, counters, lists, timers and work",
                [p for p in faults if not p.is_of_memory],
            ),
        ]
    )


def compared(results: Results, what: str, faults: list[Plant]) -> str:
    kit = {plant.name for plant in faults if is_found(results, plant, [*KIT, "stock"])}
    debug = {plant.name for plant in faults if is_found(results, plant, DEBUG)}
    lines = [
        f"Of {len(faults)} {what}, the kit finds {len(kit)} on a stock kernel, together "
        f"with what that kernel says itself; the debug kernel finds {len(debug)}, "
        f"{len(kit & debug)} of them the same."
    ]
    for text, names in (
        ("The debug kernel only", debug - kit),
        ("The kit only", kit - debug),
        ("Neither", {plant.name for plant in faults} - kit - debug),
    ):
        listed = ", ".join(f"`{plant.name}`" for plant in faults if plant.name in names)
        lines += ["", f"{text} ({len(names)}): {listed or 'none'}."]
    return "\n".join(lines)


def cell(results: Results, plant: Plant, column: str) -> str:
    if column in results[plant.name]:
        return FOUND
    return MISSED if column in plant.tools else NONE


def each(results: Results) -> str:
    """A row for each fault; "missed" is one that the tool's manual covers."""
    rows = [
        [
            f"`{plant.name}`",
            plant.kind,
            plant.wrong,
            *(cell(results, plant, c) for c in columns(results)),
        ]
        for plant in plants()
    ]
    return table(["fault", "kind", "what is wrong", *titles(results)], rows)


def page(results: Results, kernel: str) -> str:
    sound = sum(plant.is_sound for plant in plants())
    return (
        (Path(__file__).parent / "page.template")
        .read_text()
        .format(
            plants=len(plants()) - sound,
            sound=sound,
            kernel=kernel,
            claims=claims(results),
            beside=beside(results),
            kinds=kinds(results),
        )
    )


def write_pages(results: Results, kernel: str, each_file: Path) -> None:
    """Write the page, and the table of all faults to `each_file`."""
    PAGE.write_text(page(results, kernel))
    each_file.write_text(each(results) + "\n")
    print(f"written to {PAGE} and {each_file}")


def read_each(text: str) -> dict[str, dict[str, str]]:
    """Parse the table of all faults: for each its kind, what is wrong, and each column's cell."""
    header: list[str] = []
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "fault":
            header = cells
        elif header and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = dict(zip(header[1:], cells[1:], strict=True))
    return rows
