# SPDX-License-Identifier: GPL-2.0
"""consolidate predicts what a script saves, by a cost model, and measures it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from cost_model import ITEMS, calibrated, cost_model  # noqa: F401
from traces import PYTHON, Writer, run

from consolidate import __main__
from consolidate.cost import default_costs, model, predict
from consolidate.cost.model import CostModel
from consolidate.errors import ConsolidateError
from consolidate.mine.candidate import Candidate
from consolidate.report import encode, report
from consolidate.trace import copied, strace

GAP = 0.02


@pytest.mark.parametrize("kind", ["files", "single files", "directories", "duplicates"])
@pytest.mark.usefixtures("calibrated")
def test_replay_does_the_same_both_ways(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = Writer(1)
    for i in range(40):
        if kind != "files":
            trace.noise(1 + i % 4)
        if kind == "directories":
            trace.list_directory(f"/d/{i}", ["a", "b", "c"])
        elif kind == "duplicates":
            # As with find: the program continues with two descriptors.
            trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
            trace.call(f"fcntl(5, F_DUPFD_CLOEXEC, {3 + i % 2})", 7)
            trace.call("fstat(5, {st_mode=S_IFREG|0644, st_size=12, ...})", 0)
        else:
            trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    # The measuring program fails if results differ.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options = ("--here", "--backend", "user", "--rounds", "2", "--json")
    assert __main__.main(["measure", "1", str(path), *options]) == 0
    found = json.loads(capsys.readouterr().out)
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
    assert "The time without the tracer is unknown" in text
    found = json.loads(run("report", "--json", "--seconds", "0.5", path, cache=tmp_path).stdout)
    assert found["seconds_untraced"] == 0.5
    assert run("report", "--seconds", "0", path).returncode == 1


@pytest.mark.parametrize(
    ("text", "bytes_copied"),
    [
        ('read(3, "ab"..., 4096) = 700', 700),
        ('write(1, "/d/x", 4) = 4', 4),
        ('openat(AT_FDCWD, "/d/x", O_RDONLY) = 3', 5),
        ('openat(AT_FDCWD, "/d/x", O_RDONLY) = -1 ENOENT (No such file)', 5),
        ('newfstatat(3, "x", {st_mode=S_IFREG|0644}, 0) = 0', 2 + 144),
        ('newfstatat(3, "x", 0x7ffc, 0) = -1 ENOENT (No such file)', 2),
        ('rename("/a", "/bc") = 0', 3 + 4),
        ("sendfile(4, 3, NULL, 65536) = 65536", 0),
        ("epoll_wait(5, [{events=EPOLLIN, data={u32=7}}], 64, -1) = 2", 24),
        ("poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN}], 2, 9) = 1", 32),
        ("getpid() = 9", 0),
    ],
)
def test_bytes_that_a_call_copies(text: str, bytes_copied: int) -> None:
    assert copied.of_call(strace.parse(f"{text}\n").call) == bytes_copied


def together(trace: Writer, place: Path, made: CostModel | None = None) -> dict:
    path = trace.write(place / "t")
    found, read = report.make([path], made, 20, GAP, None)
    return encode.as_json(found, read)


def test_listings_with_attributes_copy_less(tmp_path: Path) -> None:
    trace = Writer(1)
    names = [f"name{i:04}" for i in range(10)]
    for i in range(40):
        trace.noise(1 + i % 4)
        trace.list_directory(f"/d/{i:02}", names)
    found = together(trace, tmp_path)
    (one,) = found["candidates"]
    assert one["library_script"] == "readdirplus"
    # Paths, the listing, and each entry's name and attributes; then paths and records.
    noise = found["bytes_copied"] - one["bytes_copied"]
    assert one["bytes_copied"] == 40 * (6 + 24 * 10 + 10 * (9 + 144))
    assert one["script_bytes_copied"] == 40 * (6 + 10 * (9 + 152))
    assert found["with_scripts"]["copied"] == noise + one["script_bytes_copied"]
    shown = run("report", tmp_path / "t", cache=tmp_path).stdout
    assert "71 KB would be 64.6 KB" in run("show", "1", cache=tmp_path).stdout.replace(
        " copied between user and kernel space", ""
    )
    assert f"All together: {found['calls']} calls would be" in shown


def test_written_scripts_copy_their_fields_as_well(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(3)
    (one,) = together(trace, tmp_path)["candidates"]
    assert one["library_script"] is None
    assert one["script_bytes_copied"] > one["bytes_copied"] + 600 * 8


def test_seconds_an_hour_are_of_the_scripts_that_save(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(3)
    assert together(trace, tmp_path)["with_scripts"]["seconds_an_hour"] is None
    saves = cost_model(outer_slow=300, inner_slow=100, script_call=500)
    found = together(trace, tmp_path, saves)
    saved = found["candidates"][0]["saved_ns"]["middle"]
    hourly = saved * 1e-9 * 3600 / found["seconds"]
    assert found["with_scripts"]["seconds_an_hour"] == pytest.approx(hourly)
    assert found["with_scripts"]["calls"] == found["calls"] - 500
    # Nothing that costs more than it saves counts.
    costs = cost_model(outer_slow=100, inner_slow=90, script_call=900)
    found = together(trace, tmp_path, costs)
    assert found["with_scripts"] == {
        "calls": found["calls"],
        "copied": found["bytes_copied"],
        "seconds_an_hour": 0,
    }


def test_verdict_without_calibration(tmp_path: Path) -> None:
    kernel, user = default_costs.load("kernel"), default_costs.load("user")
    counts = json.loads(default_costs.COUNTED.read_text())["instructions"]
    assert kernel.cost("inner_slow").middle == pytest.approx(
        default_costs.INSTRUCTION * counts["kernel"]["inner_slow"]
    )
    assert user.cost("inner_slow").middle == pytest.approx(
        default_costs.INSTRUCTION * counts["user"]["inner_slow"] + default_costs.SWITCH
    )
    assert kernel.cost("outer_slow").low < kernel.cost("outer_slow").middle
    # In the kernel a call costs less than outside, in the process more.
    assert kernel.joined("read").low > 0 > user.joined("read").high
    _, prediction = reported(tmp_path, kernel, seconds=0.001)
    assert prediction.share is not None and prediction.verdict
    _, prediction = reported(tmp_path, user, seconds=0.001)
    assert prediction.verdict == "no: a script costs more than it saves"


def test_shipped_model_is_used_until_one_is_kept(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(400):
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    for backend in ("kernel", "user"):
        command = ["report", "--json", "--backend", backend, "--seconds", "0.01", path]
        made = json.loads(run(*command, cache=tmp_path).stdout)
        assert made["cost_model"].startswith("modelled for ")
        assert f"{backend} backend" in made["cost_model"]
        assert made["candidates"][0]["verdict"]
    kept = tmp_path / "syscript" / "cost-models" / "1-none-user.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    items = {"one": 1, "few": 10, "many": 200}
    raw = {"kernel": "1", "machine": "m", "accel": "none", "backend": "user", "items": items}
    kept.write_text(json.dumps({**raw, "rounds": [dict.fromkeys(model.NAMES, 7.0)] * 3}))
    made = json.loads(run("report", "--json", path, cache=tmp_path).stdout)
    assert made["cost_model"] == "Linux 1, none, m, user backend"


def test_reports_are_the_same_each_time(tmp_path: Path) -> None:
    """Reports measure nothing, so they are deterministic."""
    trace = Writer(1)
    for i in range(40):
        trace.noise(i % 3)
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    command = ["report", "--json", "--seconds", "0.01", path]
    made = {run(*command, cache=tmp_path / str(i)).stdout for i in range(2)}
    assert len(made) == 1


def test_no_share_is_more_than_the_program_takes(tmp_path: Path) -> None:
    """A cost model of a slower machine than the one that recorded the times."""
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(3)
    path = trace.write(tmp_path / "t")
    costs = cost_model(outer_slow=3000, inner_slow=100, script_call=500)

    def prediction(seconds: float) -> predict.Prediction:
        return report.make([path], costs, 20, GAP, seconds)[0].predictions[0]

    saved = prediction(1.0).saved.middle / 1e9
    assert prediction(saved * 0.9).share is None
    assert prediction(saved * 0.9).verdict == predict.MISFIT
    assert prediction(saved * 1.1).share.high <= 1
    made, _ = report.make([path], costs, 20, GAP, saved * 0.9)
    assert made.together.seconds_an_hour is None


def test_names_stay_when_numbers_change(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(3)
        trace.noise(2)
        trace.call(f'mkdir("/d/{i}", 0777)', 0)
        trace.call(f'rename("/d/{i}", "/e/{i}")', 0)
    path = trace.write(tmp_path / "t")

    def numbered(costs: CostModel) -> dict[str, int]:
        made, _ = report.make([path], costs, 20, GAP)
        return {one.name: one.number for one in made.candidates}

    reads = numbered(cost_model(outer_slow=900, inner_slow=100))
    paths = numbered(cost_model(outer_path=99000, inner_path=100))
    assert set(reads) == set(paths)
    assert reads != paths
    for name in reads:
        shown = run("show", name, path, cache=tmp_path).stdout
        assert name in shown.splitlines()[0]
    table = run("report", path).stdout
    assert all(re.search(rf"^ *\d+ +{name} ", table, re.M) for name in reads)


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
    assert "save no mode switches" in text
    kept.write_text("{}")
    with pytest.raises(ConsolidateError, match="is no cost model"):
        model.load(kept)


@pytest.mark.skipif(Path("/dev/syscript").exists(), reason="for machines without the device")
def test_calibrating_fails_with_one_text(tmp_path: Path) -> None:
    done = run("calibrate", "--backend", "kernel", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("there is no /dev/syscript:") == 1


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


def test_record_again_counts_no_time_of_others(tmp_path: Path) -> None:
    """A loop of fixed work, beside three others on its CPU, takes as long as alone."""
    path, cpu = tmp_path / "t", min(os.sched_getaffinity(0))
    work = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.15: pass"]
    loop = ["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]
    others = [subprocess.Popen(loop) for _ in range(3)]
    try:
        command = ["taskset", "-c", str(cpu), *work]
        assert run("record", "--again", "-o", path, *command).returncode == 0
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert 0.15 <= json.loads(run("report", "--json", path).stdout)["seconds_untraced"] < 0.5


def test_record_where_ended_processes_leave_nothing(tmp_path: Path) -> None:
    """A parent's ignored SIGCHLD is inherited: the kernel then keeps no status of a child."""
    code = (
        "import signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "from consolidate.trace.signals import run_with_terminal;"
        "sys.exit(run_with_terminal(['true']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_record_again_gives_the_same_input(tmp_path: Path) -> None:
    path, seen = tmp_path / "t", tmp_path / "seen"
    path.write_text("before\none\ntwo\n")
    with path.open() as file:
        file.seek(len("before\n"))
        command = ["sh", "-c", f"cat >>{seen}"]
        run("record", "--again", "-o", tmp_path / "trace", *command, stdin=file)
    assert seen.read_text() == "one\ntwo\n" * 2


def test_record_again_not_on_a_pipe_that_is_read(tmp_path: Path) -> None:
    for command, again in ((["cat"], False), (["sh", "-c", ": | cat"], True)):
        with subprocess.Popen(["echo", "word"], stdout=subprocess.PIPE, text=True) as input_of:
            done = run("record", "--again", "-o", tmp_path / "t", *command, stdin=input_of.stdout)
        assert done.returncode == 0
        assert ("a pipe" not in done.stderr) == again
        assert ('"seconds"' in (tmp_path / "t").read_text()) == again


def test_record_again_keeps_no_time_of_what_ends_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "t"
    done = run("record", "--again", "-o", path, "mkdir", tmp_path / "made")
    assert done.returncode == 0
    assert "status 0, without the tracer with 1" in done.stderr
    assert json.loads(run("report", "--json", path).stdout)["seconds_untraced"] is None


def test_record_again_not_after_an_end_from_outside(tmp_path: Path) -> None:
    path, count = tmp_path / "t", tmp_path / "count"
    command = ["sh", "-c", f"echo x >>{count}; kill -INT $$"]
    done = run("record", "--again", "-o", path, *command)
    assert done.returncode == 128 + signal.SIGINT
    assert "not run again" in done.stderr
    assert count.read_text() == "x\n"


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
    told = capsys.readouterr()
    assert "tried" in told.out.lower()
    assert told.err == f"consolidate: from the last report, of {path}\n" * 2
    # A changed trace under the same name makes a new report.
    Path(path).write_text(Path(path).read_text() * 2)
    with pytest.raises(TypeError):
        __main__.main(["show", "1", path])
    # The whole report is kept, not a part of it.
    (tmp_path / "syscript" / "last-report.json").write_text("{}")
    assert __main__.main(["show", "1"]) == 1
