#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reads what strace, perf and audit of three Debian releases write: make test-trace-tools, as root.

Each release's tools are unpacked with their libraries, and trace wc with each option of
trace_samples. consolidate reads the traces: every call must be found and every line understood, or
the form refused by name. What each trace was read as goes into consolidate/docs/traces.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "vm")]

import kernels  # noqa: E402
import trace_samples  # noqa: E402
from trace_samples import FILES, TOOLS, names, place_of  # noqa: E402

from consolidate.errors import ConsolidateError  # noqa: E402
from consolidate.trace import reader  # noqa: E402

PAGE = ROOT / "consolidate/docs/traces.md"
HERE = ROOT / "build/trace-tools"


def marks(tool: str) -> tuple[str, str]:
    """What encloses a tool's table on the page."""
    return f"<!-- {tool}: make test-trace-tools -->", f"<!-- end of {tool} -->"


def unpacked(suite: kernels.Suite) -> None:
    """The release's tools, and files to count lines of."""
    tree = HERE / suite.name
    packages = {"coreutils", *(name for tool in TOOLS.values() for name in tool.packages)}
    done = tree / "complete"
    if not done.exists() or done.read_text().split() != sorted(packages):
        shutil.rmtree(tree, ignore_errors=True)
        suite.unpack(sorted(suite.closure(*packages)), tree)
        # Links that newer releases leave to a package's scripts.
        for name in ("bin", "sbin", "lib", "lib64"):
            if not (tree / name).exists():
                (tree / name).symlink_to(f"usr/{name}")
        for place in ("proc", "sys", "dev", "files"):
            (tree / place).mkdir(exist_ok=True)
        for name in names():
            (tree / "files" / name).write_text("some text\n" * 20)
        done.write_text("\n".join(sorted(packages)))


def versions(tool: str) -> list[str]:
    """The versions of a tool in each release, as written by the guest."""
    return [(tree / "out" / tool / "version").read_text() for tree in trees()]


def trees() -> list[Path]:
    return [HERE / name for name in kernels.SUITES.values()]


def unescaped(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)


def read_as(paths: list[Path]) -> str:
    """What a trace was read as; ValueError if not everything was found in it."""
    try:
        found = reader.read(paths)
    except ConsolidateError as error:
        for why in ("a summary", "calls of ausearch without their arguments", "no system calls"):
            if why in str(error):
                return f"refused: {why.replace(' of ausearch', '')}"
        raise ValueError(str(error)) from error
    if found.damaged:
        raise ValueError(f"{found.damage[0]}")
    threads = list(found.threads.values())
    threads = [thread for thread in threads if thread.command == "wc"] or threads
    calls = max((thread.calls for thread in threads), key=len)
    opened = [unescaped(call.args) for call in calls if call.name == "openat"]
    paths_read = [any(f'"/files/{name}"' in args for args in opened) for name in names()]
    if any(paths_read) and not all(paths_read):
        raise ValueError("not all files were opened")
    for name in ("openat", "read", "close"):
        if sum(call.name == name for call in calls) < FILES:
            raise ValueError(f"fewer than {FILES} {name}")
    starts = [call.start for call in calls if call.start is not None]
    stamps = "time" if starts else "no time"
    if starts and starts[0] and all(start == int(start) for start in starts):
        stamps = "whole seconds"
    features = {
        "paths" if any(paths_read) else "no paths": True,
        stamps: True,
        "durations": any(call.took is not None for call in calls),
        "files of descriptors": any(
            re.match(r"\d+</files/", unescaped(call.args)) for call in calls
        ),
        "callers": any(call.stack for call in calls),
    }
    return ", ".join(feature for feature, has in features.items() if has)


def table(tool: str) -> tuple[str, int]:
    """A row for all options that were read alike, and the number of traces that were not read."""
    head = "".join(f" | {tool} {version}" for version in versions(tool))
    lines = [f"| {head} |", "|---" * (1 + len(trees())) + "|"]
    failed = 0
    alike: dict[str, list[str]] = {}
    for options in TOOLS[tool].options:
        cells = []
        for tree in trees():
            written = sorted(place_of(tree, tool, options).iterdir())
            try:
                cells.append(read_as(written) if written else "not available")
            except ValueError as error:
                print(f"{tool} {options} of {tree.name}: {error}", file=sys.stderr)
                cells.append("**not read**")
                failed += 1
        alike.setdefault(" | ".join(cells), []).append(f"`{options}`" if options else "none")
    lines += [f"| {', '.join(options)} | {cells} |" for cells, options in alike.items()]
    return "\n".join(lines), failed


def trace(tool: str, kernel: str) -> None:
    sample = [sys.executable, trace_samples.__file__, tool, *map(str, trees())]
    # Audit is the whole machine's.
    apart = ["unshare", "--mount"]
    within = [ROOT / "vm/guest", "-k", kernel, "--"] if tool == "audit" else apart
    if subprocess.run([*within, *sample], check=False).returncode:
        raise SystemExit(f"trace_tools: {tool}: not everything was traced")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", "--kernel", default="6.1", help="that is audited")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="only this one")
    parser.add_argument("--read", action="store_true", help="the traces of the last run again")
    args = parser.parse_args()
    if os.geteuid():
        print("trace_tools: chroot(2) needs root", file=sys.stderr)
        return 1
    failed = 0
    for name in () if args.read else kernels.SUITES.values():
        unpacked(kernels.Suite(name))
    for tool in args.tool or TOOLS:
        if not args.read:
            trace(tool, args.kernel)
        begin, end = marks(tool)
        text, not_read = table(tool)
        failed += not_read
        page = PAGE.read_text()
        before, after = page[: page.index(begin)], page[page.index(end) :]
        PAGE.write_text(f"{before}{begin}\n{text}\n{after}")
    print(f"{failed} traces were not read; the tables are in {PAGE.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
