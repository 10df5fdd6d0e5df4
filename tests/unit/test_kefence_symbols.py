# SPDX-License-Identifier: GPL-2.0
"""Kefence replaces all functions that kernels export to allocate and free objects."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

LIST = ROOT / "safety" / "kefence" / "symbols.h"
# The debug kernel also exports hooks of its own checkers.
EXPORTS = sorted(
    path
    for path in (BUILD / "kernels").glob("*/headers/Module.symvers")
    if path.parts[-3] != "debug"
)

# Names of functions that allocate, free, or return an object's size.
ALLOCATOR = re.compile(r"_*k[vz]?(m|z|c|re|free|mem|str|as|va|size)\w*|v?memdup\w*|strndup_user")
ABOUT_OBJECTS = re.compile(r"alloc|free|dup|size|printf|kmem_cache|kmem_buckets")

# Functions left to the kernel, with the reason.
LEFT = {
    "__kfree_skb": "skbs",
    "_kmalloc_nolock_noprof": "for NMIs; ended by kfree_nolock() only",
    "kasprintf_strarray": "an array that kfree_strarray() ends",
    "kfree_link": "frees by kfree(), see corefree.c",
    "kfree_nolock": "ends what kmalloc_nolock() made",
    "kfree_skb_list_reason": "skbs",
    "kfree_skb_partial": "skbs",
    "kfree_skb_reason": "skbs",
    "kfree_strarray": "ends what kasprintf_strarray() made",
    "kmalloc_caches": "data",
    "kmalloc_size_roundup": "makes nothing",
    "kmem_buckets_create": "what is made from buckets is stood in for",
    "kmem_cache_shrink": "makes nothing",
    "kmem_cache_size": "as it was made with",
    "kstrdup_and_replace": "unguarded, ended by kfree()",
    "kstrdup_quotable": "unguarded, ended by kfree()",
    "kstrdup_quotable_cmdline": "unguarded, ended by kfree()",
    "kstrdup_quotable_file": "unguarded, ended by kfree()",
}


def listed() -> set[str]:
    return set(re.findall(r"\bX\((\w+)\)", LIST.read_text().partition("#define")[2])) - {"X"}


def exported(symvers: Path) -> set[str]:
    lines = [line.split("\t") for line in symvers.read_text().splitlines()]
    names = {words[1] for words in lines if words[2] == "vmlinux"}
    return {n for n in names if ALLOCATOR.fullmatch(n) and ABOUT_OBJECTS.search(n)}


@pytest.mark.parametrize("symvers", EXPORTS, ids=lambda path: path.parts[-3])
def test_nothing_is_forgotten(symvers: Path) -> None:
    assert exported(symvers) - listed() - set(LEFT) == set()


def test_nothing_is_made_up() -> None:
    """Each name is exported by some kernel, if all kernels are here."""
    if len(EXPORTS) < 3:
        pytest.skip("not all kernels are here")
    everywhere = set.union(*(exported(symvers) for symvers in EXPORTS))
    assert (listed() | set(LEFT)) - everywhere == set()


@pytest.mark.parametrize("module", sorted(BUILD.glob("safety-*/*+kefence*/*.ko")), ids=str)
def test_no_instrumented_module_calls_the_kernel(module: Path) -> None:
    """Not through an inline function or a macro of the kernel, either."""
    undefined = subprocess.run(["nm", "-u", module], capture_output=True, text=True, check=True)
    assert listed() & set(undefined.stdout.split()) == set()
