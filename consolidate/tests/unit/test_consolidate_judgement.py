# SPDX-License-Identifier: GPL-2.0
"""consolidate joins what a program can know beforehand, and says where a script is no help."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT
from rich.console import Console
from traces import Writer

from consolidate.cost import default_costs
from consolidate.emit import write
from consolidate.mine import advice
from consolidate.mine.advice import Advice
from consolidate.mine.candidate import is_event_loop, sequence
from consolidate.mine.dataflow import Flow, Step
from consolidate.mine.split import pieces
from consolidate.report import graph, report, table
from consolidate.report.progress import Progress
from consolidate.report.report import Report

GAP = 0.02
STAT = "{st_mode=S_IFREG|0644, st_size=12, ...}"
SOCKET = "<TCP:[127.0.0.1:80->127.0.0.1:4000]>"


def reported(trace: Writer, path: Path) -> Report:
    return report.make([trace.write(path / "t")], None, 20, GAP)[0]


def sequences(found: Report) -> list[str]:
    return [sequence(one) for one in found.candidates]


def only_advice(found: Report, kind: str) -> Advice:
    (one,) = (one for one in found.advice if one.kind == kind)
    return one


# -- What a program cannot know beforehand --------------------------------------------


def test_request_and_the_file_that_it_names_are_two_scripts(tmp_path: Path) -> None:
    trace = Writer(2)
    for i in range(60):
        fd = trace.random.choice([7, 8, 9])
        trace.call(
            f"epoll_wait(3, [{{events=EPOLLIN, data={{u32=77{fd}, u64=77{fd}}}}}], 64, -1)", 1
        )
        trace.call(f'recvfrom({fd}{SOCKET}, "GET /f{i}"..., 1024, 0, NULL, NULL)', 90 + i)
        trace.call(f'openat(AT_FDCWD, "/www/f{i}", O_RDONLY)', 12)
        trace.call(f"fstat(12, {STAT})", 0)
        trace.call(f'pread64(12, "text {i}"..., {500 + i}, 0)', 500 + i)
        trace.call(f'writev({fd}{SOCKET}, [{{iov_base="HTTP {i}", iov_len=200}}], 2)', 700 + i)
        trace.call("close(12)", 0)
    found = reported(trace, tmp_path)
    assert sequences(found) == ["openat fstat pread64", "writev close epoll_wait"]
    for one in found.candidates:
        assert not write.script(one, "t").tried.differences


def test_round_of_an_event_loop_is_one_script(tmp_path: Path) -> None:
    """Replies, the wait, requests: the wait's result determines the ready descriptors."""
    trace = Writer(4)
    for i in range(80):
        fds = trace.random.sample(range(8, 40), trace.random.randrange(1, 12))
        events = ", ".join(f"{{events=EPOLLIN, data={{u32={fd}, u64={fd}}}}}" for fd in fds)
        trace.call(f"epoll_wait(5, [{events}], 1024, 100)", len(fds))
        for fd in fds:
            trace.call(f'read({fd}{SOCKET}, "GET {i}.{fd}"..., 16384)', 20 + fd)
        for fd in fds:
            trace.call(f'write({fd}{SOCKET}, "VALUE {i}.{fd}"..., {fd})', fd)
    found = reported(trace, tmp_path)
    (one,) = found.candidates
    assert sequence(one) == "write+ epoll_wait read+"
    assert is_event_loop(one)
    assert one.script_calls == one.iterations >= 78
    made = write.script(one, "t")
    assert not made.tried.differences
    assert made.tried.steps == {1, 2, 3}
    assert "an event loop's round" in table.remarks(one, found.predictions[0], found)


def test_poll_says_which_descriptors_are_ready(tmp_path: Path) -> None:
    trace = Writer(4)
    for i in range(60):
        fd = trace.random.choice([4, 5])
        fds = "[{fd=4, events=POLLIN}, {fd=5, events=POLLIN}]"
        trace.call(f"poll({fds}, 2, -1)", f"1 ([{{fd={fd}, revents=POLLIN}}])")
        trace.call(f'recvfrom({fd}{SOCKET}, "request {i}"..., 512, 0, NULL, NULL)', 30 + i)
        trace.call(f'sendto({fd}{SOCKET}, "reply {i}"..., {50 + i}, 0, NULL, 0)', 50 + i)
    (one,) = reported(trace, tmp_path).candidates
    assert sequence(one) == "sendto poll recvfrom+"
    assert not write.script(one, "t").tried.differences


def test_page_that_is_read_and_written_is_not_one_script(tmp_path: Path) -> None:
    trace = Writer(3)
    for i in range(50):
        trace.noise(2)
        trace.call('openat(AT_FDCWD, "/d/db", O_RDWR)', 4)
        trace.call(f'pread64(4</d/db>, "page {i}"..., 512, 0)', 512)
        trace.call(f'pwrite64(4</d/db>, "changed {i}"..., 512, 8192)', 512)
        trace.call("fdatasync(4)", 0)
        trace.call("close(4)", 0)
    assert sequences(reported(trace, tmp_path)) == ["pwrite64 fdatasync close", "openat pread64"]


def test_files_that_are_named_by_others_are_no_batch(tmp_path: Path) -> None:
    trace = Writer(3)
    for i in range(80):
        trace.call(f'openat(AT_FDCWD, "/src/header{i}.h", O_RDONLY)', 4)
        trace.call(f'read(4, "#include \\"header{i + 1}.h\\"\\n"..., 4096)', 700)
        trace.call("close(4)", 0)
    (one,) = reported(trace, tmp_path).candidates
    assert sequence(one) == "openat read close"
    assert one.script_calls == one.iterations


def test_directories_that_were_just_listed_are_no_batch(tmp_path: Path) -> None:
    trace = Writer(3)
    for i in range(60):
        trace.list_directory(f"/d{i}", ["a", "b", f"d{i + 1}"])
    (one,) = reported(trace, tmp_path).candidates
    assert sequence(one) == "openat getdents64 newfstatat+ getdents64:none close"


def test_descriptors_that_a_loop_opened_are_no_parameters(tmp_path: Path) -> None:
    """A path opened component by component, each relative to the one before."""
    trace = Writer(5)
    for i in range(120):
        trace.noise(1)
        fd, depth = 3, trace.random.choice([1, 1, 1, 2, 3])
        for k in range(depth):
            trace.call(f'openat({fd}, "d{i}.{k}", O_RDONLY|O_PATH|O_DIRECTORY)', 10 + k)
            fd = 10 + k
        trace.call(f'openat({fd}, "f{i}", O_RDONLY|O_PATH|O_DIRECTORY)', "-1 ENOTDIR (Not a)")
        trace.call(f'openat({fd}, "f{i}", O_RDONLY)', 20)
        for k in range(depth):
            trace.call(f"close({10 + k})", 0)
        trace.call(f'read(20, "text {i}"..., 4096)', 10 + i)
        trace.call("close(20)", 0)
    found = reported(trace, tmp_path).candidates
    assert any("openat:ENOTDIR openat" in sequence(one) for one in found)
    for one in found:
        assert not write.script(one, "t").tried.differences


def test_attributes_do_not_decide_flags(tmp_path: Path) -> None:
    """Some calls use descriptors, most use names: they form a batch all the same."""
    trace = Writer(3)
    for i in range(10):
        trace.noise(2)
        trace.call(f'newfstatat({i + 3}, "", {STAT}, AT_EMPTY_PATH)', 0)
    for i in range(200):
        trace.call(f'newfstatat(AT_FDCWD, "file{i}", {STAT}, AT_SYMLINK_NOFOLLOW)', 0)
    assert "[newfstatat]*" in sequences(reported(trace, tmp_path))


def test_iterations_begin_where_something_is_opened(tmp_path: Path) -> None:
    trace = Writer(3)
    for i in range(60):
        trace.call(f"fchmod({100 + i}, 0644)", 0)
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 101 + i)
    assert sequences(reported(trace, tmp_path)) == ["[openat fchmod]*"]


# -- Without a script -----------------------------------------------------------------


@pytest.mark.parametrize("path", ["</dev/null>", "</var/log/x>", "</dev/pts/0<char 136:0>>"])
def test_lines_want_a_buffer(tmp_path: Path, path: str) -> None:
    trace = Writer(1)
    for i in range(3000):
        trace.call(f'write(1{path}, "line {i}\\n", 100)', 100)
    found = reported(trace, tmp_path)
    one = only_advice(found, "write")
    assert (one.calls, one.would_be) == (3000, 5)
    assert "setvbuf" in one.text
    assert "100 bytes" in one.text
    assert found.candidates == []


@pytest.mark.parametrize("path", [SOCKET, "<pipe:[123]>", "<anon_inode:[eventfd]>"])
def test_small_messages_want_none(tmp_path: Path, path: str) -> None:
    trace = Writer(1)
    for i in range(300):
        trace.call(f'write(1{path}, "line {i}\\n", 8)', 8)
    assert reported(trace, tmp_path).advice == []


def test_lines_that_are_synced_want_none(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(300):
        trace.call(f'write(4</var/log/x>, "line {i}\\n", 30)', 30)
        trace.call("fsync(4</var/log/x>)", 0)
    assert reported(trace, tmp_path).advice == []


def test_blocks_want_a_larger_buffer(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 4)
        for k in range(64):
            trace.call(f'read(4</d/{i}>, "{k}"..., 4096)', 4096)
        trace.call(f'read(4</d/{i}>, "", 4096)', 0)
        trace.call("close(4)", 0)
    found = reported(trace, tmp_path)
    one = only_advice(found, "read")
    assert (one.calls, one.would_be) == (40 * 63, 40)
    assert sequences(found) == ["[openat read read:none close]*"]


@pytest.mark.parametrize(
    ("source", "target", "call"),
    [
        ("</a>", "</b>", "copy_file_range(2)"),
        ("</a>", SOCKET, "sendfile(2)"),
        (SOCKET, "<pipe:[7]>", "splice(2)"),
    ],
)
def test_copies_want_a_call_that_copies(
    tmp_path: Path, source: str, target: str, call: str
) -> None:
    trace = Writer(1)
    for i in range(40):
        size = 1000 + i
        trace.call(f'read(3{source}, "{i}"..., 4096)', size)
        trace.call(f'write(4{target}, "{i}"..., {size})', size)
    one = only_advice(reported(trace, tmp_path), "copy")
    assert call in one.text
    assert (one.calls, one.would_be) == (80, 1)


def test_question_that_is_asked_again(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(200):
        trace.call('newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, ...}, 0)', 0)
        trace.call(f'sendto(4{SOCKET}, "{i}"..., 50, 0, NULL, 0)', 50)
    one = only_advice(reported(trace, tmp_path), "again")
    assert (one.calls, one.would_be) == (200, 1)
    assert "TZ" in one.text


def test_questions_alike_share_a_line(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(200):
        for path in ("/usr", "/usr/lib", "/usr/lib/gcc", "/usr/lib/gcc/x", "/etc/localtime"):
            trace.call(f'readlink("{path}", 0x7ffc0000, 1023)', "-1 EINVAL (Invalid argument)")
        trace.call(f'sendto(4{SOCKET}, "{i}"..., 50, 0, NULL, 0)', 50)
    found = [one for one in reported(trace, tmp_path).advice if one.kind == "again"]
    assert [(one.calls, one.would_be) for one in found] == [(800, 4), (200, 1)]
    assert "/usr" in found[0].text and " and 3 others like it again and again" in found[0].text
    assert "TZ" in found[1].text and "others" not in found[1].text


def test_question_that_the_trace_does_not_show(tmp_path: Path) -> None:
    """perf trace without strings: these may be 200 different files."""
    trace = Writer(1)
    for i in range(200):
        trace.call("newfstatat(AT_FDCWD, 0x55d0c0de, 0x7ffc0000, 0)", 0)
        trace.call(f'sendto(4{SOCKET}, "{i}"..., 50, 0, NULL, 0)', 50)
    assert reported(trace, tmp_path).advice == []


def test_question_with_another_answer_each_time(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(200):
        trace.call(f'newfstatat(AT_FDCWD, "/d/log", {{st_size={i}, ...}}, 0)', 0)
        trace.call(f'sendto(4{SOCKET}, "{i}"..., 50, 0, NULL, 0)', 50)
    assert reported(trace, tmp_path).advice == []


def read_whole(trace: Writer, path: str, text: str) -> None:
    trace.call(f'openat(AT_FDCWD, "{path}", O_RDONLY|O_CLOEXEC)', 5)
    trace.call(f"fstat(5, {STAT})", 0)
    trace.call(f'read(5, "{text}"..., 4096)', 700)
    trace.call('read(5, "", 4096)', 0)
    trace.call("close(5)", 0)


def test_file_that_is_opened_again_and_again(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(300):
        read_whole(trace, "/var/cache/pkgcache.bin", "same")
        trace.noise(i % 3)
    found = reported(trace, tmp_path)
    one = only_advice(found, "reopened")
    assert (one.calls, one.would_be) == (299 * 5, 0)
    assert "opens and reads /var/cache/pkgcache.bin 300 times: keep it open, or map it" in one.text
    assert not any("openat" in text for text in sequences(found))
    assert found.dropped["opened and read again (see 'without a script')"] == 299 * 5


@pytest.mark.parametrize("change", ["paths", "writes", "few"])
def test_files_that_are_opened_once_or_for_more_than_reading(tmp_path: Path, change: str) -> None:
    trace = Writer(1)
    for i in range(40 if change == "few" else 300):
        path = f"/d/{i}" if change == "paths" else "/d/same"
        flags = "O_RDWR" if change == "writes" else "O_RDONLY"
        trace.call(f'openat(AT_FDCWD, "{path}", {flags})', 5)
        trace.call(f'read(5, "{i}"..., 4096)', 700)
        trace.call("close(5)", 0)
    found = reported(trace, tmp_path)
    assert [one for one in found.advice if one.kind == "reopened"] == []
    assert sequences(found) == ["[openat read close]*"]


def test_file_that_is_made_when_it_is_read(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(100):
        read_whole(trace, "/proc/stat", str(i))
    assert (
        "read it again from its beginning"
        in only_advice(reported(trace, tmp_path), "reopened").text
    )


TIMEOUT = "0 (Timeout)"


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("futex(0x55d0, FUTEX_WAKE_PRIVATE, 1)", 1)], "synchronizes threads"),
        ([("rt_sigaction(SIGCHLD, {sa_handler=SIG_DFL}, NULL, 8)", 0)], "sets up signals"),
        ([("clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, NULL)", 0)], "sleeps"),
        ([("poll([{fd=3, events=POLLIN}], 1, 100)", TIMEOUT)], "waits that time out"),
        ([("select(0, NULL, NULL, NULL, {tv_sec=0, tv_usec=500})", TIMEOUT)], "waits that time"),
    ],
)
def test_what_programs_do_to_pause_is_no_sequence(
    tmp_path: Path, calls: list[tuple[str, str | int]], why: str
) -> None:
    trace = Writer(1)
    for i in range(200):
        for text, result in calls * (1 + i % 3):
            trace.call(text, result)
        trace.noise(1)
    found = reported(trace, tmp_path)
    assert found.candidates == []
    assert sum(n for what, n in found.dropped.items() if why in what) == sum(
        len(calls) * (1 + i % 3) for i in range(200)
    )


def test_wait_that_only_looks_is_part_of_a_round(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(200):
        trace.noise(1)
        trace.call(f'sendto(4{SOCKET}, "{i}"..., 50, 0, NULL, 0)', 50)
        trace.call("epoll_wait(3, [], 64, 0)", 0)
    assert any("epoll_wait:none" in text for text in sequences(reported(trace, tmp_path)))


@pytest.mark.parametrize(
    ("goes_on", "links", "kept"),
    [(True, set(), 3), (False, set(), 4), (True, {(2, 3)}, 4)],
)
def test_sequences_end_before_the_next_iteration(
    goes_on: bool, links: set[tuple[int, int]], kept: int
) -> None:
    """The last call is the next iteration's first one, unless data flows between them."""
    names = ["unlink", "mkdir", "rename", "unlink"]
    template = (0, 1, 2, 0)
    steps = [Step((i,), template[i], name, "ok") for i, name in enumerate(names)]
    flow = Flow(template, steps, links=links and {(0, 1), (1, 2), *links}, goes_on=goes_on)
    assert pieces(flow) == [template[:kept]]


def test_time_of_the_device(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(60):
        trace.call(f'pwrite64(4</d/db>, "{i}"..., 4096, {i * 4096})', 4096)
        trace.time += 0.004
        trace.lines.append(f"100 {trace.time:.6f} fdatasync(4</d/db>) = 0 <0.004000>")
    one = only_advice(reported(trace, tmp_path), "device")
    assert "fdatasync: 0.24 s, 4 ms each" in one.text
    assert "a script saves none of it" in one.text


def test_listing_with_attributes(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(30):
        trace.list_directory(f"/d/{i}", ["a", "b", "c"])
    assert "walk.lua" in only_advice(reported(trace, tmp_path), "list").text


def test_walk_that_comes_back_to_the_rest_of_a_directory(tmp_path: Path) -> None:
    """As fts(3) goes through a tree: each directory when its turn comes."""
    trace = Writer(1)
    names = [f"d{i}" for i in range(30)]
    trace.list_directory("/", names, between=lambda name: trace.list_directory(name, ["a", "b"]))
    one = only_advice(reported(trace, tmp_path), "list")
    # An attribute for each name, and two listings for each directory; then one for each.
    assert (one.calls, one.would_be) == (30 + 60 + 2 * 31, 31)


def test_what_walks_gain_is_measured() -> None:
    text = advice.TEXTS["list"]("", None)
    rows = json.loads((ROOT / "docs/figures.json").read_text())["programs"]["tables"][0]["rows"]
    # The second row of each is the same program in small directories.
    trees = [i for i, row in enumerate(rows) if re.match("`(du|find) .*20,000", row[0])]
    ratios = [float(rows[at][1]) for i in trees for at in (i, i + 1)]
    said = [float(number) for number in re.findall(r"\d\.\d+", text)]
    assert len(ratios) == 4 and [min(ratios), max(ratios)] == pytest.approx(said, abs=0.05)


# -- What is done when a program starts --------------------------------------------------


def start(trace: Writer, command: str, tid: int) -> None:
    """Calls of a dynamically linked program before main()."""
    trace.call(f'execve("/usr/bin/{command}", ["{command}"], 0x1 /* 3 vars */)', 0, tid)
    trace.call('openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC)', 3, tid)
    trace.call("mmap(NULL, 1000, PROT_READ, MAP_PRIVATE, 3, 0)", "0x7f0000000000", tid)
    trace.call("close(3)", 0, tid)
    for library in ("libc.so.6", "libm.so.6"):
        trace.call(f'openat(AT_FDCWD, "/lib/{library}", O_RDONLY|O_CLOEXEC)', 3, tid)
        trace.call(f"fstat(3, {STAT})", 0, tid)
        trace.call("mmap(NULL, 9000, PROT_READ, MAP_PRIVATE, 3, 0)", "0x7f0000010000", tid)
        trace.call("close(3)", 0, tid)
    trace.call("munmap(0x7f0000000000, 1000)", 0, tid)
    for name in ("LC_TIME", "LC_NAME", "LC_CTYPE", "LC_PAPER"):
        trace.call(f'openat(AT_FDCWD, "/usr/lib/locale/C.utf8/{name}", O_RDONLY)', 3, tid)
        trace.call(f"fstat(3, {STAT})", 0, tid)
        trace.call("mmap(NULL, 360, PROT_READ, MAP_PRIVATE, 3, 0)", "0x7f0000020000", tid)
        trace.call("close(3)", 0, tid)
    for signal in ("SIGPIPE", "SIGHUP", "SIGINT", "SIGTERM"):
        trace.call(f"rt_sigaction({signal}, {{sa_handler=SIG_IGN}}, NULL, 8)", 0, tid)


def test_starts_are_folded(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(30):
        start(trace, "cat", 100 + i)
        trace.read_file(f"/d/{i}", tid=100 + i)
    found = reported(trace, tmp_path)
    assert sequences(found) == ["openat read read:none close"]
    starts = {why: n for why, n in found.dropped.items() if why.startswith("start-up: ")}
    assert sum(starts.values()) == 30 * (1 + 3 + 8 + 1 + 16 + 4)
    assert any("locales" in why for why in starts)


def modules(trace: Writer, command: str) -> Report:
    start(trace, command, 100)
    for i in range(60):
        trace.call(f'newfstatat(AT_FDCWD, "/usr/lib/python3.11/m{i}.py", {STAT}, 0)', 0)
        trace.call(f'openat(AT_FDCWD, "/usr/lib/python3.11/__pycache__/m{i}.pyc", O_RDONLY)', 3)
        trace.call(f'read(3, "{i}"..., 4096)', 700)
        trace.call("close(3)", 0)


def test_modules_are_the_start_of_an_interpreter_and_of_nothing_else(tmp_path: Path) -> None:
    trace = Writer(1)
    modules(trace, "python3.11")
    assert reported(trace, tmp_path).candidates == []
    trace = Writer(1)
    modules(trace, "tar")
    assert sequences(reported(trace, tmp_path)) == ["[newfstatat openat read close]*"]


# -- The picture ----------------------------------------------------------------------


def test_picture_has_a_legend_and_no_colour_twice(tmp_path: Path) -> None:
    trace = Writer(7)
    start(trace, "server", 100)
    for i in range(400):
        names = [f"{kind}{k}" for kind in "abc" for k in range(3)]
        trace.noise(1)
        trace.named(
            trace.random.choice([["uname", "sync"], ["times", "alarm"], ["getsid", "umask"]])
        )
        if i % 2:
            trace.read_file(f"/d/{i}")
        elif i % 3:
            trace.list_directory(f"/d/{i}", names)
    path = trace.write(tmp_path / "t")
    found, read = report.make([path], None, 20, GAP)
    assert len(found.candidates) >= 4
    text = graph.dot(graph.without_starts(read.threads.values()), found.candidates, "t")
    edges = re.findall(r'-> "\w+" \[headlabel=\d+, color="(#\w+)"', text)
    shown = set(edges) - {graph.GREY}
    cells = re.findall(r'bgcolor="(#\w+)" width', text)
    assert set(cells) == shown
    assert len(cells) == len(shown) >= 3
    for one in found.candidates:
        if f"#{one.number}  " in text:
            assert sequence(one)[:20] in text.replace("&gt;", ">")
    assert "(start-up)" in text
    assert "LC_" not in text
    assert '"mmap"' not in text


def test_forty_colours_are_forty() -> None:
    assert len(set(graph.colours(list(range(40))).values())) == 40


def test_numbers_have_no_exponents() -> None:
    values = (0, 1e-7, -1e-7, 0.0324, 9.96, 99.4, 99.5, 180.2, -320.4, 123456.7)
    shown = [table.brief(value, 2) for value in values]
    assert shown == ["0", "0", "0", "0.032", "10", "99", "100", "180", "-320", "123457"]
    assert table.seconds(1234.5) == "1234 s"
    assert table.seconds(-0.00018) == "-180 us"


@pytest.mark.parametrize("columns", [60, 80])
def test_nothing_is_cut_on_a_narrow_screen(tmp_path: Path, columns: int) -> None:
    """Savings and verdict are shown completely."""
    trace = Writer(1)
    for i in range(40):
        trace.noise(1 + i % 4)
        trace.read_file(f"/d/{i}")
    made, _ = report.make(
        [trace.write(tmp_path / "t")], default_costs.load("kernel"), 20, 0.02, 0.05
    )
    out = io.StringIO()
    table.show(made, Console(width=columns, file=out))
    text = " ".join(out.getvalue().split())
    assert "…" not in text
    for one, prediction in zip(made.candidates, made.predictions, strict=True):
        assert f"saves {table.saves(prediction)}; {table.remarks(one, prediction, made)};" in text
    # A rate computed from a program of 50 ms means nothing.
    assert "an hour" not in text


@pytest.mark.parametrize(("columns", "width"), [(None, 200), ("72", 72)])
def test_width_in_a_pipe(monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int) -> None:
    monkeypatch.setattr(os, "isatty", lambda fd: False)
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert table.console().width == width


def test_progress_has_a_percentage_only_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"x" * 1000)
    with Progress() as progress, path.open("rb") as file:
        read = progress.reading([path])
        file.read(840)
        read(file)
        (task,) = progress.bar.tasks
        assert task.percentage == 84
        progress("looking for loops and sequences")
        assert task.total is None


def test_reasons_are_indented_where_they_wrap(tmp_path: Path) -> None:
    trace = Writer(1)
    trace.read_file("/d/1")
    made, _ = report.make([trace.write(tmp_path / "t")], None, 20, 0.02)
    dropped = Counter({"a reason that is told in many words " * 3: 12})
    made = dataclasses.replace(made, dropped=dropped)
    out = io.StringIO()
    table.show(made, Console(width=60, file=out))
    first, *wrapped = [line for line in out.getvalue().splitlines() if "reason" in line]
    assert first.startswith("       12  a reason") and wrapped
    assert all(line.startswith(" " * 11) and line[11] != " " for line in wrapped)


def test_every_candidate_has_a_verdict(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.noise(1 + i % 4)
        trace.read_file(f"/d/{i}")
    path = trace.write(tmp_path / "t")
    for costs, words in (
        (None, "without a cost model"),
        (default_costs.load("kernel"), "--seconds"),
    ):
        made, _ = report.make([path], costs, 20, 0.02)
        for pair in zip(made.candidates, made.predictions, strict=True):
            # A candidate that costs more than it saves is judged without times.
            said = table.remarks(*pair, made)
            assert words in said or said.startswith("no: a script costs more")


def test_a_walk_gains_as_a_whole(tmp_path: Path) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY|O_DIRECTORY)', 3)
        trace.call("getdents64(3, 0x55 /* 3 entries */, 32768)", 72)
        trace.call("getdents64(3, 0x55 /* 0 entries */, 32768)", 0)
        trace.call("close(3)", 0)
    made, _ = report.make(
        [trace.write(tmp_path / "t")], default_costs.load("kernel"), 20, 0.02, 100
    )
    assert [one.kind for one in made.advice] == ["walk"]
    first = table.remarks(made.candidates[0], made.predictions[0], made)
    assert first.startswith("no by itself; the walk that it is a part of gains")
