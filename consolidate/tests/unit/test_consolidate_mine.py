# SPDX-License-Identifier: GPL-2.0
"""consolidate finds the planted sequences, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from traces import NOISE, Writer, run

from consolidate import calltable
from consolidate.mine import encoded_trace
from consolidate.mine.candidate import sequence
from consolidate.report import report
from consolidate.trace import reader

GAP = 0.02
SEEDS = range(8)


def found(path: Path, most: int = 20) -> report.Report:
    return report.make([path], None, most, GAP)[0]


def sequences(path: Path) -> list[str]:
    return [sequence(candidate) for candidate in found(path).candidates]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_in_noise(tmp_path: Path, seed: int) -> None:
    trace = Writer(seed)
    trace.noise(4000)
    assert sequences(trace.write(tmp_path / "t")) == []


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("length", [3, 4, 6, 11])
def test_planted_sequence_of_any_length(tmp_path: Path, seed: int, length: int) -> None:
    trace = Writer(seed)
    planted = [trace.random.choice(NOISE) for _ in range(length)]
    # Two equal sequences in a row could also be one, repeated.
    planted = [name for i, name in enumerate(planted) if i == 0 or planted[i - 1] != name]
    for _ in range(60):
        trace.noise(trace.random.randrange(5, 30))
        trace.named(planted)
    (only,) = found(trace.write(tmp_path / "t")).candidates
    assert [step.name for step in only.flow.steps] == planted
    assert only.iterations >= 60


@pytest.mark.parametrize("seed", SEEDS)
def test_several_planted_with_data_in_several_threads(tmp_path: Path, seed: int) -> None:
    trace = Writer(seed)
    for i in range(150):
        tid = trace.random.choice([100, 101, 102])
        trace.noise(trace.random.randrange(4), tid)
        kind = trace.random.randrange(3)
        if kind == 0:
            trace.read_file(f"/data/{i}", tid)
        elif kind == 1:
            trace.list_directory(f"/data/{i}", [f"f{k}" for k in range(i % 7 + 1)], tid)
        else:
            trace.copy(trace.random.randrange(2, 4), tid)
    candidates = sequences(trace.write(tmp_path / "t"))
    assert sorted(text.strip("[]*") for text in candidates) == [
        "openat getdents64 newfstatat+ getdents64:none close",
        "openat read read:none close",
        "read write",
    ]


def test_loop_is_a_body_with_a_count(tmp_path: Path) -> None:
    trace = Writer()
    for i in range(50):
        trace.read_file(f"/data/{i}")
    (only,) = found(trace.write(tmp_path / "t")).candidates
    assert sequence(only) == "[openat read read:none close]*"
    assert only.iterations == 50
    assert only.calls == 200
    assert only.script_calls == 1


def test_failures_are_branches_of_the_loop(tmp_path: Path) -> None:
    trace = Writer(3)
    missing = 0
    for i in range(80):
        if trace.random.random() < 0.2:
            trace.missing(f"/data/{i}")
            missing += 1
        else:
            trace.read_file(f"/data/{i}")
    report_json = run("report", "--json", trace.write(tmp_path / "t"))
    (only,) = json.loads(report_json.stdout)["candidates"]
    assert only["sequence"] == "[openat read read:none close]*"
    # Leaving at the very end is not a branch: no call follows.
    assert missing - 2 <= only["left_early"] <= missing
    assert only["runs"] == 1


def test_program_that_does_only_one_thing(tmp_path: Path) -> None:
    trace = Writer()
    for i in range(200):
        trace.call(f'newfstatat(AT_FDCWD, "/d/{i}", {{st_mode=S_IFREG|0644, ...}}, 0)', 0)
    assert sequences(trace.write(tmp_path / "t")) == ["[newfstatat]*"]


def test_empty_files_are_of_the_loop(tmp_path: Path) -> None:
    trace = Writer(5)
    for i in range(80):
        if trace.random.random() < 0.3:
            trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 9)
            trace.call('read(9, "", 4096)', 0)
            trace.call("close(9)", 0)
        else:
            trace.read_file(f"/d/{i}")
    (only,) = found(trace.write(tmp_path / "t")).candidates
    assert sequence(only) == "[openat read+ read:none close]*"
    assert (only.iterations, only.runs) == (80, 1)


def test_what_no_data_holds_together_is_cut(tmp_path: Path) -> None:
    trace = Writer(5)
    for i in range(60):
        trace.list_directory(f"/d/{i}", ["a", "b", "c"])
        trace.read_file(f"/e/{i}")
    assert sorted(sequences(trace.write(tmp_path / "t"))) == [
        "openat getdents64 newfstatat+ getdents64:none close",
        "openat read read:none close",
    ]


def test_data_is_followed(tmp_path: Path) -> None:
    trace = Writer()
    for i in range(30):
        trace.noise(3)
        trace.list_directory(f"/data/{i}", ["a", "b", "c"])
        trace.noise(2)
        trace.copy(3)
    done = run("report", "--json", trace.write(tmp_path / "t"))
    candidates = {
        one["sequence"].strip("[]*"): one for one in json.loads(done.stdout)["candidates"]
    }
    listing = candidates["openat getdents64 newfstatat+ getdents64:none close"]["steps"]
    assert listing[1]["arguments"][0] == {"from": "result", "step": 0}
    assert listing[2]["repeat"] == "names"
    assert listing[2]["arguments"][1] == {"from": "name", "step": 1}
    copied = candidates["read write"]["steps"][1]["arguments"]
    assert copied[1] == {"from": "shared", "step": 0}
    assert copied[2] == {"from": "result", "step": 0}


def test_descriptors_of_others_are_not_taken_for_the_opened_one(tmp_path: Path) -> None:
    trace = Writer()
    for i in range(60):
        trace.call(f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 40)
        trace.call(f'read({trace.random.randrange(3, 30)}, "x"..., 10)', 10)
        trace.noise(3)
    for candidate in found(trace.write(tmp_path / "t")).candidates:
        assert not candidate.flow.links


@pytest.mark.parametrize(
    "between",
    [
        ("futex(0x55, FUTEX_WAIT_PRIVATE, 2, NULL)", "0"),
        ('execve("/bin/true", ["true"], 0x1)', "0"),
        ("clone(child_stack=NULL, flags=SIGCHLD)", "-1 EAGAIN (Resource temporarily unavailable)"),
    ],
)
def test_what_no_script_can_join_ends_a_sequence(tmp_path: Path, between: tuple) -> None:
    trace = Writer()
    for i in range(40):
        trace.call("getpid()", 100)
        trace.call(*between)
        trace.call("getuid()", 1000)
        trace.noise(3 + i % 3)
    assert all("getpid getuid" not in text for text in sequences(trace.write(tmp_path / "t")))


def test_calls_left_out_come_from_the_table(tmp_path: Path) -> None:
    assert calltable.why_not("openat") is None
    assert "memory map" in calltable.why_not("execve")
    assert calltable.why_not("no_such_call")
    assert calltable.is_fast("getpid")
    assert not calltable.is_fast("close")


def test_signals_and_pauses_end_a_sequence(tmp_path: Path) -> None:
    trace = Writer()
    for _ in range(30):
        trace.call("getpid()", 100)
        trace.time += 1
        trace.call("getuid()", 1000)
        trace.lines.append("100 --- SIGALRM {si_signo=SIGALRM} ---")
    assert sequences(trace.write(tmp_path / "t")) == []


@pytest.mark.parametrize(
    ("every", "pause", "stretches"),
    [(40, 0.05, 1), (40, 0.5, 5), (10, 0.05, 20)],
    ids=["others had the CPU", "too long for that", "the program computes"],
)
def test_rare_pauses_end_no_sequence(
    tmp_path: Path, every: int, pause: float, stretches: int
) -> None:
    trace = Writer()
    for i in range(200):
        trace.read_file(f"/d/{i}")
        if i % every == every - 1:
            trace.time += pause
    tape = encoded_trace.cut(reader.read([trace.write(tmp_path / "t")]))
    assert tape.text.count(encoded_trace.END) == stretches


def test_the_allocators_calls_are_looked_through(tmp_path: Path) -> None:
    trace = Writer(5)
    for i in range(60):
        trace.call(f'openat(AT_FDCWD, "/data/{i}", O_RDONLY)', 7)
        if trace.random.random() < 0.3:
            trace.call(f"brk({hex(0x55000000 + i * 4096)})", hex(0x55000000 + i * 4096))
        trace.call(f'read(7, "{i}"..., 4096)', 700 + i)
        trace.call("close(7)", 0)
    assert sequences(trace.write(tmp_path / "t")) == ["[openat read close]*"]


def test_savings_do_not_overlap(tmp_path: Path) -> None:
    trace = Writer(9)
    for i in range(200):
        trace.noise(trace.random.randrange(3))
        trace.read_file(f"/d/{i}")
    done = found(trace.write(tmp_path / "t"))
    assert sum(candidate.calls for candidate in done.candidates) <= done.calls


def test_graph(tmp_path: Path) -> None:
    trace = Writer()
    for i in range(20):
        trace.read_file(f"/d/{i}", tid=100 + i % 2)
    path = trace.write(tmp_path / "t")
    done = json.loads(run("report", "--json", path, "--svg", tmp_path / "g.svg").stdout)
    edges = {(edge["from"], edge["to"]): edge["count"] for edge in done["graph"]["edges"]}
    assert edges["openat", "read"] == 20
    assert edges["read", "read"] == 20
    # Successive calls within a thread, not across threads.
    assert edges["close", "openat"] == 18
    assert len(done["processes"]) == 2
    svg = (tmp_path / "g.svg").read_text()
    assert "<svg" in svg
    widths = {float(part.split('"')[0]) for part in svg.split('stroke-width="')[1:]}
    assert len(widths) > 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_traces_never_end_in_a_traceback(tmp_path: Path, seed: int) -> None:
    trace = Writer(seed)
    for i in range(60):
        trace.list_directory(f"/d/{i}", ["a", "b"])
        trace.read_file(f"/d/{i}")
        trace.copy(3)
    raw = bytearray("\n".join(trace.lines).encode())
    for _ in range(60):
        at = trace.random.randrange(len(raw))
        kind = trace.random.randrange(3)
        if kind == 0:
            raw[at] = trace.random.randrange(256)
        elif kind == 1:
            del raw[at : at + trace.random.randrange(200)]
        else:
            raw[at:at] = raw[at : at + trace.random.randrange(100)][::-1]
    path = tmp_path / "t"
    path.write_bytes(bytes(raw))
    done = found(path)
    assert done.damaged
    # Other sequences are still found.
    assert sum(candidate.calls for candidate in done.candidates) > done.calls / 3


def test_rare_among_many_is_found(tmp_path: Path) -> None:
    trace = Writer(2)
    for i in range(1800):
        trace.noise(2)
        trace.read_file(f"/d/{i}")
        if i % 45 == 0:
            trace.list_directory(f"/d/{i}", ["a", "b", "c"])
    texts = [text.strip("[]*") for text in sequences(trace.write(tmp_path / "t"))]
    assert "openat read read:none close" in texts
    assert "openat getdents64 newfstatat+ getdents64:none close" in texts
