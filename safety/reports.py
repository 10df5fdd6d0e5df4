# SPDX-License-Identifier: GPL-2.0
"""Show the tools' reports in the kernel's log with files and lines: TOOL report."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from debugfs import UsageError
from symbols import Modules

# Headers of faulting accesses: the place below is the instruction itself. Elsewhere it is a return
# address, which may belong to the next line.
FAULTED = {"kefence": re.compile(r": (?:read|write)(?: at offset|, (?!seen ))")}


@dataclass
class Place:
    """A line of a report that names one or more places."""

    text: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Report:
    """One violation."""

    number: int
    what: str
    places: list[Place] = field(default_factory=list)


def reports(tool: str, log: str, modules: Modules) -> list[Report]:
    """A tool's violations in a kernel log, with source lines.

    Each is a header and lines with the same number. If a tool was loaded twice, numbers begin again
    at 1, and the later report counts as another one.
    """
    header = re.compile(rf"{tool}: violation: (?P<what>.*) \[(?P<number>\d+)\]$")
    line_of = re.compile(rf"{tool}: \[(?P<number>\d+)\] (?P<text>.*)$")
    found: list[Report] = []
    latest: dict[str, Report] = {}
    for line in map(str.rstrip, log.splitlines()):
        if match := header.search(line):
            latest[match["number"]] = Report(int(match["number"]), match["what"])
            found.append(latest[match["number"]])
        elif (match := line_of.search(line)) and match["number"] in latest:
            text, report = match["text"], latest[match["number"]]
            faulted = tool in FAULTED and FAULTED[tool].search(report.what)
            exact = faulted and text.startswith("at ")
            report.places.append(Place(text, modules.resolve(text, returned=not exact)))
    return found


def kernel_log() -> str:
    done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"the kernel's log: {done.stderr.strip()}; be root, or name a file")
    return done.stdout


def show(report: Report) -> None:
    print(f"{report.what}  [{report.number}]")
    for place in report.places:
        source = f"    {' < '.join(place.lines)}" if place.lines else ""
        print(f"  {place.text}{source}")
    print()


def run(args: argparse.Namespace) -> int:
    log = kernel_log() if args.log is None else args.log.read()
    modules = Modules(args.release, args.modules, args.tool)
    found = reports(args.tool, log, modules)
    if args.json:
        print(json.dumps([asdict(report) for report in found], indent=2))
    else:
        for report in found:
            show(report)
        if not found:
            print(f"no violation of {args.tool}'s in this log")
    for problem in sorted(modules.problems):
        print(f"{args.tool}: {problem}", file=sys.stderr)
    return 0


def add_command(commands: argparse._SubParsersAction, tool: str) -> None:
    command = commands.add_parser("report", help="violations in the kernel's log, with file:line")
    command.add_argument("log", nargs="?", type=argparse.FileType(), help="a log (default: dmesg)")
    command.add_argument(
        *("-m", "--modules"),
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="a module's file, or a directory to look for modules in",
    )
    command.add_argument("-r", "--release", default=os.uname().release, help="of the kernel")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=run, tool=tool)
