# SPDX-License-Identifier: GPL-2.0
"""The page on published modules, generated from logs of their guests."""

from __future__ import annotations

import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "safety" / "tests"
sys.path[:0] = [str(TESTS / "published"), str(TESTS)]

from heard import last  # noqa: E402
from published import PUBLISHED  # noqa: E402
from published_page import ENDED, PAGE, TOOLS, page  # noqa: E402

LOG = """\
[    1.000000] test: published: lime
[    1.100000] kgcc: violation: overrun by 1 byte [1]
[    2.000000] test: published: evdi
[    2.100000] kgcc: violation: use after free: read of 8 bytes [2]
[    2.100001] kgcc: [2] at evdi_modeset.c:83, evdi_crtc_atomic_flush+0x8/0x9 [evdi]
[    2.200000] BUG: kernel NULL pointer dereference, address: 0000000000000020
[    2.200001] RIP: 0010:iommu_device_unlink+0x33/0x60
"""


def test_a_report_before_the_guests_end_counts() -> None:
    reports, bad = last(LOG, "evdi")
    header = "kgcc: violation: use after free: read of 8 bytes [2]"
    (report,) = reports
    assert report.startswith(f"{header}\nkgcc: [2] at evdi_modeset.c:83")
    assert "NULL pointer" in bad


def test_page_has_what_was_reported_and_what_was_not_run() -> None:
    results = {one.name: {} for one in PUBLISHED}
    reports, bad = last(LOG, "evdi")
    results["evdi"]["kgcc"] = {"failed": ENDED, "reports": reports, "bad": bad}
    results["bfs"]["plain"] = {"failed": "", "reports": [], "bad": ""}
    results["minix"] = dict.fromkeys(TOOLS, {"failed": "", "reports": [], "bad": ""})
    text = page(results, "6.1")
    assert re.search(r"^\| bfs \|.*\| clean \|  \|  \|  \|  \|$", text, re.MULTILINE)
    assert "without a report: minix.\n" in text and "| minix |" not in text
    assert re.search(
        r"^\| evdi \|.*\|  \| 2 of bugs, ends early \|  \|  \|  \|$", text, re.MULTILINE
    )


def test_page_names_each_once_with_all_tools() -> None:
    text = PAGE.read_text()
    rows = re.findall(r"^\| (\S+) \| \S+ \|", text, re.MULTILINE)
    (clean,) = re.findall(
        r"^Exercised with each tool, without a report: (.*)\.$", text, re.MULTILINE
    )
    named = [row for row in rows if row not in ("module", "---")] + clean.split(", ")
    assert sorted(named) == sorted(one.name for one in PUBLISHED)
    assert "|  |" not in text and "0 are not judged" in text
