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


def ways(*figures: float) -> dict[str, float]:
    return dict(zip(demo.WAYS, figures, strict=True))


RESULT = {
    "kernel": "6.1",
    "accel": "tcg",
    "machine": "a machine",
    "memcached": {
        "modes": ["off", "mmsg", "frames_confined"],
        "runs": [
            {"mode": mode, "value_size": 64, "outstanding": 16, "cpu_us_per_get": count}
            for mode, counts in (
                ("off", (16.0, 16.2)),
                ("mmsg", (12.0, 12.2)),
                ("frames_confined", (8.0, 8.2)),
            )
            for count in counts
        ],
        "mode_switches_per_get": {"v64_w16": {"off": 3.0, "mmsg": 1.0, "frames_confined": 0.5}},
    },
    "files": {
        name: {**counts, "switches": switches}
        for name, counts, switches in (
            ("du", ways(80e6, 40e6, 39e6), ways(20_500, 400, 400)),
            ("ls", ways(150e6, 75e6, 74e6), ways(61_000, 1_200, 1_300)),
        )
    },
}


def test_bars() -> None:
    off, _, frames = demo.memcached_bars(RESULT["memcached"])
    assert off.instructions == pytest.approx(16_100) and off.switches == 3.0
    assert off.ns == pytest.approx(0.33 * 16_100 + 455 * 3)
    assert frames.instructions == pytest.approx(8_100)
    bars = demo.files_bars(RESULT["files"])
    assert [bar.switches for bar in bars] == [20_500, 400, 400, 61_000, 1_200, 1_300]


def test_plots_have_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.show(RESULT, [tmp_path])
    shown = capsys.readouterr().out
    assert "16,100" in shown
    assert (
        "Over recvmmsg and sendmmsg: frames, confined: 0.67 of the instructions,"
        " 0.50 of the mode switches." in shown
    )
    svg = xml.dom.minidom.parse(str(tmp_path / "demo-memcached.svg"))
    texts = [text.firstChild.data for text in svg.getElementsByTagName("text")]
    assert {"unchanged", "frames, confined", "1.00", "0.50"} <= set(texts)
    svg = xml.dom.minidom.parse(str(tmp_path / "demo-files.svg"))
    # A frame, two for the legend, and two for each of six ways.
    assert len(svg.getElementsByTagName("rect")) == 1 + 2 + 2 * 6


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
