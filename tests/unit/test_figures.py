# SPDX-License-Identifier: GPL-2.0
"""bench/figures.py: the tables of docs/figures.md, and the README's picture."""

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
    for name in figures.TABLES
)


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, **found: dict
) -> tuple[int, str]:
    path = tmp_path / "figures.md"
    path.write_text(page)
    argv = ["figures", "--page", str(path), "--picture", str(tmp_path / "figures.svg")]
    for name, result in found.items():
        (tmp_path / name).write_text(json.dumps(result))
        argv += [f"--{name}", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", argv)
    return figures.main(), path.read_text()


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run(tmp_path, monkeypatch, OLD, requests=REQUESTS, calls=CALLS)
    assert status == 0
    assert "old" not in text
    assert f"| {figures.PLAIN['epoll_mmsg']} | 0.90 | 0.89 to 1.16 |" in text
    assert "busy" in text
    assert "| lseek | 1,234 | 0.50 | 0.40 |" in text
    for name in figures.TABLES:
        assert f"before {name}\n" in text
        assert f"after {name}\n" in text


def test_one_table_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run(tmp_path, monkeypatch, OLD, calls=CALLS)
    assert status == 0
    assert text.count("old") == len(figures.TABLES) - 1


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
    status, text = run(tmp_path, monkeypatch, page, **found)
    assert status == 1
    assert text == page
    assert not (tmp_path / "figures.svg").exists()
    assert said in capsys.readouterr().err


def test_names_what_is_measured() -> None:
    probes = re.findall(r"^PROBE\((\w+),", (ROOT / "bench/inner.def").read_text(), re.MULTILINE)
    assert set(figures.CALLS) <= set(probes)
    assert {script for script, _ in model.RATIOS} <= set(figures.SCRIPTS)
    assert {rival for _, rival in model.RATIOS} <= set(figures.PLAIN)


def test_page_has_the_tables_of_one_run() -> None:
    text = (ROOT / "docs/figures.md").read_text()
    rows = {"requests": len(model.RATIOS), "calls": len(figures.CALLS)}
    for name, count in rows.items():
        begin, end = f"<!-- {name}: make figures -->", f"<!-- end of {name} -->"
        assert text.count(begin) == text.count(end) == 1
        assert text[text.index(begin) : text.index(end)].count("\n| ") == 1 + count
    # And no other: a figure that is copied by hand goes stale.
    assert text.count("|---|---|---|---|") == len(rows)
    assert (ROOT / "docs/figures.svg").read_text() == figures.picture(text)
