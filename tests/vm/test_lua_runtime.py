# SPDX-License-Identifier: GPL-2.0
"""Lua on the kernel's confined engine, for a user who may use no other."""

from __future__ import annotations

import errno
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confined import puc
from corpus import known
from runner import (
    COMMAND,
    CONFINED_CORPUS,
    CONFINED_LIMITS,
    HANG,
    PATIENCE,
    SPECIAL,
    account,
    confined_lua,
    here,
    outcome,
)

ROOT = Path(__file__).resolve().parents[2]
RUN = confined_lua("kernel")
ON_ARM64 = platform.machine() == "aarch64"
OVER_TIME = "-e:1: over the time limit of 400 ms: raise it with --time-limit"
# Short ones: each starts a VM of its own, and emulation is slow.
NAMES = """
assumptions closures co_generators gc_cycles gc_strings gmatch meta_class pattern_captures
string_find syscall_arguments table_sort tail_call_errors
"""
SCRIPTS = [path for path in CONFINED_CORPUS if path.stem in NAMES.split()]


@pytest.mark.sample(2)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_does_as_luajit(script: Path, as_outsider) -> None:
    confined = outcome(as_outsider, [*RUN, *CONFINED_LIMITS, str(script)])
    assert confined == known(script, here)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", puc.LEFT_OUT)
def test_puc(name: str, as_outsider, pages_to_pin) -> None:
    command = [*RUN, *puc.LIMITS, "-"]
    done = as_outsider(command, input=puc.script(name), encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "")


def test_special(as_outsider) -> None:
    done = as_outsider([*RUN, *CONFINED_LIMITS, SPECIAL])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(ON_ARM64, reason="LuaJIT is for x86-64 only")
def test_is_for_outsiders(as_outsider) -> None:
    """For a user who may not open LuaJIT's device."""
    opened = "syscall.open('/dev/syscript-luajit', const.O_RDWR)"
    code = f"return syscall.getuid(), {opened} == -errno.EACCES"
    done = as_outsider([*RUN, "--time-limit", PATIENCE, "-e", code])
    uid = as_outsider(["id", "-u"]).stdout.strip()
    assert (done.stdout, done.stderr) == (f"{uid}\t1\n", "")


def test_begins_as_an_earlier_one(as_outsider) -> None:
    done = as_outsider([sys.executable, str(ROOT / "tests" / "confined" / "kept.py"), "1"])
    assert (done.returncode, done.stderr) == (0, "")


LOOPS = {
    "plain": "while true do end",
    "caught": "while true do pcall(function() while true do end end) end",
    "in C": "return (('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40))",
    "calls": "while true do syscall.getppid() end",
    "coroutine": "coroutine.wrap(function() while true do end end)()",
    "loading": "return load(function() return ' ' end)",
    "at load": "end while true do",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LOOPS)
def test_time_limit(name: str, as_outsider) -> None:
    done = as_outsider([*RUN, "--time-limit", "400ms", "-e", LOOPS[name]], timeout=HANG)
    # Registering has its own limit.
    over = OVER_TIME.replace("400", "1000") if name == "at load" else OVER_TIME
    assert (done.returncode, done.stderr) == (1, f"{over}\n")


def test_memory_limit(as_outsider) -> None:
    code = "local t = {} while true do t[#t + 1] = {} end"
    done = as_outsider([*RUN, "--time-limit", PATIENCE, "-e", code])
    assert done.returncode == 1
    assert done.stderr.startswith("-e:1: over the memory limit of 1024 KiB")


MAX_ARENAS = Path("/sys/module/syscript/parameters/max_arenas")


def test_nothing_is_locked(as_outsider) -> None:
    options = ["--time-limit", PATIENCE, "-e", "return 6 * 7"]
    done = as_outsider(["prlimit", "--memlock=0:0", *RUN, *options])
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_too_little_memory(as_outsider) -> None:
    """It falls back to the process and says why; if fallback is forbidden, it is an error."""
    before = MAX_ARENAS.read_text()
    MAX_ARENAS.write_text("65536")
    try:
        options = ["--time-limit", PATIENCE, "-e", "return 6 * 7"]
        done = as_outsider([COMMAND, "run", "--engine", "confined", *options])
        assert (done.returncode, done.stdout) == (0, "42\n")
        assert re.search(
            "runs in this process: no memory for the stack: .* max_arenas", done.stderr
        )
        done = as_outsider([*RUN, *options])
        assert (done.returncode, done.stdout) == (2, "")
        assert "no memory for the stack: " in done.stderr
    finally:
        MAX_ARENAS.write_text(before)


def test_memory_that_ends_in_a_run(as_outsider) -> None:
    before = MAX_ARENAS.read_text()
    MAX_ARENAS.write_text(str(1 << 20))
    try:
        code = "return #('x'):rep(2000000)"
        limits = ["--memory-limit", "8M", "--time-limit", PATIENCE]
        done = as_outsider([*RUN, *limits, "-e", code])
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("-e:1: no memory left for this user's scripts (max_arenas)")
    finally:
        MAX_ARENAS.write_text(before)


def test_limits_are_the_kernels(as_outsider) -> None:
    """The core's limits, as for any engine, and its counters."""
    options = ["--time-limit", PATIENCE, "--wall-limit", "500ms"]
    done = as_outsider([*RUN, *options, "-e", "while true do end"], timeout=HANG)
    assert done.stderr == "-e:1: over the wall-clock limit of 500 ms: raise it with --wall-limit\n"
    done = as_outsider([*RUN, "--time-limit", "500ms", "--kill", "-e", LOOPS["plain"]])
    assert done.returncode == -signal.SIGKILL
    code = "for _ = 1, 10 do syscall.getppid() end print('said')"
    done = as_outsider([*RUN, "--time-limit", PATIENCE, "--info", "-e", code])
    assert done.stdout == "said\n"
    assert re.fullmatch(
        r"backend kernel, 10 system calls, \d+ ns in script code, \d+ bytes of memory, "
        r"\d+ at most, \d+ mcode, \d+ pinned\n",
        done.stderr,
    )


def test_goes_on_after_signals(as_outsider, pages_to_pin) -> None:
    """Whatever the run was doing."""
    stopped = ROOT / "tests" / "confined" / "stopped.py"
    done = as_outsider(["python3", stopped], timeout=HANG)
    assert (done.stdout, done.stderr) == ("done\n", "")


# Closes unknown descriptors, and so the one that leads to the kernel.
MOVED = '''
import os, syscript
SOURCE = """
local n, large = 0, util.buffer(65536)
local messages = net.messages(large, 1)
function run()
  n = n + 1
  util.poke(large + 8 * n, "u8", n)
  return 1000 * util.peek(large + 8, "u8") + n, net.recv(-1, messages)
end
"""
script = syscript.Script(SOURCE, time_limit=10)
print(tuple(script.call()), script.backend, script.info().engine)
for fd in range(3, 64):
    if fd != script.fileno():
        try:
            os.close(fd)
        except OSError:
            pass
print(tuple(script.call()), script.backend, script.info().engine)
'''


def test_goes_on_where_the_kernel_does_not(as_outsider) -> None:
    """With all its state, since its memory is the process's. No engine is requested."""
    env = {
        "PYTHONPATH": str(ROOT / "bindings/python"),
        "LD_LIBRARY_PATH": str(ROOT / "build"),
    }
    done = as_outsider(["python3", "-c", MOVED], env=env)
    first, second = (f"({1000 + n}, {-errno.EBADF})" for n in (1, 2))
    assert done.stdout == f"{first} kernel confined\n{second} user confined\n", done.stderr


# Descriptor numbers that are reused for other files between calls; and several threads.
NUMBERS = """
import ctypes, os, threading
from library import KERNEL, Library
library = Library()
source = b"local n = %d function run(a) n = n + (a or 0) return n end"
one, two = (library.register(source % n, backend=KERNEL, engine=0x101)[0] for n in (100, 200))
call = lambda fd: library.call(fd, 1)
print(call(one), call(two), call(one), call(two))
copy = os.dup(one)
print(call(copy), call(one), call(copy))
os.dup2(two, one)
print(call(one), call(copy), call(two), call(one))
os.close(one)
print(call(one), call(copy))
jit, text = library.register(source % 300, backend=KERNEL, engine=0x100)
os.dup2(jit, one)
print(call(jit), call(one), call(copy), call(two))
os.close(two)
os.close(copy)
print(call(two), call(copy))
script, _ = library.register(source % 0, backend=KERNEL, engine=0x101)
threads = [threading.Thread(target=lambda: [call(script) for _ in range(50)]) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(library.call(script, 0))
"""


@pytest.mark.skipif(ON_ARM64, reason="LuaJIT is for x86-64 only")
def test_numbers_of_descriptors(pages_to_pin) -> None:
    """The library checks no descriptor before a call that names the expected file."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(
        ["python3", "-c", NUMBERS], env=env, capture_output=True, text=True, timeout=HANG
    )
    lost = (-errno.EBADF, 0)
    expected = [
        ((1, 101), (1, 201), (1, 102), (1, 202)),
        ((1, 103), (1, 104), (1, 105)),
        ((1, 203), (1, 106), (1, 204), (1, 205)),
        (lost, (1, 107)),
        ((1, 301), (1, 302), (1, 108), (1, 206)),
        (lost, lost),
        ((1, 200),),
    ]
    shown = "".join(" ".join(map(str, line)) + "\n" for line in expected)
    assert (done.stdout, done.stderr) == (shown, "")


def test_scripts_are_switched_off(as_outsider) -> None:
    """As the library decides: in the process, unless the kernel is required."""
    enabled = Path("/sys/module/syscript/parameters/enabled")
    options = ["--time-limit", PATIENCE, "-e", "return 6 * 7"]
    enabled.write_text("N")
    try:
        process = as_outsider([COMMAND, "run", "--engine", "confined", *options])
        kernel = as_outsider([*RUN, *options])
    finally:
        enabled.write_text("Y")
    assert (process.returncode, process.stdout, process.stderr) == (0, "42\n", "")
    assert kernel.returncode == 2 and "switched off" in kernel.stderr


def test_many_at_once(pages_to_pin) -> None:
    """The scripts share code: with code of its own, a fifth would not fit."""
    code = "syscall.write(1, 'on\\n') syscall.poll(0, 0, -1)"
    command = [*RUN, "--time-limit", PATIENCE, "-e", code]
    options = {**account("outsider"), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    children = [subprocess.Popen(command, **options) for _ in range(8)]
    try:
        assert [child.stdout.readline() for child in children] == [b"on\n"] * len(children)
    finally:
        for child in children:
            child.kill()
            child.communicate(timeout=HANG)


# As many as one user's scripts in the kernel may be; the rest run in the process.
MANY = """
import syscript
source = "local n = 0 function run(a) n = n + a return n end"
scripts = [syscript.Script(source, memory_limit=65536, time_limit=10) for _ in range(300)]
print(sorted({script.backend for script in scripts}))
print({script.call(7) for script in scripts}, {script.call(7) for script in scripts})
"""


def test_more_than_fit_in_the_kernel(as_outsider, pages_to_pin) -> None:
    env = {
        "SYSCRIPT_ENGINE": "confined",
        "PYTHONPATH": str(ROOT / "bindings/python"),
        "LD_LIBRARY_PATH": str(ROOT / "build"),
    }
    done = as_outsider(["python3", "-c", MANY], env=env)
    assert done.stdout == "['kernel', 'user']\n{(7,)} {(14,)}\n", done.stderr


def test_sigkill() -> None:
    """A loop that catches everything: the process ends anyway."""
    code = "syscall.write(1, 'on\\n') while true do pcall(run) end"
    command = [*RUN, "--time-limit", PATIENCE, "-e", code]
    with subprocess.Popen(command, **account("outsider"), stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"on\n"
        child.kill()
        assert child.wait(timeout=HANG) == -signal.SIGKILL
