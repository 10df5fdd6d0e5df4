# SPDX-License-Identifier: GPL-2.0
"""bench/figures.py: docs/figures.md has exactly the tables of docs/figures.json."""

from __future__ import annotations

import json
import re
import sys
import xml.dom.minidom
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import figures  # noqa: E402
import frames  # noqa: E402
import model  # noqa: E402

REQUESTS = {
    "holds": True,
    "label": "modelled",
    "ratios": [
        {"script": "combined", "over": "epoll_mmsg", "icount": 0.9, "interval": [0.894, 1.16]}
    ],
    "errors": {"echo_mmsg": -0.02, "io_uring": 0.1},
    "instructions_of": "6.1",
    "machine": "a CPU",
    "kernel": "7.0",
    "busy": True,
}
CALLS = {
    "clock": "instructions",
    "kernel": "6.1",
    "calls": {
        name: {
            "outside": {"median": 1234.0},
            "ratio_jit": {"median": 0.5},
            "ratio_compound": {"median": 0.4},
        }
        for name in figures.CALLS
    },
    "geometric_mean": {"median": 0.75},
    "empty_call": {"median": 1204.0},
}
OLD = "".join(
    f"before {name}\n<!-- {name}: make figures -->\nold\n<!-- end of {name} -->\nafter {name}\n"
    for name in ("requests", "calls")
)


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, **found: dict
) -> tuple[int, str, dict]:
    path, data = tmp_path / "figures.md", tmp_path / "figures.json"
    path.write_text(page)
    if not data.exists():
        data.write_text("{}")
    argv = ["figures", "--data", str(data), "--page", str(path)]
    argv += ["--picture", str(tmp_path / "figures.svg")]
    for name, result in found.items():
        (tmp_path / name).write_text(json.dumps(result))
        argv += [f"--{name}", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", argv)
    return figures.main(), path.read_text(), json.loads(data.read_text())


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text, data = run(tmp_path, monkeypatch, OLD, requests=REQUESTS, calls=CALLS)
    assert status == 0
    assert "old" not in text
    assert f"| {figures.PLAIN['epoll_mmsg']} | 0.90 | 0.89 to 1.16 |" in text
    assert "busy" in text
    assert "| lseek | 1,234 | 0.50 | 0.40 |" in text
    assert data["calls"]["kernel"] == "6.1" and data["calls"]["commit"] in text
    for name in data:
        assert f"before {name}\n" in text
        assert f"after {name}\n" in text


def test_one_table_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text, _ = run(tmp_path, monkeypatch, OLD, calls=CALLS)
    assert status == 0
    assert text.count("old") == 1
    # Updating another subject leaves this one's figures unchanged.
    status, again, data = run(tmp_path, monkeypatch, text, requests=REQUESTS)
    assert status == 0 and "old" not in again
    assert "| lseek | 1,234 | 0.50 | 0.40 |" in again and set(data) == {"calls", "requests"}


def test_tables_that_a_bench_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wires = {name: {way: {"median": 2000.0} for way in ("mmsg", "frames")} for name in frames.WIRES}
    ratios = {name: {"median": 0.5} for name in [*frames.WIRES, *frames.TAKEN]}
    result = {"clock": "one ns per instruction", "kernel": "6.1", "accel": "tcg", "machine": ""}
    result |= {"per_request": wires | {"client": {"median": 700.0}}, **ratios, "everyone": ratios}
    page = OLD + "<!-- frames: make figures -->\n<!-- end of frames -->\n"
    status, text, data = run(tmp_path, monkeypatch, page, frames=result, calls=CALLS)
    assert status == 0
    assert "| a tap, memcached | 2000 | 2000 | 0.500 |" in text
    assert len(data["frames"]["tables"]) == 2


def test_picture_shows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, monkeypatch, OLD, calls=CALLS)
    svg = xml.dom.minidom.parse(str(tmp_path / "figures.svg"))
    words = [text.firstChild.data for text in svg.getElementsByTagName("text")]
    assert words.count("0.50") == words.count("0.40") == len(figures.CALLS)
    assert set(figures.CALLS.values()) <= set(words)


@pytest.mark.parametrize(
    ("page", "found", "said"),
    [
        (OLD, {"requests": REQUESTS | {"holds": False}}, "does not hold"),
        (OLD, {"calls": CALLS | {"clock": "time"}}, "make bench-inner-icount"),
        ("no place", {"calls": CALLS}, "no place"),
        (OLD, {}, "no table of calls"),
    ],
)
def test_writes_nothing_that_is_not_right(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    found: dict,
    said: str,
) -> None:
    status, text, data = run(tmp_path, monkeypatch, page, **found)
    assert status == 1
    assert text == page and data == {}
    assert not (tmp_path / "figures.svg").exists()
    assert said in capsys.readouterr().err


def test_names_what_is_measured() -> None:
    probes = re.findall(r"^PROBE\((\w+),", (ROOT / "bench/inner.def").read_text(), re.MULTILINE)
    assert set(figures.CALLS) <= set(probes)
    assert {script for script, _ in model.RATIOS} <= set(figures.SCRIPTS)
    assert {rival for _, rival in model.RATIOS} <= set(figures.PLAIN)


PAGE = (ROOT / "docs/figures.md").read_text()
DATA = json.loads((ROOT / "docs/figures.json").read_text())


def test_page_is_generated() -> None:
    """The page is generated: figures copied by hand go stale."""
    assert figures.page(PAGE, DATA) == PAGE
    assert (ROOT / "docs/figures.svg").read_text() == figures.picture(PAGE)
    outside = PAGE
    for name in DATA:
        assert PAGE.count(f"<!-- {name}: make figures -->") == 1
        outside = figures.put(outside, name, [])
    assert "|---" not in outside


@pytest.mark.parametrize("name", DATA)
def test_figures_say_where_they_are_from(name: str) -> None:
    found = DATA[name]
    assert found["command"] == figures.SUBJECTS[name].command
    assert re.fullmatch(r"\d+\.\d+\..*", found["kernel"])
    assert re.fullmatch(r"[0-9a-f]{12}\+?", found["commit"])
    assert all(table["rows"] for table in found["tables"])


def test_rows_of_the_picture() -> None:
    assert len(DATA["requests"]["tables"][0]["rows"]) == len(model.RATIOS)
    assert len(DATA["calls"]["tables"][0]["rows"]) == len(figures.CALLS)


# Pages that give reasons: a table of figures there would be a second copy.
REASONS = ["confined", "frames", "runs", "memcached", "files", "batches"]


@pytest.mark.parametrize("name", REASONS)
def test_no_table_of_figures_elsewhere(name: str) -> None:
    """Numbers of four digits or ratios, in two or more columns."""
    text = (ROOT / f"docs/design/{name}.md").read_text()
    figure = re.compile(r"^\s*(?:\d{1,3}(?:[ ,]\d{3})+|\d\.\d{2,})\s*$")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    assert not [row for row in rows if sum(map(bool, map(figure.match, row))) > 1]
