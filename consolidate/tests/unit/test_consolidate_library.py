# SPDX-License-Identifier: GPL-2.0
"""consolidate costs and replays the library's own scripts where these fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cost_model import ITEMS, calibrated, cost_model  # noqa: F401
from traces import Writer, run

from consolidate import __main__
from consolidate.cost import library, measure
from consolidate.cost.measure import Place
from consolidate.cost.model import CostModel
from consolidate.cost.predict import Prediction
from consolidate.errors import ConsolidateError
from consolidate.mine.candidate import Candidate
from consolidate.report import report

pytestmark = pytest.mark.usefixtures("calibrated")

GAP = 0.02
BATCH = 50
STAT = "{st_mode=S_IFREG|0644, st_size=12, ...}"

Batch = Callable[[Writer, int], None]


def opened(trace: Writer, i: int, flags: str, *calls: tuple[str, int], path: str = "/d") -> None:
    fd = trace.random.randrange(3, 60)
    trace.call(f'openat(AT_FDCWD, "{path}/{i}", {flags})', fd)
    for text, result in calls:
        trace.call(text.replace("FD", str(fd)), result)


def read_file(trace: Writer, i: int) -> None:
    trace.read_file(f"/d/{i}")


def read_once(trace: Writer, i: int) -> None:
    opened(trace, i, "O_RDONLY", ('read(FD, "text"..., 4096)', 700), ("close(FD)", 0))


def read_in_two_parts(trace: Writer, i: int) -> None:
    calls = ('read(FD, "head"..., 100)', 100), ('read(FD, "text"..., 4096)', 700)
    opened(trace, i, "O_RDONLY", *calls, ("close(FD)", 0))


def write_file(trace: Writer, i: int) -> None:
    flags = "O_WRONLY|O_CREAT|O_TRUNC, 0644"
    opened(trace, i, flags, ('write(FD, "text"..., 700)', 700), ("close(FD)", 0))


def look_into(trace: Writer, i: int) -> None:
    opened(trace, i, "O_RDONLY", (f"fstat(FD, {STAT})", 0), ("close(FD)", 0))


def open_and_keep(trace: Writer, i: int) -> None:
    opened(trace, i, "O_RDONLY", (f'newfstatat(FD, "", {STAT}, AT_EMPTY_PATH)', 0))


def stat_file(trace: Writer, i: int) -> None:
    trace.call(f'newfstatat(AT_FDCWD, "/d/{i}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0)


def serve_file(trace: Writer, i: int) -> None:
    calls = (
        (f"fstat(FD, {STAT})", 0),
        ('sendto(4, "HTTP/1.1 200 OK"..., 80, MSG_MORE, NULL, 0)', 80),
        ("sendfile(4, FD, NULL, 12)", 12),
        ("close(FD)", 0),
    )
    opened(trace, i, "O_RDONLY", *calls)


def list_directory(trace: Writer, i: int) -> None:
    trace.list_directory(f"/d/{i}", ["a", "b", "c"])


def reported(
    tmp_path: Path, one: Batch, made: CostModel | None = None, batch: int = BATCH
) -> tuple[Candidate, Prediction]:
    trace = Writer(3)
    for i in range(4 * BATCH):
        if i % batch == 0:
            trace.time += 1
        one(trace, i)
    found, _ = report.make([trace.write(tmp_path / "t")], made, 20, GAP)
    return found.candidates[0], found.predictions[0]


def saves(script: str, call: float, item: float) -> dict[str, float]:
    """Costs by which a call of the script, and each item in it, has a given saving."""
    return {f"{script}.plain.{size}": n * item - call for size, n in ITEMS.items()}


@pytest.mark.parametrize(
    ("one", "batch", "script"),
    [
        (read_file, BATCH, "read_many"),
        (read_once, BATCH, "read_many"),
        (read_file, 1, "open_read_close"),
        (write_file, BATCH, "open_write_close"),
        (write_file, 1, "open_write_close"),
        (look_into, BATCH, "open_fstat"),
        (open_and_keep, BATCH, "open_fstat"),
        (stat_file, BATCH, "stat_many"),
        (list_directory, BATCH, "readdirplus"),
    ],
)
def test_script_that_fits(tmp_path: Path, one: Batch, batch: int, script: str) -> None:
    candidate, prediction = reported(tmp_path, one, batch=batch)
    assert prediction.script == script
    each = batch == 1 or script == "readdirplus"
    assert prediction.script_calls == (4 * BATCH if each else 4)
    assert candidate.iterations == 4 * BATCH


def read_proc(trace: Writer, i: int) -> None:
    calls = ('read(FD, "text"..., 4096)', 700), ("close(FD)", 0)
    opened(trace, i, "O_RDONLY", *calls, path="/proc")


def read_in_the_middle(trace: Writer, i: int) -> None:
    calls = (f'pread64(FD, "text"..., 4096, {i * 512})', 700), ("close(FD)", 0)
    opened(trace, i, "O_RDONLY", *calls)


def write_and_sync(trace: Writer, i: int) -> None:
    calls = ('write(FD, "text"..., 700)', 700), ("fsync(FD)", 0), ("close(FD)", 0)
    opened(trace, i, "O_WRONLY|O_CREAT|O_TRUNC, 0644", *calls)


def list_with_attributes(trace: Writer, i: int) -> None:
    names = ["a", "b", "c"]
    entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in names)
    calls = [(f"getdents64(FD, [{entries}], 32768)", 72)]
    for name in names:
        calls.append((f'newfstatat(FD, "{name}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0))
        calls.append((f'getxattr("{name}", "user.a", NULL, 0)', 0))
    calls += [("getdents64(FD, [], 32768)", 0), ("close(FD)", 0)]
    opened(trace, i, "O_RDONLY|O_DIRECTORY", *calls)


def in_changing_ways(trace: Writer, i: int) -> None:
    flags = "O_RDONLY" if i % 2 else "O_RDONLY|O_NOFOLLOW"
    opened(trace, i, flags, ('read(FD, "text"..., 4096)', 700), ("close(FD)", 0))


@pytest.mark.parametrize(
    "one", [read_proc, read_in_the_middle, write_and_sync, list_with_attributes, in_changing_ways]
)
def test_script_that_does_less_or_more_is_not_taken(tmp_path: Path, one: Batch) -> None:
    _, prediction = reported(tmp_path, one)
    assert prediction.script is None


def serve_another(trace: Writer, i: int) -> None:
    opened(trace, i, "O_RDONLY", ("sendfile(4, 3, NULL, 12)", 12), ("close(FD)", 0))


@pytest.mark.parametrize(("one", "script"), [(serve_file, "send_file"), (serve_another, None)])
def test_script_that_is_named_but_not_in_the_cost_model(
    tmp_path: Path, one: Batch, script: str | None
) -> None:
    candidate, prediction = reported(tmp_path, one, cost_model(outer_path=9, inner_path=4))
    assert library.script_for(candidate) == script
    assert prediction.script is None
    assert prediction.saved.middle > 0


def test_cost_of_calls_and_items() -> None:
    made = cost_model(**saves("stat_many", 20, 50))
    for calls, items in ((1, 1), (1, 10), (1, 60), (1, 200), (4, 1000), (3, 7)):
        found = made.library("stat_many", calls, items).middle
        assert found == pytest.approx(calls * -20 + items * 50)
    assert made.library("stat_many", 0, 0).middle == 0


def test_cost_between_sizes_is_on_the_line_between_them() -> None:
    sizes = {"stat_many.plain.one": 30, "stat_many.plain.few": 120, "stat_many.plain.many": 3920}
    made = cost_model(**sizes)
    for items, saved in ((1, 30), (4, 60), (10, 120), (105, 2020), (200, 3920), (250, 4920)):
        assert made.library("stat_many", 1, items).middle == pytest.approx(saved)
    # The number of items per call matters.
    assert made.library("stat_many", 50, 200).middle == pytest.approx(50 * 60)


def test_batch_costs_by_its_size(tmp_path: Path) -> None:
    made = cost_model(outer_read=7, **saves("read_many", 20, 50))
    files = 4 * BATCH
    _, prediction = reported(tmp_path, read_once, made)
    assert prediction.saved.middle == pytest.approx(files * 50 - 4 * 20)
    # The read at the end of the file is saved, too.
    _, prediction = reported(tmp_path, read_file, made)
    assert prediction.saved.middle == pytest.approx(files * (50 + 7) - 4 * 20)


def test_fstat_in_its_two_forms(tmp_path: Path) -> None:
    made = cost_model(outer_fstat=10, outer_fstatat=25, **saves("open_fstat", 0, 60))
    _, prediction = reported(tmp_path, look_into, made)
    assert prediction.saved.middle == pytest.approx(4 * BATCH * 60)
    _, prediction = reported(tmp_path, open_and_keep, made)
    assert prediction.saved.middle == pytest.approx(4 * BATCH * (60 + 15))


def test_directories_cost_by_their_entries(tmp_path: Path) -> None:
    made = cost_model(**saves("readdirplus", 20, 50))
    _, prediction = reported(tmp_path, list_directory, made)
    directories = 4 * BATCH
    assert prediction.saved.middle == pytest.approx(directories * (3 * 50 - 20))


def test_files_that_are_missing_save_a_mode_switch(tmp_path: Path) -> None:
    def one(trace: Writer, i: int) -> None:
        trace.missing(f"/d/{i}") if trace.random.random() < 0.2 else read_file(trace, i)

    made = cost_model(outer_path=9, inner_path=4, **saves("read_many", 0, 50))
    candidate, prediction = reported(tmp_path, one, made)
    assert prediction.script == "read_many"
    whole = candidate.whole
    missing = candidate.iterations - whole
    assert missing > 20
    assert prediction.saved.middle == pytest.approx(whole * 50 + missing * 5)


def test_report_says_what_the_saving_is_of(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(80):
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    assert "with read_many.lua" in run("report", path).stdout
    (one,) = json.loads(run("report", "--json", path).stdout)["candidates"]
    assert (one["library"], one["library_script"]) == ("read_many", "read_many")
    trace = Writer(1)
    for i in range(80):
        write_and_sync(trace, i)
    path = trace.write(tmp_path / "t")
    assert "ready: open_write_close.lua" in run("report", path).stdout
    (one,) = json.loads(run("report", "--json", path).stdout)["candidates"]
    assert (one["library"], one["library_script"]) == ("open_write_close", None)


def candidates(tmp_path: Path, *batches: tuple[Batch, int]) -> list[Candidate]:
    found = [reported(tmp_path, one, batch=batch)[0] for one, batch in batches]
    for number, candidate in enumerate(found, 1):
        candidate.number = number
    return found


# Few rounds: they check results, not times.
HERE = Place("user", None, rounds=2)


def test_library_comes_to_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = candidates(
        tmp_path,
        (read_file, BATCH),
        (read_once, 1),
        (read_in_two_parts, BATCH),
        (write_file, BATCH),
        (look_into, BATCH),
        (open_and_keep, BATCH),
        (stat_file, BATCH),
        (list_directory, BATCH),
    )
    # The measuring programs fail if results differ.
    done = measure.measure(found, "t", HERE)
    names = ["read_many", "open_read_close", "read_many", "open_write_close"]
    names += ["open_fstat", "open_fstat", "stat_many", "readdirplus"]
    assert [one.name for one in done] == names
    assert all(one.plain > 0 and one.script > 0 for one in done)
    assert [one.calls for one in done] == [4, 3, 4, 3, 3, 2, 1, 7]
    measure.show(done[0])
    assert "read_many.lua" in capsys.readouterr().out


def test_written_script_can_be_measured_instead(tmp_path: Path) -> None:
    found = candidates(tmp_path, (read_file, BATCH), (open_and_keep, BATCH))
    done = measure.measure(found, "t", HERE, written=True)
    assert [one.name for one in done] == [None, None]


def test_measure_takes_the_written_script_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reported(tmp_path, stat_file)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options = ("--here", "--backend", "user", "--written", "--rounds", "2", "--json")
    assert __main__.main(["measure", "1", str(tmp_path / "t"), *options]) == 0
    assert json.loads(capsys.readouterr().out)["library"] is None


def test_what_cannot_be_done_twice_is_not_replayed(tmp_path: Path) -> None:
    def create(trace: Writer, i: int) -> None:
        calls = ('write(FD, "text"..., 700)', 700), ("close(FD)", 0)
        opened(trace, i, "O_WRONLY|O_CREAT|O_EXCL, 0644", *calls)

    with pytest.raises(ConsolidateError, match="must not be there yet"):
        measure.measure(candidates(tmp_path, (create, BATCH)), "t", HERE)


def test_replay_that_comes_to_something_else_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(library.BY_NAME["stat_many"], call="files[0].result = 1")
    monkeypatch.setitem(library.BY_NAME, "stat_many", wrong)
    with pytest.raises(ConsolidateError, match="item 0, result 0: 1 by the script, 0 by"):
        measure.measure(candidates(tmp_path, (stat_file, BATCH)), "t", HERE)


def test_other_errors_than_in_the_trace(tmp_path: Path) -> None:
    """A script that stops at an error which the trace lacks is not compared."""

    def attributes(trace: Writer, i: int) -> None:
        trace.call(f'newfstatat(AT_FDCWD, "/d/{i}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0)
        for name in ("one", "two"):
            trace.call(f'lgetxattr("/d/{i}", "user.{name}", NULL, 0)', "-1 ELOOP (Too many)")

    with pytest.raises(ConsolidateError, match=r"returned -\d+ \(.*\), not what it did in"):
        measure.measure(candidates(tmp_path, (attributes, BATCH)), "t", HERE)
