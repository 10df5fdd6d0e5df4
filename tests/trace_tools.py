#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reads what strace of three Debian releases writes: `make test-trace-tools`, as root.

Each release's strace is unpacked with its libraries, and traces wc with each option of STRACE.
consolidate reads the traces: every call must be found and every line understood, or the form
refused by name. What each trace was read as goes into the table in consolidate/docs/traces.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "vm")]

import kernels  # noqa: E402

from consolidate.errors import ConsolidateError  # noqa: E402
from consolidate.trace import reader  # noqa: E402

PAGE = ROOT / "consolidate/docs/traces.md"
BEGIN, END = "<!-- strace: make test-trace-tools -->", "<!-- end of strace -->"
HERE = ROOT / "build/trace-tools"
FILES = 24

# Options of strace, and the version that has them first.
STRACE = dict.fromkeys(
    [
        "",
        "-f",
        "-f 2>FILE",
        "-f -t",
        "-f -tt",
        "-f -ttt -T",
        "-f -r",
        "-f -r -tt",
        "-f -y",
        "-f -yy",
        "-f -i",
        "-f -x",
        "-f -xx",
        "-f -v -s 4096",
        "-f -e read=3,4",
        "-f -e signal=none",
        "-f -a 0",
        "-f -q",
        "-f -z",
        "-f -o FILE -ff",
        "-c",
    ],
    "",
) | {
    "-f --absolute-timestamps=format:unix,precision:s": "5.6",
    "-f --absolute-timestamps=precision:ns": "5.6",
    "-f --relative-timestamps=ms": "5.6",
    "-f -ttt -T --syscall-times=s": "5.6",
    "-f -ttt -T --syscall-times=ns": "5.6",
    "-f -n": "5.4",
    "-f -k": "4.9",
    "-f -X raw": "4.23",
    "-f -X verbose": "4.23",
    "-f -Y": "5.13",
    "-f --decode-pids=pidns": "5.9",
    "-f -N": "6.16",
    "-f --secontext": "5.12",
    "-f --color=always": "7.0",
}
# What strace says of an option that it does not have.
UNKNOWN = re.compile(
    "(unrecognized|invalid|ambiguous) option|invalid -|not supported by this build"
)


def trace(tree: Path, options: str) -> None:
    """Trace wc on files whose names look like results."""
    place = tree / "out" / (options or "plain")
    place.mkdir()
    words = [word for word in shlex.split(options) if word not in ("-o", "FILE", "2>FILE")]
    to_file = "2>FILE" not in options
    words += ["-o", f"/{place.relative_to(tree)}/t"] if to_file else []
    done = subprocess.run(
        ["chroot", tree, "strace", *words, "wc", "-l", *(f"/files/{name}" for name in names())],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode and not UNKNOWN.search(done.stderr):
        raise SystemExit(f"strace {options}: {done.stderr}")
    if done.returncode:
        place.rmdir()
    elif not to_file:
        (place / "t").write_text(done.stderr)


def trace_all(tree: Path) -> None:
    """In a mount namespace of its own."""
    subprocess.run(["mount", "-t", "proc", "proc", tree / "proc"], check=True)
    for options in STRACE:
        trace(tree, options)


def names() -> list[str]:
    return [f"f{i}) = {i}" for i in range(FILES)]


def unpacked(suite: kernels.Suite) -> Path:
    """The release's strace, and files to count lines of."""
    tree = HERE / suite.name
    if not (tree / "complete").exists():
        shutil.rmtree(tree, ignore_errors=True)
        packages = {name for package in ("coreutils", "strace") for name in suite.closure(package)}
        suite.unpack(sorted(packages), tree)
        # Links that newer releases leave to a package's scripts.
        for name in ("bin", "sbin", "lib", "lib64"):
            if not (tree / name).exists():
                (tree / name).symlink_to(f"usr/{name}")
        (tree / "proc").mkdir()
        (tree / "files").mkdir()
        for name in names():
            (tree / "files" / name).write_text("some text\n" * 20)
        (tree / "complete").touch()
    shutil.rmtree(tree / "out", ignore_errors=True)
    (tree / "out").mkdir()
    return tree


def version_of(tree: Path) -> str:
    said = subprocess.run(
        ["chroot", tree, "strace", "-V"], capture_output=True, text=True, check=True
    )
    return re.search(r"version (\d+\.\d+)", said.stdout)[1]


def unescaped(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)


def read_as(paths: list[Path]) -> str:
    """What a trace was read as; ValueError if not everything was found in it."""
    try:
        found = reader.read(paths)
    except ConsolidateError as error:
        if "summary" in str(error):
            return "refused: a summary"
        raise ValueError(str(error)) from error
    if found.damaged:
        raise ValueError(f"{found.damage[0]}")
    calls = max((thread.calls for thread in found.threads.values()), key=len)
    opened = [unescaped(call.args) for call in calls if call.name == "openat"]
    if not all(any(f'"/files/{name}"' in args for args in opened) for name in names()):
        raise ValueError("not all files were opened")
    for name in ("read", "close"):
        if sum(call.name == name for call in calls) < FILES:
            raise ValueError(f"fewer than {FILES} {name}")
    starts = [call.start for call in calls if call.start is not None]
    stamps = "time" if starts else "no time"
    if starts and starts[0] and all(start == int(start) for start in starts):
        stamps = "whole seconds"
    features = {
        "paths": True,
        stamps: True,
        "durations": any(call.took is not None for call in calls),
        "files of descriptors": any(
            re.match(r"\d+</files/", unescaped(call.args)) for call in calls
        ),
        "callers": any(call.stack for call in calls),
    }
    return ", ".join(feature for feature, has in features.items() if has)


def table(trees: list[Path]) -> tuple[str, int]:
    """A row for all options that were read alike, and the number of traces that were not read."""
    head = "".join(f" | strace {version_of(tree)}" for tree in trees)
    lines = [f"| {head} |", "|---" * (1 + len(trees)) + "|"]
    failed = 0
    alike: dict[str, list[str]] = {}
    for options in STRACE:
        cells = []
        for tree in trees:
            place = tree / "out" / (options or "plain")
            try:
                cells.append(
                    read_as(sorted(place.iterdir())) if place.exists() else "not available"
                )
            except ValueError as error:
                print(f"strace {options} of {tree.name}: {error}", file=sys.stderr)
                cells.append("**not read**")
                failed += 1
        alike.setdefault(" | ".join(cells), []).append(f"`{options}`" if options else "none")
    lines += [f"| {', '.join(options)} | {cells} |" for cells, options in alike.items()]
    return "\n".join(lines), failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", type=Path, help="only trace, with this tree's strace")
    args = parser.parse_args()
    if args.here:
        trace_all(args.here)
        return 0
    if os.geteuid():
        print("trace_tools: chroot(2) needs root", file=sys.stderr)
        return 1
    trees = [unpacked(kernels.Suite(name)) for name in kernels.SUITES.values()]
    for tree in trees:
        command = ["unshare", "--mount", sys.executable, __file__, "--here", tree]
        subprocess.run(command, check=True)
    text, failed = table(trees)
    page = PAGE.read_text()
    before, after = page[: page.index(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{after}")
    print(f"{failed} traces were not read; the table is in {PAGE.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
