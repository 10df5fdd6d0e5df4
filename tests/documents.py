# SPDX-License-Identifier: GPL-2.0
"""Files and commands that a document has in blocks of code."""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^(?:-- |/\* )(?:cc )?(\w+\.(?:lua|c))\b")


def blocks(document: Path) -> list[tuple[str, str]]:
    """The language and the text of each."""
    return BLOCK.findall(document.read_text())


def put_files(document: Path, place: Path) -> None:
    """Write the document's files; a file's first line has its name."""
    for kind, text in blocks(document):
        named = FILE.match(text)
        if kind in ("c", "lua") and named:
            (place / named[1]).write_text(text)


def shell_blocks(document: Path) -> list[str]:
    """Commands to type: blocks of commands, and the commands in blocks with output."""
    return [
        text if kind == "sh" else "".join(re.findall(r"^\$ (.*\n)", text, re.M))
        for kind, text in blocks(document)
        if kind in ("sh", "console")
    ]
