# SPDX-License-Identifier: GPL-2.0
"""consolidate report --html: one self-contained page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT
from traces import Writer, run

from consolidate.report import page

EVIL = "</script><img src=x>"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    writer = Writer(3)
    for i in range(60):
        writer.noise(1 + i % 3)
        writer.read_file(f"/d/{EVIL if i == 7 else i}")
        if i % 2:
            writer.list_directory(f"/e/{i}", ["a", "b", "c"])
    return writer.write(tmp_path / f"t{EVIL[2:8]}")


@pytest.fixture
def text(trace: Path, tmp_path: Path) -> str:
    done = run("report", trace, "--html", tmp_path / "page.html", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "page.html" in done.stderr
    return (tmp_path / "page.html").read_text()


def data_in(text: str) -> dict:
    return json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S)[1])


def test_page_has_what_the_report_has(trace: Path, tmp_path: Path) -> None:
    # From one command: another one would calibrate again.
    done = run("report", "--json", trace, "--html", tmp_path / "page.html", cache=tmp_path)
    report, data = json.loads(done.stdout), data_in((tmp_path / "page.html").read_text())
    assert [one["name"] for one in data["candidates"]] == [
        one["name"] for one in report["candidates"]
    ]
    assert data["sums"][0] == ["calls", str(report["calls"]), str(report["with_scripts"]["calls"])]
    for one in data["candidates"]:
        assert "function run(items" in one["script"], one["why"]
    calls = {node["name"]: node["calls"] for node in data["nodes"]}
    (others,) = [name for name in calls if name.endswith(" other calls")]
    folded = {name: n for name, n in report["graph"]["calls"].items() if name not in calls}
    assert others == f"{len(folded)} other calls" and calls.pop(others) == sum(folded.values())
    assert calls.items() <= report["graph"]["calls"].items() and len(calls) <= 14
    # The rare calls, and none that a candidate has.
    assert max(folded.values()) <= min(calls.values())
    assert not folded.keys() & {
        step["call"] for one in report["candidates"] for step in one["steps"]
    }
    copied = sum(node["bytes"] for node in data["nodes"])
    assert copied == report["bytes_copied"]
    weights = {(edge["from"], edge["to"]): edge["calls"] for edge in data["edges"]}
    assert weights["openat", "read"] == 60
    assert {edge["candidate"] for edge in data["edges"]} - {None} <= {
        one["name"] for one in data["candidates"]
    }
    read = next(node for node in data["nodes"] if node["name"] == "read")
    assert read["time"] == "1.08 ms"


def test_page_fetches_nothing(text: str) -> None:
    assert EVIL not in text
    assert text.count("</script>") == 2
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\b(?:src|href)=", text)
    assert "default-src 'none'" in text


def test_page_has_source_lines(tmp_path: Path) -> None:
    """The functions of a program without debugging information."""
    writer = Writer(1)
    for i in range(40):
        writer.read_file(f"/d/{i}")
        writer.lines.append(" > /usr/lib/libc.so.6(__close+0x10) [0xf0110]")
        writer.lines.append(" > /usr/bin/tool(finish+0x3b) [0x40113b]")
    path = writer.write(tmp_path / "t")
    done = run("report", path, "--html", tmp_path / "page.html", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    nodes = data_in((tmp_path / "page.html").read_text())["nodes"]
    close = next(node for node in nodes if node["name"] == "close")
    assert close["lines"] == ["40 from finish+0x3b in /usr/bin/tool"]


def test_page_that_cannot_be_written(trace: Path, tmp_path: Path) -> None:
    done = run("report", trace, "--html", tmp_path / "no" / "page.html", cache=tmp_path)
    assert done.returncode == 1
    assert "cannot write" in done.stderr


def test_template_is_installed() -> None:
    assert (
        page.TEMPLATE.suffix[1:]
        in re.search(r"foreach type,([\w ]+),", (ROOT / "consolidate/build.mk").read_text())[
            1
        ].split()
    )
