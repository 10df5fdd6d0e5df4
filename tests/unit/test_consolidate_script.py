# SPDX-License-Identifier: GPL-2.0
"""consolidate writes scripts that do what the traced calls did, and prices them."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BUILD
from library import Options
from prices_made_up import price_list
from traces import Writer, run

from consolidate import predict, prices, report, write
from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.prices import PriceList

GAP = 0.02
USER = 2  # SYSCRIPT_BACKEND_USER


def candidates(path: Path) -> list[Candidate]:
    return report.make([path], None, 20, GAP).candidates


@pytest.fixture
def call() -> Callable[..., list[int]]:
    """call(script, *args): its results, in the user backend."""
    so = ctypes.CDLL(str(BUILD / "libsyscript.so"))

    def calling(script: str, *args: int) -> list[int]:
        error = ctypes.create_string_buffer(512)
        options = Options(size=ctypes.sizeof(Options), backend=USER)
        source = script.encode()
        fd = so.syscript_register(source, len(source), ctypes.byref(options), error, 512)
        assert fd >= 0, error.value
        results = (ctypes.c_int64 * 8)()
        count = so.syscript_call(fd, len(args), (ctypes.c_int64 * 8)(*args), 8, results)
        so.syscript_error(fd, error, 512)
        so.syscript_close(fd)
        assert count >= 0, error.value
        return list(results[:count])

    return calling


def address(buffer) -> int:
    return ctypes.addressof(buffer)


def test_batch_reads_the_files_and_goes_on_behind_those_that_are_missing(
    tmp_path: Path, call: Callable
) -> None:
    trace = Writer(4)
    for i in range(60):
        trace.missing(f"/d/{i}") if i % 7 == 3 else trace.read_file(f"/d/{i}", size=700 + i)
    (one,) = candidates(trace.write(tmp_path / "t"))
    script, _, plan = write.script(one, "t")
    assert [param.name for param in plan.scope("item")] == ["path", "buf", "room"]

    texts = {f"file{i}": os.urandom(1 + 900 * i) for i in range(5)}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    names = [*texts, "missing", *texts]
    paths = [ctypes.create_string_buffer(str(tmp_path / name).encode()) for name in names]
    buffers = [ctypes.create_string_buffer(8192) for _ in names]
    width = 3 + len(plan.results)
    items = (ctypes.c_int64 * (width * len(names)))()
    for i in range(len(names)):
        items[i * width : i * width + 3] = [address(paths[i]), address(buffers[i]), 8192]
    opened = len(list(Path("/proc/self/fd").iterdir()))
    assert call(script, address(items), len(names)) == [len(names), 0]
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    for i, name in enumerate(names):
        first, got = items[i * width + 3 : i * width + 5]
        if name == "missing":
            assert first == -2
        else:
            assert first >= 0
            assert got == len(texts[name])
            assert buffers[i].raw[:got] == texts[name]


def test_batch_stops_at_a_failure_that_the_program_never_met(
    tmp_path: Path, call: Callable
) -> None:
    trace = Writer(4)
    for i in range(60):
        trace.read_file(f"/d/{i}", size=700 + i)
    (one,) = candidates(trace.write(tmp_path / "t"))
    script, _, plan = write.script(one, "t")
    (tmp_path / "there").write_bytes(b"text")
    paths = [
        ctypes.create_string_buffer(str(tmp_path / name).encode())
        for name in ("there", "missing", "there")
    ]
    buffer = ctypes.create_string_buffer(64)
    width = 3 + len(plan.results)
    items = (ctypes.c_int64 * (width * 3))()
    for i, path in enumerate(paths):
        items[i * width : i * width + 3] = [address(path), address(buffer), 64]
    assert call(script, address(items), 3) == [1, 1]
    assert items[width + 3] == -2
    assert list(items[2 * width + 3 :]) == [0] * (width - 3)

    # What is open when a later step fails is closed, as the program always did.
    directory = ctypes.create_string_buffer(str(tmp_path).encode())
    items[width] = address(directory)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    assert call(script, address(items), 3) == [1, 2]
    assert items[width + 4] == -21  # EISDIR
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_listing_gets_what_the_calls_get(tmp_path: Path, call: Callable) -> None:
    trace = Writer(2)
    for i in range(40):
        trace.noise(1 + i % 3)
        trace.list_directory(f"/d/{i}", [f"f{k}" for k in range(i % 5 + 1)])
    (one,) = candidates(trace.write(tmp_path / "t"))
    script, _, plan = write.script(one, "t")
    names = [param.name for param in plan.params]
    assert names == ["path", "entries", "stat", "room", "most", "codes"]

    directory = tmp_path / "listed"
    directory.mkdir()
    for i in range(300):
        (directory / f"name{i}").write_bytes(b"x" * i)
    path = ctypes.create_string_buffer(str(directory).encode())
    entries = ctypes.create_string_buffer(1 << 16)
    stats = ctypes.create_string_buffer(144 * 300)
    codes = (ctypes.c_int32 * 300)(*[7] * 300)
    args = [address(path), address(entries), address(stats), 1 << 16, 300, address(codes)]
    file, listed, done = call(script, *args)
    assert file >= 0
    assert done == 300
    assert set(codes) == {0}
    sizes = [int.from_bytes(stats.raw[i * 144 + 48 : i * 144 + 56], "little") for i in range(300)]
    assert sorted(sizes) == list(range(300))
    assert entries.raw[:listed].count(b"name") == 300

    (directory / "one more").touch()
    assert call(script, *args)[-1] == -105  # ENOBUFS: it says that there was more


def test_parameters_do_not_hide_calls(tmp_path: Path, call: Callable) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.call(f'stat("/d/{i}", {{st_mode=S_IFREG|0644, ...}})', 0)
    (one,) = candidates(trace.write(tmp_path / "t"))
    script, _, _ = write.script(one, "t")
    path = ctypes.create_string_buffer(str(tmp_path).encode())
    buffer = ctypes.create_string_buffer(144)
    items = (ctypes.c_int64 * 3)(address(path), address(buffer), 7)
    assert call(script, address(items), 1) == [1, 0]
    assert items[2] == 0
    assert int.from_bytes(buffer.raw[8:16], "little") == tmp_path.stat().st_ino


def test_copy_loop_passes_the_data_on(tmp_path: Path) -> None:
    trace = Writer(6)
    for _ in range(20):
        trace.noise(2)
        trace.copy(6)
    (one,) = candidates(trace.write(tmp_path / "t"))
    script, _, _ = write.script(one, "t")
    got = next(line for line in script.splitlines() if "= read(" in line).split("=")[0].strip()
    assert f", {got})" in next(line for line in script.splitlines() if "= write(" in line)


@pytest.mark.parametrize("kind", ["files", "single files", "directories"])
def test_replay_does_the_same_both_ways(tmp_path: Path, kind: str) -> None:
    trace = Writer(1)
    for i in range(40):
        if kind != "files":
            trace.noise(1 + i % 4)
        if kind == "directories":
            trace.list_directory(f"/d/{i}", ["a", "b", "c"])
        else:
            trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    # The program that is run ends with an error if results differ.
    done = run("measure", "1", path, "--here", "--backend", "user", "--json", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["plain_ns"] > 0
    assert found["calls_per_iteration"] == (7 if kind == "directories" else 4)


def test_script_is_numbered_by_the_last_report(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    done = run("script", "1", cache=tmp_path)
    assert done.returncode == 1
    assert "consolidate report" in done.stderr
    assert run("report", trace.write(tmp_path / "t"), cache=tmp_path).returncode == 0
    done = run("script", "1", cache=tmp_path)
    assert done.returncode == 0
    assert "function run(items, n" in done.stdout
    assert "syscript_call(script, 2, args" in done.stdout
    done = run("script", "9", cache=tmp_path)
    assert done.returncode == 1
    assert "there is no candidate 9" in done.stderr


def reported(tmp_path: Path, made: PriceList) -> tuple[Candidate, predict.Prediction]:
    trace = Writer(1)
    for i in range(100):
        trace.noise(1 + i % 4)
        trace.copy(4)
    found = report.make([trace.write(tmp_path / "t")], made, 20, GAP)
    return found.candidates[0], found.predictions[0]


def test_saving_is_what_the_prices_say(tmp_path: Path) -> None:
    made = price_list(
        outer_slow=300, inner_slow=100, script_call=500, field_in=3, field_out=2, batch_item=250
    )
    candidate, prediction = reported(tmp_path, made)
    assert (candidate.calls, candidate.script_calls()) == (800, 100)
    cost = predict.iteration_cost(candidate.flow, made, True).middle
    assert prediction.saved.middle == pytest.approx(800 * 200 - 100 * 500 - 400 * cost)
    assert prediction.verdict == "worth it"
    rate = prediction.saved.middle / predict.clock(report.trace.read([tmp_path / "t"])).untraced
    assert prediction.per_second.middle == pytest.approx(rate)
    assert prediction.per_hour().middle == pytest.approx(rate * 3600e-9)


def test_not_worth_it(tmp_path: Path) -> None:
    _, prediction = reported(tmp_path, price_list(outer_slow=100, inner_slow=90, script_call=900))
    assert prediction.verdict.startswith("not worth it")
    assert prediction.saved.middle < 0


def test_prices_are_kept_and_bad_ones_refused(tmp_path: Path) -> None:
    done = run("prices", "--backend", "user", "--rounds", "2", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "syscript" / "prices").glob("*-user.json")
    found = prices.load(kept)
    assert found.backend == "user"
    assert found.price("outer_slow").middle > 0
    kept.write_text("{}")
    with pytest.raises(ConsolidateError, match="no list of prices"):
        prices.load(kept)


def test_record(tmp_path: Path) -> None:
    path = tmp_path / "t"
    loop = "for i in 1 2 3 4 5 6 7 8 9; do read -r x </etc/hostname; done; exit 7"
    done = run("record", "-o", path, "--", "sh", "-c", loop)
    assert done.returncode == 7, done.stderr
    done = run("report", "--json", path)
    opens = json.loads(done.stdout)["graph"]["calls"]["openat"]
    assert opens >= 9
    assert run("record", "-o", path, "--", "no-such-command").returncode == 1
