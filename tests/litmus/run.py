#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ask memory models about handshakes between threads: what processors with weak order may do.

Tests of *_explicit() are C11's, others the kernel's. In a line that
ends in "// needed: OTHER", the order that it gives is needed: with OTHER in its place, the model
must allow what the test says never happens.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "vm"))

import kernels

HERE = Path(__file__).resolve().parent
LIBRARIES = "usr/lib/x86_64-linux-gnu"
NEEDED = re.compile(r"^(\t.*?) // needed:(.*)$", re.MULTILINE)


def fetched_herd() -> Path:
    """Debian's newest herdtools7, with the libraries that it needs: older suites have none."""
    tree = kernels.BUILD / "herd"
    if not kernels.is_complete(tree):
        shutil.rmtree(tree, ignore_errors=True)
        suite = kernels.Suite(kernels.SUITES["newest"])
        suite.unpack(["herdtools7", *suite.depends("herdtools7")], tree)
        (tree / "complete").touch()
    return tree


def observed(herd: Path, model: Path, text: str) -> str:
    """Never, Sometimes or Always."""
    libraries = herd / LIBRARIES
    command = [libraries / "ld-linux-x86-64.so.2", "--library-path", libraries]
    command += [herd / "usr/bin/herd7", "-set-libdir", herd / "usr/share/herdtools7/herd"]
    command += ["-model", "rc11.cat"] if "_explicit(" in text else ["-conf", "linux-kernel.cfg"]
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [*command, file.name], cwd=model, capture_output=True, text=True, check=False
        )
    found = re.search(r"^Observation \S+ (\w+)", done.stdout, re.MULTILINE)
    # It warns if it has left something out: more than two rounds of a loop.
    if not found or done.stderr:
        raise SystemExit(f"herd7 fails:\n{text}\n{done.stdout}{done.stderr}")
    return found[1]


def check(herd: Path, model: Path, file: Path) -> tuple[int, list[str]]:
    """How many questions were asked; what differs from the test's word."""
    text = file.read_text()
    result = re.search(r"^ \* Result: (\w+)$", text, re.MULTILINE)
    assert result, f"{file.name} says no result"
    seen = observed(herd, model, NEEDED.sub(r"\1", text))
    wrong = [] if seen == result[1] else [f"{file.name}: {seen}, not {result[1]}"]
    lines = list(NEEDED.finditer(text))
    for line in lines:
        changed = text[: line.start()] + "\t" + line[2].strip() + text[line.end() :]
        if observed(herd, model, NEEDED.sub(r"\1", changed)) == "Never":
            wrong.append(f"{file.name}: is not needed: {line[1].strip()}")
    return 1 + len(lines), wrong


def main() -> int:
    herd = fetched_herd()
    (model,) = kernels.source_directories(kernels.release_of("6.1"), ["tools/memory-model"])
    failed = 0
    for file in sorted(HERE.glob("*.litmus")):
        asked, wrong = check(herd, model, file)
        print("\n".join(wrong) or f"{file.name}: as it says, {asked} questions", flush=True)
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
