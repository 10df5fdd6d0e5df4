#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Mark the segments of a C file that a trace's hot sequences come from: cosy-cc --advise.

consolidate finds the sequences; the trace has the stack of each call; debug information gives the
function and lines in the file; and the compiler's syntax tree gives the loop or statements. The
marks are compiled, and written as a patch.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
LOOPS = frozenset(["ForStmt", "WhileStmt", "DoStmt"])
Node = dict[str, Any]


class AdviseError(Exception):
    """Nothing can be marked; the text says why."""


def run(command: list[str | Path], text: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AdviseError(f"{command[0]}: {error.strerror}") from error


# -- Where a sequence comes from -----------------------------------------------------


class Place(NamedTuple):
    """A call of a function or system call in the source."""

    function: str
    file: Path
    line: int


@dataclass
class Sequence:
    """A candidate of the report: its frequency, and the stacks of its calls."""

    text: str
    calls: int
    stacks: list[list[Place]]  # innermost first


def report_of(trace: Path) -> Node:
    beside = [HERE.parent / "consolidate", HERE.parents[1] / "bin" / "consolidate"]
    command = next((path for path in beside if path.is_file()), shutil.which("consolidate"))
    if command is None:
        raise AdviseError("consolidate is missing: it finds the hot sequences of a trace")
    done = run([command, "report", "--json", trace])
    if done.returncode:
        raise AdviseError(done.stderr.strip().removeprefix("consolidate: "))
    return json.loads(done.stdout)


class Lines:
    """Source lines of programs, by address; each is queried once."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], list[Place]] = {}

    def of(self, program: str, address: int) -> list[Place]:
        """Inlined functions come before the function that contains them."""
        key = (program, address)
        if key not in self.known:
            # A return address: the call is before it.
            done = run(["addr2line", "-f", "-i", "-e", program, hex(address - 1)])
            told = done.stdout.splitlines()
            self.known[key] = [
                Place(function, Path(where.rpartition(":")[0]), int(number))
                for function, where in zip(told[::2], told[1::2], strict=True)
                if (number := re.split(r"[ (]", where.rpartition(":")[2])[0]).isdigit()
            ]
        return self.known[key]


def sequences(report: Node) -> Iterator[Sequence]:
    lines = Lines()
    for one in report["candidates"]:
        stacks = [
            [place for f in stack["frames"] for place in lines.of(f["object"], f["address"])]
            for stack in one["stacks"]
        ]
        yield Sequence(one["sequence"], one["calls"], [stack for stack in stacks if stack])


def homes(one: Sequence, source: Path) -> dict[str, list[int]]:
    """Functions of the file from which all calls are made, innermost first, with their lines."""

    def in_file(stack: list[Place]) -> dict[str, int]:
        found: dict[str, int] = {}
        for place in stack:
            if place.file.name == source.name and same_file(place.file, source):
                found.setdefault(place.function, place.line)
        return found

    places = [in_file(stack) for stack in one.stacks]
    return {
        function: sorted({here[function] for here in places})
        for function in (places[0] if places else ())
        if all(function in here for here in places)
    }


def same_file(one: Path, other: Path) -> bool:
    """Debug information may have the path of a build that was moved."""
    return not one.exists() or one.samefile(other)


# -- Which statements ----------------------------------------------------------------


class Span(NamedTuple):
    """Lines, inclusive."""

    first: int
    last: int


class Source:
    """A C file: its text, and its syntax tree."""

    def __init__(self, path: Path, clang: str, compiler: str, options: list[str]) -> None:
        self.path = path
        self.clang = clang
        self.compiler = compiler
        self.options = options
        try:
            self.bytes = path.read_bytes()
        except OSError as error:
            raise AdviseError(f"{path}: {error.strerror}") from error
        self.lines = self.bytes.decode("utf-8", "surrogateescape").splitlines(keepends=True)

    def line_at(self, offset: int) -> int:
        return self.bytes.count(b"\n", 0, offset) + 1

    def span(self, node: Node) -> Span | None:
        """The first and last line of a statement; None if a macro begins or ends it."""
        ends = [node.get("range", {}).get(end, {}) for end in ("begin", "end")]
        if any("offset" not in end or "includedFrom" in end for end in ends):
            return None
        return Span(self.line_at(ends[0]["offset"]), self.line_at(ends[1]["offset"]))

    def body(self, function: str) -> Node:
        options = [*self.options, f"-I{HERE / 'include'}", "-fsyntax-only", "-w"]
        options += ["-Xclang", "-ast-dump=json", "-Xclang", f"-ast-dump-filter={function}"]
        done = run([self.clang, *options, str(self.path)])
        for node in documents(done.stdout):
            if node.get("kind") != "FunctionDecl" or node.get("name") != function:
                continue
            for inner in node.get("inner", []):
                if inner["kind"] == "CompoundStmt":
                    return inner
        raise AdviseError(f"{self.path}: {function}() cannot be read: {done.stderr.strip()}")


def documents(text: str) -> Iterator[Node]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        node, end = decoder.raw_decode(text, at)
        yield node
        at = text.find("{", end)


def covers(span: Span | None, lines: list[int]) -> bool:
    return span is not None and span.first <= lines[0] and lines[-1] <= span.last


def loop_of(source: Source, node: Node, lines: list[int], statement: Node) -> Span | None:
    """The innermost loop with all lines, or the statement of a block that contains it."""
    for inner in node.get("inner", []):
        own = inner if node["kind"] == "CompoundStmt" else statement
        found = loop_of(source, inner, lines, own)
        if found:
            return found
    if node.get("kind") in LOOPS and covers(source.span(node), lines):
        return source.span(statement)
    return None


def statements_of(source: Source, node: Node, lines: list[int]) -> Span | None:
    """From the first to the last statement with one of the lines, in the innermost block."""
    for inner in node.get("inner", []):
        found = statements_of(source, inner, lines)
        if found:
            return found
    if node.get("kind") != "CompoundStmt":
        return None
    spans = [span for inner in node.get("inner", []) if (span := source.span(inner))]
    spans = [span for span in spans if any(covers(span, [n]) for n in lines)]
    if all(any(covers(span, [n]) for span in spans) for n in lines):
        return Span(spans[0].first, spans[-1].last)
    return None


def choices(source: Source, one: Sequence) -> list[Span]:
    """Possible marks: the innermost loop, outer ones, or only the loop's body."""
    bodies = [(source.body(name), lines) for name, lines in homes(one, source.path).items()]
    spans = [loop_of(source, body, lines, body) for body, lines in bodies]
    spans += [statements_of(source, body, lines) for body, lines in bodies[:1]]
    return [span for span in spans if span and is_alone(source.lines, span)]


# -- Marks ---------------------------------------------------------------------------


def mark(lines: list[str], spans: list[Span]) -> list[str]:
    marked = list(lines)
    for first, last in sorted(spans, reverse=True):
        indent = re.match(r"\s*", marked[first - 1])[0]
        marked.insert(last, f"{indent}COSY_END;\n")
        marked.insert(first - 1, f"{indent}COSY_START;\n")
    if not any(re.match(r"\s*#\s*include\s*<cosy\.h>", line) for line in lines):
        marked.insert(include_at(lines), "#include <cosy.h>\n")
    return marked


def include_at(lines: list[str]) -> int:
    """After the last unconditional include; otherwise at the beginning."""
    depth, at = 0, 0
    for number, line in enumerate(lines, 1):
        found = re.match(r"\s*#\s*(if|endif|include\b)", line)
        if found is None:
            continue
        depth += {"if": 1, "endif": -1}.get(found[1], 0)
        if found[1] == "include" and not depth:
            at = number
    return at


def is_alone(lines: list[str], span: Span) -> bool:
    """Do its lines contain nothing else, and can other lines be put around them?"""
    before = lines[span.first - 2].strip() if span.first > 1 else ""
    return not before.endswith(("else", "do", ")", "\\"))


def overlap(one: Span, others: list[Span]) -> bool:
    return any(one.first <= last and first <= one.last for first, last in others)


def refused(source: Source, spans: list[Span]) -> list[str]:
    """Compiles the file with marks: the errors about segments, at the patched lines."""
    where = ["-iquote", str(source.path.parent), "-x", "c", "-w"]
    command = [source.compiler, *source.options, *where, "-c", "-o", os.devnull, "-"]
    done = run(command, "".join(mark(source.lines, spans)))
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    return [line.replace("<stdin>", str(source.path)) for line in errors]


def choose(source: Source, one: Sequence, spans: list[Span]) -> Span | None:
    """The first possible mark that compiles, or else the first one."""
    found = choices(source, one)
    if found and any(overlap(span, spans) for span in found):
        return tell(one, "marked already, for another")
    for span in found:
        if not refused(source, [*spans, span]):
            return span
    if not found:
        return tell(one, f"does not come from statements of {source.path} alone")
    return found[0]


def advise(source: Source, report: Node, most: int) -> list[Span]:
    """The places to mark, most rewarding first; prints where each sequence is."""
    spans: list[Span] = []
    for one in sequences(report):
        span = choose(source, one, spans) if len(spans) < most else None
        if span:
            spans.append(span)
            tell(one, f"{source.path}:{span.first} to {span.last}")
    for other in report["advice"]:
        say(f"{other['calls']} calls need no compound: {other['text']}")
    return spans


def tell(one: Sequence, text: str) -> None:
    say(f"{one.calls} calls, {one.text}: {text}")


def say(text: str) -> None:
    print(f"cosy-cc: {text}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="cosy-cc", allow_abbrev=False)
    parser.add_argument("--advise", type=Path, required=True, metavar="TRACE")
    parser.add_argument("--most", type=int, default=3, metavar="N", help="segments")
    parser.add_argument("--clang", required=True)
    parser.add_argument("--compiler", required=True, metavar="COSY-CC")
    args, rest = parser.parse_known_args()
    files = [Path(arg) for arg in rest if arg.endswith(".c")]
    options = [arg for arg in rest if not arg.endswith(".c") and arg != "-c"]
    try:
        if len(files) != 1:
            raise AdviseError("--advise takes one C file, and the options that it is compiled with")
        source = Source(files[0], args.clang, args.compiler, options)
        spans = advise(source, report_of(args.advise), args.most)
        if not spans:
            raise AdviseError(
                "nothing to mark: record with --stacks, and compile the program with -g"
            )
    except AdviseError as error:
        say(str(error))
        return 1
    names = [f"{side}/{source.path}" for side in "ab"]
    sys.stdout.writelines(difflib.unified_diff(source.lines, mark(source.lines, spans), *names))
    for line in refused(source, spans):
        say(f"in the patched file: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
