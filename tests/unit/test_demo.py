# SPDX-License-Identifier: GPL-2.0 OR MIT
"""bench/demo.py: its tables and plots."""

from __future__ import annotations

import argparse
import sys
import xml.dom.minidom
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import demo  # noqa: E402

RESULT = {
    "kernel": "6.1",
    "accel": "tcg",
    "machine": "a machine",
    "memcached": {
        "modes": ["off", "frames"],
        "runs": [
            {"mode": mode, "value_size": 64, "outstanding": 16, "cpu_us_per_get": count}
            for mode, count in (("off", 16.0), ("off", 16.2), ("frames", 8.0), ("frames", 8.2))
        ],
        "mode_switches_per_get": {"v64_w16": {"off": 3.0, "frames": 0.5}},
    },
    "files": {
        "du": {"plain": 80e6, "ahead": 40e6, "switches": {"plain": 20_500, "ahead": 400}},
        "ls": {"plain": 150e6, "ahead": 75e6, "switches": {"plain": 61_000, "ahead": 1_200}},
    },
}


def test_bars() -> None:
    off, frames = demo.memcached_bars(RESULT["memcached"])
    assert off.instructions == pytest.approx(16_100) and off.switches == 3.0
    assert off.ns == pytest.approx(0.33 * 16_100 + 455 * 3)
    assert frames.instructions == pytest.approx(8_100)
    du, du_ahead, ls, ls_ahead = demo.files_bars(RESULT["files"])
    assert (du.switches, du_ahead.switches) == (20_500, 400)
    assert (ls.switches, ls_ahead.switches) == (61_000, 1_200)


def test_plots_have_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.show(RESULT, [tmp_path])
    assert "16,100" in capsys.readouterr().out
    svg = xml.dom.minidom.parse(str(tmp_path / "demo-memcached.svg"))
    texts = [text.firstChild.data for text in svg.getElementsByTagName("text")]
    assert {"unchanged", "script, frames", "1.00", "0.50"} <= set(texts)
    svg = xml.dom.minidom.parse(str(tmp_path / "demo-files.svg"))
    # A frame, two for the legend, and two for each of four ways.
    assert len(svg.getElementsByTagName("rect")) == 1 + 2 + 2 * 4


def test_the_readme_shows_plots_of_the_demo() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in ("demo-memcached", "demo-files"):
        assert f"(docs/{name}.svg)" in readme
        xml.dom.minidom.parse(str(ROOT / "docs" / f"{name}.svg"))


def test_memcached_is_measured_with_all_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo.rounds, "measure", vars)
    parser = argparse.ArgumentParser()
    demo.rounds.add_options(parser)
    assert set(demo.memcached(seccomp=False)) == set(vars(parser.parse_args([])))
