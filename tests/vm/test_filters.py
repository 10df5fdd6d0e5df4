# SPDX-License-Identifier: GPL-2.0
"""Under real seccomp filters, each call behaves inside a script as outside."""

from __future__ import annotations

import array
import ctypes
import errno
import json
import os
import random
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import seccomp
from library import AUTO, CONFINED, Library
from runner import SLOWDOWN
from seccomp import Condition, Filter

ROOT = Path(__file__).resolve().parents[2]
os.environ["SYSCRIPT_LIBRARY"] = str(ROOT / "build" / "libsyscript.so")
sys.path.insert(0, str(ROOT / "bindings/python"))
import syscript  # noqa: E402

# Calls whose second result differs: made once, in a child process.
ONCE = ["alarm", "inotify_init", "setsid", "sync", "umask"]

# Calls that any process needs.
NEEDED = [
    *("brk", "clock_gettime", "close", "exit", "exit_group", "fstat", "futex", "getpid"),
    *("getrandom", "ioctl", "lseek", "madvise", "mmap", "mprotect", "mremap", "munmap"),
    *("newfstatat", "openat", "read", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "write"),
]


def table() -> dict[str, int]:
    """The calls that scripts can make, with their numbers of arguments."""
    text = (ROOT / "core" / "syscalls.def").read_text()
    lines = re.findall(r'^SYSCALL(?:_OLD)?\((\w+), "(\w*)"', text, re.M)
    return {name: len(kinds) for name, kinds in lines}


NUMBERS = {name: nr for name in table() if (nr := seccomp.number(name)) >= 0}
CALLS = {name: n for name, n in table().items() if name in NUMBERS}


class Outside:
    """Calls by the C library's syscall()."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.syscall.restype = ctypes.c_long

    def __call__(self, name: str, *args: int) -> int:
        words = [ctypes.c_long(word) for word in args]
        ret = self.libc.syscall(ctypes.c_long(NUMBERS[name]), *words)
        return -ctypes.get_errno() if ret == -1 else ret


class Inside:
    """Calls by a script with a function for each."""

    def __init__(self, names: list[str]) -> None:
        self.library = Library()
        self.names = names
        made = [f"function(a) return syscall.{n}({self.words(n)}) end" for n in names]
        self.fd, text = self.library.register(
            f"""local call = {{{", ".join(made)}}}
            local arg = {{}}
            -- {{index, six arguments, result}} each
            function run(addr, n)
              for i = 0, n - 1 do
                local at = addr + i * 64
                for j = 1, 6 do arg[j] = util.peek(at + j * 8, "i8") end
                util.poke(at + 56, "i8", call[util.peek(at, "i8")](arg))
              end
            end""".encode(),
            memory=8 << 20,
            # Thousands of calls, on a machine that may be busy.
            wall_limit_ns=2**64 - 1,
        )
        assert self.fd >= 0, text

    @staticmethod
    def words(name: str) -> str:
        return ", ".join(f"a[{i + 1}]" for i in range(CALLS[name]))

    def many(self, calls: list[tuple[str, list[int]]]) -> list[int]:
        cells = array.array("q")
        for name, args in calls:
            padded = [*args, 0, 0, 0, 0, 0, 0][:6]
            cells.extend([self.names.index(name) + 1, *padded, 0])
        done, _ = self.library.call(self.fd, cells.buffer_info()[0], len(calls))
        assert done >= 0, (done, self.library.error(self.fd))
        return list(cells[7::8])


def in_child(work: Callable[[], object]) -> tuple[int, object]:
    """The wait status of a child that does the work, and its result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(writing, json.dumps(work()).encode())
            status = 0
        except BaseException as error:  # noqa: BLE001
            os.write(writing, json.dumps(repr(error)).encode())
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(said or b"null")


def needed(chosen: Filter) -> Filter:
    for name in NEEDED:
        chosen.rule(seccomp.ALLOW, name)
    return chosen


def nothing_else() -> Filter:
    """Like browsers' sandboxes: other calls fail with an errno."""
    return needed(Filter(seccomp.error(errno.EPERM)))


PROFILES = {**seccomp.PROFILES, "default-deny": nothing_else}


def same(first: list[int], again: list[int], third: list[int]) -> list[bool]:
    """Values that differ each time, such as addresses, compare equal."""
    return [
        a == c if a == b or min(a, c) < 0 else True
        for a, b, c in zip(first, again, third, strict=True)
    ]


def differences(profile: Callable[[], Filter], value: int) -> list[object]:
    names = sorted(CALLS.keys() - ONCE)
    inside, outside = Inside(names), Outside()
    calls = [(name, [value] * CALLS[name]) for name in names]
    before = [outside(name, *args) for name, args in calls]
    profile().load()
    found = [outside(name, *args) for name, args in calls]
    again = [outside(name, *args) for name, args in calls]
    ours = inside.many(calls)
    denied = [a for a, b in zip(before, found, strict=True) if min(a, 0) != min(b, 0)]
    agree = same(found, again, ours)
    return [
        [len(calls), len(denied)],
        [(name, a, b) for name, a, b, ok in zip(names, found, ours, agree, strict=True) if not ok],
    ]


def once(profile: Callable[[], Filter], name: str, make: type) -> int:
    """The result of a process's only call."""

    def work() -> int:
        made = make([name]) if make is Inside else make()
        profile().load()
        args = [-1] * CALLS[name]
        return made.many([(name, args)])[0] if make is Inside else made(name, *args)

    status, said = in_child(work)
    assert status == 0, said
    return said


def need(profile: str) -> None:
    if profile == "docker" and not seccomp.DOCKER_PROFILE.exists():
        pytest.skip("tools/deps found no package with Docker's default filter")
    if profile == "system-service" and seccomp.MACHINE == "arm64":
        pytest.skip("guests of arm64 have no systemd")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_call_under_a_profile(profile: str) -> None:
    need(profile)
    status, said = in_child(lambda: differences(PROFILES[profile], -1))
    assert status == 0, said
    (calls, denied), differ = said
    assert differ == []
    assert calls > 240
    assert 5 < denied < calls, "the profile denies some calls and not others"


@pytest.mark.parametrize("name", [name for name in ONCE if name in CALLS])
def test_call_that_changes_itself(name: str) -> None:
    outside, inside = (once(nothing_else, name, make) for make in (Outside, Inside))
    assert inside == outside == -errno.EPERM
    outside, inside = (once(seccomp.container, name, make) for make in (Outside, Inside))
    assert inside == outside or min(inside, outside) > 2


def test_negative_argument() -> None:
    """A script passes 64 bits with the sign, like syscall(2) of a long and unlike C of an int."""

    def work() -> object:
        made, chosen = Inside(["getpgid"]), Filter(seccomp.ALLOW)
        for number, bits in ((1, 32), (2, 64)):
            condition = Condition(0, "EQ", -100 & (1 << bits) - 1)
            chosen.rule(seccomp.error(number), "getpgid", condition)
        chosen.load()
        return made.many([("getpgid", [-100]), ("getpgid", [-100 & (1 << 32) - 1])])

    assert in_child(work) == (0, [-2, -1])


def death(program: bytes, name: str, inside: bool) -> int:
    """How a process ends whose calls are not among a service's."""

    def work() -> int:
        make = Inside([name]) if inside else Outside()
        seccomp.load(program)
        args = [-1] * CALLS[name]
        return make.many([(name, args)])[0] if inside else make(name, *args)

    status, said = in_child(work)
    assert os.WIFSIGNALED(status), (name, said)
    return os.WTERMSIG(status)


def test_death_is_the_same() -> None:
    """For each call outside @system-service."""
    need("system-service")
    program = seccomp.system_service(seccomp.KILL_PROCESS).exported()
    names = sorted(CALLS.keys() - seccomp.of_services())
    assert len(names) > 10 and "bpf" in names
    assert death(program, "bpf", False) == signal.SIGSYS
    found = {name: death(program, name, True) for name in names}
    assert found == dict.fromkeys(names, signal.SIGSYS)


SEEK_CALL = 4  # SYSCRIPT_SEEK_CALL
# Error numbers, including kernel-internal ones, 0, and the largest that libseccomp accepts.
ERRNOS = [*range(134), 512, 513, 514, 516, 524, 530, 4094]
FD = 200
COUNTS = b"""
local n = 0
function run(fails) n = n + 1 if fails == 1 then error("n is " .. n) end return n end
"""


def refused_seeks() -> dict[int, int]:
    """By descriptor: the errno with which a filter refuses lseek(2) calls of the script."""
    found = {FD + k: number for k, number in enumerate(ERRNOS)}
    chosen = Filter(seccomp.ALLOW)
    for fd, number in found.items():
        conditions = Condition(0, "EQ", fd), Condition(2, "EQ", SEEK_CALL)
        chosen.rule(seccomp.error(number), "lseek", *conditions)
    chosen.load()
    return found


def calls_with_lseek_refused(bind: Callable[[int], Callable[[int], object]]) -> list[object]:
    """For each errno, one call that returns and one that fails; returns the differences."""
    lib = Library()
    fd, text = lib.register(COUNTS)
    assert fd >= 0, text
    wrong, n = [], 0
    for at, number in refused_seeks().items():
        os.dup2(fd, at)
        call = bind(at)
        for fails in (0, 1):
            n += 1
            said = call(fails)
            if said != (f"-71 n is {n}" if fails else f"{n}"):
                wrong.append((number, fails, n, said))
    # And lseek(2) makes the call, after which nothing else may follow.
    call = bind(fd)
    for fails in (0, 1, 0):
        n += 1
        said = call(fails)
        if said != (f"-71 n is {n}" if fails else f"{n}"):
            wrong.append(("allowed", fails, n, said))
    return wrong


def by_library(fd: int) -> Callable[[int], str]:
    lib = Library()

    def call(fails: int) -> str:
        count, value = lib.call(fd, fails)
        return str(value) if count == 1 else f"{count} {lib.error(fd).split(': ')[-1]}"

    return call


def by_python(fd: int) -> Callable[[int], str]:
    script = syscript.Script.__new__(syscript.Script)
    script._fd = fd
    script_fds.append(script)

    def call(fails: int) -> str:
        try:
            return str(script(fails))
        except syscript.ScriptError as error:
            return f"{-error.errno} {str(error).splitlines()[0].split(': ')[-1]}"

    return call


script_fds: list[object] = []  # kept alive: their finalizers would close the descriptors


@pytest.mark.parametrize("bind", [by_library, by_python])
def test_no_errno_of_a_filter_becomes_a_call_s(
    bind: Callable[[int], Callable[[int], object]],
) -> None:
    """lseek(2) calls a script; a filter's verdict on it must not become the script's result."""
    status, said = in_child(lambda: calls_with_lseek_refused(bind))
    assert status == 0, said
    assert said == []


# Calls without effect, whatever their arguments.
HARMLESS = [
    *("getppid", "getpgid", "getsid", "getpriority", "sched_getscheduler", "getuid"),
    *("sched_get_priority_max", "shutdown", "ioprio_get", "mincore"),
]
VALUES = [-1, 0, 1, 2, 3, 5, 100, 101, 1 << 16, (1 << 32) - 1, 1 << 32, (1 << 40) + 3]


def random_filter(rng: random.Random) -> Filter:
    actions = [seccomp.error(rng.randrange(1, 4096)) for _ in range(4)]
    actions += [seccomp.ALLOW, seccomp.LOG, seccomp.TRACE]
    chosen = Filter(rng.choice([seccomp.ALLOW, seccomp.error(errno.EPERM)]))
    if chosen.default != seccomp.ALLOW:
        needed(chosen)
    for name in HARMLESS:
        indexes = rng.sample(range(CALLS[name]), rng.randrange(CALLS[name] + 1))
        conditions = [
            Condition(
                index,
                rng.choice(seccomp.OPERATIONS),
                rng.choice(VALUES) & (1 << 64) - 1,
                rng.choice(VALUES) & (1 << 64) - 1,
            )
            for index in indexes
        ]
        if name not in NEEDED:
            chosen.rule(rng.choice(actions), name, *conditions)
    return chosen


def random_calls(rng: random.Random, n: int) -> list[tuple[str, list[int]]]:
    names = [name for name in HARMLESS for _ in range(1 + CALLS[name])]
    chosen = [rng.choice(names) for _ in range(n)]
    return [(name, [rng.choice(VALUES) for _ in range(CALLS[name])]) for name in chosen]


def random_differences(seed: int, n: int) -> list[object]:
    rng = random.Random(seed)
    calls = random_calls(rng, n)
    inside, outside = Inside(HARMLESS), Outside()
    random_filter(rng).load()
    found = [outside(name, *args) for name, args in calls]
    ours = inside.many(calls)
    return [
        (name, args, a, b) for (name, args), a, b in zip(calls, found, ours, strict=True) if a != b
    ]


@pytest.mark.parametrize("seed", range(2))
def test_random_filters(seed: int) -> None:
    status, said = in_child(lambda: random_differences(seed, 10000 // SLOWDOWN))
    assert status == 0, said
    assert said == []


def after_a_trap(engine: int) -> list[int]:
    """Results of runs (backend AUTO) of a script whose call goes to a SIGSYS handler."""
    source = b"function run() syscall.getppid() return 1 end"
    library = Library()
    signal.signal(signal.SIGSYS, lambda *_: None)
    chosen = Filter(seccomp.ALLOW)
    chosen.rule(seccomp.TRAP, "getppid")
    chosen.load()
    ended = []
    for _ in range(2):
        fd, text = library.register(source, backend=AUTO, engine=engine)
        assert fd >= 0, text
        ended.append(library.call(fd)[0])
    return ended


@pytest.mark.parametrize("engine", [0, CONFINED])
def test_library_goes_on_in_user_space(engine: int) -> None:
    status, said = in_child(lambda: after_a_trap(engine))
    assert status == 0, said
    assert said == [-errno.EOPNOTSUPP, 1]
