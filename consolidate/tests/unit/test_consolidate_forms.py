# SPDX-License-Identifier: GPL-2.0
"""Each form in consolidate/docs/traces.md, as this strace writes it or newer ones do."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from traces import run

sys.path.insert(0, str(ROOT / "consolidate/tests"))

import trace_samples  # noqa: E402
import trace_tools  # noqa: E402

from consolidate import calltable
from consolidate.errors import ConsolidateError
from consolidate.mine import candidate
from consolidate.report import report
from consolidate.trace import perf, reader

FILES = 24
TRACES = (ROOT / "consolidate/docs/traces.md").read_text()
FORMS = {
    options: tuple(map(int, since.split("."))) if since else (0,)
    for options, since in trace_samples.STRACE.items()
}
# Options whose output is not a form of the same calls.
OTHERS = ("-c", "-f -z", "-f 2>FILE")
# Time stamps without fractions of a second.
COARSE = ("-f -t", "-f --absolute-timestamps=format:unix,precision:s")


def version() -> tuple[int, ...]:
    said = subprocess.run(["strace", "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"version ([\d.]+)", said)[1].split(".")))


def traced(tmp_path: Path, options: str) -> list[Path]:
    files = [tmp_path / f"f{i}) = {i}" for i in range(FILES)]
    for file in files:
        file.write_text("some text\n" * 20)
    (tmp_path / "trace").mkdir(exist_ok=True)
    words = [word for word in shlex.split(options) if word not in ("-o", "FILE")]
    out = tmp_path / "trace" / "t"
    command = ["strace", *words, "-o", out, "wc", "-l", *files]
    done = subprocess.run(command, capture_output=True, text=True)
    if re.search("Permission denied|EPERM|is not supported by this build", done.stderr):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return sorted((tmp_path / "trace").iterdir())


def names(trace: reader.Trace) -> list[str]:
    """wc's calls on the files, without those at its start."""
    made = max(trace.threads.values(), key=lambda thread: len(thread.calls)).calls
    first = next(i for i, call in enumerate(made) if call.name == "openat" and "f0)" in call.args)
    return [call.name for call in made[first:]]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("options", [one for one in FORMS if one not in OTHERS])
def test_strace(tmp_path: Path, options: str) -> None:
    if FORMS[options] > version():
        pytest.skip(f"this strace is older than {FORMS[options]}")
    if "-xx" in options:
        return  # test_all_bytes_in_hexadecimal
    found = reader.read(traced(tmp_path, options))
    assert not found.damaged, found.damage
    assert found.resolution in ((0, 1) if options in COARSE else (0,))
    made = names(found)
    assert made.count("openat") >= FILES
    assert made.count("close") >= FILES
    # The files' names look like results.
    opened = [call for thread in found.threads.values() for call in thread.calls]
    assert sum("f7) = 7" in call.args and call.ret > 0 for call in opened) >= 1


@pytest.mark.parametrize("tool", trace_samples.TOOLS)
def test_the_page_has_what_real_tools_wrote(tool: str) -> None:
    """Each option in one row, a column for each Debian release."""
    begin, end = map(TRACES.index, trace_tools.marks(tool))
    _, head, _, *rows = TRACES[begin:end].splitlines()
    assert len(re.findall(rf"{tool} \d+\.\d+", head)) == len(trace_tools.kernels.SUITES)
    options = [one for row in rows for one in re.findall(r"`([^`]+)`|none", row.split(" | ")[0])]
    assert sorted(options) == sorted(trace_samples.TOOLS[tool].options)
    assert not any("not read" in row for row in rows)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_all_bytes_in_hexadecimal(tmp_path: Path) -> None:
    found = reader.read(traced(tmp_path, "-f -xx"))
    assert not found.damaged


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_summary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConsolidateError, match="summary"):
        reader.read(traced(tmp_path, "-c"))


# -- lines of newer versions, and of other tools -------------------------------------------

# prefix, text after the arguments, and after the result
LOOKS = {
    "-Y": ("77<cat (1)> {t} ", "", ""),
    "stderr -Y": ("[pid    77<cat>] {t} ", "", ""),
    "--secontext": ("77 [unconfined_t] {t} ", "", " [etc_t]"),
    "--secontext=full,mismatch": ("77 [u:r:unconfined_t:s0-s0:c0.c1023] ", "", " [u:o:a_t!!b_t]"),
    "-r -ttt": ("77 {t} (+     0.000030) ", "", ""),
    "-f -r --relative-timestamps=s": ("77         0 ", "", ""),
    "-i": ("77 [00007f5fd1b2e4a9] ", "", ""),
    "colours": ("\x1b[36m77 {t} \x1b[0m", "", ""),
    "seconds": ("1700000000 ", "", ""),
    "alone -r": ("     0.000030 ", "", ""),
    "alone -r s": ("     0 ", "", ""),
}


def lines(form: str, named: bool = False) -> list[str]:
    prefix, _, context = LOOKS.get(form, ("77 {t} ", "", ""))
    made = []
    for i in range(40):
        at = f"{1700000000 + i * 0.0001:.6f}"
        head = prefix.replace("{t}", at)
        path = f'"/d/{i}) = 1"' + context
        arguments = (
            [
                f"dirfd=AT_FDCWD, pathname={path}, flags=O_RDONLY",
                f'fd=3, buf="{i}"..., count=9',
                "fd=3",
            ]
            if named
            else [f"AT_FDCWD, {path}, O_RDONLY", f'3{context}, "{i}"..., 9', f"3{context}"]
        )
        for name, args, result in zip(
            ("openat", "read", "close"), arguments, (3, 9, 0), strict=True
        ):
            made.append(f"{head}{name}({args}) = {result}{context if name == 'openat' else ''}")
    return made


def read(tmp_path: Path, made: list[str]) -> reader.Trace:
    path = tmp_path / "t"
    path.write_text("".join(f"{line}\n" for line in made))
    return reader.read([path])


def is_one_loop(tmp_path: Path, made: list[str]) -> None:
    found, trace = report.make([tmp_path / "t"], None, 20, 0.02)
    assert not trace.damaged, trace.damage
    assert candidate.sequence(found.candidates[0]) == "[openat read close]*"
    assert found.predictions[0].script_calls == 1


@pytest.mark.parametrize("form", LOOKS)
def test_looks(tmp_path: Path, form: str) -> None:
    read(tmp_path, lines(form))
    is_one_loop(tmp_path, lines(form))


def test_names_of_threads_and_arguments(tmp_path: Path) -> None:
    found = read(tmp_path, lines("-Y"))
    assert found.threads[77].command == "cat (1)"
    named = read(tmp_path, lines("", named=True))
    is_one_loop(tmp_path, lines("", named=True))
    assert named.threads[77].calls[0].args == 'AT_FDCWD, "/d/0) = 1", O_RDONLY'


def test_what_belongs_to_the_call_before(tmp_path: Path) -> None:
    made = []
    for line in lines(""):
        made.append(line)
        if "read(" in line:
            made += [" | 00000  61 62 63 0a                  abc.             |"]
            made += [" * 4 bytes in buffer 0", " = 1 buffers in vector 0", "# a comment"]
            made += ["Process 78 suspended", "Process 78 resumed (parent 77 ready)"]
    read(tmp_path, made)
    is_one_loop(tmp_path, made)


def test_seconds_are_no_pauses(tmp_path: Path) -> None:
    made = [f"77 {1700000000 + i // 45} {line[21:]}" for i, line in enumerate(lines(""))]
    assert read(tmp_path, made).resolution == 1
    is_one_loop(tmp_path, made)


def test_damage_ends_the_sequence_of_its_own_thread(tmp_path: Path) -> None:
    with_numbers = read(tmp_path, [*lines("")[:60], "a line of something else", *lines("")[60:]])
    assert (with_numbers.damaged, with_numbers.threads[77].breaks) == (1, set())
    alone = [line.partition(" ")[2].partition(" ")[2] for line in lines("")]
    without = read(tmp_path, [*alone[:60], "a line of something else", *alone[60:]])
    (thread,) = without.threads.values()
    assert (without.damaged, thread.breaks) == (1, {60})


def test_exec_of_a_thread_that_does_not_lead(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            '78 execve("/bin/true", ["true"], 0x7ffc <unfinished ...>',
            "77 futex(0x55, FUTEX_WAIT, 0, NULL <unfinished ...>",
            "77 <... futex resumed>) = ?",
            "77 +++ superseded by execve in pid 78 +++",
            "77 <... execve resumed>) = 0",
            "77 brk(NULL) = 0x55",
        ],
    )
    assert not found.damaged, found.damage
    assert [call.name for call in found.threads[77].calls][-2:] == ["execve", "brk"]
    assert found.threads[77].command == "true"


# Lines of `strace -f 2>FILE` in the order in which 6.1 writes them: a remark stands where it
# was made, also in the middle of a line, and a single thread has no number.
ON_STDERR = [
    'openat(AT_FDCWD, "Process 9 attached", O_RDONLY) = 3',
    "clone3({flags=CLONE_VM|CLONE_THREAD, stack_size=0x7fff80}{remark}Process 78 attached",
    " => {parent_tid=[78]}, 88) = 78",
    "[pid    78] rseq(0x7f51, 0x20, 0, 0x53053053 <unfinished ...>",
    "[pid    77] close(3) = 0",
    "[pid    78] <... rseq resumed>) = 0",
    "[pid    78] exit(0) = ?",
    "[pid    78] +++ exited with 0 +++",
    "clone(child_stack=NULL, flags=SIGCHLD{remark}Process 79 attached",
    " <unfinished ...>",
    "[pid    79] getpid( <unfinished ...>",
    "[pid    77] <... clone resumed>) = 79",
    "[pid    79] <... getpid resumed>) = 79",
    "[pid    77] wait4(-1,  <unfinished ...>",
    "[pid    79] +++ exited with 0 +++",
    "<... wait4 resumed>NULL, 0, NULL) = 79",
    "getppid() = 1",
    "+++ exited with 0 +++",
]


@pytest.mark.parametrize("remark", ["strace: ", "/usr/bin/strace: ", "./strace: ", "", None])
def test_threads_on_standard_error(tmp_path: Path, remark: str | None) -> None:
    made = [line.replace("{remark}", remark or "strace: ") for line in ON_STDERR]
    if remark is None:  # as -q has it
        made = [re.sub("strace: Process .* attached", "", line) for line in ON_STDERR]
        made = [re.sub("{remark}.*", "", line) for line in made]
        made = [
            line + following if following.startswith(" ") else line
            for line, following in zip(made, [*made[1:], ""], strict=True)
            if not line.startswith(" ")
        ]
    made = "\n".join(made).split("\n")
    found = read(tmp_path, made)
    assert not found.damaged, found.damage
    assert not found.unfinished
    names = {tid: [call.name for call in thread.calls] for tid, thread in found.threads.items()}
    assert names[77] == ["openat", "clone3", "close", "clone", "wait4", "getppid"]
    assert (names[78][:1], names[79]) == (["rseq"], ["getpid"]) and len(names) == 3
    assert found.threads[77].calls[1].ret == 78
    parents = [(found.threads[tid].parent, found.threads[tid].process) for tid in (78, 79)]
    assert parents == [(77, 77), (77, 79)]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("options", ["-f", "-f -q", "-f -qq", "-f -ttt -T", "-f -r -i", "-f -k"])
def test_strace_on_standard_error(tmp_path: Path, options: str) -> None:
    """Children come and go; the shell's lines have its number now and then."""
    for i in range(4):
        (tmp_path / f"f{i}").write_text("text\n")
    trace = tmp_path / "trace"
    script = "for i in 0 1 2 3; do /bin/cat f$i >/dev/null; done; read a <f0; /bin/true & wait"
    with trace.open("w") as out:
        subprocess.run(
            ["strace", *options.split(), "sh", "-c", script], cwd=tmp_path, stderr=out, check=True
        )
    if "is not supported by this build" in trace.read_text():
        pytest.skip("strace -k is not built in here")
    found = reader.read([trace])
    assert not found.damaged, found.damage
    made = [[call.name for call in thread.calls] for thread in found.threads.values()]
    assert len(made) == 6 and sum("wait4" in calls for calls in made) == 1
    assert sum(calls.count("execve") for calls in made) == 6


def test_children_in_another_namespace(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            "77 clone(child_stack=NULL, flags=SIGCHLD) = 3 /* 79 in strace's PID NS */",
            "79 getpid() = 3 /* 79 in strace's PID NS */ <0.000001>",
        ],
    )
    assert not found.damaged, found.damage
    assert found.threads[79].parent == 77


PERF = {
    "-1 ENOENT (No such file or directory)": (-1, "ENOENT"),
    "-1 ENOENT No such file or directory": (-1, "ENOENT"),
    "-1 (unknown) (No such file or directory)": (-1, "ENOENT"),
    "-1 EAGAIN (Resource temporarily unavailable)": (-1, "EAGAIN"),
    "-1 (unknown) (INTERNAL ERROR: strerror_r(512, [buf], 128)=22)": None,
    "-1 ERESTART_RESTARTBLOCK (INTERNAL ERROR: strerror_r(516, [buf], 128)=22)": None,
    "3": (3, None),
}


@pytest.mark.parametrize("result", PERF)
def test_results_of_perf(result: str) -> None:
    line = perf.parse(
        f"     0.030 ( 0.009 ms): cat/77 read(fd: 3, buf: 0x7ffc, count: 9) = {result}"
    )
    if PERF[result] is None:
        assert line.kind.name == "BREAK"
    else:
        assert (line.call.ret, line.call.error) == PERF[result]


def test_stacks_of_perf(tmp_path: Path) -> None:
    one = '     0.030 ( 0.009 ms): cat/77 openat(dfd: CWD, filename: "/d/1") = 3'
    found = read(
        tmp_path, [one, f"{'':30}read (/usr/lib/libc.so.6)", f"{'':30}main (/bin/cat)", one]
    )
    assert not found.damaged
    assert found.threads[77].calls[0].stack == ("/usr/lib/libc.so.6(read)", "/bin/cat(main)")


def test_perf_without_paths(tmp_path: Path) -> None:
    made = []
    for i in range(60):
        head = f"{i:10.3f} ( 0.009 ms): cat/77"
        made += [
            f"{head} openat(dfd: CWD, filename: 0x{0x70F30648 + 8 * i:x}) = 3",
            f"{head} read(fd: 3, buf: 0x7ffc1000, count: 512) = 20",
            f"{head} close(fd: 3) = 0",
        ]
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in made))
    shown = run("show", "1", tmp_path / "t").stdout
    assert "the trace has no paths" in shown
    assert "results of the one before" not in shown


# Lines of perf trace 6.1 to 7.2 between calls, by the option that writes them.
PERF_BETWEEN = {
    "-F all": "     0.030 ( 0.000 ms): cat/77 minfault [elf_load+0x28a] => 0x7fba8e546110 (?k)",
    "-e sched:*": '     0.592 (         ): cat/77 sched:sched_waking(comm: "kworker/1:1H", pid: 7)',
    "--print-sample": "raw_syscalls:sys_enter 41643147.318 cat (1) 77/77 [1]",
    "--print-sample of a guest": " raw_syscalls:sys_exit  49510.299 cat 77/77 [0]",
}
PERF_TABLES = {
    "-S": [" Summary of events:", "", " cat (77), 952 events, 75.9%", "   openat   106  0"],
    "--tool_stats": ["Stats:", "  vfs_getname : 0", "  proc_getname: 0"],
}


@pytest.mark.parametrize("option", [*PERF_BETWEEN, *PERF_TABLES])
def test_perf_between_and_after_calls(tmp_path: Path, option: str) -> None:
    calls = [
        'openat(dfd: CWD, filename: "/d/1") = 3',
        "read(fd: 3, count: 9) = 9",
        "close(fd: 3) = 0",
    ]
    made = []
    for i in range(3):
        made += [f"     0.{i}{k}0 ( 0.009 ms): cat/77 {call}" for k, call in enumerate(calls)]
        made += [PERF_BETWEEN[option]] if option in PERF_BETWEEN else []
    found = read(tmp_path, [*made, *PERF_TABLES.get(option, [])])
    assert not found.damaged, found.damage
    assert [call.name for call in found.threads[77].calls] == ["openat", "read", "close"] * 3
    assert not found.threads[77].breaks


def test_lost_events_end_all_sequences(tmp_path: Path, capsys) -> None:
    made = [
        f"     0.{i}{k}0 ( 0.009 ms): cat/{tid} {call}"
        for i in range(2)
        for tid in (77, 78)
        for k, call in enumerate(("read(fd: 3, count: 9) = 9", "close(fd: 3) = 0"))
    ]
    found = read(tmp_path, [*made[:5], "LOST 17 events!", *made[5:]])
    assert found.damaged == 1
    assert {tid: thread.breaks for tid, thread in found.threads.items()} == {77: {3}, 78: {2}}
    reader.complain(found)
    assert "t:6: the trace has a gap: 'LOST 17 events!'" in capsys.readouterr().err


def test_perf_with_the_cpu(tmp_path: Path) -> None:
    """--show-cpu of 7.2."""
    made = [
        "         ? [001] (         ): cat/77  ... [continued]: execve()) = 0",
        "     0.100 [001] ( 0.020 ms): cat/77 read(fd: 3, count: 9) = 9",
        "     0.200 [000] (         ): cat/77 read(fd: 3, count: 9) ...",
        "     0.300 [001] ( 0.100 ms): cat/77  ... [continued]: read()) = 0",
    ]
    found = read(tmp_path, made)
    assert not found.damaged, found.damage
    assert [(call.name, call.ret) for call in found.threads[77].calls] == [("read", 9), ("read", 0)]


def test_perf_without_calls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConsolidateError, match="record with --syscalls"):
        read(tmp_path, [PERF_BETWEEN["-F all"]])


@pytest.mark.parametrize("option", PERF_TABLES)
def test_perf_summary_is_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(ConsolidateError, match="summary"):
        read(tmp_path, ["", *PERF_TABLES[option]])


AT = "audit(1700000000.123:{})"
SYSCALL = (
    "type=SYSCALL msg={at}: arch={arch} syscall=257 success=yes exit=3 a0=ffffff9c a1=55"
    ' a2=0 a3=0 items=1 ppid=1 pid=77 comm="crawl" exe="/usr/bin/crawl" key=(null)'
)
PATH = 'type=PATH msg={at}: item=0 name="/d/{i}" inode=5 dev=08:01 mode=0100644 nametype=NORMAL'


def records(i: int, arch: str = "c000003e") -> list[str]:
    at = AT.format(i)
    return [
        SYSCALL.format(at=at, arch=arch),
        PATH.format(at=at, i=i),
        f"type=PROCTITLE msg={at}: proctitle=63",
    ]


def test_audit_in_either_order(tmp_path: Path) -> None:
    ausearch = []
    for i in range(5):
        ausearch += ["----", "time->Sat Nov 28 10:00:00 2026", *reversed(records(i))]
    for made in ([line for i in range(5) for line in records(i)], ausearch):
        found = read(tmp_path, made)
        assert not found.damaged, found.damage
        paths = [call.args.split('"')[1] for call in found.threads[77].calls]
        assert paths == [f"/d/{i}" for i in range(5)]


# What ausearch 4.0 and 4.1 print by -i for records as above: names for numbers, no quotes.
INTERPRETED = [
    "----",
    "type=PROCTITLE msg=audit(11/14/23 22:13:20.{i:03}:{i}) : proctitle=crawl ",
    "type=PATH msg=audit(11/14/23 22:13:20.{i:03}:{i}) : item=0 name=/d/a b inode={i} inode=5"
    " dev=08:01 mode=file,644 ouid=root ogid=root rdev=00:00 nametype=NORMAL ",
    "type=SYSCALL msg=audit(11/14/23 22:13:20.{i:03}:{i}) : arch=x86_64 syscall=openat"
    " success=yes exit=3 a0=AT_FDCWD a1=0x5500 a2=O_RDONLY|O_CREAT a3=0644 items=1 ppid=1 pid=77"
    " auid=root uid=root gid=root tty=pts0 ses=1 comm=cafe 1 exe=/usr/bin/crawl key=(null) ",
    "----",
    "type=SYSCALL msg=audit(11/14/23 22:13:20.{i:03}:1{i}) : arch=x86_64 syscall=read success=no"
    " exit=EISDIR(Is a directory) a0=0x3 a1=0x7ffc1000 a2=0x200 a3=0x0 items=0 ppid=1 pid=77"
    " comm=cafe 1 exe=/usr/bin/crawl key=(null) ",
    "----",
    "type=SYSCALL msg=audit(11/14/23 22:13:20.{i:03}:2{i}) : arch=x86_64 syscall=socket success=yes"
    " exit=4 a0=inet a1=SOCK_DGRAM a2=ip a3=unknown-flag(0x21) items=0 ppid=1 pid=77 comm=cafe 1"
    " exe=/usr/bin/crawl key=(null) ",
]


def test_audit_interpreted(tmp_path: Path) -> None:
    found = read(tmp_path, [line.format(i=i) for i in range(3) for line in INTERPRETED])
    assert not found.damaged, found.damage
    thread = found.threads[77]
    assert thread.command == "cafe 1"
    first, second, third = thread.calls[3:6]
    assert first.args == 'AT_FDCWD, "/d/a b inode=1", O_RDONLY|O_CREAT, 0644'
    assert (first.ret, first.start) == (3, 22 * 3600 + 13 * 60 + 20.001)
    assert (second.ret, second.error, second.args) == (-1, "EISDIR", "3, 0x7ffc1000, 512")
    assert (third.ret, third.args) == (4, "AF_INET, SOCK_DGRAM, IPPROTO_IP")


@pytest.mark.parametrize(
    "line",
    [
        "NODE,EVENT,DATE,TIME,SERIAL_NUM,EVENT_KIND,SESSION,SUBJ_PRIME,SUBJ_SEC,ACTION,RESULT",
        "At 22:13:20 11/14/23 root successfully opened-file /d/0 using /usr/bin/crawl",
    ],
)
def test_audit_without_arguments_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConsolidateError, match="ausearch --raw"):
        read(tmp_path, [line])


def test_audit_passes_over_what_is_no_call(tmp_path: Path) -> None:
    made = records(1)
    made += [
        "type=DAEMON_CONFIG msg=audit(1700000000.2:9): op=reconfigure state=changed res=success"
    ]
    made += ["type=DAEMON_CONFIG something else", f"type=UNKNOWN[1420] msg={AT.format(2)}: subj=x"]
    found = read(tmp_path, [*made, *records(3)])
    assert (found.damaged, found.threads[77].breaks) == (0, set())


@pytest.mark.parametrize(("arch", "name"), [("c00000b7", "aarch64"), ("40000003", "i386")])
def test_audit_of_other_architectures(tmp_path: Path, arch: str, name: str, capsys) -> None:
    found = read(tmp_path, [*records(1), *records(2, arch)])
    reader.complain(found)
    said = capsys.readouterr().err
    assert re.search(rf"1 calls of another architecture.*{name} \({arch}\): 1", said)
    with pytest.raises(ConsolidateError, match=name):
        read(tmp_path, records(2, arch))


def test_audit_without_paths_knows_no_file(tmp_path: Path) -> None:
    made = []
    for i in range(200):
        at = f"audit({1700000000 + i / 1000:.3f}:{i})"
        made.append(SYSCALL.format(at=at, arch="c000003e"))
        made.append(
            SYSCALL.format(at=at.replace(":", ":9"), arch="c000003e")
            .replace("syscall=257", "syscall=3")
            .replace("exit=3 a0=ffffff9c", "exit=0 a0=3")
        )
    read(tmp_path, made)
    found, _ = report.make([tmp_path / "t"], None, 20, 0.02)
    assert not found.advice


def test_what_the_kernel_writes_back_is_each_items_own(tmp_path: Path) -> None:
    made = []
    for i in range(40):
        texts = (
            f'openat(AT_FDCWD, "/d/{i}", O_RDONLY) = 3',
            "sendfile(9, 3, [0] => [20], 4096) = 20",
        )
        for step, text in enumerate((*texts, "close(3) = 0")):
            made.append(f"77 {1700000000 + i * 2e-4 + step * 3e-5:.6f} {text} <0.000005>")
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in made))
    done = run("script", "--assume", "1", tmp_path / "t")
    assert re.search(
        r"offset; +/\* in and out: argument 3 of sendfile\(\); set it for each", done.stdout
    )
    struct = done.stdout[done.stdout.index("_item {") :]
    assert "offset;" in struct[: struct.index("};")]


def test_the_table_of_arguments_that_are_written_back() -> None:
    for name, places in calltable.IN_OUT.items():
        kinds = calltable.kinds(name)
        assert kinds and all(kinds[place] == "p" for place in places), name
