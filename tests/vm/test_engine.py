# SPDX-License-Identifier: GPL-2.0
"""An engine unknown to the core (tests/engine/echo.c), under the core's rules."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from library import Library
from runner import COMMAND, SLOWDOWN, account

ROOT = Path(__file__).resolve().parent.parent.parent
# Built next to the syscript.ko that is loaded.
MODULE = Path(os.environ.get("SYSCRIPT_MODULE", "")).parent / "echo" / "echo.ko"
ECHO = 7
MS = 1_000_000


def index_of(name: str) -> int:
    """The index of a call among the SYSCALL() lines of syscalls.def."""
    table = (ROOT / "core" / "syscalls.def").read_text()
    return re.findall(r"^SYSCALL(?:_OLD)?\((\w+),", table, re.MULTILINE).index(name)


@pytest.fixture(autouse=True)
def echo() -> Iterator[None]:
    """The engine's module is loaded, and after each test nothing holds it."""
    index = index_of("nanosleep")
    subprocess.run(["insmod", MODULE, f"nanosleep_index={index}"], check=True)
    yield
    deadline = time.monotonic() + 60 * SLOWDOWN
    while subprocess.run(["rmmod", "echo"], check=False, capture_output=True).returncode:
        assert time.monotonic() < deadline, "the engine's module is still held"
        time.sleep(0.1)


def as_member(body: str) -> dict:
    """The `result` of code run as the ordinary user."""
    program = f"import json, os, signal, sys, time; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
    program += "from library import Library\nlib = Library()\nresult = {}\n"
    program += f"echo = lambda what, **more: lib.register(what, engine={ECHO}, **more)\n"
    program += body + "\nprint(json.dumps(result))"
    command = ["python3", "-c", program]
    done = subprocess.run(
        command, **account("member"), capture_output=True, text=True, timeout=60 * SLOWDOWN
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_calls_and_lists() -> None:
    fd, text = Library().register(b"e", engine=ECHO)
    assert fd >= 0, text
    library = Library()
    assert library.call(fd, 40, 2) == (2, 40)
    assert library.call(fd, -(2**63)) == (1, -(2**63))
    assert library.output(fd) == b"echo\necho\n"
    (info,) = library.scripts()
    assert (info.engine, info.engine_name, info.calls) == (ECHO, b"echo", 2)
    assert info.own() == {"echoed": 2}
    done = subprocess.run([COMMAND, "list"], check=True, capture_output=True, text=True)
    assert " echo " in done.stdout and "echoed=2" in done.stdout
    refused = subprocess.run(["rmmod", "echo"], check=False, capture_output=True)
    assert refused.returncode, "the engine's module went with a script alive"
    os.close(fd)


def test_refuses() -> None:
    library = Library()
    assert library.register(b"x", engine=ECHO) == (
        -errno.ENOEXEC,
        "an image is one of the letters e, l, s, m",
    )
    fd, text = library.register(b"e", engine=ECHO, format=1)
    assert fd == -errno.EINVAL and "echo has no format 1" in text
    fd, text = library.register(b"e", engine=6)
    assert fd == -errno.EINVAL and "there is no engine 6" in text


def test_limits() -> None:
    result = as_member(
        f"fd, _ = echo(b'l', time_limit_ns={50 * MS})\n"
        "result['time'] = lib.call(fd)[0]\n"
        "result['again'] = lib.call(fd)[0]\n"
        "fd, _ = echo(b'm')\n"
        "result['memory'] = lib.call(fd)[0]\n"
        f"fd, _ = echo(b'l', wall_limit_ns={50 * MS})\n"
        "result['wall'] = lib.call(fd)[0]\n"
        "result['alive'] = lib.call(fd)[0]\n"
    )
    assert result == {
        "time": -errno.ETIME,
        "again": -errno.ENOTRECOVERABLE,
        "memory": -errno.ENOBUFS,
        "wall": -errno.ETIMEDOUT,
        "alive": -errno.ETIMEDOUT,
    }


def test_signal_ends_a_run() -> None:
    """After the grace time; the script can be called again."""
    result = as_member(
        "fd, _ = echo(b'l')\n"
        "signal.signal(signal.SIGALRM, lambda *a: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "result['first'] = lib.call(fd)[0]\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "result['second'] = lib.call(fd)[0]\n"
    )
    assert result == {"first": -errno.EINTR, "second": -errno.EINTR}


@pytest.mark.parametrize("what", ["l", "s"])
def test_killed(what: str) -> None:
    """While in its own code, and asleep in a system call."""
    body = (
        "import ctypes\n"
        "hour = (ctypes.c_int64 * 2)(3600, 0)\n"
        f"fd, _ = echo({what.encode()!r})\n"
        "print('running', flush=True)\n"
        "lib.call(fd, ctypes.addressof(hour), 0)\n"
    )
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
    program += "from library import Library\nlib = Library()\n"
    program += f"echo = lambda what: lib.register(what, engine={ECHO})\n" + body
    with subprocess.Popen(
        ["python3", "-c", program], **account("member"), stdout=subprocess.PIPE
    ) as child:
        assert child.stdout and child.stdout.readline() == b"running\n"
        time.sleep(0.2)
        assert child.poll() is None
        child.kill()
        assert child.wait(10 * SLOWDOWN) == -signal.SIGKILL
