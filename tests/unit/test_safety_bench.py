# SPDX-License-Identifier: GPL-2.0
"""How make bench-safety evaluates its samples."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from kernels import ROOT

BENCH = ROOT / "safety" / "bench"


@pytest.fixture(scope="module")
def bench():
    sys.path[:0] = [str(BENCH), str(ROOT / "bench")]
    spec = importlib.util.spec_from_file_location("safety_bench", BENCH / "bench.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["safety_bench"] = module
    spec.loader.exec_module(module)
    return module


def samples(bench) -> dict[str, dict[str, float]]:
    """One round: plain takes 10 s, with a tool 11 s; 8 s of each are user time."""
    found = {}
    for key in bench.RATIOS.values():
        found[key.sample("plain")] = {"elapsed": 99.0, "cpu": 10.0, "system": 0.5}
        found[key.sample(key.variant)] = {"elapsed": 99.0, "cpu": 11.0, "system": 0.5}
    return found


@pytest.fixture
def measured(bench, monkeypatch):
    """measured(absent): the results of measure() for these samples under icount."""
    workloads = {"compile": 8.0, "mix": 8.0}
    monkeypatch.setattr(bench, "user_seconds", lambda kernel: workloads)

    def measure(absent: list[str]) -> dict:
        there = {k: v for k, v in samples(bench).items() if k.split()[0] not in absent}
        raw = {"kernel": "6.1", "accel": "tcg", "machine": "m", "absent": absent, "rounds": [there]}
        monkeypatch.setattr(bench.results, "in_guest", lambda *args, **kwargs: raw)
        return bench.measure("6.1", True, 1)

    return measure


def test_system_is_all_but_the_processes_own(measured) -> None:
    found = measured([])
    assert found["kgcc.compile.elapsed"]["median"] == pytest.approx(1.1)
    assert found["kgcc.compile.system"]["median"] == pytest.approx(3 / 2)


def test_keys_are_those_of_the_bounds(measured) -> None:
    keys = ["kefence.compile", "evmon.mix", "evmon.logger", "kgcc.off.system"]
    keys += [f"kgcc.{work}.{of}" for work in ("compile", "mix") for of in ("elapsed", "system")]
    found = measured([])
    assert all("median" in found[key] for key in keys)


def test_says_which_file_system_a_kernel_has_not(bench, measured, capsys) -> None:
    found = measured(["reiserfs"])
    assert not [name for name in found if name.startswith("reiserfs.")]
    bench.show(found, 1)
    assert "has no reiserfs" in capsys.readouterr().out


def test_over_is_said(bench, measured, capsys) -> None:
    bench.show(measured([]), 1)
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("Kefence, compile, ecryptfs"))
    assert "OVER" in row
