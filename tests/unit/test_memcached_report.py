# SPDX-License-Identifier: GPL-2.0
"""bench/memcached/report.py: the captions of its plots."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

SPEC = importlib.util.spec_from_file_location("report", ROOT / "bench/memcached/report.py")
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)

RATES = {"off": 10000.0, "mmsg": 14000.0, "syscript": 15000.0}


def result(pressure: float, ratio: float) -> dict[str, Any]:
    runs = [
        {"mode": mode, "value_size": 64, "outstanding": 16, "throughput": rate + turn,
         "response_mean": 1e6 / rate}
        for turn in range(7)
        for mode, rate in RATES.items()
    ]  # fmt: skip
    one = {"median": ratio, "min": ratio, "max": ratio}
    rest = {"median": 0.5, "min": 0.5, "max": 0.5}
    return {
        "kernel": "6.1",
        "accel": "tcg",
        "machine": "a machine",
        "rounds": 7,
        "modes": list(RATES),
        "sizes": [64],
        "outstanding": [16],
        "cpu_pressure": pressure,
        "runs": runs,
        "ratios": {"v64_w16": {"syscript_over_off": {"throughput": one, "response_mean": rest}}},
    }


def drawn(tmp_path: Path, of: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    import matplotlib

    # Letters as text, not as outlines.
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    report.draw(of, report.PLOTS[1], tmp_path / "memcached.json")
    text = (tmp_path / "memcached-throughput.svg").read_text()
    return "\n".join(re.findall(r"<text[^>]*>([^<]*)</text>", text))


def test_values_and_rounds_are_on_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = drawn(tmp_path, result(0.01, 1.9), monkeypatch)
    assert "emulated" in text
    assert "n = 7 rounds" in text
    assert {"10", "14", "15"} <= set(text.splitlines())
    assert "BUSY" not in text
    assert "MISSED" not in text


def test_what_was_wrong_is_on_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(tmp_path, result(0.4, 1.2), monkeypatch)
    assert "BUSY MACHINE: 40%" in text
    assert "MISSED v64_w16: syscript / off, throughput: 1.20, to reach 1.44" in text
