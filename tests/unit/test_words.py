# SPDX-License-Identifier: GPL-2.0
"""Comments and pages use the field's words, heads say what a file is for, names are searchable."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from conftest import ROOT
from test_names import FILES

# Words to avoid, with better ones.
WORDS = {
    r"\bdear\b": "expensive",
    r"\b[Nn]obody\b": "no task, no user",
    r"\b[Ss]omebody\b|\b[Ee]verybody\b": "a task, all users",
    r"\bgiv(?:es|en|ing) back\b": "releases, returns, frees",
    r"\blet(?:s|ting)? go of\b": "releases",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bby halves\b": "binary search",
    r"\bwhat has to hold\b|\bof which there is\b|\bwho is to\b": "name the thing",
}
# Code that people read to change it, and pages. Patches use the words of the code they patch.
READ = (
    *("kernel/", "core/", "engine/confined/", "engine/luajit/", "lib/", "cli/"),
    *("docs/", "man/", "consolidate/man/", "consolidate/docs/", "apps/docs/"),
)
TEXTS = sorted(
    name
    for name in FILES
    if (name.startswith(READ) or "/" not in name)
    and name.endswith((".c", ".h", ".S", ".md", ".lua", ".mk", ".1", ".2", ".3", ".5", ".7", ".8"))
)


@pytest.mark.parametrize("pattern", WORDS)
def test_words(pattern: str) -> None:
    word = re.compile(pattern)
    found = [
        f"{name}:{number}: {WORDS[pattern]}: {line.strip()}"
        for name in TEXTS
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if word.search(line)
    ]
    assert not found


MODULE = sorted(
    name
    for name in FILES
    if name.startswith(("kernel/", "core/", "engine/confined/", "lib/batch/", "lib/lua-runtime/"))
    and not name.startswith("core/user/")
    and name.endswith((".c", ".h"))
    and "softfloat" not in name
)
HEAD = re.compile(r"\A.*SPDX[^\n]*\n/\*(.*?)\*/", re.S)


@pytest.mark.parametrize("name", MODULE)
def test_head(name: str) -> None:
    """The problem, then the mechanism: more than the name of another file."""
    found = HEAD.match((ROOT / name).read_text())
    assert found, "no comment after the licence"
    text = " ".join(found[1].replace("*", " ").split())
    assert not re.fullmatch(r"[Ss]ee (?:\S+|\S+ and \S+)\.", text) and len(text.split()) > 4


# Stack traces, profiles and cscope show a static function's name without its file.
PREFIXED = re.compile(
    r"(kernel|core)/(?!user/|(kernel/)?(net/frames|arch/)).*\.c"
    r"|engine/confined/(batch_calls|fuel|liveness|table|kernel/mapped|kernel/stacks)\.c"
)
STATIC = re.compile(r"^static\b[^;={}()]*?[\s*]([a-z]\w*)\((?!\()[^;{}]*?\)\s*\n\{", re.M)


def statics() -> dict[str, list[str]]:
    names = [name for name in sorted(FILES) if PREFIXED.fullmatch(name)]
    return {name: STATIC.findall((ROOT / name).read_text()) for name in names}


def test_no_static_function_of_one_word() -> None:
    found = statics()
    assert sum(map(len, found.values())) > 300
    short = {
        name: [function for function in functions if "_" not in function]
        for name, functions in found.items()
    }
    assert not {name: functions for name, functions in short.items() if functions}


def test_no_static_function_twice() -> None:
    count = Counter(function for functions in statics().values() for function in set(functions))
    assert not [function for function, times in count.items() if times > 1]
