# SPDX-License-Identifier: GPL-2.0 OR MIT
"""busybox with compounds: dd and the shell's read behave like the plain ones."""

from __future__ import annotations

import array
import fcntl
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from compounds import BUILD, ENGINES, difficult

PLAIN, BUSYBOX = BUILD / "busybox" / "plain", BUILD / "busybox" / "busybox"
PATIENCE = 120
Outcome = tuple[int, bytes, str]


def started(program: Path, engine: str, *options: str, **how: object) -> subprocess.Popen:
    return subprocess.Popen(
        ["busybox", *options],
        executable=program,
        env=os.environ | {"COSY_ENGINE": engine},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        **how,
    )


@contextmanager
def opened(given: bytes | list[bytes]) -> Iterator[int]:
    """A file; or a socket that returns one item per read, or as much as fits."""
    if isinstance(given, bytes):
        with tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            yield file.fileno()
        return
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        for piece in given:
            here.send(piece)
        here.shutdown(socket.SHUT_WR)
        yield there.fileno()


def busybox(
    program: Path, engine: str, *options: str, given: bytes | list[bytes] = b"", limit: int = -1
) -> Outcome:
    """Status, output and errors, with files of at most @limit bytes."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    # Writes beyond the limit fail: Python and its child ignore SIGXFSZ.
    how = {"restore_signals": limit < 0, "preexec_fn": limited}
    with opened(given) as stdin, started(program, engine, *options, stdin=stdin, **how) as process:
        out, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, out, errors.decode()


def same(engine: str, *options: str, **how: object) -> Outcome:
    plain = busybox(PLAIN, "", *options, **how)
    assert busybox(BUSYBOX, engine, *options, **how) == plain
    return plain


DATA = random.Random(1).randbytes(300_000)
BLOCKS = (
    ("bs=1", "count=1000"),
    ("bs=3", "skip=5", "count=257"),
    ("bs=512",),
    (),
    ("bs=512", "count=256"),
    ("bs=512", "count=0"),
    ("bs=4096", "conv=sync"),
    ("bs=4096", "conv=noerror"),
    ("bs=100000",),
    ("ibs=100", "obs=70"),
    ("bs=512", "count=1000", "iflag=count_bytes"),
    ("bs=512", "iflag=fullblock"),
    ("bs=2", "conv=swab", "count=600"),
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", BLOCKS, ids=" ".join)
def test_dd(options: tuple[str, ...], engine: str) -> None:
    """From a file, and from a socket that returns short reads."""
    given = DATA if "bs=1" not in options else DATA[:2000]
    status, out, _ = same(engine, "dd", *options, given=given)
    assert status == 0 and (out or "count=0" in options)
    pieces = [DATA[:n] for n in (512, 512, 100, 512, 512, 511, 1, 512)]
    same(engine, "dd", *options, given=pieces)


@pytest.mark.parametrize("engine", ENGINES)
def test_dd_to_a_file(engine: str, tmp_path: Path) -> None:
    for options in (("seek=3",), ("seek=3", "conv=notrunc"), ("oflag=append", "conv=notrunc")):
        made = []
        for program in (PLAIN, BUSYBOX):
            file = tmp_path / program.name
            file.write_bytes(DATA[:5000])
            done = busybox(program, engine, "dd", f"of={file}", *options, given=DATA[:10_000])
            made.append((done, file.read_bytes()))
        assert made[1] == made[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_dd_errors(engine: str, tmp_path: Path) -> None:
    """The same messages and counts, also for a block that is written partly."""
    assert "No space left" in same(engine, "dd", "of=/dev/full", given=DATA)[2]
    assert "Is a directory" in same(engine, "dd", "if=/")[2]
    file = tmp_path / "file"
    for limit in (51200, 51300):
        done = same(engine, "dd", f"of={file}", given=DATA, limit=limit)
        assert "File too large" in done[2] and "101+0 records in\n100+0 records out" in done[2]
        assert file.read_bytes() == DATA[:limit]


@pytest.mark.skipif(ENGINES[0] != "native", reason="segments call the C library natively only")
@pytest.mark.parametrize("size", (1, 512, 4095))
def test_dd_difficult(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", difficult(tmp_path))
    done = same("native", "dd", f"bs={size}", given=DATA[: 20 * size + 1])
    assert done[:2] == (0, DATA[: 20 * size + 1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", (PLAIN, BUSYBOX), ids=lambda program: program.name)
def test_dd_tells_of_what_it_has_done(program: Path, engine: str) -> None:
    """It prints counts on a signal, also while it waits for a block, and continues."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, started(program, engine, "dd", stdin=there) as process:
        there.close()
        for n in range(3):
            here.send(DATA[:512])
            assert process.stdout.read(512) == DATA[:512], n
        told = b""
        # The last block may not be counted yet.
        while told != b"3+0 records in\n3+0 records out\n":
            process.send_signal(signal.SIGUSR1)
            told = process.stderr.readline() + process.stderr.readline()
        here.send(DATA[:512])
        here.shutdown(socket.SHUT_WR)
        assert process.stdout.read() == DATA[:512]
        assert process.stderr.read().endswith(b"4+0 records in\n4+0 records out\n")
        assert process.wait(PATIENCE) == 0


LINES = (
    b"one two  three\n two\tthree \n\n\\a b\\\nc d\n" + b"x" * 700 + b" " + b"y" * 256 + b"\n"
    b"a\0b\n" + b"z" * 255 + b"\n" + b"z" * 256 + b"\n:colon:ends:\n no newline"
)
SCRIPTS = {
    "words": 'while read a b; do echo "<$a|$b>"; done; echo "$? $a|$b"',
    "raw": 'while read -r a b; do echo "<$a|$b>"; done; echo "$? $a|$b"',
    "reply": 'while read; do echo "<$REPLY>"; done',
    "separators": 'IFS=:; while read -r a b c; do echo "<$a|$b|$c>"; done',
    "characters": 'while read -n 3 a; do echo "<$a>"; done',
    "delimiter": 'while read -d : a; do echo "<$a>"; done; echo "$a"',
    "timeout": 'while read -t 100 a; do echo "<$a>"; done',
    "what is left": 'read a; read -r b; echo "$a|$b"; dd status=none',
    "children": 'while read a; do echo "$a" | (read b; echo "<$b>"); done',
    "another": "exec 3<&0 </dev/null; while read -u 3 a; do echo $a; read b; echo $?; done",
    "closed": "read a <&-; echo $?",
    "directory": "read a </; echo $?",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("script", SCRIPTS)
def test_read(script: str, engine: str) -> None:
    out = same(engine, "sh", "-c", SCRIPTS[script], given=LINES)[1]
    assert out
    # A socket that returns single characters.
    pieces = [LINES[at : at + 1] for at in range(0, 60)]
    same(engine, "sh", "-c", SCRIPTS[script], given=pieces)


def sleeps_without_input(process: subprocess.Popen) -> bool:
    unread = array.array("i", [-1])
    fcntl.ioctl(process.stdin, termios.FIONREAD, unread)
    status = Path(f"/proc/{process.pid}/status").read_text()
    return not unread[0] and "S (sleeping)" in status


def interrupted(program: Path, engine: str) -> bytes:
    """A trapped signal arrives when half a line has been read."""
    script = 'trap "echo trap" USR1; echo ready; read a; echo "$? <$a>"; read a; echo "$? <$a>"'
    with started(program, engine, "sh", "-c", script, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"half ")
        while not sleeps_without_input(process):
            time.sleep(0.01)
        process.send_signal(signal.SIGUSR1)
        out = process.stdout.readline() + process.stdout.readline()
        process.stdin.write(b"line\n")
        return out + process.stdout.readline()


@pytest.mark.parametrize("engine", ENGINES)
def test_read_is_interrupted(engine: str) -> None:
    plain = interrupted(PLAIN, "")
    assert b"trap\n" in plain and plain.endswith(b"0 <line>\n")
    assert interrupted(BUSYBOX, engine) == plain
