# SPDX-License-Identifier: GPL-2.0
"""Hostile scripts in the kernel, and scripts killed wherever they are."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from footprint import REFCNT, scripts
from library import COUNTERS
from runner import (
    ATTACKS,
    COMMAND,
    CONFINED,
    KERNEL,
    SLOWDOWN,
    Attack,
    Mode,
    Run,
    account,
    in_turn,
)

# Seconds from SIGKILL to the end of the process, on a busy emulated machine.
DEATH = 60 * SLOWDOWN

# What a script repeats when it is killed: each binding, and each way to block. a is 4 KiB of the
# process's memory.
WHERE = {
    "loop": "",
    "call": "f()",
    "pcall": "pcall(f)",
    "coroutine": "coroutine.wrap(f)()",
    "fast": "syscall.getppid()",
    "slow": "syscall.sched_yield()",
    "write": "syscall.write(w, a, 1) syscall.read(r, a, 1)",
    "string": "syscall.access('/dev/null', 0)",
    "open": "syscall.close(syscall.open('/', 0, 0))",
    "peek": "util.peek(a, 'i8')",
    "poke": "util.poke(a, 'i8', 1)",
    "copyin": "util.copyin(a, 512)",
    "copyout": "util.copyout(t, a, 512)",
    "str_in": "util.str_in(a, 4096)",
    "str_out": "util.str_out(s, a)",
    "fill": "util.fill(a, 0, 4096)",
    "compare": "util.compare(a, a, 4096)",
    "entries": "fs.entries(d, { name = t }) syscall.lseek(d, 0, 0)",
    "readdirplus": "fs.readdirplus(d, a, 4096) syscall.lseek(d, 0, 0)",
    "stat_files": "util.copyout({ a, a, 0, 0 }, a, 4, 'i8') fs.stat_files(d, a, 100)",
    "stat_entries": "fs.stat_entries(d, a, 512, a, syscall.getdents64(d, a, 512))"
    " syscall.lseek(d, 0, 0)",
    "print": "print(s)",
    "match": "string.match(s, '.-.-.-b')",
    "sort": "table.sort(t)",
    "concat": "table.concat(t, s)",
    "collect": "collectgarbage()",
    "load": "loadstring('return ' .. s)",
    "blocked read": "syscall.read(r, a, 1)",
    "blocked poll": "syscall.poll(0, 0, -1)",
    "blocked sleep": "util.poke(a, 'i8', 1000) util.poke(a + 8, 'i8', 0) syscall.nanosleep(a, 0)",
    "blocked epoll": "syscall.epoll_wait(e, a, 1, -1)",
    "blocked accept": "syscall.accept(l, 0, 0)",
    "blocked recv": "syscall.recvfrom(u, a, 1, 0, 0, 0)",
    "blocked futex": "util.poke(a, 'i4', 5) syscall.futex(a, 0, 5, 0, 0, 0)",
    "blocked eventfd": "syscall.read(v, a, 8)",
    "blocked sigwait": "util.poke(a, 'i8', 0) syscall.rt_sigtimedwait(a, 0, 0, 8)",
}

VICTIM = """
function run()
	local a = util.buffer(4096)
	assert(syscall.pipe2(a, 0) == 0)
	local r, w = util.peek(a), util.peek(a + 4)
	local e = syscall.epoll_create1(0)
	local v = syscall.eventfd2(0, 0)
	local u = syscall.socket(const.AF_INET, const.SOCK_DGRAM, 0)
	local d = syscall.openat(const.AT_FDCWD, "/proc", const.O_RDONLY, 0)
	local l = syscall.socket(const.AF_INET, const.SOCK_STREAM, 0)
	assert(e >= 0 and v >= 0 and u >= 0 and l >= 0 and syscall.listen(l, 1) == 0)
	util.poke(a, "i8", const.AF_INET)
	util.poke(a + 8, "i8", 0)
	assert(syscall.bind(u, a, 16) == 0)
	local s, t, f = ("a"):rep(200), {}, function() for i = 1, 100 do end end
	for i = 1, 512 do t[i] = i end
	while true do %s end
end
"""


MODES = [*KERNEL, CONFINED["kernel"]]
pytestmark = pytest.mark.usefixtures("pages_to_pin")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """After each test no script is alive and nothing holds the module."""
    before = REFCNT.read_text()
    yield
    # The last fput() of a killed process may come after its parent was notified.
    deadline = time.monotonic() + DEATH
    while (left := scripts()) or REFCNT.read_text() != before:
        assert time.monotonic() < deadline, (left, before, REFCNT.read_text())
        time.sleep(0.05)


HOSTILE = [Attack.read(path) for path in ATTACKS]
SUITABLE = [(attack, [mode for mode in MODES if attack.suits(mode)]) for attack in HOSTILE]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("attack", "mode"), in_turn(SUITABLE, lambda attack: attack.path.stem))
def test_attack(attack: Attack, mode: Mode, as_user: Run, as_outsider: Run) -> None:
    attack.check(as_outsider if mode.confined else as_user, mode)


def start(mode: Mode, source: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a script as the ordinary user; return once it runs."""
    command = mode.command(Path("-"), *options)
    child = subprocess.Popen(
        command,
        **account("outsider" if mode.confined else "member"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin
    child.stdin.write(source.encode())
    child.stdin.close()
    child.stdin = None
    deadline = time.monotonic() + DEATH
    while not any(s.pid == child.pid and s.calls for s in scripts()):
        if child.poll() is not None or time.monotonic() > deadline:
            child.kill()
            pytest.fail(f"the script did not come to run: {child.communicate()}")
        time.sleep(0.01)
    return child


def test_listed() -> None:
    """`syscript list` lists scripts, with the field names of struct syscript_info."""
    child = start(KERNEL[0], VICTIM % WHERE["blocked poll"])
    done = subprocess.run([COMMAND, "list", "--json"], check=True, capture_output=True)
    (info,) = scripts()
    child.kill()
    child.communicate(timeout=DEATH)
    (listed,) = json.loads(done.stdout)
    for name in ("id", "pid", "uid", "flags", *COUNTERS):
        assert listed[name] == getattr(info, name), name
    assert listed["name"] == info.name.decode()
    assert listed["engine"] == info.engine_name.decode() == "luajit"
    assert listed["counters"] == info.own() and set(info.own()) == {"traces", "mcode"}
    assert listed["pid"] == child.pid and listed["calls"] == 1
    assert listed["state"] == "running"


# Only LuaJIT's engine has fs.*.
VICTIMS = [(where, KERNEL if "fs." in code else MODES) for where, code in WHERE.items()]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("where", "mode"), in_turn(VICTIMS, str))
def test_kill(where: str, mode: Mode) -> None:
    child = start(mode, VICTIM % WHERE[where], "--time-limit", "10000")
    time.sleep(random.uniform(0, 0.1))
    assert child.poll() is None, child.communicate()
    child.kill()
    child.communicate(timeout=DEATH)
    assert child.returncode == -signal.SIGKILL


def test_stop_and_continue() -> None:
    """A stop ends the run after its grace time, but not the script."""
    child = start(KERNEL[0], VICTIM % "", "--time-limit", "1000")
    child.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    child.send_signal(signal.SIGCONT)
    _, stderr = child.communicate(timeout=DEATH)
    assert child.returncode == 1
    assert b"a signal was pending" in stderr


def test_terminate() -> None:
    """A fatal signal other than SIGKILL ends a run as well."""
    child = start(KERNEL[0], VICTIM % "", "--time-limit", "10000")
    child.terminate()
    child.communicate(timeout=DEATH)
    assert child.returncode == -signal.SIGTERM


def test_interrupted_and_ignored() -> None:
    """A script that ignores EINTR waits on, until it is killed."""
    source = VICTIM % "assert(syscall.poll(0, 0, -1) == -errno.EINTR)"
    child = start(KERNEL[0], source)
    time.sleep(0.3)
    assert child.poll() is None, "time spent blocked was counted"
    child.kill()
    child.communicate(timeout=DEATH)
    assert child.returncode == -signal.SIGKILL


def test_kill_flag(as_user: Run) -> None:
    """SYSCRIPT_KILL: a script over a limit kills its process."""
    command = KERNEL[0].command(Path("-"), "--kill")
    done = as_user(command, input="function run() while true do end end")
    assert done.returncode == -signal.SIGKILL, done


def test_nojit_is_not_the_scripts_choice(as_user: Run) -> None:
    source = (
        "function run() if jit then pcall(jit.on) pcall(jit.on, run, true) end\n"
        "local s = 0 for i = 1, 20000 do s = s + i end return s end\n"
    )
    traces = {}
    for mode in KERNEL:
        done = as_user(mode.command(Path("-"), "--info"), input=source)
        assert done.returncode == 0, done
        traces[mode.jit] = " 0 traces" not in done.stderr
    assert traces == {True: True, False: False}
