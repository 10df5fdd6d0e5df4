# SPDX-License-Identifier: GPL-2.0
"""bench/memcached/report.py: the captions of its plots."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench/memcached"))

import waits  # noqa: E402

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


PAPER = {
    "modes": ["off", "syscript_interp", "syscript", "confined"],
    "sizes": [16, 1024],
    "outstanding": [128],
    "batch": 16,
    "rounds": 2,
    "seconds": 0.1,
    "runs": [
        {
            "requests": 70_000,
            "mode": mode,
            "value_size": size,
            "outstanding": 128,
            "cpu_us_per_get": cost + turn,
            "response_mean": 3000.0,
            "response_stddev": 800.0,
            "depth": depth,
        }
        for size in (16, 1024)
        for turn in (-1, 1)
        for mode, cost, depth in (
            ("off", 15.0, 1.0),
            ("syscript_interp", 13.0, 14.5),
            ("syscript", 12.0, 14.5),
            ("confined", 12.0, 14.5),
        )
    ],
    "mode_switches_per_get": {
        f"v{size}_w128": {"off": 3.0, "syscript_interp": 0.1, "syscript": 0.1, "confined": 0.2}
        for size in (16, 1024)
    },
    "waits": {
        f"v{size}_w128": {
            mode: {"wait": 1000.0, "response": 2500.0}
            for mode in ("off", "syscript_interp", "syscript", "confined")
        }
        for size in (16, 1024)
    },
}


def test_figures_of_the_paper() -> None:
    response, rate, instructions, emulated, buffers = (
        rows for _, rows in report.paper_tables(PAPER)
    )
    # 0.33 ns an instruction, 455 ns a mode switch, 128 requests out, of which nine in ten are GETs.
    off = [0.33 * count + 455 * 3 for count in (14000, 16000)]
    script = [0.33 * count + 455 * 0.1 for count in (11000, 13000)]
    assert response[0][1].startswith(f"{128 * 0.9 * mean(off) / 1000:,.0f}±")
    # Ratios are taken within a round.
    ratios = [ours / plain for ours, plain in zip(script, off, strict=True)]
    assert response[0][3] == f"{mean(ratios):.2f}±{stdev(ratios):.2f}"
    rates = [1e9 / ns for ns in off]
    assert rate[0][1] == f"{mean(rates):,.0f}±{stdev(rates):,.0f}"
    assert response[2] == ["*the paper, small values*", "", "0.70", "0.67", ""]
    assert rate[2][2:] == ["1.37", "1.44", ""]
    assert rate[3][2:] == ["1", "1", ""]
    assert instructions[1] == [
        "1,024 bytes", "15,000; 3.00", "13,000; 0.10", "12,000; 0.10", "12,000; 0.20"
    ]  # fmt: skip
    assert emulated[0][1] == "3,000±800"
    assert buffers[0][1:3] == ["1.0; 1,000, 40%", "14.5; 1,000, 40%"]
    assert report.paper_load(PAPER).startswith("1,120,000 requests, 128 out, at most 16")


def test_waits_are_of_the_datagrams_that_were_copied() -> None:
    trace = """\
 udpload-9 [000] ..s1. 7.000100: netif_receive_skb: dev=lo skbaddr=ffff0010 len=58
 udpload-9 [000] ..s1. 7.000200: netif_receive_skb: dev=lo skbaddr=ffff0020 len=58
 mc-worker-8 [000] ..... 7.000450: consume_skb: skbaddr=0xffff0020
 mc-worker-8 [000] ..... 7.000500: consume_skb: skbaddr=0xffff0010 location=skb_consume_udp
 mc-worker-8 [000] ..... 7.000600: consume_skb: skbaddr=0xffff0010
 mc-worker-8 [000] ..... 7.000700: consume_skb: skbaddr=0xffff0030
"""
    assert waits.waits(trace) == pytest.approx([250, 400])
