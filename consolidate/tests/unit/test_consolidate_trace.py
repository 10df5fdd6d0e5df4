# SPDX-License-Identifier: GPL-2.0
"""consolidate reads every form of trace, and reports what it cannot read."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT
from traces import PYTHON, Writer, run

from consolidate import __main__, calltable
from consolidate.errors import ConsolidateError
from consolidate.trace import perf, reader, values

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


def test_compressed_and_damaged(tmp_path: Path) -> None:
    path = tmp_path / "trace.gz"
    whole = gzip.compress(f"{CALL}\n".encode() * 1000)
    middle = len(whole) // 2
    for data in (whole[:middle], whole[:10] + b"\xff" * 99, whole[:-8] + bytes(8)):
        path.write_bytes(data)
        with pytest.raises(ConsolidateError, match="cut off or damaged: `zcat"):
            reader.read([path])


def test_pipe() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours), os.fdopen(theirs, "w") as file:
        file.write(CALL)
        file.flush()
        with pytest.raises(ConsolidateError, match="write the trace to one"):
            reader.read([Path(f"/dev/fd/{ours}")])


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


def audited(serial: int, number: int, result: int, *words: int, comm: str = '"cat"') -> str:
    args = " ".join(f"a{i}={word & (1 << 64) - 1:x}" for i, word in enumerate(words))
    success = "no" if result < 0 else "yes"
    return (
        f"type=SYSCALL msg=audit(1795176158.{serial:03}:{serial}): arch=c000003e syscall={number}"
        f" success={success} exit={result} {args} items=1 ppid=9 pid=10 auid=0 uid=0 gid=0 euid=0"
        f' tty=(none) ses=3 comm={comm} exe="/usr/bin/cat" subj=unconfined key="consolidate-8"'
    )


def audit_path(serial: int, name: str, kind: str = "NORMAL", item: int = 0) -> str:
    return (
        f"type=PATH msg=audit(1795176158.{serial:03}:{serial}): item={item} name={name} inode=5"
        f" dev=fe:01 mode=0100644 ouid=0 ogid=0 rdev=00:00 nametype={kind}"
    )


def test_audit(tmp_path: Path) -> None:
    enriched = '\x1dARCH=x86_64 SYSCALL=newfstatat AUID="root"'
    found = read(
        tmp_path,
        "type=DAEMON_START msg=audit(1795176157.100:1): op=start ver=3.0.9 res=success",
        "type=USER_AUTH msg=audit(1795176157.200:2): pid=8 uid=0 msg='op=PAM res=success'",
        audited(3, 59, 0, 0x5555, 0x5556, 0x5557, 8),
        'type=EXECVE msg=audit(1795176158.003:3): argc=2 a0="cat" a1="/etc/x"',
        'type=CWD msg=audit(1795176158.003:3): cwd="/root"',
        audit_path(3, '"/usr/bin/cat"'),
        audit_path(3, '"/lib64/ld-linux-x86-64.so.2"', item=1),
        "type=PROCTITLE msg=audit(1795176158.003:3): proctitle=636174",
        # Two calls with interleaved records, as from two CPUs.
        audited(4, 257, 3, 0xFFFFFF9C, 0x7FFD, 0o2000000, 0),
        audited(5, 257, -2, -100, 0x7FFE, 0o101, 0o644),
        audit_path(5, '"/tmp/"', "PARENT"),
        audit_path(4, "2F746D702F6120C3A422"),
        audit_path(5, '"/tmp/new"', "CREATE", 1),
        "type=EOE msg=audit(1795176158.004:4): ",
        audited(6, 0, 832, 3, 0x7FFD98734688, 0x340, 0),
        audited(7, 9, 0x7F0000001000, 0, 0x1000, 3, 0x22),
        audited(8, 35, -516, 0x7FFC, 0, 0, 0),
        audited(9, 262, 0, -100, 0x7FFD, 0x7FFC, 0) + enriched,
        "type=SYSCALL msg=audit(1795176158.010:10): arch=40000003 syscall=5 success=yes exit=3"
        " a0=1 a1=2 a2=3 a3=4 items=0 ppid=9 pid=10 comm=6d7920636174",
        "type=SYSCALL msg=audit(1795176158.011:11): arch=c000003e syscall=257 success=y",
        "[    9.000000] audit: type=1300 audit(1795176158.012:12): arch=c000003e syscall=3"
        ' success=yes exit=0 a0=3 a1=0 a2=0 a3=0 items=0 ppid=9 pid=11 comm="b"',
    )
    assert (found.damaged, [one.line for one in found.damage]) == (1, [20])
    assert {tid: t.command for tid, t in found.threads.items() if t.calls} == {10: "cat", 11: "b"}
    calls = found.threads[10].calls
    assert [(call.name, call.ret, call.error) for call in calls] == [
        ("execve", 0, None),
        ("openat", 3, None),
        ("openat", -1, "ENOENT"),
        ("read", 832, None),
        ("mmap", 0x7F0000001000, None),
        ("newfstatat", 0, None),
    ]
    assert calls[1].args == r'AT_FDCWD, "/tmp/a \303\244\042", O_RDONLY|O_CLOEXEC'
    assert calls[2].args == 'AT_FDCWD, "/tmp/new", O_WRONLY|O_CREAT, 420'
    assert calls[0].args.startswith('"/usr/bin/cat", ')
    assert [v.number for v in values.of_call("read", calls[3].args)] == [3, 0x7FFD98734688, 832]
    assert "MAP_ANONYMOUS" in calls[4].args
    assert calls[0].start == 1795176158.003
    # A restarted sleep, and calls of another architecture, end sequences.
    assert found.threads[10].breaks == {5, 6}


def test_audit_logs_may_begin_with_other_things(tmp_path: Path) -> None:
    other = "type=USER_START msg=audit(1795176157.200:2): pid=8 uid=0 msg='op=PAM'"
    path = tmp_path / "audit.log"
    lines = [other] * 300 + [
        line
        for i in range(10, 310, 3)
        for line in (
            audited(i, 257, 3, -100, 0x7FFD, 0, 0),
            audit_path(i, f'"/srv/f{i}"'),
            audited(i + 1, 0, 100, 3, 0x7FFD0000, 4096, 0),
            audited(i + 2, 3, 0, 3, 0, 0, 0),
        )
    ]
    path.write_text("\n".join(lines) + "\n")
    done = run("report", path)
    assert done.returncode == 0, done.stderr
    assert "openat read close" in done.stdout


@pytest.mark.parametrize(
    ("result", "ret", "error"),
    [
        ("11</dev/null>", 11, None),
        ("11</tmp/a b>", 11, None),
        ("CLOEXEC", 1, None),
        ("RDWR|NONBLOCK|0x8000", 1, None),
        ("-1 EBADF (Bad file descriptor)", -1, "EBADF"),
        ("0", 0, None),
    ],
)
def test_results_of_fcntl_by_perf(result: str, ret: int, error: str | None) -> None:
    line = f"   271.102 ( 0.016 ms): sh/159 fcntl(fd: 1</dev/null>, cmd: GETFL)    = {result}\n"
    call = perf.parse(line).call
    assert call is not None
    assert (call.name, call.ret, call.error) == ("fcntl", ret, error)


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
        ("hello\nworld\n", "is not a trace"),
        ("% time     seconds  usecs/call     calls\n", "summary (strace -c"),
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
        # A descriptor's name, in which strace escapes <, > and quotes.
        (r'3</a, ([\"b\74>, "", 7', [r"3</a, ([\"b\74>", '""', "7"]),
        (r"3</a, b>, 7", ["3</a, b>", "7"]),
        (r'AT_FDCWD</{>, "a"', ["AT_FDCWD</{>", '"a"']),
        ('3<TCP:[1.2.3.4:5->6.7.8.9:10]>, "a"', ["3<TCP:[1.2.3.4:5->6.7.8.9:10]>", '"a"']),
        (r"3</a, ->, 4<UNIX-STREAM:[1->2]>", ["3</a, ->", "4<UNIX-STREAM:[1->2]>"]),
        ('1</dev/pts/(0<char 136:0>>, "a"', ["1</dev/pts/(0<char 136:0>>", '"a"']),
        ("{effective=1<<CAP_A|1<<CAP_B}, 5</(>", ["{effective=1<<CAP_A|1<<CAP_B}", "5</(>"]),
    ],
)
def test_arguments_are_taken_apart(args: str, parts: list[str]) -> None:
    assert values.split(args) == parts


def test_odd_names_of_descriptors() -> None:
    assert values.head(r'3</a, \"b>, "", 7') == (3, r"/a, \"b")
    assert values.first_text(r'3</a\"b>, "c\"d", "e"') == b'c"d'
    assert values.value('"/a/*b*/c"', "s").string == b"/a/*b*/c"


def test_escapes() -> None:
    assert values.unescape(r"\303\266\377") == b"\xc3\xb6\xff"
    assert values.unescape("\u00f6") == b"\xc3\xb6"
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


SYSTEM = """\
     0.253 ( 0.014 ms): ls/27516 openat(dfd: CWD, filename: "/etc/x", flags: RDONLY|CLOEXEC) = 4
     0.300 ( 0.014 ms): ls/27516 read(fd: 4</etc/x>, buf: 0x7ffd98734688, count: 832) = 832
     0.310 ( 0.001 ms): sshd/27517 recvfrom(fd: 4, ubuf: 0x7ffd98734688, size: 832) = 100
LOST 17 events!
     0.320 ( 0.001 ms): ls/27518 close(fd: 4) = 0
     0.330 ( 0.001 ms): sshd/27517 write(fd: 4, buf: 0x7ffd98734688, count: 60) = 60
     0.340 ( 0.001 ms): sshd/27517 execve(filename: 0x1000, argv: 0x2000, envp: 0x3000) = 0
LOST 3 events!
"""


def fake_perf(place: Path, body: str) -> dict[str, str]:
    (place / "lines").write_text(SYSTEM)
    perf = place / "perf"
    perf.write_text(f'#!/bin/sh\necho "$@" >{place}/told\n{body}\n')
    perf.chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may")
def test_whole_machine(tmp_path: Path) -> None:
    env = fake_perf(tmp_path, f'cp {tmp_path}/lines "$4"')
    trace = tmp_path / "trace"
    done = run("record", "--system", "--seconds", "1.5", "-o", trace, env=env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "told").read_text() == f"trace --all-cpus --output {trace} -- sleep 1.5\n"
    assert "perf lost 20 events: the trace has gaps" in done.stderr
    found = json.loads(run("report", "--json", trace, cache=tmp_path).stdout)
    assert found["system"]
    assert found["programs"] == [
        {
            "command": "ls",
            "processes": 2,
            "calls": 3,
            "bytes_copied": 832 + len("/etc/x") + 1,
            "kinds": {"files": 3},
        },
        {
            "command": "sshd",
            "processes": 1,
            "calls": 3,
            "bytes_copied": 160,
            "kinds": {"sockets": 1, "files": 1, "processes": 1},
        },
    ]
    shown = run("report", trace, cache=tmp_path).stdout
    assert re.search(r"^ ls +2 +3 +839 bytes +3 *$", shown, re.M), shown
    # A trace of a single command has no such remark.
    plain = tmp_path / "plain"
    plain.write_text(SYSTEM)
    assert "processes" not in run("report", plain, cache=tmp_path).stdout


# It lets any process trace it, whatever Yama's setting.
BUSY = """import ctypes, os
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
print("ready", flush=True)
while True: os.stat("/")
"""


def recorder(*args: str | Path, **options: object) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [PYTHON, "-m", "consolidate", "record", *map(str, args)]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_processes_until_it_is_enough(tmp_path: Path) -> None:
    """Ctrl-C ends the recording; the traced processes go on."""
    trace = tmp_path / "trace"
    busy = subprocess.Popen([PYTHON, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    try:
        assert busy.stdout.readline() == "ready\n"
        with recorder("-o", trace, "-p", str(busy.pid)) as process:
            while not trace.exists() or not trace.stat().st_size:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "recorded" in errors
        assert "Traceback" not in errors
        assert busy.poll() is None
    finally:
        busy.kill()
        busy.wait()
    (thread,) = (one for one in reader.read([trace]).threads.values() if one.calls)
    assert thread.command.startswith("python")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_interrupt_is_for_the_command(tmp_path: Path) -> None:
    """The command handles the interrupt and determines the exit status."""
    shell = 'trap "exit 7" INT; echo ready; while :; do sleep 0.1; done'
    command = ("-o", tmp_path / "trace", "--", "sh", "-c", shell)
    with recorder(*command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (7, False), errors


def test_interrupt_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(__main__.COMMANDS, "report", interrupted)
    assert __main__.main(["report", "trace"]) == 128 + signal.SIGINT


@pytest.mark.parametrize("option", ["--most", "--seconds", "--gap"])
def test_numbers_out_of_range(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["report", option, "-5", "trace"]) == 1
    assert f"{option} takes" in capsys.readouterr().err


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "consolidate")
    header = (ROOT / "lib" / "syscript.h").read_text()
    parts = re.findall(r"#define SYSCRIPT_VERSION_\w+\s+(\d+)", header)
    assert done.stdout.split()[1] == ".".join(parts)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whole_machine_until_it_is_enough(tmp_path: Path, number: int) -> None:
    """perf gets time to write its data."""
    ends = f'trap "cp {tmp_path}/lines $4; exit 0" INT; echo ready'
    env = fake_perf(tmp_path, f"{ends}; while :; do sleep 0.1; done")
    trace = tmp_path / "trace"
    command = [PYTHON, "-m", "consolidate", "record", "--system", "--seconds", "999", "-o", trace]
    env = {**os.environ, **env, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(60) == 0
    assert len(reader.read([trace]).threads) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--system"], "needs --seconds"),
        (["--system", "--seconds", "0"], "needs --seconds"),
        (["--system", "--seconds", "1", "ls"], "records all processes"),
        (["--system", "--seconds", "1", "-p", "1"], "records all processes"),
        (["--seconds", "1", "ls"], "--seconds is for --system"),
    ],
)
def test_whole_machine_and_nothing_else(tmp_path: Path, args: list[str], message: str) -> None:
    done = run("record", "-o", tmp_path / "t", *args)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_kinds_are_of_calls_that_exist() -> None:
    known = set(calltable._numbers().values())
    named = set().union(*calltable.KINDS.values())
    assert named <= known, named - known


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ["record", "-o", "t", "/bin/true"],
            "strace is not installed: sudo apt-get install strace",
        ),
        (["measure", "--here", "--backend", "user", "1", "t"], "sudo apt-get install gcc"),
    ],
)
def test_missing_tool_is_named_with_its_package(
    tmp_path: Path, command: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    trace.write(tmp_path / "t")
    monkeypatch.chdir(tmp_path)
    done = run(*command, env={"PATH": str(tmp_path)}, cache=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr and "Traceback" not in done.stderr
