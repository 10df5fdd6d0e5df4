# SPDX-License-Identifier: GPL-2.0
"""The kernel's own allocations fail, each in turn: registering, calling, growing.

tests/allocations/fail_nth.c fails the nth allocation of a thread, or some in a row from the nth of
pages on. Whichever fails, the operation works or fails with ENOMEM and a message; the script is
unharmed, or dead; and nothing is leaked: each test checks references, and the debug kernel's guest
checks for leaks at its end.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import seccomp
from footprint import REFCNT, scripts
from library import Library

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import programs
from auditing import Auditing
from confined import insn as i
from confined.kernel import ENGINE, Arena
from netns_pair import ETH_P_ALL
from test_audit import rule
from test_filters import in_child

MODULE = Path(os.environ.get("SYSCRIPT_MODULE", "")).parent / "fail_nth" / "fail_nth.ko"
pytestmark = pytest.mark.skipif(not MODULE.exists(), reason="only in `make test-allocations`")

# More page allocations in a row than vmalloc() tries.
IN_A_ROW = 4
# More allocations than any operation tested makes.
MOST = 3000
WANT = 42
# Without memory for an audit context, only the user backend is left.
NO_MEMORY = (-errno.ENOMEM, -errno.ENOBUFS, -errno.EOPNOTSUPP)
# If a page of the script's buffer cannot be allocated, its address is a bad one.
SAID = ("no memory", "bad address", "no room")


@pytest.fixture(scope="module", autouse=True)
def any_may_fail() -> Iterator[None]:
    subprocess.run(["insmod", MODULE], check=True)
    yield
    subprocess.run(["rmmod", "fail_nth"], check=True)


class Nth:
    """Only this thread's nth allocation fails."""

    WHAT = b"1"

    def __init__(self) -> None:
        self.fd = os.open("/dev/fail_nth", os.O_RDWR)

    def arm(self, n: int) -> None:
        os.write(self.fd, b"%d %s" % (n + 1, self.WHAT))

    def disarm(self) -> bool:
        """Was there an nth?"""
        return int(os.read(self.fd, 20)) > 0

    def close(self) -> None:
        os.close(self.fd)


class Pages(Nth):
    """From the nth allocation of pages on, several in a row fail, so that retries fail, too."""

    WHAT = b"%d pages" % IN_A_ROW


class Window(AbstractContextManager):
    """While entered, the nth allocation fails."""

    def __init__(self, faults: Nth | Pages, n: int) -> None:
        self.faults, self.n = faults, n
        self.failed = False

    def __enter__(self) -> None:
        self.faults.arm(self.n)

    def __exit__(self, *_: object) -> None:
        self.failed = self.faults.disarm()


def sweep(kind: type, attempt: Callable[[Window], None]) -> int:
    """Runs attempt(window) for each n until there is no nth allocation; returns their number."""
    faults = kind()
    for n in range(MOST):
        window = Window(faults, n)
        attempt(window)
        if not window.failed:
            faults.close()
            return n
    raise AssertionError("there is no end of allocations")


@pytest.fixture(params=[Nth, Pages], ids=["nth", "pages"])
def kind(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    before = REFCNT.read_text()
    yield
    assert not scripts()
    assert REFCNT.read_text() == before


LIBRARY = Library()


def call(fd: int, args: tuple[int, ...] = ()) -> int:
    """The result, or the call's error."""
    count, result = LIBRARY.call(fd, *args)
    return result if count == 1 else count


def check_registered(fd: int, text: str, args: tuple[int, ...] = ()) -> None:
    if fd < 0:
        assert fd in NO_MEMORY, (fd, text)
        assert text, fd
        return
    assert call(fd, args) == WANT
    os.close(fd)


def check_called(fd: int, result: int, args: tuple[int, ...]) -> None:
    # There may be no page for the call's output, either.
    if result not in (WANT, *NO_MEMORY, -errno.EFAULT):
        said = LIBRARY.error(fd)
        assert result == -errno.EPROTO and any(text in said for text in SAID), (result, said)
    assert call(fd, args) in (WANT, -errno.ENOTRECOVERABLE)


def sweep_registering(kind: type, source: bytes, **options: int) -> int:
    def attempt(window: Window) -> None:
        with window:
            fd, text = LIBRARY.register(source, **options)
        check_registered(fd, text)

    return sweep(kind, attempt)


def sweep_calling(kind: type, source: bytes, args: tuple[int, ...] = (), **options: int) -> int:
    """Each time the first call of a new script."""

    def attempt(window: Window) -> None:
        fd, text = LIBRARY.register(source, **options)
        assert fd >= 0, text
        with window:
            result = call(fd, args)
        check_called(fd, result, args)
        os.close(fd)

    return sweep(kind, attempt)


# -- Lua ----------------------------------------------------------------------------

GROW = "local t = {} for i = 1, 4000 do t[i] = { i, tostring(i) } end"
SOURCES = {"small": "function run() return 42 end", "large": GROW + " function run() return 42 end"}


@pytest.mark.parametrize("name", SOURCES)
def test_register(kind: type, name: str) -> None:
    assert sweep_registering(kind, SOURCES[name].encode()) > 5


# Each uses a feature of the core, or makes the engine allocate.
CALLS = {
    "heap": GROW + " return #t - 3958",
    "stacks": """local t = {} for i = 1, 60 do t[i] = coroutine.create(function() end)
        assert(coroutine.resume(t[i])) end return 42""",
    "traces": """local n, s = 0, "local s = 0 for i = 1, 100 do s = s + i % %d end return 1"
        for i = 1, 30 do n = n + loadstring(s:gsub("%%d", i))() end return n + 12""",
    "output": "for i = 1, 100 do print(('x'):rep(50)) end return 42",
    "buffer": "local b = util.buffer(4096) util.poke(b, 'i8', 42) return util.peek(b, 'i8')",
    "strings": "local r = syscall.access('/dev/null', 0) return r == 0 and 42 or r",
    "open": """local fd = syscall.open('/proc', 0, 0) if fd < 0 then return fd end
        return syscall.close(fd) + 42""",
    "entries": """local d = syscall.open('/proc/self', 0, 0) if d < 0 then return d end
        local n = fs.entries(d, { name = {}, size = {} }) syscall.close(d)
        return n < 0 and n or 42""",
    "readdirplus": """local d = syscall.open('/proc/self', 0, 0) if d < 0 then return d end
        local n = fs.readdirplus(d, util.buffer(8192), 8192) syscall.close(d)
        return n < 0 and n or 42""",
    "stat_entries": """local d = syscall.open('/proc/self', 0, 0) if d < 0 then return d end
        local b = util.buffer(8192) local n = syscall.getdents64(d, b, 512)
        if n > 0 then n = fs.stat_entries(d, b + 512, 4096, b, n) end
        syscall.close(d) return n < 0 and n or 42""",
    "stat_files": """local b = util.buffer(4096) util.str_out('/dev/null', b + 2048)
        util.copyout({ b + 2048, b + 1024, 0, 0 }, b, 4, 'i8')
        local n = fs.stat_files(const.AT_FDCWD, b, 1) return n < 0 and n or 42""",
}


@pytest.mark.parametrize("name", CALLS)
def test_call(kind: type, name: str) -> None:
    sweep_calling(kind, b"function run() %s end" % CALLS[name].encode())


FRAMES = b"""
function run(fd)
  local port = net.frames(fd)
  local f, err = port:build(("\\2"):rep(12) .. "\\x88\\xb5")
  if not f then return err end
  pcall(f.put, f, 20, ("x"):rep(3000))
  f:send()
  local sent = port:flush()
  if sent < 0 then return sent end
  return port:receive(64, 100) < 0 and -1 or 42
end
"""


def test_frames(kind: type) -> None:
    """Frames are built, grown, sent and received again."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        sock.bind(("lo", ETH_P_ALL))
        failed = sweep_calling(kind, FRAMES, (sock.fileno(),))
        # Existing slabs may have served all allocations.
        assert failed > 0 or kind is Pages


# -- Where calls are watched ----------------------------------------------------------

WATCHED = b"""
function run()
  local fd = syscall.openat(const.AT_FDCWD, "/proc", 0, 0)
  if fd < 0 then return fd end
  syscall.close(fd)
  syscall.getppid()
  return 42
end
"""


def sweep_both(kind: type) -> int:
    return sweep_registering(kind, WATCHED) + sweep_calling(kind, WATCHED)


def test_audit(kind: type) -> None:
    """Each call needs its own audit context, whose allocation may fail."""
    audit = Auditing()
    try:
        audit.add(rule("openat", "close", "getppid", key="syscript"))
        status, said = in_child(lambda: sweep_both(kind))
    finally:
        audit.stop()
    assert status == 0, said
    assert said > 5


def test_filter(kind: type) -> None:
    def under_filter() -> int:
        allowed = seccomp.Filter(seccomp.ALLOW)
        allowed.rule(seccomp.error(errno.EPERM), "swapon")
        allowed.load()
        return sweep_both(kind)

    status, said = in_child(under_filter)
    assert status == 0, said
    assert said > 5


# -- The confined engine --------------------------------------------------------------


@pytest.mark.parametrize("call_too", [False, True], ids=["register", "call"])
def test_confined(kind: type, call_too: bool) -> None:
    image = i.Image([i.movi(0, WANT) + i.EXIT]).pack()
    with Arena() as arena:
        run = sweep_calling if call_too else sweep_registering
        run(kind, image, engine=ENGINE, **arena.shared())


def test_shared_states(kind: type) -> None:
    """A program that shares tables and a ring is loaded: all of it, or nothing is left."""
    image = programs.image([programs.verdict(1)])
    ring = programs.table("ring", 64, 0, 8, kind=programs.RING)
    states = (programs.table(), programs.table("other"), ring)

    def attempt(window: Window) -> None:
        with window:
            try:
                status, _ = programs.load(image, states=states)
            except OSError as error:  # no memory to open the device
                status = -error.errno
        if status:
            assert status in NO_MEMORY and not programs.programs()
        else:
            ring_fd = programs.open_ring()[0]
            assert ring_fd >= 0
            os.close(ring_fd)
            assert programs.unload() == 0

    assert sweep(kind, attempt) > 5
