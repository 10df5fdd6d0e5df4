#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which tool finds which planted fault: runs every tool in guests and writes the table.

Each run is a guest with one tool, or with the debug kernel. If a fault ends its guest, the
kernel's log decides, and the run continues in another guest.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "vm"), str(HERE.parent)]

import kernels  # noqa: E402
from inside import RUNS, reports_in  # noqa: E402
from plants_page import write_pages  # noqa: E402
from plants_table import function_at, plants  # noqa: E402

COMPILE = "compile"
WARNING = re.compile(r"(\w+\.c):(\d+):\d+: warning: .*\[-W([\w-]+)(?:=\d*)?\]")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def left(path: Path) -> list[str]:
    """The plants not yet run."""
    written = lines(path)
    ended = {line["name"] for line in written if "name" in line}
    leaks = any("leaks" in line for line in written)
    died = {line["name"] for line in written if line.get("end") in ("guest", "hangs")}
    return [
        plant.name
        for plant in plants()
        if plant.name not in ended
        or (plant.is_leak or plant.is_sound)
        and not leaks
        and plant.name not in died
    ]


def post_mortem(path: Path, columns: list[str], said: str) -> None:
    """Add the result of the plant that ended its guest: the log after its mark."""
    last = lines(path)[-1:]
    if not last or "begin" not in last[0]:
        return
    name = last[0]["begin"]
    place = re.search(r"guest: see (\S+)", said)
    log = (ROOT / place[1] / "kernel.log").read_text(errors="replace") if place else ""
    text = log.rpartition(f"plants: {name}\n")[2]
    reports = reports_in(columns, text)
    with path.open("a") as file:
        file.write(json.dumps({"name": name, "reports": reports, "end": "guest"}) + "\n")


def run_in_guests(run: str, kernel: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    while todo := left(path):
        before = len(lines(path))
        print(f"{run}: {len(todo)} to go", file=sys.stderr, flush=True)
        inside = HERE / "inside.py"
        command = ["build/venv/bin/python", inside, run, path, *todo]
        done = subprocess.run(
            [ROOT / "vm" / "guest", "-k", kernel, "--planted", "--timeout", "1200", "--", *command],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        post_mortem(path, RUNS[run][2], done.stderr)
        if len(lines(path)) == before:
            raise SystemExit(f"{run}: nothing was committed:\n{done.stderr}")


def compiled(kernel: str, *settings: str) -> str:
    """Compile the plants' source; returns the compiler's messages."""
    tree = kernels.fetch(kernels.release_of(kernel))
    out = ROOT / "build" / f"safety-{kernels.release_of(kernel)}" / "plants-compiled"
    subprocess.run(["rm", "-rf", out], check=True)
    done = subprocess.run(
        [ROOT / "safety" / "build-module", tree / "headers", out, HERE, *settings],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def warned(text: str, kind: str) -> dict[str, str]:
    """The plants whose code has a warning of this kind, by name."""
    found = {}
    for file, line, name in WARNING.findall(text):
        function = (function_at(file, int(line)) or "").removesuffix("_of")
        if re.match(kind, name):
            found.setdefault(function, f"-W{name}")
    return found


def compile_time(kernel: str, path: Path) -> None:
    """GCC's warnings, recorded as a run's results."""
    text = compiled(kernel, "--", "PLANTS_WARNINGS=-fanalyzer")
    columns = {"gcc": warned(text, "(?!analyzer)"), "analyzer": warned(text, "analyzer")}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for column, warnings in columns.items():
            for name, warning in warnings.items():
                line = {"name": name, "reports": {column: warning}, "end": ""}
                file.write(json.dumps(line) + "\n")


def merged(kept: Path) -> dict[str, dict[str, str]]:
    """Results by plant and column, from the latest results of each run."""
    found: dict[str, dict[str, str]] = {plant.name: {} for plant in plants()}
    for run in [*RUNS, COMPILE]:
        for line in lines(kept / f"{run}.jsonl"):
            if line.get("name") in found:
                found[line["name"]] |= line["reports"]
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-k", dest="kernel", default="6.1")
    options.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    runs = ",".join([*RUNS, COMPILE])
    options.add_argument("--runs", default=runs, help="which; of others the last results count")
    args = options.parse_args()
    # Guests see build/bench read-only.
    kept = ROOT / "build" / "safety-detection"
    for run in args.runs.split(","):
        path = kept / f"{run}.jsonl"
        if run == COMPILE:
            compile_time(args.kernel, path)
        elif run == "debug" and not (kernels.TREES / "debug" / "complete").exists():
            print(f"{run}: there is no debug kernel: make debug-kernel", file=sys.stderr)
        else:
            path.unlink(missing_ok=True)
            run_in_guests(run, run if run == "debug" else args.kernel, path)
    found = merged(kept)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=1) + "\n")
    write_pages(found, args.kernel, args.output.with_name(f"{args.output.stem}-each.md"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
