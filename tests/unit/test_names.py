# SPDX-License-Identifier: GPL-2.0
"""Documents only name things that exist: files, functions, make targets, options, links."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT
from links import dead_links

TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()
FILES = {name for name in TRACKED if (ROOT / name).is_file()}
FOLDERS = {str(parent) for name in FILES for parent in (ROOT / name).relative_to(ROOT).parents}
THIS = "tests/unit/test_names.py"
# Kernel functions: tests/unit/test_borrowed.py compares this page with the module.
BORROWED = "docs/design/borrowed.md"
MANUALS = ("man/", "consolidate/man/")
DOCUMENTS = sorted(n for n in FILES if n.endswith(".md") or n.startswith(MANUALS))

# Text in code quotes, and files named in manual pages.
CODE = re.compile(r"```.*?^```$|`([^`\n]+)`", re.M | re.S)
MAN_PATH = re.compile(r"^\.(?:It )?Pa (\S+)", re.M)
FILE = re.compile(r"[\w.+*-]+(?:/[\w.+*-]+)*/?")
SUFFIXES = (".c", ".h", ".py", ".lua", ".S", ".def", ".md", ".cc", ".mk", ".patch")
FUNCTION = re.compile(r"(\w+)\(\)")
IDENTIFIER = re.compile(r"(?<![\w/.-])[a-z]+(?:_[a-z0-9]+)+\b(?![./-])")
MAKE = re.compile(r"^(?:sudo )?make ((?:[a-z][\w-]* ?)+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+")

# Names of the kernel, of LuaJIT, of other programs.
OTHERS = """
    --autosquash --fixup --zero-commit --index --raw --syscall-times
    current_cred
    __skb_gso_segment inode_getattr may_open max_tx_rate nohz_full uring_cmd
    log_format loop_step VALGRIND_MAKE_MEM_DEFINED
    af_packet.c lj_dispatch.c .md .luarc.json
"""
# Examples, and files created at run time.
MADE = """
    library_faces recff_util_name util_name
    syscript.d.lua x.lua lib_*.c
    bench/inner major.minor.patch a/b.lua text/words.lua
"""

EXCUSED = set(OTHERS.split()) | set(MADE.split())


def quoted(text: str) -> list[str]:
    return [match[1] for match in CODE.finditer(text) if match[1]] + MAN_PATH.findall(text)


@cache
def sources() -> str:
    return "\n".join(
        (ROOT / name).read_text(errors="replace") for name in FILES - set(DOCUMENTS) - {THIS}
    )


@cache
def words(pattern: re.Pattern[str]) -> set[str]:
    return set(pattern.findall(sources()))


@cache
def goals() -> set[str]:
    """Make targets, in the repository and in the standalone safety kit."""
    asked = [["make", "-qp", "help"], ["make", "-qp", "-C", "safety", "clean"]]
    done = [subprocess.run(words, cwd=ROOT, capture_output=True, text=True) for words in asked]
    return set(re.findall(r"^([\w-]+):", "".join(d.stdout for d in done), re.M))


@cache
def borrowed() -> set[str]:
    return set(re.findall(r"\w+", (ROOT / BORROWED).read_text()))


def is_file(name: str, document: str) -> bool:
    """A path from the root or from the document, or the end of a path."""
    name = name.rstrip("/")
    beside = os.path.normpath(Path(document).parent / name)
    ends = [name, beside, f"*/{name}", f"{name}*", f"*/{name}*" if "*" in name else name]
    there = FILES | FOLDERS
    return name.startswith("build/") or any(fnmatch.filter(there, end) for end in ends)


def looks_like_file(word: str) -> bool:
    if not FILE.fullmatch(word):
        return False
    return word.endswith(SUFFIXES) or ("/" in word and word.split("/")[0] in FOLDERS)


def missing(document: str, text: str) -> set[str]:
    gone = set()
    for word in quoted(text):
        if looks_like_file(word) and not is_file(word, document):
            gone.add(word)
        if call := FUNCTION.fullmatch(word):
            gone |= {call[1]} - words(re.compile(r"\w+"))
        gone |= set(IDENTIFIER.findall(word)) - words(re.compile(r"\w+"))
        gone |= set(OPTION.findall(word)) - words(OPTION)
        if named := MAKE.match(word):
            gone |= set(named[1].split()) - goals()
    return gone - EXCUSED - borrowed()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_named_is_there(document: str) -> None:
    assert not missing(document, (ROOT / document).read_text())


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if name.endswith(".md")])
def test_links(document: str) -> None:
    assert dead_links(ROOT / document) == []


STEP = re.compile(r"`([\w./-]+):(\w+)`")


def defines(text: str, function: str) -> bool:
    """C's definitions have a body; Python's begin with def."""
    name = rf"\b{function}\("
    return re.search(rf"^def {name}|^\w[^;{{}}]*{name}[^;{{}}]*\)\n\{{", text, re.M) is not None


def test_ways_through_the_code() -> None:
    """Each step's function is defined in the step's file."""
    steps = STEP.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(steps) > 40
    texts = {name: (ROOT / name).read_text() for name, _ in steps}
    assert [step for step in steps if not defines(texts[step[0]], step[1])] == []


def test_a_declaration_is_no_definition() -> None:
    assert defines("static int\nf(int a)\n{\n\treturn a;\n}\n", "f")
    assert not defines("int f(int a);\nint g(void)\n{\n\treturn f(1);\n}\n", "f")


def test_help() -> None:
    """The short help has ten lines; each line of the long one names existing targets."""

    def listed(goal: str) -> list[str]:
        done = subprocess.run(["make", "-s", goal], cwd=ROOT, capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if line.startswith("make ")]

    lines = [re.match(r"make ((?:\S+ )+) ", line) for line in listed("help-all")]
    named = [match[1].split() for match in lines if match]
    assert len(named) == len(lines) > 60
    assert not {goal for goals_of_line in named for goal in goals_of_line} - goals()
    short = [line.split()[1] for line in listed("help") if "help-all lists" not in line]
    assert len(short) == 10


def unused_benches(texts: str) -> set[str]:
    """Benches in the long help that no document names, in time or in instructions."""
    done = subprocess.run(["make", "-s", "help-all"], cwd=ROOT, capture_output=True, text=True)
    benches = {name.removesuffix("-icount") for name in re.findall(r"\bbench-[\w-]+", done.stdout)}
    assert len(benches) > 20
    return {name for name in benches if not re.search(rf"\b{name}(-icount)?(?![\w-])", texts)}


def test_benches_are_for_a_document() -> None:
    """A bench that no page needs measures what another one measures, or nothing of interest."""
    pages = [name for name in DOCUMENTS if name != "CHANGELOG.md"]
    texts = "\n".join((ROOT / name).read_text() for name in pages)
    assert unused_benches(texts) == set()
    assert unused_benches(texts.replace("bench-text", "")) == {"bench-text"}


def test_names_of_others_are_still_used() -> None:
    """An excused name must still occur in a document."""
    texts = "\n".join((ROOT / name).read_text() for name in DOCUMENTS)
    assert not {name for name in EXCUSED if name not in texts}


@pytest.mark.parametrize(
    "word", ["kernel/gone.c", "gone_function()", "gone_word", "make gone-target", "--gone-option"]
)
def test_a_name_that_is_gone_is_noticed(word: str) -> None:
    # Assembled here, because this file is a source, too.
    word = word.replace("gone", "no" + "where")
    assert missing("README.md", f"see `{word}`")
