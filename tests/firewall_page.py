# SPDX-License-Identifier: GPL-2.0
"""The commands of docs/firewall*.md. As a program, it compiles in a directory as the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "firewall.md"
LUA_PAGE = ROOT / "docs" / "firewall-lua.md"
# make guest-programs compiles here: clang is slow in a guest.
PLACE = ROOT / "build" / "tests" / "firewall"


def blocks(page: Path = PAGE) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.M | re.S)


def compiles(block: str) -> bool:
    return "clang" in block


def main(place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name in ("build", "examples"):
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(ROOT / name)
    (block,) = filter(compiles, blocks())
    subprocess.run(["bash", "-euc", block], cwd=place, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
