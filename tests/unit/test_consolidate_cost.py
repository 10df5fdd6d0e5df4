# SPDX-License-Identifier: GPL-2.0
"""consolidate says what a script saves, by a cost model, and measures it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT
from cost_model import ITEMS, cost_model
from traces import PYTHON, Writer, run

from consolidate import __main__
from consolidate.cost import model, predict
from consolidate.cost.model import CostModel
from consolidate.errors import ConsolidateError
from consolidate.mine.candidate import Candidate
from consolidate.report import report

GAP = 0.02


@pytest.mark.parametrize("kind", ["files", "single files", "directories", "duplicates"])
def test_replay_does_the_same_both_ways(tmp_path: Path, kind: str) -> None:
    trace = Writer(1)
    for i in range(40):
        if kind != "files":
            trace.noise(1 + i % 4)
        if kind == "directories":
            trace.list_directory(f"/d/{i}", ["a", "b", "c"])
        elif kind == "duplicates":
            # As find has it: the program goes on with two descriptors.
            trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
            trace.call(f"fcntl(5, F_DUPFD_CLOEXEC, {3 + i % 2})", 7)
            trace.call("fstat(5, {st_mode=S_IFREG|0644, st_size=12, ...})", 0)
        else:
            trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    # The program that is run ends with an error if results differ.
    done = run(
        "measure",
        "1",
        path,
        "--here",
        "--backend",
        "user",
        "--rounds",
        "2",
        "--json",
        cache=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["plain_ns"] > 0
    assert found["calls_per_iteration"] == {"directories": 7, "duplicates": 3}.get(kind, 4)


def reported(
    tmp_path: Path, made: CostModel, seconds: float | None = None
) -> tuple[Candidate, predict.Prediction]:
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(3)
    found, _ = report.make([trace.write(tmp_path / "t")], made, 20, GAP, seconds)
    return found.candidates[0], found.predictions[0]


def test_saving_is_what_the_cost_model_says(tmp_path: Path) -> None:
    made = cost_model(
        outer_slow=300, inner_slow=100, script_call=500, field_in=3, field_out=2, batch_item=250
    )
    candidate, prediction = reported(tmp_path, made)
    assert (candidate.calls, candidate.script_calls) == (600, 100)
    cost = predict.iteration_cost(candidate.flow, made, True).middle
    assert prediction.saved.middle == pytest.approx(600 * 200 - 100 * 500 - 300 * cost)


def test_verdict_needs_the_time_without_the_tracer(tmp_path: Path) -> None:
    made = cost_model(outer_slow=300, inner_slow=100, script_call=500)
    _, prediction = reported(tmp_path, made)
    assert prediction.saved.middle > 0
    assert (prediction.share, prediction.verdict) == (None, "")
    saved = prediction.saved.middle * 1e-9
    _, prediction = reported(tmp_path, made, seconds=20 * saved)
    assert prediction.share.middle == pytest.approx(0.05)
    assert prediction.verdict == "yes"
    _, prediction = reported(tmp_path, made, seconds=1000 * saved)
    assert prediction.verdict == "no: too little"


def test_report_says_what_it_does_not_know(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    text = run("report", path, cache=tmp_path).stdout
    assert "as traced" in text
    assert "No cost model" in text
    found = json.loads(run("report", "--json", "--seconds", "0.5", path, cache=tmp_path).stdout)
    assert found["seconds_untraced"] == 0.5
    assert found["candidates"][0]["verdict"] is None
    assert run("report", "--seconds", "0", path).returncode == 1


def test_not_worth_it(tmp_path: Path) -> None:
    _, prediction = reported(tmp_path, cost_model(outer_slow=100, inner_slow=90, script_call=900))
    assert prediction.verdict == "no: a script costs more than it saves"
    assert prediction.saved.middle < 0


def test_cost_models_are_kept_and_bad_ones_refused(tmp_path: Path) -> None:
    done = run("calibrate", "--backend", "user", "--rounds", "2", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "syscript" / "cost-models").glob("*-user.json")
    found = model.load(kept)
    assert found.backend == "user"
    assert found.cost("outer_slow").middle > 0
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    text = run("report", trace.write(tmp_path / "t"), cache=tmp_path).stdout
    assert f"Cost model: {found.title()}" in text
    assert "save none" in text
    kept.write_text("{}")
    with pytest.raises(ConsolidateError, match="is no cost model"):
        model.load(kept)


@pytest.mark.skipif(Path("/dev/syscript").exists(), reason="for machines without the device")
def test_calibrating_fails_with_one_text(tmp_path: Path) -> None:
    done = run("calibrate", "--backend", "kernel", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("there is no /dev/syscript") == 1


def test_cost_model_that_suits_this_machine_best_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert model.load(None) is None
    model.directory().mkdir(parents=True)

    def keep(name: str, kernel: str, backend: str) -> None:
        raw = {"kernel": kernel, "machine": "m", "accel": "none", "backend": backend}
        raw |= {"items": ITEMS, "rounds": [dict.fromkeys(model.NAMES, 1.0)] * 2}
        (model.directory() / name).write_text(json.dumps(raw))

    here = os.uname().release
    keep("4.0-none-user.json", "4.0", "user")
    assert model.load(None).backend == "user"
    keep("4.0-none-kernel.json", "4.0", "kernel")
    assert model.load(None).backend == "kernel"
    keep(f"{here}-none-user.json", here, "user")
    assert (model.load(None).kernel, model.load(None).backend) == (here, "user")
    keep(f"{here}-none-kernel.json", here, "kernel")
    assert (model.load(None).kernel, model.load(None).backend) == (here, "kernel")


LOOP = "for i in 1 2 3 4 5 6 7 8 9; do read -r x </etc/hostname; done; exit 7"


def test_record(tmp_path: Path) -> None:
    path = tmp_path / "t"
    done = run("record", "-o", path, "--", "sh", "-c", LOOP)
    assert done.returncode == 7, done.stderr
    found = json.loads(run("report", "--json", path).stdout)
    assert found["graph"]["calls"]["openat"] >= 9
    assert found["seconds_untraced"] is None
    assert run("record", "-o", path, "--", "no-such-command").returncode == 1


def test_record_takes_the_options_of_a_command_for_what_they_are(tmp_path: Path) -> None:
    done = run("record", "-o", tmp_path / "t", "ls", "-l", "/")
    assert done.returncode == 0, done.stderr
    assert '"-l", "/"' in (tmp_path / "t").read_text()
    assert "name a COMMAND" in run("record", "-o", tmp_path / "t").stderr


def test_record_again_without_the_tracer(tmp_path: Path) -> None:
    path, count = tmp_path / "t", tmp_path / "count"
    command = ["sh", "-c", f"echo x >>{count}; sleep 0.2"]
    assert run("record", "--again", "-o", path, *command).returncode == 0
    assert count.read_text() == "x\nx\n"
    found = json.loads(run("report", "--json", path).stdout)
    assert 0.2 <= found["seconds_untraced"] < 5
    assert found["damaged_lines"] == 0


def test_recorded_processes_have_their_names(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with subprocess.Popen(["sleep", "60"]) as process:
        tracer = subprocess.Popen(
            [PYTHON, "-m", "consolidate", "record", "-o", path, "-p", str(process.pid)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        )
        for _ in range(200):
            if "TracerPid:\t0" not in Path(f"/proc/{process.pid}/status").read_text():
                break
            time.sleep(0.05)
        process.terminate()
        assert tracer.wait(20) == 0
    assert f'"{process.pid}": "sleep"' in path.read_text()


def test_stacks_are_read_and_shown(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.noise(2)
        trace.read_file(f"/d/{i}")
    lines = []
    for line in trace.lines:
        own = "load" if "openat" in line or "read" in line else "other"
        lines += [line, " > /lib/libc.so.6(read+0x10) [0x1]", f" > /bin/program({own}+0x2) [0x3]"]
    path = tmp_path / "t"
    path.write_text("\n".join(lines) + "\n")
    done = run("show", "1", path, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of 20 times from\n      load+0x2 in /bin/program\n" in done.stdout
    assert f"{path}:" in done.stdout
    assert "1 openat(AT_FDCWD, ?, O_RDONLY)" in done.stdout
    assert "libc" not in done.stdout


def test_sample_lines_are_those_of_the_trace(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.noise(i % 3)
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    shown = run("show", "1", path, cache=tmp_path).stdout
    samples = re.findall(rf"{path}:(\d+): (.*)", shown)
    assert len(samples) >= 4
    for number, text in samples:
        assert text in trace.lines[int(number) - 1]
    assert "--stacks" in shown


def test_later_commands_do_not_mine_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    path = str(trace.write(tmp_path / "t"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert __main__.main(["report", path]) == 0
    text = capsys.readouterr().out
    monkeypatch.setattr(report, "make", None)
    for command in (["show", "1"], ["show", "1", path], ["script", "1"]):
        assert __main__.main(command) == 0, command
    assert "openat" in text
    assert "tried" in capsys.readouterr().out.lower()
    # Another trace in its place is another report.
    Path(path).write_text(Path(path).read_text() * 2)
    with pytest.raises(TypeError):
        __main__.main(["show", "1", path])
    # What is kept is the whole report, not a part of it.
    (tmp_path / "syscript" / "last-report.json").write_text("{}")
    assert __main__.main(["show", "1"]) == 1
