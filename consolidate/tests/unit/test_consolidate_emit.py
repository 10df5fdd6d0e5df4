# SPDX-License-Identifier: GPL-2.0
"""consolidate writes scripts that repeat the traced calls, and stop where calls fail."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BUILD
from library import Options
from traces import Writer, run

from consolidate.emit import verify, write
from consolidate.emit.write import Written
from consolidate.mine.candidate import Candidate, sequence
from consolidate.report import report

GAP = 0.02
USER = 2  # SYSCRIPT_BACKEND_USER
ENOENT, EISDIR, EBADF, ENOBUFS, NOT_MADE = -2, -21, -9, -105, -125

Call = Callable[..., list[int]]


def candidates(trace: Writer, path: Path) -> list[Candidate]:
    found, _ = report.make([trace.write(path / "t")], None, 20, GAP)
    return found.candidates


def written(trace: Writer, path: Path) -> Written:
    return write.script(candidates(trace, path)[0], "t")


@pytest.fixture
def call() -> Call:
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


class Items:
    """Items of a script in memory; each a dictionary of its fields."""

    def __init__(self, made: Written, *items: dict[str, object]) -> None:
        record = made.plan.item
        self.names = [field.name for field in [*record.params, *record.results]]
        self.kept: list = []
        values = [self.value(item.get(name, 7)) for item in items for name in self.names]
        self.memory = (ctypes.c_int64 * len(values))(*values)

    def value(self, what: object) -> int:
        if isinstance(what, int):
            return what
        if isinstance(what, str | Path):
            what = ctypes.create_string_buffer(os.fsencode(what))
        self.kept.append(what)
        return ctypes.addressof(what)

    def __len__(self) -> int:
        return len(self.memory) // len(self.names)

    def __getitem__(self, i: int) -> dict[str, int]:
        width = len(self.names)
        return dict(zip(self.names, self.memory[i * width : (i + 1) * width], strict=True))

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# -- On real files ---------------------------------------------------------------


def reading(missing: bool) -> Writer:
    trace = Writer(4)
    for i in range(60):
        if missing and i % 7 == 3:
            trace.missing(f"/d/{i}")
        else:
            trace.read_file(f"/d/{i}", size=700 + i)
    return trace


def read_items(made: Written, *paths: Path, room: int = 8192) -> Items:
    buffers = [ctypes.create_string_buffer(8192) for _ in paths]
    pairs = zip(paths, buffers, strict=True)
    return Items(made, *({"path": path, "buf": buf, "room": room} for path, buf in pairs))


def test_batch_reads_files_and_passes_those_that_are_missing(tmp_path: Path, call: Call) -> None:
    made = written(reading(missing=True), tmp_path)
    texts = {f"file{i}": os.urandom(1 + 900 * i) for i in range(5)}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    names = [*texts, "missing", *texts]
    items = read_items(made, *(tmp_path / name for name in names))
    opened = open_files()
    assert call(made.lua, items.address, len(items)) == [len(items), 0, 0]
    assert open_files() == opened
    buffers = [one for one in items.kept if len(one) == 8192]
    for i, name in enumerate(names):
        found = items[i]
        if name == "missing":
            assert found["openat_result"] == ENOENT
            assert found["read_total"] == found["close_result"] == NOT_MADE
        else:
            assert (found["read_total"], found["close_result"]) == (len(texts[name]), 0)
            assert buffers[i].raw[: len(texts[name])] == texts[name]


def test_batch_stops_at_a_failure_that_the_program_never_met(tmp_path: Path, call: Call) -> None:
    made = written(reading(missing=False), tmp_path)
    there = tmp_path / "there"
    there.write_bytes(b"text")
    items = read_items(made, there, tmp_path / "missing", there)
    assert call(made.lua, items.address, 3) == [1, 1, ENOENT]
    assert items[0]["close_result"] == 0
    assert items[1]["openat_result"] == ENOENT
    assert items[1]["read_total"] == items[1]["close_result"] == NOT_MADE
    assert items[2]["openat_result"] == 7, "not begun: as it was"

    # If a later step fails, open descriptors are left to the program.
    items = read_items(made, there, tmp_path, there)
    opened = open_files()
    assert call(made.lua, items.address, 3) == [1, 2, EISDIR]
    assert (items[1]["read_total"], items[1]["close_result"]) == (0, NOT_MADE)
    os.close(items[1]["openat_result"])
    assert open_files() == opened


def test_buffer_that_is_full_is_no_end(tmp_path: Path, call: Call) -> None:
    made = written(reading(missing=False), tmp_path)
    (tmp_path / "large").write_bytes(b"x" * 100)
    items = read_items(made, tmp_path / "large", room=64)
    opened = open_files()
    assert call(made.lua, items.address, 1) == [0, 2, ENOBUFS]
    assert items[0]["read_total"] == 64
    assert os.read(items[0]["openat_result"], 100) == b"x" * 36, "where the script stopped"
    os.close(items[0]["openat_result"])
    assert open_files() == opened


def test_listing_gets_what_the_calls_get(tmp_path: Path, call: Call) -> None:
    trace = Writer(2)
    for i in range(40):
        trace.noise(1 + i % 3)
        trace.list_directory(f"/d/{i}", [f"f{k}" for k in range(i % 5 + 1)])
    made = written(trace, tmp_path)
    directory = tmp_path / "listed"
    directory.mkdir()
    for i in range(300):
        (directory / f"name{i}").write_bytes(b"x" * i)
    entries = ctypes.create_string_buffer(1 << 16)
    stats = ctypes.create_string_buffer(144 * 300)
    codes = (ctypes.c_int32 * 300)(*[7] * 300)
    fields = {"path": directory, "entries": entries, "attributes": stats, "room": 1 << 16}
    items = Items(made, {**fields, "most": 300, "results": codes})
    opened = open_files()
    assert call(made.lua, items.address, 1) == [1, 0, 0]
    assert open_files() == opened
    assert items[0]["newfstatat_count"] == 300
    assert set(codes) == {0}
    sizes = [int.from_bytes(stats.raw[i * 144 + 48 : i * 144 + 56], "little") for i in range(300)]
    assert sorted(sizes) == list(range(300))
    assert entries.raw[: items[0]["getdents64_total"]].count(b"name") == 300

    (directory / "one more").touch()
    done, step, result = call(made.lua, items.address, 1)
    assert (done, result) == (0, ENOBUFS)
    assert items[0]["newfstatat_count"] == 300
    os.close(items[0]["openat_result"])
    assert open_files() == opened


ON_FILE = [
    "fstat(4, {st_mode=S_IFREG|0644, st_size=0, ...})",
    "fcntl(4, F_GETFL)",
    "lseek(4, 0, SEEK_SET)",
    "fsync(4)",
    "ftruncate(4, 0)",
    "fdatasync(4)",
    "fchmod(4, 0644)",
    "flock(4, LOCK_SH)",
    "fadvise64(4, 0, 0, POSIX_FADV_NORMAL)",
    "syncfs(4)",
    "flock(4, LOCK_UN)",
    "fcntl(4, F_GETFD)",
]


def test_long_sequence_tells_of_each_call(tmp_path: Path, call: Call) -> None:
    """27 calls with their results: more than a call can return as numbers."""
    trace = Writer(1)
    for i in range(30):
        trace.noise(2 + i % 3)
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDWR|O_CREAT|O_CLOEXEC, 0644)', 4)
        for text in ON_FILE:
            trace.call(text, 0)
        trace.call(f'unlink("/d/{i}-journal")', 0)
        for text in reversed(ON_FILE):
            trace.call(text, 0)
        trace.call("close(4)", 0)
    made = written(trace, tmp_path)
    results = [result.name for result in made.plan.item.results]
    assert len(results) == 27
    journal = tmp_path / "journal"
    fields = {"path": tmp_path / "file", "path2": journal}
    fields |= {name: ctypes.create_string_buffer(144) for name in ("attributes", "attributes2")}
    fields |= {"mode": 0o644, "mode2": 0o600, "mode3": 0o640}
    items = Items(made, fields)
    assert set(Items(made).names) - set(results) == set(fields)
    opened = open_files()
    assert call(made.lua, items.address, 1) == [0, 14, ENOENT]
    told = [items[0][name] for name in results]
    assert all(result >= 0 for result in told[:13])
    assert told[13:] == [ENOENT] + [NOT_MADE] * 13
    os.close(items[0]["openat_result"])
    assert open_files() == opened
    journal.touch()
    assert call(made.lua, items.address, 1) == [1, 0, 0]
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert all(items[0][name] >= 0 for name in results)
    assert not journal.exists()


def test_parameters_do_not_hide_calls(tmp_path: Path, call: Call) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.call(f'stat("/d/{i}", {{st_mode=S_IFREG|0644, ...}})', 0)
    made = written(trace, tmp_path)
    buffer = ctypes.create_string_buffer(144)
    items = Items(made, {"path": tmp_path, "attributes": buffer})
    assert call(made.lua, items.address, 1) == [1, 0, 0]
    assert items[0]["stat_result"] == 0
    assert int.from_bytes(buffer.raw[8:16], "little") == tmp_path.stat().st_ino


def test_copy_loop_passes_the_data_on(tmp_path: Path) -> None:
    trace = Writer(6)
    for _ in range(20):
        trace.noise(2)
        trace.copy(3)
    lines = written(trace, tmp_path).lua.splitlines()
    got = next(line for line in lines if "= read(" in line).split("=")[0].split()[-1]
    assert f", {got})" in next(line for line in lines if "= write(" in line)


# -- On made-up system calls -------------------------------------------------------


def copy_whole(trace: Writer, i: int) -> None:
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 7)
    trace.call(f'openat(AT_FDCWD, "/e/{i}", O_WRONLY|O_CREAT, 0644)', 8)
    for k in range(trace.random.randrange(1, 4)):
        trace.call(f'read(7, "{i}.{k}"..., 4096)', 900 + k)
        trace.call(f'write(8, "{i}.{k}"..., {900 + k})', 900 + k)
    trace.call('read(7, "", 4096)', 0)
    trace.call("close(8)", 0)
    trace.call("close(7)", 0)


def search(trace: Writer, i: int) -> None:
    """Opens the first of some paths that exists."""
    for k in range(trace.random.randrange(1, 5)):
        error = "-1 ENOENT (No such file or directory)"
        trace.call(f'openat(AT_FDCWD, "/p{k}/{i}", O_RDONLY)', error)
    trace.call(f'openat(AT_FDCWD, "/q/{i}", O_RDONLY)', 9)
    trace.call("fstat(9, {st_mode=S_IFREG|0644, st_size=12, ...})", 0)
    trace.call("close(9)", 0)


def many_writes(trace: Writer, i: int) -> None:
    """An array of the program's, written in the middle."""
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_WRONLY)', 6)
    for k in range(trace.random.randrange(2, 7)):
        trace.call(f'pwrite64(6, "{i}.{k}"..., 512, {k * k * 512})', 512)
    trace.call("fdatasync(6)", 0)
    trace.call("close(6)", 0)


def test_odd_names_are_in_comments_only(tmp_path: Path) -> None:
    """Names with comment marks stay inside comments, in written and printed scripts and in C."""
    trace = Writer()
    for i in range(40):
        trace.read_file(f"/d*/a]] ]=] --[[ {i}")
    path = trace.write(tmp_path / "t")
    script, header = tmp_path / "printed.lua", tmp_path / "named.h"
    script.write_text(run("script", "1", path, cache=tmp_path).stdout)
    checked = subprocess.run(
        [BUILD / "syscript", "check", script], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    run("script", "1", path, "--name", "named", "-o", tmp_path, cache=tmp_path)
    subprocess.run(
        ["cc", "-std=c99", "-Werror", "-fsyntax-only", f"-I{BUILD}/include", header], check=True
    )


def until_again(trace: Writer, i: int) -> None:
    """Receives messages until there are none."""
    trace.call("epoll_wait(3, [{events=EPOLLIN, data={u32=4, u64=4}}], 64, -1)", 1)
    for k in range(trace.random.randrange(1, 5)):
        trace.call(f'recvfrom(4, "{i}.{k}"..., 2048, MSG_DONTWAIT, NULL, NULL)', 30 + k)
    error = "-1 EAGAIN (Resource temporarily unavailable)"
    trace.call("recvfrom(4, 0x7f12, 2048, MSG_DONTWAIT, NULL, NULL)", error)


def expected_error(trace: Writer, i: int) -> None:
    """An expected error: the program continues if a file does not exist."""
    error = "-1 ENOENT (No such file or directory)"
    stat = "{st_mode=S_IFREG|0644, ...}"
    trace.call(f'newfstatat(AT_FDCWD, "/d/{i}-journal", 0x7ffd, 0)', error)
    trace.call(f'newfstatat(AT_FDCWD, "/d/{i}", {stat}, 0)', 0)
    trace.call(f'unlink("/d/{i}")', 0)


def attributes(trace: Writer, i: int) -> None:
    """Several calls for each name; some are expected to fail."""
    names = [f"n{k}" for k in range(trace.random.randrange(1, 7))]
    entries = ", ".join(f'{{d_ino=1, d_reclen=24, d_type=DT_REG, d_name="{n}"}}' for n in names)
    none = "-1 ENODATA (No data available)"
    trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY|O_DIRECTORY)', 5)
    trace.call(f"getdents64(5, [{entries}], 32768)", 24 * len(names))
    for name in names:
        stat = "{st_mode=S_IFREG|0644, ...}"
        trace.call(f'newfstatat(5, "{name}", {stat}, AT_SYMLINK_NOFOLLOW)', 0)
        trace.call(f'lgetxattr("/d/{i}/{name}", "user.a", 0x5581, 255)', none)
    trace.call("getdents64(5, [], 32768)", 0)
    trace.call("close(5)", 0)


def journal(trace: Writer, i: int) -> None:
    """A transaction: data of unknown origin, vectored writes."""
    trace.call(f"fcntl(3, F_SETLK, {{l_type=F_RDLCK, l_start={i}, l_len=1}})", 0)
    trace.call('openat(AT_FDCWD, "/d/journal", O_RDWR|O_CREAT, 0644)', 4)
    trace.call(f'writev(4, [{{iov_base="{i}", iov_len=600}}], 1)', 600)
    trace.call("fdatasync(4)", 0)
    trace.call("close(4)", 0)
    trace.call('unlink("/d/journal")', 0)


KINDS = [copy_whole, search, many_writes, until_again, expected_error, attributes, journal]


def planted(kind: Callable[[Writer, int], None], apart: bool) -> Writer:
    trace = Writer(8)
    for i in range(60):
        if apart:
            trace.noise(2 + i % 4)
        kind(trace, i)
    return trace


def tried(trace: Writer, path: Path) -> list[Written]:
    """The scripts of all candidates: none makes calls that the trace lacks."""
    found = []
    for one in candidates(trace, path):
        made = write.script(one, "t")
        assert made.tried.examples, sequence(one)
        assert not made.tried.differences, (sequence(one), made.tried.differences, made.lua)
        found.append(made)
    return found


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "in a row"])
@pytest.mark.parametrize("kind", KINDS)
def test_script_does_as_the_trace_and_stops_at_every_failure(
    tmp_path: Path, kind: Callable[[Writer, int], None], apart: bool
) -> None:
    found = tried(planted(kind, apart), tmp_path)
    assert found
    for made in found:
        # The end of a loop is reported as its first call.
        steps = {made.plan.target(number) + 1 for number in range(len(made.plan.steps))}
        assert made.tried.steps == steps


def test_mixed_traces(tmp_path: Path) -> None:
    trace = Writer(12)
    for i in range(200):
        trace.noise(trace.random.randrange(4))
        trace.random.choice(KINDS)(trace, i)
    assert len(tried(trace, tmp_path)) >= 5


def broken(made: Written, what: str, by: str) -> verify.Verified:
    text, count = re.subn(what, by, made.lua)
    assert count
    return verify.verify(made.plan, text, [one.instances for one in made.plan.candidate.examples])


def test_trial_sees_a_script_that_is_wrong(tmp_path: Path) -> None:
    """The trial detects scripts that would lose data, or hide a failure."""
    made = written(planted(copy_whole, True), tmp_path)
    goes_on = broken(made, r"if sent ~= \w+ then", "if false then")
    assert "after the failure" in goes_on.problems[0]
    closes = broken(made, r"\n( +)return 2, (\w+)\n", r"\n\1close(file) return 2, \2\n")
    assert "close after the failure" in closes.problems[0]
    silent = broken(made, r"return 1, file\b", "return 0, 0")
    assert "done is 1, not 0" in silent.problems[0]
    unmarked = broken(made, r"\n +skip\(item, .*", "")
    assert "not made" in unmarked.problems[0]
    other = broken(made, r"O_RDONLY = const.O_RDONLY", "O_RDONLY = const.O_RDWR")
    assert "argument 3 is 2, not O_RDONLY (0)" in other.differences[0]
    assert not other.same
    undefined = broken(made, r"write\(file2, ", "write(fiel2, ")
    assert "nil" in undefined.differences[0]


def test_script_that_is_not_as_the_trace_is_reported(tmp_path: Path) -> None:
    """One of ten iterations may differ, and the script's header says so."""
    trace = Writer(3)
    for i in range(100):
        trace.noise(2)
        mode = "0600" if i == 50 else "0644"
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_WRONLY|O_CREAT, {mode})', 4)
        trace.call("fsync(4)", 0)
        trace.call("close(4)", 0)
    made = written(trace, tmp_path)
    assert "made the same calls as 5 of 5 runs of the trace" in made.lua.replace("\n-- ", " ")


# -- The C -------------------------------------------------------------------------

SYSTEM_HEADERS = """
#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
"""
MAIN = """
int main(int argc, char **argv)
{
	char error[512], text[2][256];
	struct NAME_item items[2] = {
		{ .path = argv[1], .buf = text[0], .room = sizeof(text[0]) },
		{ .path = argv[2], .buf = text[1], .room = sizeof(text[1]) },
	};
	struct NAME_end end;
	int script = NAME_register(error, sizeof(error));

	if (argc != 3 || script < 0)
		return fputs(error, stderr), 1;
	if (NAME_call(script, items, 2, &end))
		return 2;
	printf("%d %d %d\\n", (int)end.done, (int)end.step, (int)end.result);
	for (int i = 0; i < 2; i++)
		printf("%d %d %d\\n", (int)items[i].openat_result,
			(int)items[i].read_total, (int)items[i].close_result);
	return syscript_close(script);
}
"""
STRICT = ["-Wall", "-Wextra", "-Werror", "-O2", "-D_GNU_SOURCE", f"-I{BUILD}/include"]


def compiled(*argv: str | Path) -> None:
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_headers_compile_with_those_of_the_system(tmp_path: Path) -> None:
    """Compiled as C and as C++, all headers in one file."""
    source = SYSTEM_HEADERS
    for i, kind in enumerate(KINDS):
        directory = tmp_path / str(i)
        directory.mkdir()
        for k, made in enumerate(tried(planted(kind, True), directory)):
            name = f"{made.name}_{i}_{k}"
            (tmp_path / f"{name}.h").write_text(
                re.sub(rf"\b{made.name}", name, made.header).replace(
                    made.name.upper(), name.upper()
                )
            )
            source += f'#include "{name}.h"\n'
    (tmp_path / "all.c").write_text(source + "int main(void) { return 0; }\n")
    compiled("cc", *STRICT, "-c", tmp_path / "all.c", "-o", tmp_path / "all.o")
    compiled("c++", *STRICT, "-x", "c++", "-c", tmp_path / "all.c", "-o", tmp_path / "all.o")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A C program that reads two files by its script."""
    made = written(reading(missing=False), tmp_path)
    (tmp_path / "script.h").write_text(made.header)
    (tmp_path / "program.c").write_text(
        SYSTEM_HEADERS + '#include "script.h"\n' + MAIN.replace("NAME", made.name)
    )
    libraries = [BUILD / "libsyscript.a", "-lm", "-lpthread"]
    compiled("cc", *STRICT, tmp_path / "program.c", *libraries, "-o", tmp_path / "program")
    return tmp_path / "program"


def output(*argv: str | Path) -> list[list[int]]:
    env = {**os.environ, "SYSCRIPT_BACKEND": "user"}
    done = subprocess.run(list(map(str, argv)), env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [list(map(int, line.split())) for line in done.stdout.splitlines()]


def test_program_in_c_gets_results_and_failures(program: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    end, one, two = output(program, tmp_path / "text", tmp_path / "none")
    assert end == [1, 1, ENOENT]
    assert one[1:] == [4, 0]
    assert two == [ENOENT, NOT_MADE, NOT_MADE]


@pytest.mark.parametrize("name", ["read", "close"])
def test_failures_that_the_kernel_has_injected(program: Path, tmp_path: Path, name: str) -> None:
    """Failures of the second file's calls, observed from outside: no call follows."""
    (tmp_path / "text").write_text("text")
    (tmp_path / "more").write_text("more")
    trace = tmp_path / "strace"
    watch = ["strace", "-o", trace, "-e", "trace=openat,read,close", "-P", tmp_path / "more"]
    inject = ["-e", f"inject={name}:error=EIO:when=1"]
    end, one, two = output(*watch, *inject, program, tmp_path / "text", tmp_path / "more")
    step = {"read": 2, "close": 4}[name]
    assert end == [1, step, -5]
    assert one[1:] == [4, 0]
    assert two[1:] == ([0, NOT_MADE] if name == "read" else [4, -5])
    calls = re.findall(r"^(\w+)\(.*", trace.read_text(), re.M)
    assert calls[-2:] == (["openat", "read"] if name == "read" else ["read", "close"])


EACH = """
#include "script.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program's own code for a file, from a step on. */
static int by_calls(struct NAME_item *item, int step, int64_t result, void *context)
{
	int file = (int)item->openat_result;
	size_t size = 0;

	++*(int *)context;
	if (step <= 1) {
		file = open(item->path, O_RDONLY);
		result = file < 0 ? -errno : 0;
		if (result)
			return printf("%s: %d\\n", item->path, (int)result), 0;
	}
	if (step == 2 && result > 0)
		size = (size_t)result;
	else if (step == 2 && result < 0)
		return printf("%s: %d\\n", item->path, (int)result), close(file);
	for (;;) {
		ssize_t got = read(file, (char *)item->buf + size, 512);

		if (got < 0)
			return printf("%s: %d\\n", item->path, -errno), close(file);
		if (!got)
			break;
		size += (size_t)got;
	}
	item->read_result = (int64_t)size;
	printf("%s: %zu %.1s\\n", item->path, size, (char *)item->buf);
	return close(file);
}

int main(int argc, char **argv)
{
	char error[512];
	int own = 0;
	struct NAME_item *items = calloc((size_t)argc, sizeof(*items));
	int script = getenv("PLAIN") ? -ENOSYS : NAME_register(error, sizeof(error));
	int next = dup(0), left;

	close(next);

	for (int i = 1; i < argc; i++) {
		items[i - 1].path = argv[i];
		items[i - 1].buf = calloc(1, 1 << 16);
	}
	if (NAME_each(script, items, argc - 1, by_calls, &own))
		return 1;
	for (int i = 0; i < argc - 1 && script >= 0; i++)
		if (items[i].close_result == 0)
			printf("%s: %d %.1s\\n", items[i].path, (int)items[i].read_result,
				(char *)items[i].buf);
	fprintf(stderr, "%d\\n", own);
	left = dup(0);
	return left != next;
}
"""


def test_program_goes_on_where_its_script_stops(tmp_path: Path) -> None:
    """Files that are missing, empty, longer than any in the trace, or directories."""
    trace = Writer(2)
    for i in range(60):
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDONLY)', 3)
        trace.call(f'read(3, "{i}"..., 512)', 9 + i)
        trace.call("close(3)", 0)
    made = written(trace, tmp_path)
    (tmp_path / "script.h").write_text(made.header)
    (tmp_path / "each.c").write_text(EACH.replace("NAME", made.name))
    flags = [BUILD / "libsyscript.a", "-lm", "-lpthread"]
    compiled("cc", *STRICT, tmp_path / "each.c", "-o", tmp_path / "each", *flags)
    sizes = {"a": 7, "empty": 0, "b": 511, "full": 512, "long": 5000, "c": 1}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(name.encode() * size)
        os.truncate(tmp_path / name, size)
    names = [*sizes, "missing", ".", "a", "missing"]
    paths = [tmp_path / name for name in names]

    def lines(env: dict[str, str]) -> tuple[list[str], int]:
        done = subprocess.run(
            [tmp_path / "each", *paths],
            env={**os.environ, "SYSCRIPT_BACKEND": "user", **env},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines()), int(done.stderr)

    by_script, own = lines({})
    by_calls, all_own = lines({"PLAIN": "1"})
    assert by_script == by_calls
    assert (own, all_own) == (6, len(names))


# -- What a trace cannot show ------------------------------------------------------


def on_files(*texts: str, apart: bool = True) -> Writer:
    trace = Writer(1)
    for i in range(60):
        trace.noise(1 + i % 3 if apart or not i % 10 else 0)
        trace.call(f'openat(AT_FDCWD, "/d/{i}", O_RDWR)', 5)
        for text in texts:
            trace.call(text, 0)
        trace.call("close(5)", 0)
    return trace


@pytest.mark.parametrize(
    ("text", "arg", "whose"),
    [
        ("fchmod(5, 0644)", 1, "parameter"),
        ("fchown(5, 0, 0)", 1, "parameter"),
        ("fchown(5, 0, 0)", 2, "parameter"),
        ("ftruncate(5, 4096)", 1, "parameter"),
        ("ftruncate(5, 0)", 1, "code"),
        ("mkdir('/x', 0777)", 1, "code"),
        ("mkdir('/x', 0750)", 1, "parameter"),
        ("fallocate(5, 0, 0, 10000)", 3, "parameter"),
        ("lseek(5, 0, SEEK_END)", 1, "code"),
        ("lseek(5, 100, SEEK_SET)", 1, "parameter"),
        ("fadvise64(5, 0, 0, POSIX_FADV_SEQUENTIAL)", 3, "code"),
        ("fcntl(5, F_SETFL, O_RDONLY|O_NONBLOCK)", 2, "assumed"),
        ("fcntl(5, F_SETFD, FD_CLOEXEC)", 1, "code"),
        ("flock(5, LOCK_EX)", 1, "code"),
        ("access('/etc/thing', F_OK)", 0, "assumed"),
        ("access('/srv/thing', F_OK)", 0, "parameter"),
        ("sync_file_range(5, 8192, 4096, SYNC_FILE_RANGE_WRITE)", 2, "parameter"),
        ("setpriority(PRIO_PROCESS, 0, 7)", 2, "assumed"),
    ],
)
def test_whose_what_never_changes_is(tmp_path: Path, text: str, arg: int, whose: str) -> None:
    (one,) = candidates(on_files(text.replace("'", '"')), tmp_path)
    name = text.partition("(")[0]
    source = next(step for step in one.flow.steps if step.name == name).args[arg]
    kind = "assumed" if source.assumed else {"const": "code", "param": "parameter"}
    assert (kind if source.assumed else kind[source.kind.value]) == whose


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "in a batch"])
def test_modes_are_those_of_the_items(tmp_path: Path, call: Call, apart: bool) -> None:
    """All files of the trace had mode 0644; these have other modes."""
    made = written(on_files("fchmod(5, 0644)", apart=apart), tmp_path)
    assert made.plan.candidate.batched != apart
    modes = {"one": 0o600, "two": 0o755, "three": 0o644}
    for name in modes:
        (tmp_path / name).touch()
    items = Items(made, *({"path": tmp_path / n, "mode": m} for n, m in modes.items()))
    assert call(made.lua, items.address, 3) == [3, 0, 0]
    for name, mode in modes.items():
        assert (tmp_path / name).stat().st_mode & 0o777 == mode


def test_what_is_assumed_has_to_be_confirmed(tmp_path: Path) -> None:
    path = on_files("fcntl(5, F_SETFL, O_RDONLY|O_NONBLOCK)").write(tmp_path / "t")
    told = "step 2, fcntl(): argument 3 is O_RDONLY|O_NONBLOCK"
    assert told in run("show", "1", path, cache=tmp_path).stdout
    done = run("script", "1", path, "-o", tmp_path / "out", cache=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
    assert "--assume" in done.stderr
    assert not (tmp_path / "out").exists()
    done = run(
        "script", "1", path, "-o", tmp_path / "out", "--name", "x", "--assume", cache=tmp_path
    )
    assert done.returncode == 0
    lua = (tmp_path / "out" / "x.lua").read_text()
    assert lua.index("ASSUMED") < lua.index(told) < lua.index("local ")


def test_buffers_that_were_never_full(tmp_path: Path, call: Call) -> None:
    trace = Writer(1)
    for i in range(60):
        trace.noise(1 + i % 3)
        trace.call(f'readlink("/d/{i}", "/t/{i}", 64)', 4 + i % 9)
        trace.call(f'unlink("/d/{i}")', 0)
    made = written(trace, tmp_path)
    (tmp_path / "short").symlink_to("x")
    (tmp_path / "long").symlink_to("x" * 64)
    items = Items(
        made,
        *(
            {"path": tmp_path / n, "buf": ctypes.create_string_buffer(64), "size": 64}
            for n in ("short", "long")
        ),
    )
    common = (ctypes.c_int64 * 1)(64)
    args = [items.address, 2, *([ctypes.addressof(common)] if made.plan.common.params else [])]
    assert call(made.lua, *args) == [1, 1, 64]
    assert (tmp_path / "long").is_symlink()
    assert not (tmp_path / "short").is_symlink()


# -- The command -------------------------------------------------------------------


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
    assert "function run(items, n)" in done.stdout
    assert "_register(char *error" in done.stdout
    done = run("script", "9", "--assume", tmp_path / "t", cache=tmp_path)
    assert done.returncode == 1
    assert re.search(
        r"no candidate '9' in the report of \S+, which has 1 \(open\S+\)\n", done.stderr
    )
