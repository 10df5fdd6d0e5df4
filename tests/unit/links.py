# SPDX-License-Identifier: GPL-2.0
"""Links of documents."""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def leads_somewhere(link: str, page: Path) -> bool:
    name, _, anchor = link.partition("#")
    to = page.parent / name if name else page
    if not anchor or not to.is_file():
        return to.exists()
    return anchor in map(slug, re.findall(r"^#+ (.*)$", to.read_text(), re.M))


def dead_links(page: Path) -> list[str]:
    """Broken links, except links to other machines."""
    links = LINK.findall(page.read_text())
    return [link for link in links if "://" not in link and not leads_somewhere(link, page)]
