# SPDX-License-Identifier: GPL-2.0
"""KGCC knows each kernel library function that reads a string or a range.

The list is made from the headers of all kernels present; a function that is neither replaced nor
checked by its length has a reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

HEADERS = ("string.h", "kernel.h", "kstrtox.h", "hex.h", "sprintf.h")
PLUGIN = ROOT / "safety/kgcc/plugin"
CALLED = re.compile(r"\b(\w+)\s*\(([^()]*)\)")
ATTRIBUTES = re.compile(r"__(?:printf|scanf|attribute|alloc|realloc|malloc|RENAME|diagnose)")
# A pointer to readable data: to const, or a string changed in place.
READS = re.compile(r"\bconst (?:void|char|u8|u32|unsigned char)\b[^,]*\*|\bchar\s*\*(?!\*)\s*\w*")

REASONS = {
    "num_to_str": "writes",
    "__might_sleep __might_resched __might_fault __cant_sleep __cant_migrate": "a file's name",
    "no_hash_pointers_enable parse_option_str strnchrnul": "not exported to modules",
    "rust_fmt_argument": "Rust's",
    "kmemdup_array": "kmemdup() of a product",
    # Of trace_printk(), which only a module's author uses.
    "__trace_printk __trace_bprintk __trace_puts __trace_bputs __ftrace_vprintk"
    " __ftrace_vbprintk": "debugging, not shipped",
    "vbin_printf bprintf bstr_printf": "trace_printk()'s buffers",
    "strndup_user memdup_user vmemdup_user memdup_user_nul": "memory of user space",
    "kstrtoull_from_user kstrtoll_from_user kstrtoul_from_user kstrtol_from_user"
    " kstrtouint_from_user kstrtoint_from_user kstrtou16_from_user kstrtos16_from_user"
    " kstrtou8_from_user kstrtos8_from_user kstrtobool_from_user": "memory of user space",
    "memory_read_from_buffer": "reads less than it is told, by the position",
    "next_arg": "changes its text as it goes; the kernel's command line",
    "strscpy_pad": "a macro or a caller of strscpy(), by kernel",
    "kfree_const": "frees",
    "ptr_to_hashval": "the pointer's value",
}
KNOWN = {name for names in REASONS for name in names.split()}


def replaced() -> set[str]:
    hooks = (PLUGIN / "hooks.cc").read_text()
    functions = (PLUGIN / "collect.cc").read_text()
    names = re.findall(r'\{ "(\w+)", \w+, (?:"|NULL)', hooks)
    return set(names) | set(re.findall(r'\{ "(\w+)", -?\d', functions))


def folders() -> list[Path]:
    return sorted((BUILD / "kernels").glob("*/usr/src/linux-headers-*-common/include/linux"))


def readers(folder: Path) -> set[str]:
    """Declared functions that may read a string or a range."""
    found = set()
    for header in HEADERS:
        path = folder / header
        if not path.exists():
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
        # Remove bodies of inline functions, innermost first: what they call is declared itself.
        before = ""
        while before != text:
            before, text = text, re.sub(r"\{[^{}]*\}", ";", text)
        for declaration in text.split(";"):
            # Inline functions are compiled, and checked, with the module.
            if re.search(r"\binline\b|_inline\b", declaration):
                continue
            for name, arguments in CALLED.findall(declaration):
                if not ATTRIBUTES.match(name):
                    found |= {name} if READS.search(arguments) else set()
                    break
    return found


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.parents[1].name)
def test_each_reader_is_known(folder: Path) -> None:
    found = readers(folder)
    assert len(found) > 60
    assert {"strspn", "sscanf", "kstrtoint", "memchr_inv", "strreplace", "kasprintf"} <= found
    unknown = {name.removesuffix("_noprof") for name in found} - replaced() - KNOWN
    assert unknown == set()


def test_each_reason_is_of_a_function() -> None:
    names = {name for folder in folders() for name in readers(folder)}
    of_newer = {"rust_fmt_argument", "kmemdup_array"}
    assert not folders() or KNOWN - names <= of_newer


def test_stand_ins_are_exported() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "safety/kgcc").glob("*.c"))
    exported = set(re.findall(r"EXPORT_SYMBOL_GPL\((\w+)\)", sources))
    for macro in ("KSTRTO", "SIMPLE_STRTO"):
        exported |= {f"kgcc_{name}" for name in re.findall(rf"^{macro}\((\w+),", sources, re.M)}
    named = re.findall(r'\{ "\w+", \w+, "(kgcc_\w+)" \}', (PLUGIN / "hooks.cc").read_text())
    assert set(named) <= exported
