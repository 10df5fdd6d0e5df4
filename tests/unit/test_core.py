# SPDX-License-Identifier: GPL-2.0
"""The core serves any engine: code that runs programs names none, and runs know no frames."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE, KERNEL = ROOT / "core", ROOT / "kernel"
ENGINELESS = (
    *("core/program.c", "core/kernel/run.c", "core/kernel/engine_call.h"),
    *("kernel/syscall_thunks.c", "kernel/syscall_thunks_priv.h"),
)
ENGINES = re.compile(r"luajit|confined|\bvm_run\b", re.IGNORECASE)


@pytest.mark.parametrize("name", ENGINELESS)
def test_names_no_engine(name: str) -> None:
    assert ENGINES.findall((ROOT / name).read_text()) == []


@pytest.mark.parametrize(
    "name", ["core/kernel/run.c", "core/kernel/run_priv.h", "kernel/syscall_thunks.c"]
)
def test_knows_no_frames(name: str) -> None:
    assert re.findall(r"net/frame|\bframes?_\w+", (ROOT / name).read_text()) == []


def sources(*folders: Path) -> dict[str, str]:
    paths = [path for folder in folders for path in folder.rglob("*.[chS]")]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def test_core_includes_nothing_of_luajit() -> None:
    """Core code includes no header of LuaJIT, nor headers next to LuaJIT's."""
    names = {path.name for path in (ROOT / "engine/luajit").rglob("*.h")}
    names -= {path.name for path in (ROOT / "engine/confined").rglob("*.h")}
    core = sources(CORE, KERNEL, ROOT / "engine/confined")
    assert len(core) > 100 and {"clock.h", "watchdog.h", "fpu.h"} <= names
    found = {
        (file, name)
        for file, text in core.items()
        for name in re.findall(r'#include "(?:[\w/.]*/)?(\w+\.h)"', text)
        if name in names
    }
    assert found == set()


def test_modules_objects_are_their_own() -> None:
    """LuaJIT's folder is in its own module, everything else in the other."""
    text = (KERNEL / "Kbuild").read_text()
    for module, place in re.findall(r"^(syscript\w*)-(?:y|\$\(\w+\)) \+?:?= (\S+)\.o", text, re.M):
        assert (module == "syscript_luajit") == place.startswith("$(luajit)/"), (module, place)


# Folders from the bottom to the top: an include leads to its own layer or to a lower one. A file is
# in the first layer that it matches.
LAYERS = {
    "include": r"include/",
    # Of the process's lock core/platform.h makes the one that both sides use.
    "core: headers": r"core/(?!kernel/|user/).*\.(h|S|def)$|core/user/lock\.h$",
    # What Linux does not export, or has in other ways in other versions.
    "kernel/sys": r"kernel/sys/|kernel/arch/.*\.h$",
    "core/kernel": r"core/kernel/",
    "core/user": r"core/user/",
    "core": r"core/",
    "kernel": r"kernel/",
    "engine/confined": r"engine/confined/",
    "engine/luajit": r"engine/luajit/",
    # Formats of what cosy-cc makes and the library loads.
    "lib/lua-runtime: headers": r"lib/lua-runtime/.*\.h$|cosy/file\.h$",
    "lib": r"lib/(?!lua-runtime/)",
    "cosy": r"cosy/",
    # Compounds, compiled by cosy-cc.
    "lib/lua-runtime": r"lib/lua-runtime/",
    "measure": r"measure/",
    "vm": r"vm/",
    "cli": r"cli/",
    "bench": r"bench/",
    "apps": r"apps/",
    "consolidate": r"consolidate/",
}
# Where makefiles tell compilers to look, in their order, after the including file's folder.
SEARCHED = (
    *("", "include", "kernel", "kernel/sys", "core", "kernel/arch/x86", "engine/confined/arch/x86"),
    *("lib", "core/user/arch/x86", "engine/luajit", "cosy", "measure", "apps"),
)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


@cache
def tracked() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return frozenset(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def layer_of(name: str) -> int:
    found = [i for i, layer in enumerate(LAYERS.values()) if re.match(layer, name)]
    return found[0] if found else -1


def included(name: str, text: str) -> set[str]:
    """The repository's files that a file includes; others are the system's or generated."""
    places = (Path(name).parent, *SEARCHED)
    found = set()
    for path in INCLUDE.findall(text):
        there = (os.path.normpath(Path(place) / path) for place in places)
        found.add(next((file for file in there if file in tracked()), ""))
    return found - {""}


def upward(name: str, text: str) -> set[tuple[str, str]]:
    """Includes of a file that lead to a higher layer."""
    return {(name, to) for to in included(name, text) if layer_of(to) > layer_of(name)}


def test_no_include_leads_upward() -> None:
    """So there are no circles between layers either."""
    names = [
        name
        for name in tracked()
        if layer_of(name) >= 0 and re.search(r"\.(c|h|S|def|in|cc|cpp|hpp)$", name)
        if "/tests/" not in name
    ]
    texts = {name: (ROOT / name).read_text() for name in names}
    assert len(names) > 500
    assert sum(len(included(name, text)) for name, text in texts.items()) > 1200
    assert set().union(*(upward(name, text) for name, text in texts.items())) == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("core/kernel/run.c", '#include "device.h"'),
        ("kernel/hook.c", '#include "engine/confined/vm.h"'),
        ("core/user/script.c", '#include "../../lib/syscript.h"'),
        ("lib/syscript.c", "# include <cosy.h>"),
    ],
)
def test_an_include_upward_is_seen(name: str, text: str) -> None:
    assert upward(name, text)
    assert not upward(name, '#include <linux/slab.h>\n#include "program.h"\n')


PRODUCTS = re.compile(r"\b(?:apps|consolidate)/|\b(?:from|import) consolidate\b")
BELOW_PRODUCTS = (
    *("core", "kernel", "engine", "include", "lib", "cli", "cosy"),
    *("bindings", "measure", "scripts", "examples"),
)


def named_products(text: str) -> list[str]:
    return PRODUCTS.findall(text)


def test_products_stand_on_top() -> None:
    """Without apps/ and consolidate/ all else builds: nothing includes, imports or runs them."""
    names = [name for name in tracked() if name.split("/")[0] in BELOW_PRODUCTS]
    assert len(names) > 600
    texts = {name: (ROOT / name).read_text(errors="replace") for name in names}
    assert {name for name, text in texts.items() if named_products(text)} == set()


@pytest.mark.parametrize(
    "text", ['#include "consolidate/a.h"', "\tapps/a $@", "from consolidate.cost import model"]
)
def test_a_named_product_is_seen(text: str) -> None:
    assert named_products(text)
