#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test published modules: fetch, build with each tool, and exercise in a guest.

Builds stay below build/, results are in safety/docs/modules.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "vm")]

import kernels  # noqa: E402
from heard import last  # noqa: E402
from published import PUBLISHED, TOOLS, Published  # noqa: E402
from published_page import ENDED, write_page  # noqa: E402

FETCHED = ROOT / "build" / "published"
say = partial(print, file=sys.stderr, flush=True)


def fetch(those: list[Published], release: str) -> dict[str, Path]:
    """Download each source; returns its directory."""
    directories = sorted({one.source for one in those if one.is_kernel})
    found = zip(directories, kernels.source_directories(release, directories), strict=True)
    places = dict(found)
    for one in those:
        packages = [*one.programs.split(), *([] if one.is_kernel else [one.source])]
        for package in packages:
            if not (FETCHED / package / "usr").exists():
                kernels.source(package, FETCHED / package)
        if not one.is_kernel:
            (places[one.source],) = (FETCHED / one.source / "usr" / "src").iterdir()
    return places


def headers_of(release: str) -> Path:
    return (kernels.fetch(release) / "headers").resolve()


def arranged(one: Published, place: Path, release: str) -> Path:
    """The directory to build: a copy if the makefile or the sources need changes."""
    headers = headers_of(release)
    place /= one.below
    if not one.kbuild and not one.prepare:
        return place
    own = FETCHED / "arranged" / one.name
    if one.prepare and not own.exists():
        shutil.copytree(place, own)
        environment = {**os.environ, "KDIR": str(headers), "FETCHED": str(FETCHED)}
        run = partial(subprocess.run, capture_output=True, check=True)
        run(one.prepare, shell=True, cwd=own, env=environment)
    if one.kbuild:
        own.mkdir(parents=True, exist_ok=True)
        # From a kernel directory only its own files, not subdirectories.
        entries = [path for path in place.iterdir() if path.is_file() or not one.is_kernel]
        for path in entries:
            link = own / path.name
            if path.name not in ("Makefile", "Kconfig", "Kbuild") and not link.exists():
                link.symlink_to(path)
        (own / "Kbuild").write_text(f"{one.kbuild}\n")
    return own


def build(one: Published, tool: str, place: Path, directory: Path, release: str) -> str:
    """Build a module with a tool; returns the error."""
    say(f"building {one.name} with {tool or 'no tool'}")
    out = kernels.BUILD / f"safety-{release}"
    built = out / "+".join(filter(None, [f"published-{one.name}", tool]))
    settings = [setting.replace("@", str(place)) for setting in one.settings]
    command = [ROOT / "safety" / "build-module", headers_of(release), built, directory]
    done = subprocess.run(
        [*command, *filter(None, [tool]), "--", "W=0", *settings],
        env={**os.environ, "JOBS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    return (errors or done.stderr.splitlines() or ["?"])[0] if done.returncode else ""


class Builds:
    """Builds several modules in parallel while guests run: most cannot use two jobs."""

    def __init__(self, those: list[Published], tools: list[str], release: str) -> None:
        places = fetch(those, release)
        directories = {one.name: arranged(one, places[one.source], release) for one in those}
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.failures = {
            tool: {
                one.name: self.pool.submit(
                    build, one, tool, places[one.source], directories[one.name], release
                )
                for one in those
            }
            for tool in tools
        }

    def of(self, tool: str) -> dict[str, str]:
        """The errors of one tool's builds, once all are done."""
        return {name: failure.result() for name, failure in self.failures[tool].items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def guests(tool: str, names: list[str], kernel: str, path: Path) -> None:
    """Exercise all built modules, in as many guests as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    while todo := [n for n in names if n not in {line.get("name") for line in lines(path)}]:
        before = len(lines(path))
        command = ["build/venv/bin/python", HERE / "inside.py", tool or "plain", path, *todo]
        done = subprocess.run(
            [ROOT / "vm" / "guest", "-k", kernel, "--planted", "--timeout", "900", "--", *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        after = lines(path)
        if len(after) == before:
            raise SystemExit(f"{tool}: nothing was run:\n{done.stderr}")
        if name := after[-1].get("begin"):
            log = ROOT / re.findall(r"^guest: see (\S+)$", done.stderr, re.MULTILINE)[-1]
            reports, bad = last((log / "kernel.log").read_text(errors="replace"), name)
            bad = bad or done.stderr[-3000:]
            end = {"name": name, "failed": ENDED, "reports": reports, "bad": bad}
            with path.open("a") as file:
                print(json.dumps(end), file=file)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-k", dest="kernel", default="6.1")
    options.add_argument("-o", dest="output", type=Path, required=True, help="JSON to write")
    options.add_argument("--only", default="", help="modules; of others the last results count")
    options.add_argument("--tools", default=",".join(tool or "plain" for tool in TOOLS))
    args = options.parse_args()
    names = args.only.split(",") if args.only else [one.name for one in PUBLISHED]
    those = [one for one in PUBLISHED if one.name in names]
    tools = [tool.removeprefix("plain") for tool in args.tools.split(",")]
    release = kernels.release_of(args.kernel)
    # Guests see build/bench read-only.
    kept = FETCHED / "results"
    results: dict[str, dict[str, Any]] = {one.name: {} for one in PUBLISHED}
    if args.output.exists():
        results |= json.loads(args.output.read_text())
    with Builds(those, tools, release) as builds:
        for tool in tools:
            failures = builds.of(tool)
            for name, failed in failures.items():
                results[name][tool or "plain"] = {"failed": f"does not build: {failed}"}
            path = kept / f"{tool or 'plain'}.jsonl"
            guests(tool, [name for name in failures if not failures[name]], args.kernel, path)
            for line in lines(path):
                if "name" in line:
                    results[line["name"]][tool or "plain"] = line
            args.output.write_text(json.dumps(results, indent=1) + "\n")
    write_page(results, args.kernel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
