# SPDX-License-Identifier: GPL-2.0
"""consolidate reads every form of trace, and says what it cannot read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from conftest import ROOT
from traces import run

from consolidate.errors import ConsolidateError
from consolidate.trace import reader, values

CALL = 'openat(AT_FDCWD, "/etc/hosts", O_RDONLY|O_CLOEXEC) = 3'
PREFIXES = {
    "plain": "",
    "pid": "1234 ",
    "pid of stderr": "[pid  1234] ",
    "-t": "10:11:12 ",
    "-tt": "10:11:12.123456 ",
    "-ttt": "1795176158.123456 ",
    "-f -ttt": "1234 1795176158.123456 ",
    "-f -tt on stderr": "[pid 1234] 10:11:12.123456 ",
    "-r": "     0.000031 ",
    "-f -r": "[pid 1234]      0.000031 ",
    "-i": "[00007f5fd1b2e4a9] ",
    "-n": "[ 257] ",
}


def read(tmp_path: Path, *lines: str, name: str = "trace") -> reader.Trace:
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return reader.read([path])


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_prefixes(tmp_path: Path, prefix: str) -> None:
    found = read(tmp_path, *[f"{prefix}{CALL} <0.000012>"] * 3)
    assert not found.damaged
    (thread,) = found.threads.values()
    assert len(thread.calls) == 3
    call = thread.calls[0]
    assert (call.name, call.ret, call.took) == ("openat", 3, 0.000012)
    assert values.of_call(call.name, call.args)[1].string == b"/etc/hosts"
    if "1234 " in prefix or "1234]" in prefix:
        assert thread.tid == 1234
    stamped = any(c in prefix for c in ".:")
    assert (call.start is not None) == stamped


RESULTS = {
    "= 0": (0, None),
    "= -1 ENOENT (No such file or directory)": (-1, "ENOENT"),
    "= 3</etc/hosts>": (3, None),
    "= 3<TCP:[127.0.0.1:80->127.0.0.1:4000]>": (3, None),
    "= 3</tmp/a b = c>": (3, None),
    "= 0x7f8e76e04000": (0x7F8E76E04000, None),
    "= 0x1 (flags FD_CLOEXEC)": (1, None),
    "= 1 ([{fd=3, revents=POLLIN}])": (1, None),
    "= 0 (Timeout)": (0, None),
    "= -1 ENOTTY (Inappropriate ioctl for device) <0.000008>": (-1, "ENOTTY"),
}


@pytest.mark.parametrize("result", RESULTS)
def test_results(tmp_path: Path, result: str) -> None:
    found = read(tmp_path, f"ioctl(3, 0x5401, 0x7ffc)    {result}")
    assert not found.damaged
    (call,) = found.threads[0].calls
    assert (call.ret, call.error) == RESULTS[result]


def test_stamps_over_midnight_and_steps(tmp_path: Path) -> None:
    late = read(tmp_path, f"23:59:59.900000 {CALL}", f"00:00:00.100000 {CALL}")
    assert late.span() == pytest.approx(0.2, abs=1e-6)
    steps = read(tmp_path, *[f"     0.500000 {CALL}"] * 3)
    assert steps.span() == pytest.approx(1.0, abs=1e-6)


def test_interleaved_calls_are_put_together(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "10 1795176158.000000 read(3,  <unfinished ...>",
        '11 1795176158.000100 write(4, "x", 1) = 1 <0.000010>',
        '10 1795176158.000300 <... read resumed>"x", 4096) = 1 <0.000300>',
        "11 1795176158.000400 futex(0x55, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>",
        "10 1795176158.000500 close(3) = 0 <0.000010>",
    )
    assert not found.damaged
    assert [call.name for call in found.threads[10].calls] == ["read", "close"]
    assert values.of_call("read", found.threads[10].calls[0].args)[1].string == b"x"
    assert found.threads[10].calls[0].took == 0.0003
    assert found.unfinished == 1
    assert len(found.threads[11].calls) == 1


def test_signals_exits_and_remarks_are_no_damage(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "strace: Process 11 attached",
        f"10 {CALL}",
        "10 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---",
        f"10 {CALL}",
        "10 pause() = ? ERESTARTNOHAND (To be restarted if no handler)",
        "10 +++ killed by SIGKILL +++",
    )
    assert not found.damaged
    assert len(found.threads[10].calls) == 2
    assert 1 in found.threads[10].breaks


def test_children_know_their_process(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '10 execve("/bin/server", ["server"], 0x7ffc /* 3 vars */) = 0',
        "10 clone(child_stack=NULL, flags=CLONE_VM|CLONE_THREAD) = 11",
        f"11 {CALL}",
        "10 clone(child_stack=NULL, flags=SIGCHLD) = 12",
        f"12 {CALL}",
    )
    assert found.threads[11].process == 10
    assert found.threads[12].process == 12
    assert found.threads[12].command == "server"


def test_files_of_ff(tmp_path: Path) -> None:
    paths = []
    for pid in (77, 78):
        paths.append(tmp_path / f"out.{pid}")
        paths[-1].write_text(f"{CALL}\n" * pid)
    found = reader.read(paths)
    assert {tid: len(thread.calls) for tid, thread in found.threads.items()} == {77: 77, 78: 78}


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress(f"{CALL}\n".encode()))
    assert reader.read([path]).calls == 1


PERF = """\
         ? (         ): ls/27516  ... [continued]: execve())                        = 0
     0.060 ( 0.012 ms): ls/27516 brk()   = 0x55f331832000
     0.225 ( 0.014 ms): ls/27516 access(filename: 0x434112a0, mode: R) = -1 ENOENT (No such file)
     0.253 ( 0.014 ms): ls/27516 openat(dfd: CWD, filename: "/etc/x", flags: RDONLY|CLOEXEC) = 4
     0.300 ( 0.014 ms): a b/27517 read(fd: 4</etc/x>, buf: 0x7ffd98734688, count: 832) = 832
     0.301 (         ): ls/27516 futex(uaddr: 0x561f5fd96b40, op: WAIT|PRIVATE_FLAG, val: 2) ...
     0.301 ( 0.500 ms): ls/27516  ... [continued]: futex())                          = 0
     0.900 (         ): ls/27516 exit_group()                                        = ?
"""


def test_perf_trace(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(PERF)
    found = reader.read([path])
    assert not found.damaged
    calls = found.threads[27516].calls
    assert [call.name for call in calls] == ["brk", "access", "openat", "futex"]
    assert calls[1].error == "ENOENT"
    assert calls[3].took == pytest.approx(0.0005)
    assert found.threads[27517].command == "a b"
    args = values.of_call("read", found.threads[27517].calls[0].args)
    assert [value.number for value in args] == [4, 0x7FFD98734688, 832]
    assert args[0].path == "/etc/x"


def test_damage_is_told_with_its_line_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    lines = [f"10 {CALL}"] * 40
    lines[7] = "\x00\xff garbage"
    lines[20] = '10 read(3, "abc'
    lines[30] = "10 <... write resumed>) = 3"
    path.write_bytes("\n".join(lines).encode("latin-1") + b"\n10 close(3)    = ")
    done = run("report", path)
    assert done.returncode == 0
    for number in (8, 21, 31, 41):
        assert f"{path}:{number}: " in done.stderr
    assert "37 calls" in done.stderr
    assert "4 lines were unreadable" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("hello\nworld\n", "is no trace"),
        ("% time     seconds  usecs/call     calls\n", "summary (strace -c)"),
        ("10 read(3,  <unfinished ...>\n", "no finished call"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text)
    with pytest.raises(ConsolidateError, match=".*") as raised:
        reader.read([path])
    assert message in str(raised.value)
    done = run("report", path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_file() -> None:
    done = run("report", ROOT / "no-such-trace")
    assert done.returncode == 1
    assert "no-such-trace: No such file" in done.stderr


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        ("", []),
        ("3", ["3"]),
        ('3, "a, b", 5', ["3", '"a, b"', "5"]),
        (r'3, "a\", (b", {x=[1, 2], y="}"}, 5', ["3", r'"a\", (b"', '{x=[1, 2], y="}"}', "5"]),
        ("[{fd=3, events=POLLIN}], 1, -1", ["[{fd=3, events=POLLIN}]", "1", "-1"]),
    ],
)
def test_arguments_are_taken_apart(args: str, parts: list[str]) -> None:
    assert values.split(args) == parts


def test_escapes() -> None:
    assert values.unescape(r"a\n\t\"\\\177\0\x41") == b'a\n\t"\\\x7f\x00A'


@pytest.mark.parametrize("error", ["ERESTARTSYS", "ERESTART_RESTARTBLOCK", "ERESTARTNOHAND"])
def test_calls_that_a_signal_ended_are_no_damage(tmp_path: Path, error: str) -> None:
    path = tmp_path / "t"
    path.write_text(
        f"10 1795176158.000000 poll([{{fd=3}}], 1, 100) = ? {error} (Interrupted by signal)\n"
        "10 1795176158.000100 clock_nanosleep(0, 0, 0x7f, <unfinished ...>\n"
        f"10 1795176158.000200 <... clock_nanosleep resumed>0x7f) = ? {error} (Interrupted)\n"
        "10 1795176158.000300 getpid() = 10 <0.000001>\n"
    )
    found = reader.read([path])
    assert found.damaged == 0
    assert [call.name for call in found.threads[10].calls if call.ret is not None] == ["getpid"]
