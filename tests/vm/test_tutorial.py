# SPDX-License-Identifier: GPL-2.0
"""docs/tutorial.md as printed, for a user who may open only the confined engine.

One millisecond is a million instructions here, however busy the machine: the page's scripts run
with default limits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^(?:-- |/\* )(\w+\.(?:lua|c))\b")
OUTSIDER = ["setpriv", "--reuid=outsider", "--regid=outsider", "--init-groups", "--"]


def script() -> str:
    blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text())
    first, *rest, own = [text for kind, text in blocks if kind == "sh"]
    # The tree is built, and belongs to another user.
    assert first.startswith("make -s lib cli consolidate\nexport PATH=")
    first = first.partition("\n")[2]
    files = [
        f"cat >{named[1]} <<'END'\n{text}END"
        for kind, text in blocks
        if kind in ("c", "lua") and (named := FILE.match(text))
    ]
    seen = "syscript run --info -e ''\nSYSCRIPT_BACKEND=kernel ./batch notes/* | wc -l\n"
    return "\n".join(
        [
            f'set -euo pipefail\ncd {ROOT}\n{first}export COLUMNS=200 HOME="$(mktemp -d)"\ncd',
            *files,
            "set -x",
            *rest,
            seen,
            # Some files of /etc are unreadable, which find(1) reports at its end.
            f"set +e\n{own}",
        ]
    )


@pytest.mark.boot
@pytest.mark.long
def test_tutorial(guest: Callable) -> None:
    kernel = os.environ.get("KREL", "6.1")
    command = [*OUTSIDER, "bash", "-c", script()]
    done = guest("-k", kernel, "-m", "--icount", "--timeout", "1800", "--", *command)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "-2\nENOENT\n" in done.stdout
    assert "bad argument #1 to 'close'" in done.stderr
    assert "without a script" not in done.stderr
    assert re.search(r"^backend kernel, ", done.stderr, re.M)
    assert "\n201\n" in done.stdout
    assert re.search(r"\[openat read close\]\* +lines +200 +600 +2\s", done.stdout)
    assert done.stdout.count("plain calls") == 1
