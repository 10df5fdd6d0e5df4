# SPDX-License-Identifier: GPL-2.0
"""The core serves any engine: code that runs programs names none, and runs know no frames."""

from __future__ import annotations

import re
import subprocess
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


PRODUCTS = re.compile(r"\b(?:apps|consolidate)/|\b(?:from|import) consolidate\b")
BELOW_PRODUCTS = (
    *("core", "kernel", "engine", "include", "lib", "cli", "cosy"),
    *("bindings", "measure", "scripts", "examples"),
)


def named_products(text: str) -> list[str]:
    return PRODUCTS.findall(text)


def test_products_stand_on_top() -> None:
    """Without apps/ and consolidate/ all else builds: nothing includes, imports or runs them."""
    listed = ["git", "ls-files", *BELOW_PRODUCTS]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in files.stdout.splitlines() if (ROOT / name).is_file()]
    assert len(names) > 600
    texts = {name: (ROOT / name).read_text(errors="replace") for name in names}
    assert {name for name, text in texts.items() if named_products(text)} == set()


@pytest.mark.parametrize(
    "text", ['#include "consolidate/a.h"', "\tapps/a $@", "from consolidate.cost import model"]
)
def test_a_named_product_is_seen(text: str) -> None:
    assert named_products(text)
