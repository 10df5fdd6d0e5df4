# SPDX-License-Identifier: GPL-2.0
"""The page of `consolidate report --html` in a real browser: `make test-browser`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "consolidate/tests/unit"))

from traces import Writer, run  # noqa: E402

BROWSER = shutil.which("chromium") or "chromium"
# The browser's sandbox needs namespaces; the page is our own.
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio"]
SIZE = "1200,1500"
# A script added by the test acts on the page.
ACTS = """{
const before = graph.getAttribute("viewBox");
const labels = [...graph.querySelectorAll("text")].map((one) => one.getBoundingClientRect().height);
const box = graph.getBoundingClientRect();
const at = { clientX: box.x + 300, clientY: box.y + 200, bubbles: true, cancelable: true };
graph.dispatchEvent(new WheelEvent("wheel", { deltaY: -400, ...at }));
const zoomed = graph.getAttribute("viewBox");
graph.dispatchEvent(new PointerEvent("pointermove", { buttons: 1, movementX: 50, ...at }));
const moved = graph.getAttribute("viewBox");
const edge = [...document.querySelectorAll("g.edge")].find((one) => one.dataset.of);
edge.lastChild.dispatchEvent(new PointerEvent("pointermove", at));
const shown = getComputedStyle(tip).display, told = tip.textContent;
edge.lastChild.dispatchEvent(new PointerEvent("pointerleave", at));
document.getElementById(edge.dataset.of).click();
const names = [...document.querySelectorAll("tr.candidate td:nth-child(2)")].map((one) => {
	const text = document.createRange();
	text.selectNodeContents(one);
	return text;
});
const off = document.querySelectorAll("g.edge.off").length;
const apart = nodes.every((one) => nodes.every((other) => one === other ||
	Math.abs(one.x - other.x) > (one.width + other.width) / 2 || Math.abs(one.y - other.y) > 32));
document.body.dataset.seen = JSON.stringify({ before, zoomed, moved, shown, told, off, apart,
	hidden: tip.style.display, edges: document.querySelectorAll("g.edge").length,
	rows: document.querySelectorAll("tr.candidate").length,
	scripts: document.querySelectorAll("details pre").length,
	smallest: Math.min(...labels),
	folded: names.filter((one) => one.getClientRects().length > 1).length,
	inside: nodes.every((one) => Number.isFinite(one.x) && Number.isFinite(one.y)) });
}"""


# Rare calls, each next to each other one.
RARE = [
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getppid",
    "getpgrp",
    "sched_yield",
    "umask",
    "alarm",
    "times",
    "sysinfo",
]
RARE += [
    "getpriority",
    "getrlimit",
    "getrusage",
    "getgroups",
    "uname",
    "gettimeofday",
    "time",
    "getcwd",
    "getsid",
]


def hairball(writer: Writer, turn: int) -> None:
    for i in range(len(RARE)):
        writer.call(f"{RARE[i * (2 * turn + 1) % len(RARE)]}()", 0)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a trace with several programs and a mix of sequences."""
    place = tmp_path_factory.mktemp("page")
    writer = Writer(5)
    for i in range(200):
        writer.noise(1 + i % 3)
        if i % 40 == 0:
            hairball(writer, i // 40)
        writer.read_file(f"/d/{i}")
        if i % 2:
            writer.list_directory(f"/e/{i}", ["a", "b", "c"])
        else:
            writer.copy(2)
    done = run("report", writer.write(place / "t"), "--html", place / "page.html", cache=place)
    assert done.returncode == 0, done.stderr
    return place / "page.html"


def browse(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    place = page.parent
    env = {**os.environ, "HOME": str(place)}
    command = [BROWSER, *OPTIONS, f"--user-data-dir={place}/profile", f"--window-size={SIZE}"]
    command += ["--virtual-time-budget=5000", "--enable-logging=stderr", *options, page.as_uri()]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=place, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr or "Uncaught" not in done.stderr, done.stderr
    return done


def test_page_draws_zooms_and_tells(page: Path) -> None:
    acted = page.with_name("acted.html")
    text = page.read_text()
    acted.write_text(text.replace("</body>", f"<script>{ACTS}</script></body>"))
    dom = browse(acted, "--dump-dom").stdout
    seen = json.loads(re.search(r'data-seen="([^"]*)"', dom)[1].replace("&quot;", '"'))
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S)[1])
    assert len(data["nodes"]) == int(re.search(r'data-drawn="(\d+)"', dom)[1])
    assert seen["edges"] == len(data["edges"])
    scripts = [one["script"] for one in data["candidates"] if one["script"]]
    assert len(scripts) >= 3
    assert (seen["rows"], seen["scripts"]) == (len(data["candidates"]), len(scripts))
    assert seen["inside"] and seen["apart"]
    assert not seen["folded"]
    # In pixels: no smaller than other text at the page's width.
    assert seen["smallest"] > 10
    # Zooming in keeps the place under the pointer; then scrolling left.
    sizes = [list(map(float, seen[key].split())) for key in ("before", "zoomed", "moved")]
    assert sizes[1][2] < 0.6 * sizes[0][2]
    assert sizes[2][0] < sizes[1][0] and sizes[2][2] == sizes[1][2]
    assert seen["shown"] == "block" and seen["hidden"] == "none"
    assert re.search(r"\w+ → \w+\n\d+ calls, \d+ bytes copied, [\d.]+ \w+", seen["told"])
    assert "in candidate" in seen["told"]
    assert 0 < seen["off"] < seen["edges"]


def test_page_as_it_looks(page: Path) -> None:
    """A screenshot, kept in build/: neither empty nor of a single colour."""
    picture = BUILD / "tests" / "page.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    browse(page, f"--screenshot={picture}")
    assert picture.stat().st_size > 40000
