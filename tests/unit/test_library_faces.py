# SPDX-License-Identifier: GPL-2.0
"""The library's calls: its headers describe them, and every other place agrees.

A new call has a prototype in a header of lib/. This test names the other places to update.
"""

from __future__ import annotations

import re
import sys

import pytest
from conftest import ROOT

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "consolidate/bench")]

import files  # noqa: E402
import prediction  # noqa: E402

from consolidate.cost import library  # noqa: E402

HEADERS = (
    "syscript.h",
    "syscript_files.h",
    "syscript_programs.h",
    "syscript_queue.h",
    "syscript_sockets.h",
)
PROTOTYPE = re.compile(
    r"^((?:const )?(?:struct )?\w+ \*?)((?:syscript|register_lua|lua)_\w+)\(([^()]*)\)[^;{]*;", re.M
)
INLINE = re.compile(r"^static inline (.*?\*?)(syscript_\w+)\(([^()]*)\)\n\{", re.M)
MAN = sorted((ROOT / "man").glob("*.3"))
BUILTIN = re.findall(r"^BUILTIN\((\w+)\)", (ROOT / "lib/batch/builtin.def").read_text(), re.M)

Face = tuple[str, tuple[str, ...]]  # the type, and each parameter with its name


def words(text: str) -> str:
    return " ".join(text.split())


def declared(prototype: re.Pattern[str]) -> dict[str, Face]:
    found = {}
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "lib" / header).read_text(), flags=re.S)
        for kind, name, parameters in prototype.findall(text):
            each = tuple(map(words, parameters.split(",")))
            found[name] = (kind.strip(), () if each == ("void",) else each)
    return found


DECLARED = declared(PROTOTYPE)


def synopsis(page: str) -> str:
    return page[page.index(".Sh SYNOPSIS") : page.index(".Sh DESCRIPTION")]


def in_manual() -> dict[str, Face]:
    found, kind, name, parameters = {}, "", "", []
    for line in "\n".join(synopsis(page.read_text()) for page in MAN).splitlines():
        macro, _, rest = line.partition(" ")
        parts = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', rest)]
        if macro == ".Ft":
            kind = " ".join(parts)
        elif macro == ".Fn":
            found[parts[0]] = kind, tuple(parts[1:])
        elif macro == ".Fo":
            name, parameters = parts[0], []
        elif macro == ".Fa":
            parameters += parts
        elif macro == ".Fc":
            found[name] = kind, tuple(parameters)
    return {name: (kind, () if of == ("void",) else of) for name, (kind, of) in found.items()}


def test_headers_are_read() -> None:
    assert len(DECLARED) >= 35
    assert DECLARED["syscript_stat_many"] == (
        "int",
        ("int dirfd", "struct syscript_file *files", "size_t n", "unsigned int mask", "int flags"),
    )


def test_library_exports_what_its_headers_declare() -> None:
    text = (ROOT / "lib/libsyscript.map").read_text()
    exported = re.findall(r"^\t\t(\w+);$", text, re.M)
    assert sorted(exported) == sorted(DECLARED)


def test_manual_has_the_prototypes_of_the_headers() -> None:
    inline = declared(INLINE)
    del inline["syscript_widen"]  # of the macro lua_syscall()
    assert in_manual() == DECLARED | inline


@pytest.mark.parametrize("page", MAN, ids=lambda page: page.name)
def test_pages_name_what_they_describe(page: object) -> None:
    text = page.read_text()
    head = text[text.index(".Sh NAME") : text.index(".Nd")]
    described = re.findall(r"^\.F[no] (\w+)", synopsis(text), re.M)
    assert re.findall(r"^\.Nm (\w+)", head, re.M) == described


@pytest.mark.parametrize("name", BUILTIN)
def test_scripts_of_the_library_are_there_and_used(name: str) -> None:
    assert (ROOT / "scripts" / f"{name}.lua").exists()
    sources = "".join(one.read_text() for one in (ROOT / "lib/batch").glob("*.c"))
    assert re.search(rf"\bBUILTIN_{name}\b", sources)


def test_cost_model_measures_the_scripts_that_it_is_asked_for() -> None:
    text = (ROOT / "consolidate/cost/calibrate.c").read_text()
    measured = re.findall(r'^\tLIBRARY\("(\w+)", ', text, re.M)
    assert sorted(measured) == sorted(library.MEASURED)


@pytest.mark.parametrize("name", library.BY_NAME)
def test_scripts_that_are_named_as_ready_are_there(name: str) -> None:
    assert library.path_of(name) is not None
    one = library.BY_NAME[name]
    assert bool(one.call) == bool(one.replaces)
    for function in re.findall(r"\bsyscript_\w+(?=\()", one.call):
        assert function in DECLARED
    assert one.of_many in ("", *library.MEASURED)


def test_costs_of_all_are_predicted_and_measured() -> None:
    assert {one.script for one in prediction.SEQUENCES} == set(library.MEASURED)


def test_benchmark_has_both_ways_of_each_ratio() -> None:
    text = (ROOT / "bench/files.c").read_text()
    probes = set(re.findall(r'^\tPROBE\("([\w.]+ script)", ', text, re.M))
    assert probes == {f"{key} script" for key in files.RATIOS if key != "walk.again"}
    compared = {key.partition(".")[0] for key in files.RATIOS} - {"walk", "one_file"}
    assert compared == set(library.MEASURED) - {"read_many"}
