# SPDX-License-Identifier: GPL-2.0
"""What a script derives from a trace holds for all of it, not only for samples.

Each case has sixty iterations or more. In those that come late, one argument or count has another
source: it must be a parameter then, or be listed as an exception, which has to be confirmed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from traces import Writer

from consolidate.emit import write
from consolidate.mine.candidate import Candidate
from consolidate.mine.constants import assumptions
from consolidate.mine.dataflow import Kind, Source
from consolidate.report import report

STAT = "{st_mode=S_IFREG|0644, st_size=12, ...}"


def flags(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
    trace.call(f'newfstatat(5, "n{i}", {STAT}, {0 if late else "AT_SYMLINK_NOFOLLOW"})', 0)
    trace.call("close(5)", 0)


def path_again(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'newfstatat(AT_FDCWD, "/d/{i}", {STAT}, 0)', 0)
    trace.call(f'unlink("/{"e" if late else "d"}/{i}")', 0)
    trace.call(f'mkdir("/d/{i}", 0777)', 0)


def descriptor_again(trace: Writer, i: int, late: bool) -> None:
    trace.call(f"ftruncate({3 + i}, 0)", 0)
    trace.call(f"fsync({4 + i if late else 3 + i})", 0)
    trace.call(f"fchmod({3 + i}, 0644)", 0)


def number_again(trace: Writer, i: int, late: bool) -> None:
    fd, size = 3 + i % 7, 4096 * (i + 1)
    trace.call(f"ftruncate({fd}, {size})", 0)
    trace.call(f"fallocate({fd}, 0, 0, {size + late})", 0)
    trace.call(f"fsync({fd})", 0)


def result_as_size(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'read(3, "{i}..", 4096)', 900 + i)
    trace.call(f'write(4, "{i}..", {13 if late else 900 + i})', 13 if late else 900 + i)
    trace.call("fsync(4)", 0)


def opened(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
    trace.call(f"fsync({9 if late else 5})", 0)
    trace.call("close(5)", 0)


def opened_always(trace: Writer, i: int, late: bool) -> None:
    del late
    opened(trace, i, late=False)


def data(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'read(3, "{i}.."..., 4096)', 900 + i)
    trace.call(f'write(4, "{"-" if late else i}.."..., {900 + i})', 900 + i)
    trace.call("fsync(4)", 0)


def names(trace: Writer, i: int, late: bool) -> None:
    """Of another directory: only the names are equal."""
    path = f"/d/{i}"
    entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in "abc")
    trace.call(f'openat(AT_FDCWD, "{path}", O_RDONLY|O_DIRECTORY)', 5)
    trace.call(f"getdents64(5, [{entries}], 32768)", 72)
    for name in "abc":
        trace.call(f'newfstatat(AT_FDCWD, "{"/e/0" if late else path}/{name}", {STAT}, 0)', 0)
    trace.call("getdents64(5, [], 32768)", 0)
    trace.call("close(5)", 0)


def names_at_copy(trace: Writer, i: int, late: bool) -> None:
    """As fts(3) does: of a copy of the descriptor, whose path a trace may show."""
    path = f"</d/{i}>" if i % 2 else ""
    entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in "abc")
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY|O_DIRECTORY)', 5)
    trace.call("fcntl(5, F_DUPFD_CLOEXEC, 3)", f"6{path}")
    trace.call(f"getdents64(5{path}, [{entries}], 32768)", 72)
    trace.call("getdents64(5, [], 32768)", 0)
    for name in "abc":
        at = "3" if late else f"6{path}"
        trace.call(f'newfstatat({at}, "{name}", {STAT}, 0)', 0)
    trace.call("close(5)", 0)
    trace.call("close(6)", 0)


def all_names(trace: Writer, i: int, late: bool) -> None:
    listed = "abcd" if late else "abc"
    entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in listed)
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY|O_DIRECTORY)', 5)
    trace.call(f"getdents64(5, [{entries}], 32768)", 24 * len(listed))
    for name in "abc":
        trace.call(f'newfstatat(5, "{name}", {STAT}, 0)', 0)
    trace.call("getdents64(5, [], 32768)", 0)
    trace.call("close(5)", 0)


def ready(trace: Writer, i: int, late: bool) -> None:
    fds = [7 + i % 3, 10 + i % 2, 12]
    events = ", ".join(f"{{events=EPOLLIN, data={{u32={fd}, u64={fd}}}}}" for fd in fds)
    trace.call(f"epoll_wait(4, [{events}], 64, -1)", 3)
    for fd in fds:
        trace.call(f'recvfrom({20 if late else fd}, "{i}.{fd}"..., 512, 0, NULL, NULL)', 100)


def parts(trace: Writer, i: int, late: bool, start: int = 0) -> None:
    """Reads a file in parts, one after the other."""
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
    at = start
    for k in range(3):
        trace.call(f'pread64(5, "{i}.{k}"..., 512, {at})', 512)
        at += 4096 if late else 512
    trace.call(f'pread64(5, "", 512, {at})', 0)
    trace.call("close(5)", 0)


def parts_from(trace: Writer, i: int, late: bool) -> None:
    parts(trace, i, late=False, start=8192 if late else 0)


def three_times(trace: Writer, i: int, late: bool) -> None:
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_WRONLY)', 5)
    for _ in range(7 if late else 6):
        trace.call("fsync(5)", 0)
    trace.call("close(5)", 0)


def seventh(trace: Writer, i: int, late: bool) -> None:
    """A constant of a loop that differs in late repetitions."""
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_WRONLY)', 5)
    for k in range(8 + i % 4):
        mode = "FALLOC_FL_PUNCH_HOLE" if late and k > 6 else "FALLOC_FL_KEEP_SIZE"
        trace.call(f"fallocate(5, {mode}, {4096 * k}, 100)", 0)
    trace.call("close(5)", 0)


def contents(trace: Writer, i: int, late: bool) -> None:
    """Two parts of a file that mostly are the same."""
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
    trace.call('read(5, "0", 512)', 1)
    trace.call(f'pread64(5, "{1 if late else 0}", 512, {i * i})', 1)
    trace.call("close(5)", 0)


class Case(NamedTuple):
    write: Callable[[Writer, int, bool], None]
    step: int
    arg: int
    first: Kind  # its source if no iteration differs
    exception: str = ""  # otherwise a parameter


CASES = [
    Case(flags, 1, 3, Kind.CONST),
    Case(path_again, 1, 0, Kind.SHARED),
    Case(descriptor_again, 1, 0, Kind.SHARED),
    Case(number_again, 1, 3, Kind.SHARED),
    Case(result_as_size, 1, 2, Kind.RESULT, "write(): argument 3 is the result of step 1"),
    Case(opened, 1, 0, Kind.RESULT, "fsync(): argument 1 is the result of step 1"),
    Case(data, 1, 1, Kind.SHARED, "write(): argument 2 is the data of step 1"),
    Case(names, 2, 1, Kind.NAME, "newfstatat(): argument 2 is a name of step 2"),
    Case(names_at_copy, 4, 1, Kind.NAME, "newfstatat(): argument 2 is a name of step 3"),
    Case(all_names, 2, 1, Kind.NAME, "newfstatat(): for each name of step 2"),
    Case(ready, 1, 0, Kind.READY, "recvfrom(): argument 1 is ready in step 1"),
    Case(parts, 1, 3, Kind.ADVANCE, "pread64(): argument 4 is where the call before ended"),
    Case(three_times, 1, 0, Kind.RESULT, "fsync(): 6 times"),
    Case(seventh, 1, 1, Kind.CONST),
]
# Late: at the end of a run, or in a run of which few iterations are looked at, or none.
LATE = {"in a long run": (60, 0, range(57, 60)), "in a later run": (120, 3, range(63, 66))}


def found(
    tmp_path: Path, each: Callable, late: range, count: int = 60, apart: int = 0
) -> Candidate:
    trace = Writer(1)
    for i in range(count):
        each(trace, i, i in late)
        if apart and i % apart == apart - 1:
            trace.noise(4)
    made, _ = report.make([trace.write(tmp_path / "t")], None, 20, 0.02)
    return max(made.candidates, key=lambda one: one.calls)


def source(candidate: Candidate, case: Case) -> Source:
    return candidate.flow.steps[case.step].args[case.arg]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.write.__name__)
def test_without_exceptions(tmp_path: Path, case: Case) -> None:
    one = found(tmp_path, case.write, range(0))
    assert source(one, case).kind is case.first
    assert one.flow.exceptions == []


@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.write.__name__)
def test_late_exceptions(tmp_path: Path, case: Case, late: tuple[int, int, range]) -> None:
    count, apart, numbers = late
    one = found(tmp_path, case.write, numbers, count, apart)
    if case.exception:
        assert any(case.exception in line for line in assumptions(one.flow))
    else:
        assert source(one, case).kind is Kind.PARAM
        assert one.flow.exceptions == []


def test_first_iterations_may_be_the_exceptions(tmp_path: Path) -> None:
    def synced(trace: Writer, i: int, late: bool) -> None:
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_WRONLY)', 5)
        for _ in range(2 if late else 1):
            trace.call("fsync(5)", 0)
        trace.call("close(5)", 0)

    one = found(tmp_path, synced, range(5))
    assert one.flow.exceptions == ["step 2, fsync(): once, but not in 5 of 60"]


def test_offset_begins_where_the_program_says(tmp_path: Path) -> None:
    fixed, given = (found(tmp_path, parts_from, late) for late in (range(0), range(57, 60)))
    assert fixed.flow.steps[1].args[3].value.number == 0
    for one, fields, start in ((fixed, ["room"], "0"), (given, ["offset", "room"], "offset")):
        made = write.script(one, "t")
        assert [param.name for param in made.plan.item.params if param.letter == "i"] == fields
        assert f"{start} + got)" in made.lua
        assert made.tried.differences == []


@pytest.mark.parametrize("late", [range(0), range(57, 60)], ids=["never", "late"])
def test_amounts_that_calls_moved(tmp_path: Path, late: range) -> None:
    """Writes that were whole, and reads that never filled their buffer, until late."""

    def moved(trace: Writer, i: int, late: bool) -> None:
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDWR)', 5)
        trace.call(f'read(5, "{i}", {64 + late})', 64 + late if late else 9)
        trace.call(f'write(5, "{i}", 100)', 50 if late else 100)
        trace.call("close(5)", 0)

    one = found(tmp_path, moved, late)
    _, read, written, _ = one.flow.steps
    assert (read.short, written.full) == (not late, not late)
    buffer = write.planned(one).by_arg[1, 1]
    assert buffer.size == (65 if late else 64)


def test_equal_contents_are_not_one_buffer(tmp_path: Path) -> None:
    """Neither if they are always equal."""
    for late in (range(57, 60), range(0)):
        made = write.script(found(tmp_path, contents, late), "t")
        assert [step.name for step in made.plan.steps][1:3] == ["read", "pread64"]
        assert made.plan.by_arg[1, 1] is not made.plan.by_arg[2, 1]


def test_parameter_that_changes_in_a_later_run_is_each_items(tmp_path: Path) -> None:
    def sent(trace: Writer, i: int, late: bool) -> None:
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 5)
        trace.call(f"sendfile({40 + i % 2 if late else 30 + i // 3}, 5, NULL, {i + 1})", i + 1)
        trace.call("close(5)", 0)

    batch = found(tmp_path, sent, range(0), 180, 3)
    assert batch.flow.steps[1].args[0].steady
    assert not found(tmp_path, sent, range(123, 126), 180, 3).flow.steps[1].args[0].steady


@pytest.mark.parametrize("call", ["fcntl", "dup", "fchdir", "getdents64"])
def test_calls_without_arguments(tmp_path: Path, call: str) -> None:
    """Lines are damaged, or a tracer does not show them."""

    def cut(trace: Writer, i: int, late: bool) -> None:
        trace.call(f"fsync({i + 3})", 0)
        trace.call(f"{call}({'' if late else f'{i + 3}, F_DUPFD, 3'})", 1)
        trace.call(f"fdatasync({i + 3})", 0)

    assert [step.name for step in found(tmp_path, cut, range(40, 60)).flow.steps][1] == call
