# SPDX-License-Identifier: GPL-2.0
"""bench/model.py: its fit, and its message if no model fits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import model  # noqa: E402
import results  # noqa: E402
import udp  # noqa: E402
from model import Model, Way  # noqa: E402

TRUE = Model(0.4, 300.0)
SHAPES = {
    "recvfrom_sendmsg": (9000, 2.0),
    "mmsg": (8800, 0.125),
    "epoll_recvfrom_sendmsg": (10000, 3.0),
    "epoll_mmsg": (8900, 0.1875),
    "echo_mmsg": (8950, 0.1875),
    "io_uring": (9400, 0.0625),
    "combined": (8000, 0.0625),
    "library_exchange": (8100, 0.0625),
    "figure1": (9800, 0.125),
    "compound": (8200, 0.0625),
}
IN_PROCESS = ("combined", "library_exchange", "figure1", "compound")


def ways(wrong: float = 1.0) -> dict[str, Way]:
    """Times from a known model, except for one held-out way."""
    found = {}
    for name, (instructions, switches) in SHAPES.items():
        ns = TRUE.c * instructions + TRUE.p * switches
        ns *= wrong if name == "echo_mmsg" else 1.3 if name in IN_PROCESS else 1
        found[name] = Way(instructions, switches, ns)
    return found


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Way]) -> tuple[int, dict]:
    icount, output = tmp_path / "icount.json", tmp_path / "model.json"
    counts = {name: {"median": way.instructions} for name, way in given.items()}
    confined = {name: {"median": 2 * given[name].instructions} for name in udp.SCRIPTS}
    counted = {"kernel": "6.1", "per_request": counts, "confined": confined}
    icount.write_text(json.dumps({"icount": counted}))
    here = {
        "kernel": "7.0",
        "accel": "none",
        "switches": {name: way.switches for name, way in given.items()},
        "ns": {name: way.ns for name, way in given.items()},
    }
    monkeypatch.setattr(model, "native", lambda rounds, backend: {**here})
    monkeypatch.setattr(model, "DEVICE", tmp_path / "no-device")
    argv = ["model", "--icount", str(icount), "-o", str(output)]
    monkeypatch.setattr(sys, "argv", argv)
    status = model.main()
    return status, json.loads(output.read_text()) if output.exists() else {}


def test_finds_the_model_that_made_the_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = run(tmp_path, monkeypatch, ways())
    assert status == 0
    assert found["c_ns"] == pytest.approx(TRUE.c)
    assert found["p_ns"] == pytest.approx(TRUE.p)
    assert max(map(abs, found["errors"].values())) < 1e-9
    first = found["ratios"][0]
    own, rival = (TRUE.c * SHAPES[n][0] + TRUE.p * SHAPES[n][1] for n in ("combined", "epoll_mmsg"))
    # In the kernel as modelled; in the process 30 % more, plus an entry.
    expected = own / rival, (1.3 * own + TRUE.p * 0.0625) / rival
    assert first["interval"] == pytest.approx(expected)
    assert first["confined"] == 2 * first["icount"]
    assert found["ratios"][-1]["confined"] == found["ratios"][-1]["icount"]
    text = capsys.readouterr().out
    assert "modelled" in text
    assert "The model holds" in text


def test_says_where_it_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = run(tmp_path, monkeypatch, ways(wrong=1.25))
    assert status == 1
    assert not found["holds"]
    assert "DOES NOT HOLD" in capsys.readouterr().out


def test_is_not_validated_on_what_it_was_fitted_to() -> None:
    assert not set(model.FITTED) & set(model.HELD_OUT)
    assert set(model.errors(TRUE, ways())) == set(model.HELD_OUT)


def test_times_that_no_model_has() -> None:
    one, other = ways()["recvfrom_sendmsg"], ways()["mmsg"]
    with pytest.raises(results.MeasureError, match="busy"):
        model.fit(one, other._replace(ns=2 * one.ns))


def test_counts_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(results.MeasureError, match="make bench-udp-icount"):
        model.counted(tmp_path / "none.json")


def test_loops_of_the_benchmark_are_known() -> None:
    source = (ROOT / "bench/udp_server.c").read_text()
    for name in {*model.FITTED, *model.HELD_OUT, *(one for pair in model.RATIOS for one in pair)}:
        assert f'.name = "{name}"' in source


PROGRAM = ROOT / "build/bench/udp"
# The clients' calls per step: 16 requests, a poll of the socket, 16 replies, and a failed receive.
CLIENTS = 16 + 1 + 17


# A network of its own, which other tests' datagrams do not reach: a late one may come to a port
# that has become this server's.
APART = ["unshare", "-Urn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@pytest.fixture(scope="module")
def program() -> list[str | Path]:
    subprocess.run(["make", "-s", PROGRAM.relative_to(ROOT)], cwd=ROOT, check=True)
    apart = not subprocess.run([*APART, "true"], capture_output=True).returncode
    return [*(APART if apart else []), PROGRAM]


def traced(program: list[str | Path], server: str, steps: int, log: Path) -> tuple[int, dict]:
    """System calls of this many steps, without blocking ones; and the program's output."""
    environment = {**os.environ, "SYSCRIPT_BACKEND": "user"}
    *apart, udp = program
    command = [*apart, "strace", "-f", "-c", "-o", log, udp, str(steps), "1", server]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in log.read_text().splitlines()]
    counts = {line[-1]: int(line[3]) for line in lines if len(line) > 4 and line[3].isdigit()}
    ignored = sum(counts.get(name, 0) for name in ("total", "sched_yield", "brk", "mmap"))
    return sum(counts.values()) - ignored, json.loads(done.stdout)


@pytest.mark.parametrize("server", model.FITTED + model.HELD_OUT)
def test_switches_are_those_that_a_step_makes(
    program: list[str | Path], server: str, tmp_path: Path
) -> None:
    few, _ = traced(program, server, 10, tmp_path / "log")
    many, wrote = traced(program, server, 110, tmp_path / "log")
    # Now and then the client polls the socket once more.
    assert (many - few) / 100 - CLIENTS == pytest.approx(16 * wrote["switches"][server], abs=0.4)
